/*
 * PID 1 of one command, and the command itself as PID 2.  PID 1 reaps, tells
 * how the command ended and what it left behind, and ends; the kernel then
 * kills the rest of the namespace.  (A shell as PID 1 would ignore its own
 * signals.)  All confinement is in force before the fork, so it holds for
 * PID 1, too, and a spare only waits for its request.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"
#include "sandbox/shell.h"

#define REQUEST_FD CMD_REQUEST_FD
#define STATUS_FD CMD_STATUS_FD

/* Written by the command before exec, read by PID 1 after its end. */
struct shared {
	uint32_t step, errnum;
	uint32_t keep;
};

void
cmd_fail(enum box_step step)
{
	struct box_status status = {
		.failed_step = step, .failed_errno = (uint32_t)errno,
	};

	if (write(STATUS_FD, &status, sizeof(status)) < 0)
		_exit(2);
	_exit(1);
}

/* Puts what came with the request at 0 to 5 and closes the rest. */
static bool
place_fds(const int *fds, size_t nfds, uint32_t flags)
{
	/* Give-back, out[, err][, feed], script[, stdin][, rpc]: see job.c. */
	bool split = flags & BOX_RUN_SPLIT, feed = flags & BOX_RUN_FEED;
	bool input = flags & BOX_RUN_STDIN, pty = flags & BOX_RUN_PTY;
	bool rpc = flags & BOX_RUN_RPC;
	size_t script = 2u + split + feed;
	int up[JOB_FDS_MAX];

	if (nfds != script + 1 + input + rpc || nfds > JOB_FDS_MAX)
		return false;
	for (size_t i = 0; i < nfds; i++)
		if ((up[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 40)) < 0)
			return false;
	if (dup2(up[1], 1) < 0 || dup2(up[split ? 2 : 1], 2) < 0 ||
	    dup2(up[0], 3) < 0 || dup2(up[script], 4) < 0 ||
	    (input && dup2(up[script + 1], 0) < 0) ||
	    (rpc && dup2(up[nfds - 1], SHELL_FD_RPC) < 0) ||
	    (feed && dup2(up[script - 1], 0) < 0) || (pty && dup2(up[1], 0) < 0))
		return false;
	return sys_close_range(rpc ? SHELL_FD_RPC + 1 : SHELL_FD_RPC, ~0u) == 0;
}

/* Adds where temporary files go, for want of a /tmp. */
static const char **
with_tmp(const char **env, size_t n, const char *home)
{
	static char text[PATH_MAX + 16];
	const char **more = calloc(n + 2, sizeof(*more));

	if (!more || sys_format(text, sizeof(text), "TMPDIR=%s/" BARE_TMP, home) < 0)
		return env;
	memcpy(more, env, n * sizeof(*more));
	more[n] = text;
	return more;
}

void
cmd_failed(struct shared *shared, enum box_step step)
{
	shared->errnum = (uint32_t)errno;
	shared->step = step;
	_exit(127);
}

void
cmd_exec(struct shared *shared, const char *home)
{
	static unsigned char frame[WIRE_FRAME_MAX];
	static const char *const argv[] = { SHELL_ARGV };
	union { const char *const *in; char *const *out; } args = { .in = argv };
	union { const char **in; char *const *out; } env;
	int fds[WIRE_FDS_MAX];
	size_t nfds, n;
	struct wire_in in;

	close(STATUS_FD);
	ssize_t len = wire_recv(REQUEST_FD, frame, sizeof(frame), fds,
		WIRE_FDS_MAX, &nfds, 0);
	if (len <= 0)
		_exit(1);	/* never used */
	wire_in_init(&in, frame, (size_t)len);
	(void)wire_get_u32(&in);
	uint32_t flags = wire_get_u32(&in);
	env.in = wire_get_strv(&in, &n);
	shared->keep = (flags & BOX_RUN_KEEP) != 0;
	shared->step = BOX_STEP_REQUEST;
	errno = EBADMSG;
	if (wire_in_end(&in) && place_fds(fds, nfds, flags)) {
		setsid();
		if (flags & BOX_RUN_PTY && ioctl(0, TIOCSCTTY, 0) < 0)
			goto fail;
		sys_signals_default();
		shared->step = BOX_STEP_EXEC;
		if (home)
			env.in = with_tmp(env.in, n, home);
		execve(SHELL_PATH, args.out, env.out);
	}
fail:
	shared->errnum = (uint32_t)errno;
	_exit(127);
}

