#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/chan.h"
#include "base/log.h"
#include "base/mem.h"

#define LAUNCHER_FD 3		/* HELPER_CHANNEL of the helper */
#define LAUNCHER_END_MS 3000
#define LAUNCHER_REAP_MS 100	/* once, and nothing works any more anyway */
#define GROUPS_MAX 64

struct launcher {
	pid_t pid;
	int fd;			/* until attached; then chan's */
	struct chan *chan;
	struct loop *loop;
	void (*on_gone)(void *arg, const struct err *err);
	void *arg;
	bool sealed, gone, root;

	bool local, change;	/* change: to these ids */
	char *user;		/* as named; NULL: none was */
	uid_t uid;
	gid_t gid;
	gid_t groups[GROUPS_MAX];
	int ngroups;
	void *native;
	size_t native_len;

	struct child *children;
};

struct child {
	struct launcher *launcher;
	struct child *next, **prev;
	struct chan *chan;
	const struct child_events *events;
	void *arg;
};

char *
helper_path(struct err *err)
{
	static const char name[] = "gatehouse-helper";
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = 0;
		char *slash = strrchr(self, '/');
		if (slash)
			*slash = 0;
		char *beside = mem_printf("%s/%s", self, name);
		if (access(beside, X_OK) == 0)
			return beside;
		mem_free(beside);
	}
	char *installed = mem_printf("%s/%s", PKGLIBEXECDIR, name);
	if (access(installed, X_OK) == 0)
		return installed;
	err_set(err, ERR_NOT_FOUND, "%s is neither beside the gatehouse binary nor "
		"at %s; run `make install`, or keep both in one directory", name,
		installed);
	mem_free(installed);
	return NULL;
}

struct launcher *
launcher_start(const char *helper, struct err *err)
{
	union { const char *in[4]; char *out[4]; } argv = {
		{ "gatehouse-helper", "launcher", WIRE_VERSION, NULL },
	};
	char *env[] = { NULL };
	posix_spawn_file_actions_t actions;
	int pair[2], errnum;
	pid_t pid;

	if (chan_pair(pair) < 0) {
		err_set_errno(err, errno, "a socket for the launcher could not be made");
		return NULL;
	}
	/* dup2 also onto itself takes close-on-exec off. */
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair[1], LAUNCHER_FD);
	errnum = posix_spawn(&pid, helper, &actions, NULL, argv.out, env);
	posix_spawn_file_actions_destroy(&actions);
	close(pair[1]);
	if (errnum) {
		close(pair[0]);
		err_set_errno(err, errnum, "the launcher %s could not be started",
			helper);
		return NULL;
	}
	struct launcher *l = mem_alloc(sizeof(*l));
	l->pid = pid;
	l->fd = pair[0];
	l->root = geteuid() == 0;
	return l;
}

static void
launcher_frame(void *arg, struct wire_in *in, unsigned type, const int *fds,
	size_t nfds)
{
	/* It never speaks on this channel; children have their own. */
	(void)arg, (void)in;
	log_warn("launcher", NULL, "unexpected frame %u dropped", type);
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
}

static void
launcher_end(void *arg)
{
	struct launcher *l = arg;
	struct err err = { ERR_NONE, "" };
	int status;

	l->gone = true;
	/* Its descriptors close a moment before it can be reaped. */
	int pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	if (pidfd >= 0) {
		(void)poll(&p, 1, LAUNCHER_REAP_MS);
		close(pidfd);
	}
	if (waitpid(l->pid, &status, WNOHANG) != l->pid)
		err_set(&err, ERR_LOST, "the launcher (pid %d) closed its channel",
			(int)l->pid);
	else if (WIFSIGNALED(status))
		err_set(&err, ERR_LOST, "the launcher was killed by signal %d; all "
			"running commands ended with it", WTERMSIG(status));
	else if (WEXITSTATUS(status) == WIRE_VERSION_EXIT)
		err_set(&err, ERR_CONFIG, "gatehouse-helper is of another version than "
			"gatehouse; install both from one build");
	else
		err_set(&err, ERR_LOST, "the launcher ended with status %d; all "
			"running commands ended with it", WEXITSTATUS(status));
	if (l->on_gone)
		l->on_gone(l->arg, &err);
}

static const struct chan_events launcher_events = {
	.frame = launcher_frame,
	.end = launcher_end,
};

void
launcher_attach(struct launcher *l, struct loop *loop,
	void (*on_gone)(void *arg, const struct err *err), void *arg)
{
	REQUIRE(!l->chan);
	l->loop = loop;
	l->on_gone = on_gone;
	l->arg = arg;
	l->chan = chan_new(loop, l->fd, "launcher", &launcher_events, l);
	l->fd = -1;
}

