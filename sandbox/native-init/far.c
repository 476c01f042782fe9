/*
 * The keeper of one command on the far side of a byte stream: reads a request
 * on standard input, runs it below itself as a subreaper, and tells on
 * standard output what happens (far_proto.h).
 *
 * It ends only when no child is left, whoever has gone before: the near side
 * (end of input), the command's time, a TERM.  So its end means that the tree
 * is dead, and FAR_DEAD says the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/native-init/far.h"
#include "sandbox/native-init/helper.h"

#define CHUNK (32 * 1024)
#define BACKLOG_MAX (256 * 1024)	/* of output that nobody takes */
#define GIVEN_MAX (256 * 1024)
#define DRAIN_MAX (1024 * 1024)		/* after the shell's end */
#define PENDING_MAX (2 * (FAR_FRAME_MAX + FAR_HEADER))

struct keeper {
	struct far_request req;
	struct far_ends ends;
	struct far_queue in;		/* frames not yet understood */
	struct far_queue to_cmd;	/* its standard input */
	struct far_queue to_near;
	bool in_open, near_open, input_end;
	bool running, failed, killing, told_exit;
	bool ended;			/* the shell has */
	bool left;			/* children are */
	pid_t main;
	int main_status;
	unsigned leftovers;
	size_t drained, given;
	int64_t deadline_ms;		/* of CLOCK_BOOTTIME; 0: none */
	int signals, wait_ms;
};

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
tell(struct keeper *k, enum far_frame type, const void *data, size_t len)
{
	unsigned char head[FAR_HEADER] = { (unsigned char)type };

	if (!k->near_open)
		return;
	far_put_u32(head + 1, (uint32_t)len);
	if (!far_queue_add(&k->to_near, head, sizeof(head)) ||
	    !far_queue_add(&k->to_near, data, len))
		_exit(70);	/* no memory: the death signal ends the shell */
}

static void
tell_numbers(struct keeper *k, enum far_frame type, uint32_t a, uint32_t b)
{
	unsigned char data[8];

	far_put_u32(data, a);
	far_put_u32(data + 4, b);
	tell(k, type, data, sizeof(data));
}

static void
close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- frames from the near side ------------------------------------------------- */

static void
start(struct keeper *k)
{
	const char *step;
	bool bash;
	int pid = far_cmd_start(&k->req, &k->ends, &bash, &step);

	if (pid < 0) {
		unsigned char data[128];
		size_t len = strlen(step) < 120 ? strlen(step) : 120;

		far_put_u32(data, (uint32_t)errno);
		memcpy(data + 4, step, len);
		tell(k, FAR_FAILED, data, 4 + len);
		k->failed = k->killing = true;
		return;
	}
	k->main = pid;
	k->running = true;
	if (k->req.seconds)
		k->deadline_ms = now_ms() + (int64_t)k->req.seconds * 1000;
	tell_numbers(k, FAR_STARTED, (uint32_t)pid, bash);
}

static bool
take_start(struct keeper *k, const unsigned char *data, size_t len)
{
	if (len < 8 || k->req.dir)
		return false;
	k->req.flags = far_get_u32(data);
	k->req.seconds = far_get_u32(data + 4);
	k->req.dir = strndup((const char *)data + 8, len - 8);
	return k->req.dir != NULL;
}

static bool
take_text(struct far_queue *q, const unsigned char *data, size_t len, size_t max)
{
	return len <= max - q->len && far_queue_add(q, data, len);
}

/* False: the near side does not keep to the protocol. */
static bool
take_frame(struct keeper *k, unsigned type, const unsigned char *data, size_t len)
{
	bool early = k->req.dir && !k->running && !k->killing;

	switch (type) {
	case FAR_START:
		return take_start(k, data, len);
	case FAR_ENV:
		return early && take_text(&k->req.env, data, len, FAR_ENV_MAX);
	case FAR_SCRIPT:
		return early &&
		    take_text(&k->req.script, data, len, FAR_SCRIPT_MAX);
	case FAR_RUN:
		if (!early || (k->req.env.len && k->req.env.data[k->req.env.at +
		    k->req.env.len - 1] != 0))
			return false;
		start(k);
		return true;
	case FAR_INPUT:
		if (k->ends.in >= 0 && !k->input_end)
			return take_text(&k->to_cmd, data, len, FAR_INPUT_MAX);
		return true;	/* it reads no more */
	case FAR_INPUT_END:
		k->input_end = true;
		return true;
	case FAR_KILL:
		k->killing = true;
		return true;
	default:
		return false;
	}
}

