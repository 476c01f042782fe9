/*
 * Level landlock: for containers in which no user namespace may be made.  A
 * command is confined by Landlock and seccomp alone, sees the host's processes,
 * and its tree is killed by its keeper:
 *
 *	launcher > init (one a box) > keeper (one a command) > command
 *
 * Init and keepers are subreapers outside the command's Landlock domain, so a
 * command can't signal them (ABI 6), or has another uid than the gateway; if it
 * ends its keeper all the same, its orphans come to init, which kills them
 * before the tree counts as dead, and those of an init to the launcher.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

#define ABI_SCOPES 6	/* Landlock keeps signals and abstract sockets in */

/* The workspace must be what its path leads to, for the sandbox's uid, too. */
static void
check_reach(struct box *box, int workspace)
{
	struct stat held, seen;

	box->detail = box->home;
	if (fstat(workspace, &held) < 0 || stat(box->home, &seen) < 0 ||
	    access(box->home, R_OK | W_OK | X_OK) < 0)
		box_fail(box, BOX_STEP_REACH);
	if (held.st_dev != seen.st_dev || held.st_ino != seen.st_ino) {
		errno = ESTALE;
		box_fail(box, BOX_STEP_REACH);
	}
	box->detail = "";
}

void
bare_prepare(struct box *box)
{
	const struct seal *seal = box->seal;
	int state = seal_open_state(seal);

	/* With the gateway's own uid only the scopes protect it. */
	if (box->landlock_abi < (box->ids.change ? 1 : ABI_SCOPES)) {
		errno = ENOSYS;
		box_fail(box, BOX_STEP_LANDLOCK);
	}
	if (box->ids.uid == 0) {
		errno = EPERM;
		box_fail(box, BOX_STEP_USER);
	}
	if (state < 0)
		box_fail(box, BOX_STEP_STATE);
	box->detail = box->workspace;
	int fd = sys_open_beneath(state, box->workspace, O_PATH | O_DIRECTORY);
	if (fd < 0 || sys_format(box->home, sizeof(box->home), "%s/%s",
	    seal->state_dir, box->workspace) < 0)
		box_fail(box, BOX_STEP_WORKSPACE);
	/* Safe as in graft.c: beneath the sealed directory, through no link. */
	if (box->ids.change &&
	    fchownat(fd, "", box->ids.uid, box->ids.gid, AT_EMPTY_PATH) < 0)
		box_fail(box, BOX_STEP_WORKSPACE);
	if (confine_no_new_privs() < 0)
		box_fail(box, BOX_STEP_CAPS);
	if (ids_become(&box->ids) < 0)
		box_fail(box, BOX_STEP_USER);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != box->launcher)
		box_fail(box, BOX_STEP_REQUEST);
	check_reach(box, fd);
	if (mkdirat(fd, BARE_TMP, 0700) < 0 && errno != EEXIST) {
		box->detail = BARE_TMP;
		box_fail(box, BOX_STEP_WORKSPACE);
	}
	close(fd);
	close(state);
}

void
bare_confine_init(struct box *box)
{
	/* TERM, not KILL: trees must be killed first.  The parent is the launcher
	 * (CLONE_PARENT); if it died meanwhile, the life pipe tells. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || confine_caps(false) < 0)
		box_fail(box, BOX_STEP_CAPS);
}

/* ---- one command ------------------------------------------------------------- */

static void __attribute__((noreturn))
confined(const struct box *box, struct shared *shared, pid_t keeper)
{
	/* Should the keeper be killed: init does the rest. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != keeper)
		_exit(1);
	if (confine_rlimits(box) < 0)
		cmd_failed(shared, BOX_STEP_RLIMIT);
	if (landlock_confine(box) < 0)
		cmd_failed(shared, BOX_STEP_LANDLOCK);
	if (confine_seccomp(box) < 0)
		cmd_failed(shared, BOX_STEP_SECCOMP);
	cmd_exec(shared, box->home);
}

struct keep {
	const struct shared *shared;
	pid_t main, self;
	bool killing;
};

/* False when no child is left. */
static bool
keep_reap(struct keep *k)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == k->main) {
			cmd_ended(k->shared, status, tree_count(k->self));
			k->main = 0;
			k->killing = k->killing || !cmd_keeps(k->shared);
		}
	return !(pid < 0 && errno == ECHILD);
}

static void __attribute__((noreturn))
keep(struct keep *k, int signals)
{
	struct signalfd_siginfo info;
	int wait_ms = -1;

	while (keep_reap(k)) {
		if (k->killing) {
			tree_kill(k->self);
			wait_ms = wait_ms < 0 ? 2 : wait_ms < 200 ? wait_ms * 2 : 200;
		}
		struct pollfd p = { .fd = signals, .events = POLLIN };
		poll(&p, 1, wait_ms);
		while (read(signals, &info, sizeof(info)) > 0)
			k->killing = k->killing || info.ssi_signo == SIGTERM;
	}
	_exit(0);
}

void
bare_cmd_main(const struct box *box, int request, int status)
{
	struct keep k = { .self = getpid() };
	pid_t parent = getppid();
	struct shared *shared;
	sigset_t set;

	prctl(PR_SET_NAME, "gatehouse-keep");
	cmd_place(request, status);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	shared = cmd_shared();
	if (signals < 0 || !shared || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		cmd_fail(BOX_STEP_SPARE);
	k.main = fork();
	if (k.main < 0)
		cmd_fail(BOX_STEP_SPARE);
	if (k.main == 0)
		confined(box, shared, k.self);
	close(CMD_REQUEST_FD);
	k.shared = shared;
	keep(&k, signals);
}
