/*
 * Commands in a native box.  The box's init hands out, for each, a pidfd of
 * the command's own PID 1 (readable = the whole tree is dead, whatever holds
 * pipes open), a status pipe, and the output pipes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/feed.h"
#include "sandbox/native_priv.h"
#include "sandbox/sealed.h"
#include "sandbox/proxy.h"

#define READ_CHUNK 65536
#define DRAIN_MAX (1024 * 1024)	/* of one pipe, after the shell's end */
#define GIVEBACK_MAX (256 * 1024)
#define OUT_FD 3		/* of BOX_STARTED's descriptors */

struct pipe {
	int fd;			/* -1: closed or not yet there */
	struct watch *watch;
};

struct proc {
	struct proc *next, **prev;
	struct box *box;
	uint32_t id;
	const struct proc_events *events;
	void *arg;
	bool split, feeds, pty;
	bool started, exited;
	bool reading;
	int pidfd;
	struct watch *watch;
	struct pipe status, giveback, out[2];
	struct feed feed;	/* of its standard input */
	struct buf given;
	struct err failure;	/* why the shell did not start */
};

static void
pipe_close(struct pipe *p)
{
	loop_unwatch(&p->watch);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* Reads what is there, at most max. False at the end of the pipe. */
static bool
out_read(struct proc *proc, int i, size_t max)
{
	static char chunk[READ_CHUNK];	/* loop thread; used up at once */

	for (size_t total = 0; total < max; ) {
		ssize_t n = read(proc->out[i].fd, chunk, sizeof(chunk));
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0)
			return false;
		total += (size_t)n;
		proc->events->output(proc->arg, i + 1, chunk, (size_t)n);
	}
	return true;
}

static void
out_drain(struct proc *proc)
{
	for (int i = 0; i < 2; i++)
		if (proc->out[i].fd >= 0 && !out_read(proc, i, DRAIN_MAX))
			pipe_close(&proc->out[i]);
}

static void
on_out(void *arg, int i)
{
	struct proc *proc = arg;

	if (!out_read(proc, i, READ_CHUNK))
		pipe_close(&proc->out[i]);
}

static void
on_stdout(void *arg, unsigned events)
{
	(void)events;
	on_out(arg, 0);
}

static void
on_stderr(void *arg, unsigned events)
{
	(void)events;
	on_out(arg, 1);
}

/* Reads on past the maximum, so that the shell never blocks, but keeps none. */
static void
giveback_read(struct proc *proc)
{
	char chunk[4096];
	ssize_t n;

	if (proc->giveback.fd < 0)
		return;
	while ((n = read(proc->giveback.fd, chunk, sizeof(chunk))) > 0)
		buf_add(&proc->given, chunk, (size_t)n);
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		pipe_close(&proc->giveback);
}

static void
on_giveback(void *arg, unsigned events)
{
	(void)events;
	giveback_read(arg);
}

static void
proc_exited(struct proc *proc, int status, unsigned leftovers)
{
	if (proc->exited)
		return;
	proc->exited = true;
	out_drain(proc);
	giveback_read(proc);
	pipe_close(&proc->giveback);
	/* Cut give-back is none: half an environment would be a wrong one. */
	if (proc->given.len && !proc->given.over)
		proc->events->giveback(proc->arg, proc->given.data, proc->given.len);
	proc->events->exited(proc->arg, status, leftovers);
}

static void
status_read(struct proc *proc)
{
	struct box_status s;

	if (proc->status.fd < 0)
		return;
	ssize_t n = read(proc->status.fd, &s, sizeof(s));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	pipe_close(&proc->status);
	if (n != (ssize_t)sizeof(s))
		return;		/* killed before it could say anything */
	if (s.failed_step)
		native_why(&proc->failure, (enum box_step)s.failed_step,
			(int)s.failed_errno, "");
	else
		proc_exited(proc, (int)s.wait_status, s.leftovers);
}

static void
on_status(void *arg, unsigned events)
{
	(void)events;
	status_read(arg);
}

static void
proc_free(struct proc *proc)
{
	*proc->prev = proc->next;
	if (proc->next)
		proc->next->prev = proc->prev;
	loop_unwatch(&proc->watch);
	if (proc->pidfd >= 0)
		close(proc->pidfd);
	pipe_close(&proc->status);
	pipe_close(&proc->giveback);
	pipe_close(&proc->out[0]);
	pipe_close(&proc->out[1]);
	feed_done(&proc->feed);
	buf_done(&proc->given);
	mem_free(proc);
}

