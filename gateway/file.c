#include "gateway/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"

int
file_read(const char *path, struct buf *out, mode_t *ret_mode, struct err *err)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	char chunk[8192];
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND, "%s does not exist", path);
	if (fd < 0 || fstat(fd, &st))
		return err_set_errno(err, errno, "can't read %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_CONFIG, "%s is not a regular file", path);
	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set_errno(err, errno, "can't read %s", path);
		if (!buf_add(out, chunk, (size_t)n))
			return err_set(err, ERR_LIMIT, "%s is larger than %zu bytes",
				path, out->max);
	}
	if (ret_mode)
		*ret_mode = st.st_mode & 07777;
	return 0;
}

static int
write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= (size_t)n;
	}
	return fsync(fd);
}

/* The file behind links; path itself where nothing exists yet. */
static char *
target_of(const char *path)
{
	char real[PATH_MAX], link[PATH_MAX];
	ssize_t n;

	if (realpath(path, real))
		return mem_str(real);
	/* A dangling link: its target is made, the link stays. */
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return mem_str(path);
	link[n] = '\0';
	if (link[0] == '/')
		return mem_str(link);
	const char *slash = strrchr(path, '/');
	return slash ? mem_printf("%.*s/%s", (int)(slash - path), path, link) :
		mem_str(link);
}

static int
sync_dir(const char *path)
{
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *dir = slash == path ? mem_str("/") :
		slash ? mem_strn(path, (size_t)(slash - path)) : mem_str(".");
	CLEANUP_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : fsync(fd);
}

static int
copy_in_place(const char *path, const void *data, size_t len)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	return fd < 0 ? -1 : write_all(fd, data, len);
}

static int
make_temp(const char *temp, const void *data, size_t len, mode_t mode,
	const struct stat *old)
{
	CLEANUP_CLOSE int fd = open(temp,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	/* Another owner can be kept by root only; for the rest it is our own. */
	if (old && (old->st_uid != geteuid() || old->st_gid != getegid()) &&
	    fchown(fd, old->st_uid, old->st_gid) && old->st_uid != geteuid())
		return -1;
	if (fchmod(fd, old ? old->st_mode & 07777 : mode))
		return -1;
	return write_all(fd, data, len);
}

int
file_replace(const char *path, const void *data, size_t len, mode_t mode,
	struct err *err)
{
	CLEANUP_FREE char *target = target_of(path);
	char id[9];
	struct stat st;
	bool exists = stat(target, &st) == 0;
	int saved;

	ids_hex(id, 8);
	CLEANUP_FREE char *temp = mem_printf("%s.%s.tmp", target, id);
	if (make_temp(temp, data, len, mode, exists ? &st : NULL))
		goto fail;
	if (rename(temp, target) == 0) {
		if (sync_dir(target))
			return err_set_errno(err, errno, "can't sync the directory of %s",
				target);
		return 0;
	}
	/* A bind-mounted file can't be renamed over. */
	if (errno == EBUSY || errno == EXDEV) {
		unlink(temp);
		if (copy_in_place(target, data, len) == 0)
			return 0;
	}
fail:
	saved = errno;
	unlink(temp);
	return err_set_errno(err, saved, "can't write %s", target);
}
