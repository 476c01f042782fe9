/*
 * The launcher's loop: requests in, one fork for each, children reaped.  It
 * never waits for anything but poll(2); whatever may block is done in the
 * forked child.  Gateway gone (end of the channel): everything is killed, and
 * we end when it is dead.
 *
 * Why its rights are safe: it parses fixed frames of one peer with checked
 * sizes, does only what the seal permits, holds no secret, has an empty
 * environment, and nobody but root may look into it (not dumpable).
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
#include "sandbox/native-init/slots.h"

enum kid_kind { KID_KEEPER, KID_BROOM, KID_TEND };

struct kid {
	pid_t pid;
	enum kid_kind kind;
};

static struct launcher {
	struct seal seal;
	int signals;
	int life[2];		/* [1] is held by nobody but us */
	struct kid *kids;
	size_t nkids, size;
	bool ending, orphans;
	unsigned char frame[WIRE_FRAME_MAX];
} l;

static void
kid_add(pid_t pid, enum kid_kind kind)
{
	if (l.nkids == l.size) {
		size_t size = l.size ? l.size * 2 : 64;
		struct kid *grown = realloc(l.kids, size * sizeof(*grown));
		if (!grown)
			abort();	/* our death ends all, as it must */
		l.kids = grown;
		l.size = size;
	}
	l.kids[l.nkids++] = (struct kid){ pid, kind };
}

pid_t
launcher_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		sys_signals_default();
		close(l.signals);
		close(l.life[1]);
		close(HELPER_CHANNEL);
		slots_forget();
	}
	return pid;
}

static void
child_failed(int channel, int errnum, const char *step)
{
	struct wire_out out;

	wire_out_init(&out, CHILD_FAILED);
	wire_put_u32(&out, (uint32_t)errnum);
	wire_put_str(&out, step);
	/* A peer that is gone needs no answer. */
	(void)wire_send(channel, &out, NULL, 0, MSG_DONTWAIT);
	wire_out_done(&out);
}

/* A forked child that removes a sandbox's cgroups, or those left by others. */
void
launcher_broom(const char *name)
{
	pid_t pid = launcher_fork();

	if (pid == 0) {
		if (name)
			cgroup_remove(name);
		else
			cgroup_sweep();
		_exit(0);
	}
	if (pid > 0)
		kid_add(pid, KID_BROOM);
}

static void
on_seal(struct wire_in *in, const int *fds, size_t nfds)
{
	(void)fds, (void)nfds;
	if (seal_parse(&l.seal, in) && l.seal.native && geteuid() == 0)
		launcher_broom(NULL);
}

static void
on_spawn(struct wire_in *in, const int *fds, size_t nfds)
{
	struct keeper_req req = { .launcher = getpid() };
	size_t n, next = 1;

	req.argv = wire_get_strv(in, &n);
	bool empty = n == 0;
	req.env = wire_get_strv(in, &n);
	req.cwd = wire_get_str(in);
	uint32_t flags = wire_get_u32(in);
	req.keep = flags & SPAWN_KEEP;
	req.terminal = flags & SPAWN_TERMINAL;
	uint32_t count = wire_get_u32(in);
	uint32_t present = wire_get_u32(in);	/* bit i: descriptor i was sent */
	for (uint32_t i = 0; i < count && i < WIRE_FDS_MAX; i++) {
		bool sent = present & (1u << i);
		req.fds[req.nfds++] = sent && next < nfds ? fds[next++] : -1;
	}
	req.channel = fds[0];
	if (!wire_in_end(in) || empty || count >= WIRE_FDS_MAX || next != nfds ||
	    req.argv[0][0] != '/') {
		child_failed(fds[0], EBADMSG, "read the request");
	} else if (!l.seal.local || l.ending) {
		child_failed(fds[0], EPERM, "be permitted to start it");
	} else {
		pid_t pid = launcher_fork();
		if (pid == 0)
			keeper_main(&l.seal, &req);
		if (pid < 0)
			child_failed(fds[0], errno, "fork");
		else
			kid_add(pid, KID_KEEPER);
	}
	free(req.argv);
	free(req.env);
}

static void
on_tend(struct wire_in *in, const int *fds, size_t nfds)
{
	uint32_t verb = wire_get_u32(in);
	const char *workspace = wire_get_str(in);

	/* No answer is an answer: the channel ends. */
	(void)nfds;
	if (!wire_in_end(in) || !l.seal.native || l.ending ||
	    (verb != TEND_EMPTY && verb != TEND_MEASURE))
		return;
	pid_t pid = launcher_fork();
	if (pid == 0)
		tend_main(&l.seal, (enum tend_verb)verb, workspace, fds[0]);
	if (pid > 0)
		kid_add(pid, KID_TEND);
}

static void
on_open(struct wire_in *in, const int *fds, size_t nfds)
{
	uint32_t id = wire_get_u32(in);
	const char *workspace = wire_get_str(in);
	uint32_t level = wire_get_u32(in);

	(void)nfds;
	if (!wire_in_end(in) || level > BOX_BARE)
		slots_refuse(fds[0], EBADMSG);
	else if (!l.seal.native || l.ending || (level == BOX_BARE && !l.seal.bare))
		slots_refuse(fds[0], EPERM);
	else
		slots_open(id, (enum box_level)level, workspace, fds[0]);
}

