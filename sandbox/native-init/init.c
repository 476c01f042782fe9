/*
 * PID 1 of a sandbox: builds the root, then starts and kills commands at the
 * gateway's word.  It is a fork of the launcher, which was exec'ed with an
 * empty environment and holds no secret, so there is nothing to be read here;
 * and it can't be read (not dumpable).
 *
 * What it keeps is CAP_SYS_ADMIN over its own user namespace: the commands'
 * PID and mount namespaces need it.  It gives no power over the host (the
 * namespace has one uid, no network but its own) and no command can reach it:
 * each lives in a PID namespace below, cannot see it, and has no capability.
 *
 * Commands are prepared ahead while nothing runs: one spare waits with its
 * namespaces and filters ready.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

#define SPARE_DELAY_MS 20	/* after a start, if commands still run */
#define ORPHANS_MS 10		/* they may fork faster than one pass */

static struct init {
	struct box *box;
	int signals;
	struct job jobs[BOX_RUNS_MAX];
	struct job spare;
	unsigned live;
	bool bare, ending;
	bool orphans;		/* bare: of a keeper that was killed */
	unsigned char frame[WIRE_FRAME_MAX];
} init;

static void
send_ready(struct box *box)
{
	static const char *const names[] = BOX_NAMESPACES;
	struct wire_out out;
	char path[64];
	struct stat st;
	bool bare = box->level == BOX_BARE;
	int pidfd = bare ? box->living : sys_pidfd_open(getpid());

	wire_out_init(&out, BOX_READY);
	wire_put_u32(&out, (uint32_t)box->landlock_abi);
	wire_put_str(&out, box->limits);
	for (size_t i = 0; i < BOX_NNAMESPACES; i++) {
		if (sys_format(path, sizeof(path), "/proc/self/ns/%s", names[i]) < 0 ||
		    stat(path, &st) < 0)
			box_fail(box, BOX_STEP_PROC);
		wire_put_u64(&out, st.st_ino);
	}
	int fds[1 + BOX_LISTENERS_MAX] = { pidfd };
	for (size_t i = 0; i < box->nlisteners; i++)
		fds[1 + i] = box->listeners[i];
	if (pidfd < 0 || wire_send(box->channel, &out, fds, 1 + box->nlisteners, 0) < 0)
		_exit(1);
	/* The gateway's alone from here on: no command ever holds one. */
	for (size_t i = 0; i < 1 + box->nlisteners; i++)
		close(fds[i]);
	wire_out_done(&out);
}

static void
send_not_started(uint32_t id, enum box_step step, int errnum)
{
	struct wire_out out;

	wire_out_init(&out, BOX_NOT_STARTED);
	wire_put_u32(&out, id);
	wire_put_u32(&out, step);
	wire_put_u32(&out, (uint32_t)errnum);
	if (wire_send(init.box->channel, &out, NULL, 0, 0) < 0)
		_exit(0);	/* the gateway is gone: so are we, and all below */
	wire_out_done(&out);
}

static struct job *
job_slot(uint32_t id, bool free_one)
{
	for (size_t i = 0; i < BOX_RUNS_MAX; i++)
		if (free_one ? init.jobs[i].pid == 0 :
		    init.jobs[i].pid != 0 && init.jobs[i].id == id)
			return &init.jobs[i];
	return NULL;
}

static void
on_run(struct wire_in *in, size_t len, const int *fds, size_t nfds)
{
	uint32_t id = wire_get_u32(in), flags = wire_get_u32(in);
	struct job *job = job_slot(0, true);
	int give[JOB_FDS_MAX];
	size_t ngive = 0;

	if (in->bad || nfds < 1 || !job) {
		send_not_started(id, BOX_STEP_REQUEST, job ? EBADMSG : EAGAIN);
		return;
	}
	if (init.spare.pid) {
		*job = init.spare;
		memset(&init.spare, 0, sizeof(init.spare));
	} else if (job_prepare(init.box, job) < 0) {
		job->pid = 0;
		send_not_started(id, BOX_STEP_SPARE, errno);
		return;
	}
	job->id = id;
	init.live++;
	if (job_start(job, init.frame, len, flags, fds, nfds, give, &ngive) < 0) {
		int errnum = errno;
		job_kill(job);
		send_not_started(id, flags & BOX_RUN_PTY ? BOX_STEP_PTY :
			BOX_STEP_PIPES, errnum);
		return;
	}
	struct wire_out out;
	wire_out_init(&out, BOX_STARTED);
	wire_put_u32(&out, id);
	wire_put_u32(&out, 2);	/* the command is the second of its namespace */
	if (wire_send(init.box->channel, &out, give, ngive, 0) < 0)
		_exit(0);
	wire_out_done(&out);
	/* give[0] is our own pidfd, kept for the kill, or one end of what tells
	 * the tree's death, which job_release() closes. */
	for (size_t i = 1; i < ngive; i++)
		close(give[i]);
}

static void
on_kill(struct wire_in *in)
{
	struct job *job = job_slot(wire_get_u32(in), false);

	if (wire_in_end(in) && job)
		job_kill(job);
}

static void
end_all(void)
{
	if (!init.bare)
		_exit(0);	/* the kernel kills all that is below us */
	/* Nothing more is started; keepers kill their trees, then end. */
	init.ending = true;
	for (size_t i = 0; i < BOX_RUNS_MAX; i++)
		if (init.jobs[i].pid && !init.jobs[i].orphaned)
			job_kill(&init.jobs[i]);
	if (init.spare.pid)
		job_kill(&init.spare);
}