/* Processes of this namespace other than us and the dead. */
static uint32_t
count_others(void)
{
	uint32_t count = 0;
	struct dirent *e;
	DIR *dir;

	if (kill(-1, 0) < 0 && errno == ESRCH)
		return 0;
	dir = opendir("/proc");
	if (!dir)
		return 1;
	while ((e = readdir(dir))) {
		char path[64], text[300];
		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    strcmp(e->d_name, "1") == 0 ||
		    sys_format(path, sizeof(path), "/proc/%s/stat", e->d_name) < 0)
			continue;
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		if (n <= 0)
			continue;
		text[n] = 0;
		const char *p = strrchr(text, ')');
		if (p && p[1] && p[2] != 'Z' && p[2] != 'X')
			count++;
	}
	closedir(dir);
	return count;
}

bool
cmd_keeps(const struct shared *shared)
{
	return shared->keep != 0;
}

void
cmd_ended(const struct shared *shared, int wait_status, uint32_t leftovers)
{
	struct box_status status;

	memset(&status, 0, sizeof(status));
	if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 127 &&
	    shared->errnum) {
		status.failed_step = shared->step;
		status.failed_errno = shared->errnum;
	}
	status.wait_status = (uint32_t)wait_status;
	status.leftovers = leftovers;
	if (write(STATUS_FD, &status, sizeof(status)) < 0)
		_exit(1);
	close(STATUS_FD);
}

struct shared *
cmd_shared(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared),
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return shared == MAP_FAILED ? NULL : shared;
}

/* Both were made close-on-exec and are below 30: moved, the rest closed. */
void
cmd_place(int request, int status)
{
	if (dup3(status, STATUS_FD, O_CLOEXEC) < 0 ||
	    dup3(request, REQUEST_FD, O_CLOEXEC) < 0 ||
	    sys_close_range(3, REQUEST_FD - 1) < 0 ||
	    sys_close_range(STATUS_FD + 1, ~0u) < 0)
		_exit(1);
}

static void __attribute__((noreturn))
watch_over(pid_t main, const struct shared *shared)
{
	int wait_status, main_status = 0;
	pid_t pid;

	/* Any orphan of the namespace comes to us, too. */
	while ((pid = waitpid(-1, &wait_status, 0)) != main)
		if (pid < 0 && errno != EINTR)
			_exit(1);
	main_status = wait_status;
	while (waitpid(-1, &wait_status, WNOHANG) > 0)
		;
	cmd_ended(shared, main_status, count_others());
	while (shared->keep && (waitpid(-1, &wait_status, 0) > 0 || errno == EINTR))
		;
	_exit(0);
}

void
cmd_main(const struct box *box, int request, int status)
{
	enum box_step step;

	prctl(PR_SET_NAME, "gatehouse-cmd");
	cmd_place(request, status);
	step = proc_mount_private();
	if (step != BOX_STEP_NONE)
		cmd_fail(step);
	if (confine_caps(false) < 0)
		cmd_fail(BOX_STEP_CAPS);
	if (confine_rlimits(box) < 0)
		cmd_fail(BOX_STEP_RLIMIT);
	if (landlock_confine(box) < 0)
		cmd_fail(BOX_STEP_LANDLOCK);
	struct shared *shared = cmd_shared();
	if (!shared)
		cmd_fail(BOX_STEP_SPARE);
	/* Last, as it forbids most of what came before. */
	if (confine_seccomp(box) < 0)
		cmd_fail(BOX_STEP_SECCOMP);
	pid_t pid = fork();
	if (pid < 0)
		cmd_fail(BOX_STEP_SPARE);
	if (pid == 0)
		cmd_exec(shared, NULL);
	close(REQUEST_FD);
	watch_over(pid, shared);
}