static void
on_kill(struct wire_in *in, const int *fds, size_t nfds)
{
	uint32_t id = wire_get_u32(in);

	(void)fds, (void)nfds;
	if (wire_in_end(in))
		slots_kill(id);
}

static void
end_all(void)
{
	l.ending = true;
	for (size_t i = 0; i < l.nkids; i++)
		if (l.kids[i].kind == KID_KEEPER)
			kill(l.kids[i].pid, SIGTERM);	/* kills its tree first */
		else if (l.kids[i].kind == KID_TEND)
			kill(l.kids[i].pid, SIGKILL);
	slots_kill_all();
}

/*
 * All that may be asked of us.  A frame of another type, from before the seal,
 * for something the seal does not permit, or with other descriptors than these
 * is dropped or answered with a refusal; each handler then reads its fields,
 * every one of which is checked, and does nothing unless all are good.
 *
 *	SEAL	once; what it says can't be widened later
 *	SPAWN	a process of the host, as the sealed user: backend local
 *	OPEN	a sandbox over a workspace beneath the sealed state directory
 *	KILL	of a sandbox that was opened by OPEN, by our own number
 *	TEND	the files of such a workspace, as the sandbox's uid
 */
static const struct request {
	uint32_t type;
	unsigned min_fds, max_fds;
	void (*handle)(struct wire_in *in, const int *fds, size_t nfds);
} requests[] = {
	{ LAUNCHER_SEAL, 0, 0, on_seal },
	{ LAUNCHER_SPAWN, 1, WIRE_FDS_MAX, on_spawn },
	{ LAUNCHER_OPEN, 1, 1, on_open },
	{ LAUNCHER_KILL, 0, 0, on_kill },
	{ LAUNCHER_TEND, 1, 1, on_tend },
};

static void
handle(uint32_t type, struct wire_in *in, const int *fds, size_t nfds)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (requests[i].type == type && nfds >= requests[i].min_fds &&
		    nfds <= requests[i].max_fds)
			requests[i].handle(in, fds, nfds);
}

static void
on_channel(void)
{
	int fds[WIRE_FDS_MAX];
	size_t nfds;
	struct wire_in in;
	ssize_t n = wire_recv(HELPER_CHANNEL, l.frame, sizeof(l.frame), fds,
		WIRE_FDS_MAX, &nfds, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EBADMSG))
		return;
	if (n <= 0) {
		end_all();
		return;
	}
	handle(wire_in_init(&in, l.frame, (size_t)n), &in, fds, nfds);
	while (nfds)
		close(fds[--nfds]);
	/* The next fork must not carry this command's text along. */
	explicit_bzero(l.frame, (size_t)n);
}

static void
on_dead(pid_t pid, int status)
{
	for (size_t i = 0; i < l.nkids; i++)
		if (l.kids[i].pid == pid) {
			/* A keeper that was killed leaves its orphans to us. */
			if (l.kids[i].kind == KID_KEEPER && status != 0)
				l.orphans = true;
			l.kids[i] = l.kids[--l.nkids];
			return;
		}
	l.orphans = slots_dead(pid, status, l.orphans) || l.orphans;
}

/* Kills children that nobody keeps; false once there is none. */
static bool
orphans_kill(void)
{
	size_t n = 0, size = 2 * BOX_MAX + l.nkids;
	pid_t *known = calloc(size, sizeof(*known));

	if (!known)
		return true;
	if (!slots_known(known, &n)) {
		free(known);
		return true;
	}
	for (size_t i = 0; i < l.nkids; i++)
		known[n++] = l.kids[i].pid;
	unsigned found = tree_kill_children_except(known, n);
	free(known);
	return found > 0;
}

/* True while children of ours live. */
static bool
reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		on_dead(pid, status);
	if (l.orphans && !(pid == 0 && orphans_kill())) {
		l.orphans = false;
		slots_settle();
	}
	return pid == 0;
}

static bool
launcher_setup(void)
{
	sigset_t set;

	/* Not dumpable: same-uid processes can't ptrace us or read our /proc.
	 * Subreaper: orphans of a killed keeper come to us, not to init. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		return false;
	prctl(PR_SET_NAME, "gatehouse-lnch");
	setsid();	/* a terminal's Ctrl-C is for the gateway only */
	if (chdir("/") < 0 || sys_close_range(HELPER_CHANNEL + 1, ~0u) < 0)
		return false;
	umask(022);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		return false;
	if (null > 2)
		close(null);
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	l.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l.signals >= 0 && pipe2(l.life, O_CLOEXEC) == 0 &&
		slots_init(&l.seal, l.life[0]);
}

int
launcher_main(void)
{
	struct signalfd_siginfo info;

	if (!launcher_setup())
		return 1;
	for (;;) {
		struct pollfd p[2] = {
			{ .fd = l.signals, .events = POLLIN },
			{ .fd = l.ending ? -1 : HELPER_CHANNEL, .events = POLLIN },
		};
		/* Orphans may fork faster than one pass: look again soon. */
		poll(p, 2, l.orphans ? 10 : -1);
		while (read(l.signals, &info, sizeof(info)) > 0)
			if (info.ssi_signo == SIGTERM)
				end_all();
		if (p[1].revents)
			on_channel();
		if (!reap() && l.ending)
			return 0;
	}
}