bool
launcher_is_root(const struct launcher *l)
{
	return l->root;
}

pid_t
launcher_pid(const struct launcher *l)
{
	return l->pid;
}

static void
child_free(struct child *child)
{
	*child->prev = child->next;
	if (child->next)
		child->next->prev = child->prev;
	chan_free(&child->chan);
	mem_free(child);
}

void
launcher_free(struct launcher **lp)
{
	if (!lp || !*lp)
		return;
	struct launcher *l = STEAL(*lp);
	while (l->children)
		child_free(l->children);
	/* It takes the end of its channel as the word to kill all and go. */
	chan_free(&l->chan);
	if (l->fd >= 0)
		close(l->fd);
	int pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	if (pidfd >= 0 && poll(&p, 1, LAUNCHER_END_MS) == 0) {
		/* Something below does not die; keepers and the kernel go on. */
		bool killed = kill(l->pid, SIGKILL) == 0;
		log_warn("launcher", NULL, "did not end in time; %s",
			killed ? "killed" : "it may not be killed by us");
		if (!killed) {
			close(pidfd);
			pidfd = -1;
		}
	}
	if (pidfd >= 0) {
		waitpid(l->pid, NULL, 0);
		close(pidfd);
	}
	mem_free(l->user);
	mem_free(l->native);
	mem_free(l);
}

int
launcher_allow_local(struct launcher *l, const char *user, struct err *err)
{
	struct passwd pw, *found = NULL;
	char buf[4096];

	if (l->sealed)
		return err_set(err, ERR_DENIED, "the launcher is sealed already");
	if (user) {
		int errnum = getpwnam_r(user, &pw, buf, sizeof(buf), &found);
		if (!found)
			return err_set(err, ERR_CONFIG, "there is no user \"%s\" for "
				"local commands (%s)", user,
				errnum ? strerror(errnum) : "not in passwd");
		if (pw.pw_uid == 0)
			return err_set(err, ERR_CONFIG, "local.user \"%s\" is root: "
				"name an ordinary user", user);
		l->uid = pw.pw_uid;
		l->gid = pw.pw_gid;
		l->ngroups = GROUPS_MAX;
		if (getgrouplist(user, pw.pw_gid, l->groups, &l->ngroups) < 0)
			l->ngroups = GROUPS_MAX;
		l->user = mem_str(user);
		l->change = true;
	} else if (l->root && geteuid() != 0) {
		/* Never more than we have kept. */
		l->uid = geteuid();
		l->gid = getegid();
		l->ngroups = getgroups(GROUPS_MAX, l->groups);
		l->change = true;
		if (l->ngroups < 0)
			return err_set_errno(err, errno, "our own groups");
	}
	l->local = true;
	return 0;
}

int
launcher_allow_native(struct launcher *l, const void *terms, size_t len,
	struct err *err)
{
	if (l->sealed || l->native)
		return err_set(err, ERR_DENIED, "the launcher is sealed already");
	l->native = mem_dup(terms, len);
	l->native_len = len;
	return 0;
}

void
launcher_seal(struct launcher *l)
{
	struct wire_out out;

	if (l->sealed || !l->chan)
		return;
	l->sealed = true;
	wire_out_init(&out, LAUNCHER_SEAL);
	wire_put_u32(&out, l->local);
	wire_put_u32(&out, l->change);
	wire_put_u32(&out, l->uid);
	wire_put_u32(&out, l->gid);
	wire_put_u32(&out, (uint32_t)l->ngroups);
	for (int i = 0; i < l->ngroups; i++)
		wire_put_u32(&out, l->groups[i]);
	wire_put_bytes(&out, l->native, l->native_len);
	/* Without it every request is refused, so a failure shows itself. */
	if (chan_send(l->chan, &out, NULL, 0, false) < 0)
		log_warn("launcher", NULL, "the seal could not be sent: %s",
			strerror(errno));
}

int
launcher_request(struct launcher *l, struct wire_out *out, const int *fds,
	size_t nfds, struct err *err)
{
	if (l->gone || !l->chan) {
		wire_out_done(out);
		return err_set(err, ERR_LOST, "the launcher is gone; nothing can be "
			"started until gatehouse is restarted");
	}
	launcher_seal(l);
	if (chan_send(l->chan, out, fds, nfds, false) < 0)
		return err_set_errno(err, errno, "a request to the launcher could "
			"not be sent");
	return 0;
}

