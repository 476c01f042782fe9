/* The command of a far helper: its descriptors, its shell, its exec. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/native-init/far.h"
#include "sandbox/native-init/helper.h"
#include "sandbox/shell.h"

#define LOW 16		/* descriptors are moved above, then placed */

struct failure {
	int errnum;
	char step[60];
};

/* Theirs: what becomes 0 to 4 of the command. */
struct theirs {
	int fds[5];
};

/* With the script; position 0, so that a shell can open it as /dev/fd/4. */
static int
script_file(const struct far_queue *script)
{
	int fd = memfd_create("command", MFD_CLOEXEC);
	size_t done = 0;

	if (fd < 0 && errno == ENOSYS) {	/* a kernel before 3.17 */
		FILE *f = tmpfile();
		fd = f ? fcntl(fileno(f), F_DUPFD_CLOEXEC, LOW) : -1;
		if (f)
			fclose(f);
	}
	while (fd >= 0 && done < script->len) {
		ssize_t n = write(fd, script->data + script->at + done,
		    script->len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static bool
pipe_for(int *ours, int *theirs, bool we_read)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return false;
	*ours = pair[we_read ? 0 : 1];
	*theirs = pair[we_read ? 1 : 0];
	return fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

static bool
make_ends(const struct far_request *req, struct far_ends *ends,
	struct theirs *theirs)
{
	*ends = (struct far_ends){ -1, -1, -1, -1 };
	for (int i = 0; i < 5; i++)
		theirs->fds[i] = -1;
	if (req->flags & FAR_STDIN) {
		if (!pipe_for(&ends->in, &theirs->fds[0], false))
			return false;
	} else {
		theirs->fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	if (!pipe_for(&ends->out, &theirs->fds[1], true) ||
	    !pipe_for(&ends->given, &theirs->fds[SHELL_FD_GIVEBACK], true))
		return false;
	if (req->flags & FAR_SPLIT) {
		if (!pipe_for(&ends->err, &theirs->fds[2], true))
			return false;
	} else {
		theirs->fds[2] = fcntl(theirs->fds[1], F_DUPFD_CLOEXEC, 3);
	}
	theirs->fds[SHELL_FD_SCRIPT] = script_file(&req->script);
	return theirs->fds[SHELL_FD_SCRIPT] >= 0;
}

/* The strings of the environment; the array ends with NULL. */
static char **
environment(const struct far_queue *env)
{
	char *p = (char *)env->data + env->at, *end = p + env->len;
	size_t n = 0;
	char **list;

	for (char *q = p; q < end; q++)
		n += *q == 0;
	list = calloc(n + 1, sizeof(*list));
	for (size_t i = 0; list && i < n; i++) {
		list[i] = p;
		p += strlen(p) + 1;
	}
	return list;
}

static const char *
place(struct theirs *t, int *status)
{
	for (int i = 0; i < 5; i++) {
		t->fds[i] = fcntl(t->fds[i], F_DUPFD_CLOEXEC, LOW);
		if (t->fds[i] < 0)
			return "arrange descriptors";
	}
	*status = fcntl(*status, F_DUPFD_CLOEXEC, LOW);
	for (int i = 0; i < 5; i++)
		if (dup2(t->fds[i], i) < 0)
			return "arrange descriptors";
	/* 5 to the status pipe are close-on-exec, all of them ours. */
	return *status < 0 ? "arrange descriptors" : NULL;
}

static const char *
find_bash(void)
{
	static const char *const paths[] = { SHELL_PATH, "/usr/bin/bash",
		"/usr/local/bin/bash" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (access(paths[i], X_OK) == 0)
			return paths[i];
	return NULL;
}

static void __attribute__((noreturn))
command(const struct far_request *req, struct theirs *theirs, int status,
	pid_t keeper, const char *bash)
{
	static const char *const bash_argv[] = { SHELL_ARGV };
	static const char *const sh_argv[] = { "/bin/sh", "/dev/fd/4", NULL };
	union { const char *const *in; char *const *out; } argv;
	struct failure failure = { 0, "" };
	char **env = environment(&req->env);
	const char *step;

	sys_signals_default();
	setsid();
	umask(022);
	step = place(theirs, &status);
	/* The parent is looked at afterwards: it may have died before. */
	if (!step && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    getppid() != keeper))
		step = "tie it to its keeper";
	if (!step && req->dir[0] && chdir(req->dir) < 0)
		step = "enter its directory";
	if (!step && (req->flags & FAR_NO_USERNS) && far_refuse_userns() < 0)
		step = "refuse it new user namespaces";
	if (!step && env) {
		argv.in = bash ? bash_argv : sh_argv;
		execve(bash ? bash : "/bin/sh", argv.out, env);
		step = bash ? "execute bash" : "execute /bin/sh, and there is no "
		    "bash";
	}
	failure.errnum = errno;
	if (sys_format(failure.step, sizeof(failure.step), "%s",
	    step ? step : "keep its environment") == 0 &&
	    write(status, &failure, sizeof(failure)) < 0)
		_exit(126);
	_exit(127);
}

static void
close_theirs(struct theirs *theirs)
{
	for (int i = 0; i < 5; i++)
		if (theirs->fds[i] >= 0)
			close(theirs->fds[i]);
}

pid_t
far_cmd_start(const struct far_request *req, struct far_ends *ends,
	bool *ret_bash, const char **step)
{
	static struct failure failure;	/* *step points into it */
	struct theirs theirs;
	int status[2];
	const char *bash = find_bash();
	pid_t keeper = getpid(), pid;

	*ret_bash = bash != NULL;
	*step = "make pipes";
	if (!make_ends(req, ends, &theirs) || pipe2(status, O_CLOEXEC) < 0)
		return -1;
	*step = "fork";
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0)
		command(req, &theirs, status[1], keeper, bash);
	close_theirs(&theirs);
	close(status[1]);
	/* Ends at the exec, or with the failure. */
	ssize_t n = read(status[0], &failure, sizeof(failure));
	close(status[0]);
	if (n != (ssize_t)sizeof(failure))
		return pid;
	waitpid(pid, NULL, 0);
	failure.step[sizeof(failure.step) - 1] = 0;
	*step = failure.step;
	errno = failure.errnum;
	return -1;
}
