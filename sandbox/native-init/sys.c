/* System calls that Debian 12's libc has no wrapper for, and small helpers. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

#ifndef MNT_DETACH
#define MNT_DETACH 2	/* sys/mount.h clashes with linux/mount.h */
#endif
int umount2(const char *target, int flags);

int
sys_pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

int
sys_pidfd_kill(int pidfd)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

int
sys_close_range(unsigned first, unsigned last)
{
	return (int)syscall(SYS_close_range, first, last, 0);
}

int
sys_open_beneath(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	/* A rename during the walk makes it EAGAIN: try again, bounded. */
	for (int i = 0; i < 16; i++) {
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

int
sys_open_tree(int dir, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dir, path,
		flags | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

int
sys_mount_attr(int fd, uint64_t set, uint64_t propagation, bool recursive)
{
	struct mount_attr attr = { .attr_set = set, .propagation = propagation };

	return (int)syscall(SYS_mount_setattr, fd, "",
		AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attr,
		sizeof(attr));
}

int
sys_move_mount(int fd, const char *target)
{
	return (int)syscall(SYS_move_mount, fd, "", AT_FDCWD, target,
		MOVE_MOUNT_F_EMPTY_PATH);
}

int
sys_pivot_root(void)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return -1;
	/* The old root now lies over the new one: take it off. */
	if (umount2(".", MNT_DETACH) < 0)
		return -1;
	return chdir("/");
}

pid_t
sys_clone(unsigned long flags, pid_t *parent_tid)
{
	/* Like fork: the child goes on on a copy of our stack. */
#if defined(__s390x__)
	return (pid_t)syscall(SYS_clone, NULL, flags | SIGCHLD, parent_tid, NULL, 0);
#else
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, parent_tid, NULL, 0);
#endif
}

int
sys_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -1;
	size_t len = strlen(text);
	ssize_t n = write(fd, text, len);
	int errnum = n < 0 ? errno : EIO;
	close(fd);
	if (n == (ssize_t)len)
		return 0;
	errno = errnum;
	return -1;
}

int
sys_fd_up(int fd, int low)
{
	int up = fcntl(fd, F_DUPFD_CLOEXEC, low);

	if (up >= 0)
		close(fd);
	return up;
}

void
sys_signals_default(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);	/* fails for KILL, STOP: as wanted */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int
sys_format(char *out, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(out, size, fmt, ap);
	va_end(ap);
	return n < 0 || (size_t)n >= size ? -1 : 0;
}