static void
proc_dead(struct proc *proc)
{
	struct box *box = proc->box;

	loop_unwatch(&proc->watch);
	status_read(proc);
	bool failed = proc->failure.code != ERR_NONE;
	if (proc->started && !failed) {
		out_drain(proc);
		/* No word of its end: it was killed, with all its tree. */
		proc_exited(proc, SIGKILL, 0);
	}
	struct err err = proc->failure;
	const struct proc_events *events = proc->events;
	void *arg = proc->arg;
	proc_free(proc);
	if (box->port)
		proxy_command_ended(box->port);
	events->dead(arg, failed ? &err : NULL);
	native_box_settle(box);
}

static void
on_pidfd(void *arg, unsigned events)
{
	(void)events;
	proc_dead(arg);
}

static void
pipe_open(struct proc *proc, struct pipe *p, int fd, const char *name,
	loop_fd_cb *cb, bool watch)
{
	/* The other end is its own file: this changes nothing for the command. */
	fcntl(fd, F_SETFL, O_NONBLOCK);
	p->fd = fd;
	p->watch = loop_watch(proc->box->inst->loop, fd, watch ? LOOP_READ : 0, name,
		cb, proc);
}

/* Anything else could block the loop's thread. */
static bool
all_pipes(const int *fds, size_t nfds, bool pty)
{
	struct stat st;
	int number;

	for (size_t i = 0; i < nfds; i++) {
		if (pty && i == OUT_FD - 1 && ioctl(fds[i], TIOCGPTN, &number) == 0)
			continue;
		if (fstat(fds[i], &st) < 0 || !S_ISFIFO(st.st_mode))
			return false;
	}
	return true;
}

static void
proc_started(struct proc *proc, struct wire_in *in, const int *fds, size_t nfds)
{
	int pid = (int)wire_get_u32(in);

	if (!wire_in_end(in) || proc->pidfd >= 0 ||
	    nfds != 4u + proc->split + proc->feeds ||
	    !all_pipes(fds + 1, nfds - 1, proc->pty)) {
		for (size_t i = 0; i < nfds; i++)
			close(fds[i]);
		log_warn("native", NULL, "bad frame about a command");
		return;
	}
	proc->started = true;
	proc->pidfd = fds[0];
	proc->watch = loop_watch(proc->box->inst->loop, fds[0], LOOP_READ,
		"native pidfd", on_pidfd, proc);
	pipe_open(proc, &proc->status, fds[1], "native status", on_status, true);
	pipe_open(proc, &proc->giveback, fds[2], "native giveback", on_giveback, true);
	pipe_open(proc, &proc->out[0], fds[3], "native stdout", on_stdout,
		proc->reading);
	if (proc->split)
		pipe_open(proc, &proc->out[1], fds[4], "native stderr", on_stderr,
			proc->reading);
	if (proc->feeds)
		feed_open(&proc->feed, fds[nfds - 1]);
	int side = proc->pty ? fcntl(fds[OUT_FD], F_DUPFD_CLOEXEC, 0) : -1;
	if (side >= 0)
		feed_open(&proc->feed, side);
	proc->events->started(proc->arg, pid);
}

void
native_proc_frame(struct box *box, unsigned type, struct wire_in *in,
	const int *fds, size_t nfds)
{
	uint32_t id = wire_get_u32(in);
	struct proc *proc = box->procs;

	while (proc && proc->id != id)
		proc = proc->next;
	if (proc && type == BOX_STARTED) {
		proc_started(proc, in, fds, nfds);
		return;
	}
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	if (proc && type == BOX_NOT_STARTED && proc->pidfd < 0) {
		uint32_t step = wire_get_u32(in), errnum = wire_get_u32(in);
		native_why(&proc->failure, (enum box_step)step, (int)errnum, "");
		proc_dead(proc);
	}
}

void
native_procs_lost(struct box *box)
{
	struct proc *proc = box->procs;

	/* Those with a pidfd get their own word, in the same turn or the next. */
	while (proc) {
		if (proc->pidfd >= 0) {
			proc = proc->next;
			continue;
		}
		err_set(&proc->failure, ERR_LOST, "the sandbox ended before the "
			"command could start");
		proc_dead(proc);
		proc = box->procs;
	}
}

void
native_procs_drop(struct box *box)
{
	while (box->procs)
		proc_free(box->procs);
}

static void
ignore_started(void *arg, int pid)
{
	(void)arg, (void)pid;
}

static void
ignore_output(void *arg, int fd, const char *data, size_t len)
{
	(void)arg, (void)fd, (void)data, (void)len;
}