static void
on_channel(void)
{
	int fds[WIRE_FDS_MAX];
	size_t nfds;
	struct wire_in in;
	ssize_t n = wire_recv(init.box->channel, init.frame, sizeof(init.frame),
		fds, WIRE_FDS_MAX, &nfds, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		end_all();
		return;
	}
	uint32_t type = wire_in_init(&in, init.frame, (size_t)n);
	if (type == BOX_RUN)
		on_run(&in, (size_t)n, fds, nfds);
	else if (type == BOX_KILL)
		on_kill(&in);
	while (nfds)
		close(fds[--nfds]);
	/* The next command's PID 1 is a fork of us. */
	explicit_bzero(init.frame, (size_t)n);
}

/* Kills children that no keeper of ours is, until there are none. */
static void
orphans_kill(void)
{
	pid_t known[BOX_RUNS_MAX + 1];
	size_t n = 0;

	for (size_t i = 0; i < BOX_RUNS_MAX; i++)
		if (init.jobs[i].pid && !init.jobs[i].orphaned)
			known[n++] = init.jobs[i].pid;
	if (init.spare.pid)
		known[n++] = init.spare.pid;
	if (tree_kill_children_except(known, n) > 0)
		return;
	init.orphans = false;
	for (size_t i = 0; i < BOX_RUNS_MAX; i++)
		if (init.jobs[i].orphaned) {
			job_release(&init.jobs[i]);
			init.live--;
		}
}

/* False when no child is left. */
static bool
reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		bool whole = !init.bare ||
			(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		init.orphans = init.orphans || !whole;
		if (init.spare.pid == pid)
			job_release(&init.spare);
		for (size_t i = 0; i < BOX_RUNS_MAX; i++) {
			struct job *job = &init.jobs[i];
			if (job->pid != pid || job->orphaned)
				continue;
			job->orphaned = !whole;
			if (whole) {
				job_release(job);
				init.live--;
			}
		}
	}
	bool left = !(pid < 0 && errno == ECHILD);
	if (init.orphans)
		orphans_kill();
	return left;
}

static void __attribute__((noreturn))
serve(void)
{
	struct signalfd_siginfo info;
	bool failed = false;	/* a spare died: the next command will say why */

	for (;;) {
		struct pollfd p[3] = {
			{ .fd = init.box->channel, .events = POLLIN },
			{ .fd = init.signals, .events = POLLIN },
			{ .fd = init.box->life, .events = 0 },	/* hang-up only */
		};
		bool want = !init.spare.pid && !failed && !init.ending;
		if (init.ending)
			p[0].fd = p[2].fd = -1;
		int n = poll(p, 3, init.orphans ? ORPHANS_MS : !want ? -1 :
			init.live ? SPARE_DELAY_MS : 0);
		if (!init.ending && p[2].revents)
			end_all();	/* the launcher is gone */
		while (read(init.signals, &info, sizeof(info)) > 0)
			if (info.ssi_signo == SIGTERM)
				end_all();
		bool had = init.spare.pid != 0;
		if (!reap() && init.ending)
			_exit(0);
		failed = failed || (had && !init.spare.pid);
		if (init.ending)
			continue;
		if (p[0].revents) {
			failed = false;
			on_channel();
		} else if (n == 0 && want) {
			failed = job_prepare(init.box, &init.spare) < 0;
		}
	}
}

static void
close_all_but(struct box *box)
{
	/* Closed, not just close-on-exec: /proc/1/fd must have nothing. */
	int *kept[3 + BOX_LISTENERS_MAX] = { &box->channel, &box->life };
	int n = 2;

	if (box->level == BOX_BARE)
		kept[n++] = &box->living;
	for (size_t i = 0; i < box->nlisteners; i++)
		kept[n++] = &box->listeners[i];
	for (int i = 0; i < n; i++)
		*kept[i] = sys_fd_up(*kept[i], 200);
	for (int i = 0; i < n; i++) {
		if (*kept[i] < 0 || dup3(*kept[i], 3 + i, O_CLOEXEC) < 0)
			_exit(1);
		*kept[i] = 3 + i;
	}
	if (dup2(0, 2) < 0)
		_exit(1);
	sys_close_range(3 + (unsigned)n, ~0u);
}

static void
build_inside(struct box *box)
{
	root_build(box);
	net_setup(box);
	if (sethostname("sandbox", 7) < 0)
		box_fail(box, BOX_STEP_UTSNS);
}

void
init_main(struct box *box)
{
	sigset_t set;

	init.box = box;
	init.bare = box->level == BOX_BARE;
	prctl(PR_SET_NAME, "gatehouse-init");
	if (!init.bare && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		box_fail(box, BOX_STEP_PIDNS);
	setsid();
	if (!init.bare)
		build_inside(box);
	close_all_but(box);
	if (init.bare)
		bare_confine_init(box);
	else if (confine_caps(true) < 0)
		box_fail(box, BOX_STEP_CAPS);
	if (chdir(init.bare ? box->home : "/workspace") < 0)
		box_fail(box, BOX_STEP_CHDIR);
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (init.bare)
		sigaddset(&set, SIGTERM);
	init.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (init.signals < 0)
		box_fail(box, BOX_STEP_SPARE);
	send_ready(box);
	serve();
}