/* The callback may not touch the child any more, so it is freed before. */
static void
child_dead(struct child *child, const struct err *err)
{
	const struct child_events *events = child->events;
	void *arg = child->arg;

	child_free(child);
	events->dead(arg, err);
}

static void
child_failed(struct child *child, struct wire_in *in)
{
	struct err err = { ERR_NONE, "" };
	int errnum = (int)wire_get_u32(in);
	const char *step = wire_get_str(in);

	err_set_errno(&err, errnum, "the command could not be started (%s)",
		wire_in_end(in) ? step : "bad frame");
	child_dead(child, &err);
}

static void
child_frame(void *arg, struct wire_in *in, unsigned type, const int *fds,
	size_t nfds)
{
	struct child *child = arg;

	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	if (type == CHILD_STARTED) {
		pid_t pid = (pid_t)wire_get_u32(in);
		if (wire_in_end(in))
			child->events->started(child->arg, pid);
	} else if (type == CHILD_EXITED) {
		int status = (int)wire_get_u32(in);
		unsigned leftovers = wire_get_u32(in);
		if (wire_in_end(in))
			child->events->exited(child->arg, status, leftovers);
	} else if (type == CHILD_FAILED) {
		child_failed(child, in);
	} else if (type == CHILD_DEAD) {
		child_dead(child, NULL);
	}
}

static void
child_end(void *arg)
{
	struct err err = { ERR_NONE, "" };

	err_set(&err, ERR_LOST, "the keeper of the command ended without a word; "
		"what it ran was killed, but that is not confirmed");
	child_dead(arg, &err);
}

static const struct chan_events child_chan_events = {
	.frame = child_frame,
	.end = child_end,
};

static bool
same_user(const struct launcher *l, const char *user)
{
	return user && l->user ? strcmp(user, l->user) == 0 : !user && !l->user;
}

struct child *
child_spawn(struct launcher *l, const struct child_spec *spec,
	const struct child_events *events, void *arg, struct err *err)
{
	int pair[2], fds[WIRE_FDS_MAX];
	size_t nfds = 1;
	uint32_t present = 0;
	struct wire_out out;

	REQUIRE(spec->argv[0] && spec->nfds < WIRE_FDS_MAX);
	if (!l->local || !same_user(l, spec->user)) {
		err_set(err, ERR_DENIED, "the launcher is not permitted to start "
			"commands on the host%s%s", spec->user ? " as " : "",
			spec->user ? spec->user : "");
		return NULL;
	}
	if (chan_pair(pair) < 0) {
		err_set_errno(err, errno, "a socket for a command could not be made");
		return NULL;
	}
	fds[0] = pair[1];
	for (size_t i = 0; i < spec->nfds; i++)
		if (spec->fds[i] >= 0) {
			fds[nfds++] = spec->fds[i];
			present |= 1u << i;
		}
	wire_out_init(&out, LAUNCHER_SPAWN);
	wire_put_strv(&out, spec->argv);
	wire_put_strv(&out, spec->env);
	wire_put_str(&out, spec->cwd ? spec->cwd : "/");
	wire_put_u32(&out, (spec->keep_children ? SPAWN_KEEP : 0u) |
		(spec->terminal ? SPAWN_TERMINAL : 0u));
	wire_put_u32(&out, (uint32_t)spec->nfds);
	wire_put_u32(&out, present);
	int sent = launcher_request(l, &out, fds, nfds, err);
	close(pair[1]);
	if (sent < 0) {
		close(pair[0]);
		return NULL;
	}
	struct child *child = mem_alloc(sizeof(*child));
	child->launcher = l;
	child->events = events;
	child->arg = arg;
	child->chan = chan_new(l->loop, pair[0], "child", &child_chan_events, child);
	child->next = l->children;
	child->prev = &l->children;
	if (child->next)
		child->next->prev = &child->next;
	l->children = child;
	return child;
}

void
child_kill(struct child *child)
{
	struct wire_out out;

	/* If the keeper is gone its channel's end will say so. */
	wire_out_init(&out, CHILD_KILL);
	(void)chan_send(child->chan, &out, NULL, 0, false);
}

static void
forgotten_started(void *arg, pid_t pid)
{
	(void)arg, (void)pid;
}

static void
forgotten_exited(void *arg, int wait_status, unsigned leftovers)
{
	(void)arg, (void)wait_status, (void)leftovers;
}

static void
forgotten_dead(void *arg, const struct err *err)
{
	(void)arg, (void)err;
}

void
child_forget(struct child *child)
{
	static const struct child_events forgotten = {
		forgotten_started, forgotten_exited, forgotten_dead,
	};

	child_kill(child);
	child->events = &forgotten;
	child->arg = NULL;
}