static void
ignore_giveback(void *arg, const char *data, size_t len)
{
	(void)arg, (void)data, (void)len;
}

static void
ignore_exited(void *arg, int wait_status, unsigned leftovers)
{
	(void)arg, (void)wait_status, (void)leftovers;
}

static void
ignore_dead(void *arg, const struct err *err)
{
	(void)arg, (void)err;
}

void
native_proc_forget(struct proc *proc)
{
	static const struct proc_events ignore = {
		ignore_started, ignore_output, ignore_giveback, ignore_exited,
		ignore_dead,
	};

	proc->events = &ignore;
}

static int
send_run(struct box *box, uint32_t id, const struct spawn_req *req,
	struct err *err)
{
	struct wire_out out;
	int fds[3];
	size_t nfds = 1;
	bool input = req->input != NULL;

	fds[0] = sealed_fd(req->script, req->script_len, false, err);
	if (fds[0] < 0)
		return -1;
	if (input) {
		fds[nfds] = sealed_fd(req->input, req->input_len, true, err);
		if (fds[nfds++] < 0) {
			close(fds[0]);
			return -1;
		}
	}
	if (req->rpc && (fds[nfds++] = fcntl(req->rpc, F_DUPFD_CLOEXEC, 3)) < 0) {
		while (--nfds > 0)
			close(fds[nfds - 1]);
		return err_set_errno(err, errno, "the socket of a command");
	}
	wire_out_init(&out, BOX_RUN);
	wire_put_u32(&out, id);
	wire_put_u32(&out, (req->keep_children ? BOX_RUN_KEEP : 0u) |
		(req->split ? BOX_RUN_SPLIT : 0u) | (input ? BOX_RUN_STDIN : 0u) |
		(req->rpc ? BOX_RUN_RPC : 0u) |
		(req->pty ? BOX_RUN_PTY : req->feed ? BOX_RUN_FEED : 0u));
	wire_put_strv(&out, req->env);
	if (chan_send(box->chan, &out, fds, nfds, true) < 0)
		return errno == EMSGSIZE ?
			err_set(err, ERR_LIMIT, "the command's environment is too large") :
			err_set_errno(err, errno, "the command could not be handed over");
	return 0;
}

struct proc *
native_spawn(struct box *box, const struct spawn_req *req, struct err *err)
{
	if (box->dead || !box->chan || box->closed) {
		err_set(err, ERR_LOST, "the sandbox has ended");
		return NULL;
	}
	uint32_t id = ++box->next_run;
	if (send_run(box, id, req, err) < 0)
		return NULL;
	struct proc *proc = mem_alloc(sizeof(*proc));
	proc->box = box;
	proc->id = id;
	proc->events = req->events;
	proc->arg = req->arg;
	proc->split = req->split;
	proc->feeds = req->feed && !req->pty;
	proc->pty = req->pty;
	feed_init(&proc->feed, box->inst->loop);
	proc->reading = true;
	proc->pidfd = proc->status.fd = proc->giveback.fd = -1;
	proc->out[0].fd = proc->out[1].fd = -1;
	buf_init(&proc->given, GIVEBACK_MAX);
	proc->next = box->procs;
	proc->prev = &box->procs;
	if (proc->next)
		proc->next->prev = &proc->next;
	box->procs = proc;
	return proc;
}

void
native_kill(struct proc *proc)
{
	struct wire_out out;

	/* Ours to signal if we are root or have the sandbox's uid: saves a hop.
	 * Else its init does it; frames are in order, so also before the start. */
	if (proc->pidfd >= 0 && syscall(SYS_pidfd_send_signal, proc->pidfd, SIGKILL,
	    NULL, 0) == 0)
		return;
	if (!proc->box->chan)
		return;		/* the box is dying as a whole */
	wire_out_init(&out, BOX_KILL);
	wire_put_u32(&out, proc->id);
	(void)chan_send(proc->box->chan, &out, NULL, 0, false);
}

void
native_flow(struct proc *proc, bool reading)
{
	proc->reading = reading;
	for (int i = 0; i < 2; i++)
		if (proc->out[i].watch)
			loop_watch_set(proc->out[i].watch, reading ? LOOP_READ : 0);
}

int
native_write(struct proc *proc, const void *data, size_t len, struct err *err)
{
	return feed_write(&proc->feed, data, len, err);
}

void
native_close_input(struct proc *proc)
{
	if (proc->pty)
		feed_terminal_end(&proc->feed);
	else
		feed_end(&proc->feed);
}
