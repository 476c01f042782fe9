/*
 * LD_PRELOAD: kills its process at the Nth durable act (KILL_AT=N: writes and
 * syncs of files below KILL_DIR), before it or, with KILL_AFTER=1, right after.
 * SIGKILL: nothing of the process gets to tidy up.  Children of the launcher
 * start with an empty environment, so only the gateway itself counts.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long left = -1;	/* acts until the end; -1: none is counted */

__attribute__((constructor)) static void
begin(void)
{
	const char *at = getenv("KILL_AT");

	if (at && getenv("KILL_DIR"))
		left = atol(at);
}

static bool
is_ours(int fd)
{
	char name[32], path[4096];
	const char *dir = getenv("KILL_DIR");

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(name, path, sizeof(path) - 1);

	return n > 0 && dir && strncmp(path, dir, strlen(dir)) == 0;
}

/* True: this is the act. */
static bool
count(int fd)
{
	return left > 0 && is_ours(fd) && atomic_fetch_sub(&left, 1) == 1;
}

static void
end(void)
{
	kill(getpid(), SIGKILL);
	pause();
}

#define ACT(name, args, fd, ...) \
	static __typeof__(&name) real; \
	bool now = count(fd); \
	if (!real) \
		*(void **)&real = dlsym(RTLD_NEXT, #name); \
	if (now && !getenv("KILL_AFTER")) \
		end(); \
	__typeof__(real args) rc = real args; \
	if (now) \
		end(); \
	return rc

ssize_t
pwrite64(int fd, const void *data, size_t n, off64_t at)
{
	ACT(pwrite64, (fd, data, n, at), fd);
}

ssize_t
pwrite(int fd, const void *data, size_t n, off_t at)
{
	ACT(pwrite, (fd, data, n, at), fd);
}

int
fdatasync(int fd)
{
	ACT(fdatasync, (fd), fd);
}

int
fsync(int fd)
{
	ACT(fsync, (fd), fd);
}

int
ftruncate64(int fd, off64_t size)
{
	ACT(ftruncate64, (fd, size), fd);
}
