/*
 * An archive from a sandbox, to a new directory here.  libarchive only reads it:
 * files are made by ourselves, one directory at a time, following no link, and
 * never over anything that is there.  See transfer.h.
 */
#include "sandbox/transfer.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rmtree.h"

struct unpack {
	struct archive *in;
	int top;		/* the new directory */
	const char *name;	/* the only thing in it */
	uint64_t bytes;
	unsigned entries;
};

/* "./a//b/" to "a/b"; NULL: it is no path that may be. Caller frees. */
static char *
clean_path(const char *path)
{
	size_t len = strlen(path), out = 0;
	unsigned depth = 0;

	if (*path == '/' || len >= TRANSFER_PATH_MAX)
		return NULL;
	char *clean = mem_alloc(len + 2);
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && memcmp(path, "..", 2) == 0)
			depth = TRANSFER_DEPTH_MAX + 1;
		if (n > 0 && !(n == 1 && *path == '.')) {
			if (out)
				clean[out++] = '/';
			memcpy(clean + out, path, n);
			out += n;
			depth++;
		}
		path += n + (path[n] == '/');
	}
	clean[out] = 0;
	if (depth <= TRANSFER_DEPTH_MAX)
		return clean;
	mem_free(clean);
	return NULL;
}

static bool
is_wanted(const struct unpack *u, const char *path)
{
	size_t n = strlen(u->name);

	return strncmp(path, u->name, n) == 0 && (path[n] == 0 || path[n] == '/');
}

/* It may be there. One that an archive only implies is an entry, too. */
static int
make_dir(struct unpack *u, int dir, const char *name)
{
	if (mkdirat(dir, name, 0755) < 0)
		return errno == EEXIST ? 0 : -1;
	if (++u->entries <= TRANSFER_ENTRIES_MAX)
		return 0;
	errno = EDQUOT;
	return -1;
}

/* The directory that holds path, opened link by link; *ret_last: within path. */
static int
parent(struct unpack *u, const char *path, bool make, const char **ret_last)
{
	int dir = fcntl(u->top, F_DUPFD_CLOEXEC, 0);
	const char *slash;

	while (dir >= 0 && (slash = strchr(path, '/'))) {
		CLEANUP_FREE char *part = mem_strn(path, (size_t)(slash - path));
		int next;

		if (make && make_dir(u, dir, part) < 0) {
			close(dir);
			return -1;
		}
		next = openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
		int saved = errno;
		close(dir);
		errno = saved;
		dir = next;
		path = slash + 1;
	}
	*ret_last = path;
	return dir;
}

static int
write_at(int fd, const char *data, size_t len, int64_t at)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, data, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		data += n;
		len -= (size_t)n;
		at += n;
	}
	return 0;
}

static int
bad_archive(const struct unpack *u, struct err *err)
{
	const char *text = archive_error_string(u->in);

	return err_set(err, ERR_PROTOCOL, "what came is no whole archive: %.200s",
	    text ? text : "cut off");
}

/* Its length is bounded as it is said, and as it comes. */
static int
take_data(struct unpack *u, int fd, const char *path, struct err *err)
{
	const void *data;
	size_t len;
	int64_t at;
	int rc;

	while ((rc = archive_read_data_block(u->in, &data, &len, &at)) ==
	    ARCHIVE_OK) {
		if (at < 0 || (uint64_t)at + len > TRANSFER_BYTES_MAX ||
		    (u->bytes += len) > TRANSFER_BYTES_MAX)
			return err_set(err, ERR_LIMIT, "more than %llu MiB",
			    TRANSFER_BYTES_MAX >> 20);
		if (write_at(fd, data, len, at) < 0)
			return err_set_errno(err, errno, "writing %s", path);
	}
	return rc == ARCHIVE_EOF ? 0 : bad_archive(u, err);
}

static int
take_file(struct unpack *u, struct archive_entry *e, int dir, const char *last,
	const char *path, struct err *err)
{
	CLEANUP_CLOSE int fd = openat(dir, last, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600 | (archive_entry_perm(e) & 0777));

	if (fd < 0)
		return err_set_errno(err, errno, "making %s", path);
	if (take_data(u, fd, path, err) < 0)
		return -1;
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = archive_entry_mtime(e) } };
	(void)futimens(fd, times);
	return 0;
}

