#include "store/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

static char *
beside(const char *path, const char *suffix)
{
	return mem_printf("%s%s", path, suffix);
}

bool
reserve_exists(const char *path)
{
	char *CLEANUP_FREE name = beside(path, ".reserve");

	return access(name, F_OK) == 0;
}

int
reserve_make(const char *path, off_t size, struct err *err)
{
	char *CLEANUP_FREE name = beside(path, ".reserve");
	int CLEANUP_CLOSE fd = open(name,
	    O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc = fd == -1 ? errno : posix_fallocate(fd, 0, size);

	if (rc == 0)
		return 0;
	if (fd != -1)
		(void)unlink(name);	/* half a reserve helps nobody */
	return err_set_errno(err, rc, "keep %d MB free in %s",
	    (int)(size >> 20), name);
}

bool
reserve_spend(const char *path)
{
	char *CLEANUP_FREE name = beside(path, ".reserve");

	return unlink(name) == 0;
}

bool
damage_marked(const char *path)
{
	char *CLEANUP_FREE name = beside(path, ".check-failed");

	return access(name, F_OK) == 0;
}

void
damage_mark(const char *path)
{
	char *CLEANUP_FREE name = beside(path, ".check-failed");
	int CLEANUP_CLOSE fd = open(name,
	    O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd == -1)
		log_error("store", NULL, "cannot create %s (errno %d): after a "
		    "restart the damaged database would be used again",
		    name, errno);
}

void
damage_unmark(const char *path)
{
	char *CLEANUP_FREE name = beside(path, ".check-failed");

	(void)unlink(name);
}

static int
move(const char *path, const char *from, const char *stamp, struct err *err)
{
	char *CLEANUP_FREE old = beside(path, from);
	char *CLEANUP_FREE new = mem_printf("%s.damaged-%s%s", path, stamp, from);

	if (rename(old, new) == 0 || errno == ENOENT)
		return 0;
	return err_set_errno(err, errno, "set the damaged %s aside as %s", old,
	    new);
}

int
damage_set_aside(const char *path, const char *stamp, struct err *err)
{
	char *CLEANUP_FREE shm = beside(path, "-shm");

	if (move(path, "", stamp, err) == -1 ||
	    move(path, "-wal", stamp, err) == -1)
		return -1;
	(void)unlink(shm);	/* an index of the log, made anew by any reader */
	damage_unmark(path);
	return 0;
}