static void
take_frames(struct keeper *k)
{
	while (k->in.len >= FAR_HEADER) {
		const unsigned char *p = k->in.data + k->in.at;
		uint32_t len = far_get_u32(p + 1);

		if (len > FAR_FRAME_MAX) {
			k->killing = true;
			close_end(&k->ends.in);
			k->in_open = false;
			return;
		}
		if (k->in.len < FAR_HEADER + len)
			return;
		if (!take_frame(k, p[0], p + FAR_HEADER, len))
			k->killing = true;
		far_queue_drop(&k->in, FAR_HEADER + len);
	}
}

static void
read_near(struct keeper *k)
{
	static char chunk[CHUNK];
	ssize_t n = read(0, chunk, sizeof(chunk));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || !far_queue_add(&k->in, chunk, (size_t)n)) {
		k->in_open = false;
		k->killing = true;
		return;
	}
	take_frames(k);
}

/* ---- what the command writes ---------------------------------------------------- */

/* One piece of what is there. False: nothing more now. */
static bool
read_end(struct keeper *k, int *fd, enum far_frame type)
{
	static char chunk[CHUNK];

	if (*fd < 0 || (k->near_open && k->to_near.len > BACKLOG_MAX))
		return false;
	ssize_t n = read(*fd, chunk, sizeof(chunk));
	if (n < 0)
		return errno == EINTR;
	if (n == 0) {
		close_end(fd);
		return false;
	}
	if (type == FAR_GIVEN) {
		/* Cut give-back is none: half an environment would be wrong. */
		k->given += (size_t)n;
		if (k->given > GIVEN_MAX)
			return true;
	}
	if (k->ended)
		k->drained += (size_t)n;
	tell(k, type, chunk, (size_t)n);
	return true;
}

/* All of it, in bounds. True: nothing is left, or the bound was reached. */
static bool
drain(struct keeper *k)
{
	while (k->drained < DRAIN_MAX) {
		bool more = read_end(k, &k->ends.out, FAR_OUT);
		more |= read_end(k, &k->ends.err, FAR_ERR);
		more |= read_end(k, &k->ends.given, FAR_GIVEN);
		if (!more)
			return !k->near_open || k->to_near.len <= BACKLOG_MAX;
	}
	return true;
}

/* ---- children ---------------------------------------------------------------------- */

static void
reap(struct keeper *k, pid_t self)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == k->main) {
			k->ended = true;
			k->main_status = status;
		}
	k->left = !(pid < 0 && errno == ECHILD);
	if (!k->ended || k->main == 0)
		return;
	k->main = 0;
	k->leftovers = k->left ? tree_count(self) : 0;
	k->killing = k->killing || !(k->req.flags & FAR_KEEP);
}

/* The words about the end, each as soon as it is true and may be said. */
static void
tell_end(struct keeper *k)
{
	if (k->ended && !k->told_exit && drain(k)) {
		k->told_exit = true;
		tell_numbers(k, FAR_EXITED, (uint32_t)k->main_status,
		    k->leftovers);
		k->drained = 0;
	}
	if (k->deadline_ms && now_ms() >= k->deadline_ms)
		k->killing = true;
}