/* A second name of a file that came before, and of nothing else. */
static int
take_hard_link(struct unpack *u, const char *from, int dir, const char *last,
	const char *path, struct err *err)
{
	CLEANUP_FREE char *clean = clean_path(from);
	const char *name;
	struct stat st;

	if (!clean || !is_wanted(u, clean))
		return err_set(err, ERR_PROTOCOL, "%s is a second name of something "
		    "that was not asked for", path);
	CLEANUP_CLOSE int other = parent(u, clean, false, &name);
	if (other < 0 || fstatat(other, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || linkat(other, name, dir, last, 0) < 0)
		return err_set(err, ERR_PROTOCOL, "%s is a second name of something "
		    "that is not there", path);
	return 0;
}

static int
take_kind(struct unpack *u, struct archive_entry *e, const char *path,
	struct err *err)
{
	const char *last, *hard = archive_entry_hardlink(e);
	const char *target = archive_entry_symlink(e);
	mode_t type = archive_entry_filetype(e);
	CLEANUP_CLOSE int dir = parent(u, path, true, &last);

	if (dir < 0)
		return err_set_errno(err, errno, "the way to %s", path);
	if (hard)
		return take_hard_link(u, hard, dir, last, path, err);
	if (type == AE_IFREG)
		return take_file(u, e, dir, last, path, err);
	if (type == AE_IFDIR && mkdirat(dir, last, 0755) < 0 && errno != EEXIST)
		return err_set_errno(err, errno, "making %s", path);
	if (type == AE_IFLNK && (!target || !transfer_link_stays(path, target)))
		return err_set(err, ERR_PROTOCOL, "the link %s leads out of what was "
		    "asked for", path);
	if (type == AE_IFLNK && symlinkat(target, dir, last) < 0)
		return err_set_errno(err, errno, "making the link %s", path);
	if (type == AE_IFDIR || type == AE_IFLNK)
		return 0;
	return err_set(err, ERR_PROTOCOL, "%s is neither a file nor a directory nor "
	    "a link", path);
}

/* 1: there may be more. */
static int
take_next(struct unpack *u, struct err *err)
{
	struct archive_entry *e;
	int rc = archive_read_next_header(u->in, &e);
	const char *said;

	if (rc == ARCHIVE_EOF)
		return 0;
	if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
		return bad_archive(u, err);
	if (++u->entries > TRANSFER_ENTRIES_MAX)
		return err_set(err, ERR_LIMIT, "more than %u files",
		    TRANSFER_ENTRIES_MAX);
	said = archive_entry_pathname(e);
	if (!said)
		said = archive_entry_pathname_utf8(e);
	CLEANUP_FREE char *path = said ? clean_path(said) : NULL;
	if (!path || !is_wanted(u, path))
		return err_set(err, ERR_PROTOCOL, "the archive holds \"%.200s\", which "
		    "was not asked for", said ? said : "");
	return take_kind(u, e, path, err) < 0 ? -1 : 1;
}

static int
take_all(struct unpack *u, int fd, struct err *err)
{
	int rc;

	u->in = archive_read_new();
	REQUIRE(u->in);
	archive_read_support_format_tar(u->in);
	archive_read_support_filter_none(u->in);
	if (archive_read_open_fd(u->in, fd, 65536) != ARCHIVE_OK)
		rc = bad_archive(u, err);
	else
		while ((rc = take_next(u, err)) > 0)
			;
	archive_read_free(u->in);
	if (rc == 0 && u->entries == 0)
		rc = err_set(err, ERR_PROTOCOL, "the archive that came is empty");
	return rc;
}

int
transfer_unpack(int fd, const char *dir, const char *name, struct err *err)
{
	CLEANUP_FREE char *temporary = mem_printf("%s/.gatehouse-get-XXXXXX", dir);
	struct unpack u = { .name = name };
	struct stat st;
	int rc;

	if (fstatat(AT_FDCWD, dir, &st, 0) < 0 || !mkdtemp(temporary))
		return err_set_errno(err, errno, "%s can't be written in", dir);
	u.top = open(temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_FREE char *from = mem_printf("%s/%s", temporary, name);
	CLEANUP_FREE char *to = mem_printf("%s/%s", dir, name);
	rc = u.top < 0 ? err_set_errno(err, errno, "%s", temporary) :
	    take_all(&u, fd, err);
	if (rc == 0 && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0)
		rc = errno == EEXIST ? err_set(err, ERR_EXISTS, "%s exists already",
		    to) : err_set_errno(err, errno, "%s", to);
	if (u.top >= 0)
		close(u.top);
	rmtree(temporary);
	return rc;
}
