/*
 * The keeper of one process tree on the host (backend local).  A subreaper:
 * whatever is started below it and loses its parent becomes its child, also
 * after setsid and double forks, so "kill all my children until none is left"
 * ends the whole tree, and ECHILD is the proof.
 *
 * Reports to the gateway over its channel.  Ends the tree when the gateway
 * (end of the channel) or the launcher (death signal) is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <grp.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

struct keeper {
	const struct seal *seal;
	const struct keeper_req *req;
	pid_t main;
	bool killing;
};

static void
report(const struct keeper *k, uint32_t type, uint32_t a, uint32_t b)
{
	struct wire_out out;

	wire_out_init(&out, type);
	if (type != CHILD_DEAD)
		wire_put_u32(&out, a);
	if (type == CHILD_EXITED)
		wire_put_u32(&out, b);
	/* If the gateway is gone the channel's end tells us, not this. */
	(void)wire_send(k->req->channel, &out, NULL, 0, MSG_DONTWAIT);
	wire_out_done(&out);
}

static void __attribute__((noreturn))
fail(const struct keeper *k, int errnum, const char *step)
{
	struct wire_out out;

	wire_out_init(&out, CHILD_FAILED);
	wire_put_u32(&out, (uint32_t)errnum);
	wire_put_str(&out, step);
	(void)wire_send(k->req->channel, &out, NULL, 0, MSG_DONTWAIT);
	_exit(0);
}

/* Descriptors to 0, 1, 2...; nothing else stays open but `status`. */
static const char *
main_fds(const struct keeper_req *req, int *status)
{
	int up[WIRE_FDS_MAX];
	int low = WIRE_FDS_MAX + 8;

	*status = fcntl(*status, F_DUPFD_CLOEXEC, low);
	for (size_t i = 0; i < req->nfds; i++) {
		up[i] = req->fds[i] >= 0 ?
			fcntl(req->fds[i], F_DUPFD_CLOEXEC, low) :
			open("/dev/null", O_RDWR | O_CLOEXEC);
		if (up[i] >= 0 && up[i] < low)
			up[i] = sys_fd_up(up[i], low);
		if (up[i] < 0)
			return "arrange descriptors";
	}
	for (size_t i = 0; i < req->nfds; i++)
		if (dup2(up[i], (int)i) < 0)
			return "arrange descriptors";
	sys_close_range((unsigned)req->nfds, (unsigned)*status - 1);
	sys_close_range((unsigned)*status + 1, ~0u);
	return NULL;
}

static const char *
main_user(const struct seal *seal)
{
	if (!seal->local_user)
		return NULL;
	/* Safe: numbers come from the seal only, groups first, and the saved
	 * ids go too, so there is no way back. */
	if (setgroups(seal->local_ngroups, seal->local_groups) < 0 ||
	    setresgid(seal->local_gid, seal->local_gid, seal->local_gid) < 0 ||
	    setresuid(seal->local_uid, seal->local_uid, seal->local_uid) < 0)
		return "change to the user of local commands";
	return NULL;
}

/* The command itself, until it is exec'ed; a failure goes into the pipe. */
static void __attribute__((noreturn))
main_exec(const struct keeper *k, int status, pid_t keeper)
{
	const char *step;
	struct { int errnum; char step[60]; } failure = { 0, "" };

	sys_signals_default();
	setsid();	/* its signals to its own group don't meet the keeper */
	step = main_fds(k->req, &status);
	if (!step)
		step = main_user(k->seal);
	if (!step && k->req->terminal && ioctl(0, TIOCSCTTY, 0) < 0)
		step = "take its terminal";
	/* After the last change of ids, which would clear it; then the parent
	 * is checked, as it may have died before. */
	if (!step && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != keeper))
		step = "tie it to its keeper";
	if (!step && chdir(k->req->cwd) < 0)
		step = "enter its directory";
	if (!step) {
		union { const char **in; char *const *out; } argv, env;
		argv.in = k->req->argv;
		env.in = k->req->env;
		execve(k->req->argv[0], argv.out, env.out);
		step = "execute it";
	}
	failure.errnum = errno;
	if (sys_format(failure.step, sizeof(failure.step), "%s", step) == 0 &&
	    write(status, &failure, sizeof(failure)) < 0)
		_exit(126);
	_exit(127);
}