static int
poll_ms(const struct keeper *k)
{
	if (k->killing && k->left)
		return k->wait_ms;
	if (!k->deadline_ms)
		return -1;
	int64_t left = k->deadline_ms - now_ms();
	return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

/* What its pipe takes; closed when all is through, or nobody reads. */
static void
feed(struct keeper *k, bool broken)
{
	size_t before = k->to_cmd.len;
	unsigned char count[4];

	if (k->ends.in < 0)
		return;
	broken = broken || !far_queue_write(&k->to_cmd, k->ends.in);
	if (k->to_cmd.len < before) {
		far_put_u32(count, (uint32_t)(before - k->to_cmd.len));
		tell(k, FAR_TAKEN, count, sizeof(count));
	}
	if (broken)
		tell(k, FAR_DEAF, "", 0);
	if (broken || (k->input_end && k->to_cmd.len == 0))
		close_end(&k->ends.in);
}

static void
turn(struct keeper *k)
{
	bool room = k->to_near.len <= BACKLOG_MAX;
	struct signalfd_siginfo info;
	struct pollfd p[] = {
		{ .fd = k->signals, .events = POLLIN },
		{ .fd = k->in_open && k->in.len < PENDING_MAX ? 0 : -1,
		  .events = POLLIN },
		{ .fd = k->to_near.len && k->near_open ? 1 : -1, .events = POLLOUT },
		{ .fd = room ? k->ends.out : -1, .events = POLLIN },
		{ .fd = room ? k->ends.err : -1, .events = POLLIN },
		{ .fd = room ? k->ends.given : -1, .events = POLLIN },
		/* Without events: an error when nobody reads is told all the same. */
		{ .fd = k->ends.in, .events = k->to_cmd.len ? POLLOUT : 0 },
	};

	poll(p, sizeof(p) / sizeof(p[0]), poll_ms(k));
	while (read(k->signals, &info, sizeof(info)) > 0)
		if (info.ssi_signo == SIGTERM) {
			/* The killing side came: the stream is of no use. */
			k->killing = true;
			k->near_open = false;
		}
	if (p[1].revents)
		read_near(k);
	if (p[3].revents)
		read_end(k, &k->ends.out, FAR_OUT);
	if (p[4].revents)
		read_end(k, &k->ends.err, FAR_ERR);
	if (p[5].revents)
		read_end(k, &k->ends.given, FAR_GIVEN);
	feed(k, p[6].revents & POLLERR);
	if (k->near_open && !far_queue_write(&k->to_near, 1)) {
		k->near_open = false;	/* but the tree must die first */
		k->to_near.len = 0;
		k->killing = true;
	}
}

/* What is queued, while somebody may still read it. */
static void
flush(struct keeper *k)
{
	while (k->near_open && k->to_near.len) {
		struct pollfd p[] = {
			{ .fd = 1, .events = POLLOUT },
			{ .fd = k->in_open ? 0 : -1, .events = POLLIN },
		};
		poll(p, 2, k->in_open ? -1 : 1000);
		if (p[1].revents)
			read_near(k);
		if (!p[0].revents && !k->in_open)
			return;
		if (!far_queue_write(&k->to_near, 1))
			return;
	}
}

static void
keep(struct keeper *k)
{
	pid_t self = getpid();

	for (;;) {
		reap(k, self);
		tell_end(k);
		if (!k->left && (k->ended || k->killing) &&
		    (k->told_exit || !k->ended || !k->near_open))
			break;
		/* Between two passes a moment, growing, for the dying. */
		if (k->killing && k->left) {
			tree_kill(self);
			k->wait_ms = k->wait_ms < 200 ? k->wait_ms * 2 : 200;
		}
		turn(k);
	}
	drain(k);
	if (!k->failed)
		tell(k, FAR_DEAD, "", 0);
	flush(k);
}

int
far_main(void)
{
	struct keeper k = { .in_open = true, .near_open = true, .wait_ms = 1,
		.ends = { -1, -1, -1, -1 } };
	sigset_t set;

	sys_close_range(3, ~0u);
	prctl(PR_SET_NAME, "gatehouse-far");
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	k.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (k.signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
	    fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK) < 0 ||
	    fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK) < 0)
		return 71;
	if (!far_queue_add(&k.to_near, FAR_MAGIC, FAR_MAGIC_LEN))
		return 70;
	keep(&k);
	return 0;
}