/* Whose frame it is may be no root: nothing but an unnamed pipe or a terminal
 * changes hands by our rights, whatever descriptor came. */
static bool
may_be_given(int fd, bool terminal)
{
	struct stat st;
	struct statfs fs;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return false;
	return (S_ISFIFO(st.st_mode) && fs.f_type == PIPEFS_MAGIC) ||
		(terminal && S_ISCHR(st.st_mode) &&
		fs.f_type == DEVPTS_SUPER_MAGIC);
}

static void
main_start(struct keeper *k)
{
	struct { int errnum; char step[60]; } failure;
	int status[2];
	pid_t self = getpid();

	/* A pipe's owner decides who may reopen it as /dev/stderr, a terminal's
	 * who may by its name: give ours to the user that will write to it. */
	for (size_t i = 0; k->seal->local_user && i < k->req->nfds; i++)
		if (k->req->fds[i] >= 0 &&
		    may_be_given(k->req->fds[i], k->req->terminal) &&
		    fchown(k->req->fds[i], k->seal->local_uid, k->seal->local_gid) < 0)
			fail(k, errno, "give the pipes to the user");
	if (pipe2(status, O_CLOEXEC) < 0)
		fail(k, errno, "make a pipe");
	k->main = fork();
	if (k->main < 0)
		fail(k, errno, "fork");
	if (k->main == 0)
		main_exec(k, status[1], self);
	close(status[1]);
	for (size_t i = 0; i < k->req->nfds; i++)
		if (k->req->fds[i] >= 0)
			close(k->req->fds[i]);
	/* Ends at exec (close-on-exec) or with the failure. */
	if (read(status[0], &failure, sizeof(failure)) == sizeof(failure)) {
		failure.step[sizeof(failure.step) - 1] = 0;
		waitpid(k->main, NULL, 0);
		fail(k, failure.errnum, failure.step);
	}
	close(status[0]);
	report(k, CHILD_STARTED, (uint32_t)k->main, 0);
}

/* False when no child is left. */
static bool
keeper_reap(struct keeper *k, pid_t self)
{
	int status, main_status = 0;
	bool ended = false;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == k->main) {
			ended = true;
			main_status = status;
		}
	bool left = !(pid < 0 && errno == ECHILD);
	if (ended) {
		report(k, CHILD_EXITED, (uint32_t)main_status,
			left ? tree_count(self) : 0);
		k->killing = k->killing || !k->req->keep;
	}
	return left;
}

static void
keeper_loop(struct keeper *k, int signals)
{
	struct signalfd_siginfo info;
	unsigned char frame[64];
	int fds[1], wait_ms = -1;
	size_t nfds;
	bool channel = true;
	pid_t self = getpid();

	while (keeper_reap(k, self)) {
		/* Between two passes a moment, growing, for the dying. */
		if (k->killing) {
			tree_kill(self);
			wait_ms = wait_ms < 0 ? 2 : wait_ms < 200 ? wait_ms * 2 : 200;
		}
		struct pollfd p[2] = {
			{ .fd = signals, .events = POLLIN },
			{ .fd = channel ? k->req->channel : -1, .events = POLLIN },
		};
		poll(p, 2, wait_ms);
		while (read(signals, &info, sizeof(info)) > 0)
			if (info.ssi_signo == SIGTERM)
				k->killing = true;
		if (!p[1].revents)
			continue;
		struct wire_in in;
		ssize_t n = wire_recv(k->req->channel, frame, sizeof(frame), fds,
			0, &nfds, MSG_DONTWAIT);
		if (n <= 0 && errno != EAGAIN)
			channel = false;
		if (n == 0)
			channel = false;
		if (!channel || (n > 0 &&
		    wire_in_init(&in, frame, (size_t)n) == CHILD_KILL))
			k->killing = true;
	}
}

void
keeper_main(const struct seal *seal, const struct keeper_req *req)
{
	struct keeper k = { .seal = seal, .req = req };
	sigset_t set;

	setsid();
	prctl(PR_SET_NAME, "gatehouse-keep");
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		fail(&k, errno, "become the keeper of a tree");
	/* Our ids never change, so the death signal stays; TERM, not KILL:
	 * we must still kill the tree. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != req->launcher)
		fail(&k, ESRCH, "be tied to the launcher");
	main_start(&k);
	keeper_loop(&k, signals);
	report(&k, CHILD_DEAD, 0, 0);
	_exit(0);
}
