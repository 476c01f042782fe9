/* One command of backend `local`: its descriptors and events. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/mem.h"
#include "base/pty.h"
#include "sandbox/feed.h"
#include "sandbox/local_priv.h"

#define CHUNK 65536
#define DRAIN_MAX (4 * 1024 * 1024)	/* of one pipe, when the writers are dead */
#define GIVEBACK_MAX (256 * 1024)

struct pipe {
	struct proc *proc;
	int fd;			/* -1: closed */
	int number;		/* 1, 2, or 3 for the give-back */
	struct watch *watch;
};

struct proc {
	struct backend_inst *inst;
	struct child *child;
	const struct proc_events *events;
	void *arg;
	struct pipe pipes[3];
	struct feed feed;	/* of its standard input */
	bool pty;
	struct buf given;
};

static void
pipe_close(struct pipe *p)
{
	loop_unwatch(&p->watch);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* Reads at most max bytes of what is there. */
static void
pipe_read(struct pipe *p, size_t max)
{
	static char chunk[CHUNK];	/* loop thread; used up at once */
	struct proc *proc = p->proc;

	for (size_t total = 0; p->fd >= 0 && total < max;) {
		ssize_t n = read(p->fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			pipe_close(p);
			return;
		}
		total += (size_t)n;
		if (p->number < SHELL_FD_GIVEBACK)
			proc->events->output(proc->arg, p->number, chunk,
			    (size_t)n);
		else if (proc->given.len + (size_t)n <= GIVEBACK_MAX)
			buf_add(&proc->given, chunk, (size_t)n);
	}
}

static void
on_readable(void *arg, unsigned events)
{
	(void)events;
	pipe_read(arg, CHUNK);
}

static void
on_started(void *arg, pid_t pid)
{
	struct proc *proc = arg;

	proc->events->started(proc->arg, (int)pid);
	/* Not earlier: output never comes before started. */
	for (size_t i = 0; i < ARRAY_LEN(proc->pipes); i++) {
		struct pipe *p = &proc->pipes[i];
		if (p->fd >= 0)
			p->watch = loop_watch(proc->inst->loop, p->fd, LOOP_READ,
			    "output of a command", on_readable, p);
	}
}

static void
on_exited(void *arg, int wait_status, unsigned leftovers)
{
	struct proc *proc = arg;

	for (size_t i = 0; i < ARRAY_LEN(proc->pipes); i++)
		pipe_read(&proc->pipes[i], DRAIN_MAX);
	if (proc->given.len)
		proc->events->giveback(proc->arg, proc->given.data,
		    proc->given.len);
	proc->events->exited(proc->arg, wait_status, leftovers);
}

static void
on_dead(void *arg, const struct err *err)
{
	struct proc *proc = arg;
	const struct proc_events *events = proc->events;
	void *events_arg = proc->arg;

	for (size_t i = 0; i < ARRAY_LEN(proc->pipes); i++) {
		pipe_read(&proc->pipes[i], DRAIN_MAX);
		pipe_close(&proc->pipes[i]);
	}
	buf_done(&proc->given);
	feed_done(&proc->feed);
	mem_free(proc);
	events->dead(events_arg, err);
}

static int
memory_file(const char *name, const void *data, size_t len)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const char *p = data;

	while (fd >= 0 && len > 0) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			close(fd);
			return -1;
		}
		p += n;
		len -= (size_t)n;
	}
	if (fd >= 0) {
		lseek(fd, 0, SEEK_SET);
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
		    F_SEAL_WRITE | F_SEAL_SEAL);
	}
	return fd;
}

#define FEED_END 3	/* of ends[]: what is written to */

static int
make_pipe(int *child, int *ours, bool to_child)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	*child = pair[to_child ? 0 : 1];
	*ours = pair[to_child ? 1 : 0];
	return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

/* A terminal in the place of 0, 1 and 2; read and written on our side of it. */
static int
make_terminal(int fds[5], int ends[4])
{
	int pair[2];

	if (pty_open("/dev/ptmx", pair) < 0)
		return -1;
	ends[0] = pair[0];
	fds[0] = pair[1];
	fds[1] = fcntl(pair[1], F_DUPFD_CLOEXEC, 0);
	ends[FEED_END] = fcntl(pair[0], F_DUPFD_CLOEXEC, 0);
	return fds[1] < 0 || ends[FEED_END] < 0 ? -1 :
	    fcntl(pair[0], F_SETFL, O_NONBLOCK);
}

/* fds: what the child gets as 0 to 4; ends[]: what stays ours. */
static int
make_fds(const struct spawn_req *req, int fds[5], int ends[4])
{
	for (int i = 0; i < 5; i++)
		fds[i] = -1;
	if (req->pty ? make_terminal(fds, ends) < 0 :
	    make_pipe(&fds[1], &ends[0], false) < 0)
		return -1;
	if (req->split && make_pipe(&fds[2], &ends[1], false) < 0)
		return -1;
	if (!req->split)
		fds[2] = fds[1];
	if (make_pipe(&fds[SHELL_FD_GIVEBACK], &ends[2], false) < 0)
		return -1;
	if (req->feed && !req->pty &&
	    make_pipe(&fds[0], &ends[FEED_END], true) < 0)
		return -1;
	if (req->input)
		fds[0] = memory_file("stdin", req->input, req->input_len);
	fds[4] = memory_file("command", req->script, req->script_len);
	return fds[4] < 0 || (req->input && fds[0] < 0) ? -1 : 0;
}

static void
close_fds(int *fds, size_t n, bool split)
{
	for (size_t i = 0; i < n; i++) {
		if (fds[i] >= 0 && (n != 5 || i != 2 || split))
			close(fds[i]);
	}
}

struct proc *
local_spawn(struct box *box, const struct spawn_req *req, struct err *err)
{
	static const struct child_events events = { on_started, on_exited, on_dead };
	struct backend_inst *inst = box->inst;
	const char *bash[] = { SHELL_ARGV };
	static const char *const plain[] = { "/bin/sh", "/dev/fd/4", NULL };
	int fds[6], ends[4] = { -1, -1, -1, -1 };
	struct child_spec spec = {
		.argv = inst->bash ? bash : plain, .env = req->env, .cwd = "/",
		.fds = fds, .nfds = req->rpc ? 6 : 5, .user = inst->as,
		.keep_children = req->keep_children, .terminal = req->pty,
	};
	struct proc *proc = mem_alloc(sizeof(*proc));

	bash[0] = SHELL_PATH;	/* the keeper execs by path */
	fds[SHELL_FD_RPC] = req->rpc;	/* not ours to close */
	if (make_fds(req, fds, ends) < 0)
		err_set_errno(err, errno, "pipes for a command could not be made");
	else
		proc->child = child_spawn(inst->launcher, &spec, &events, proc, err);
	close_fds(fds, 5, req->split);
	if (!proc->child) {
		close_fds(ends, 4, true);
		mem_free(proc);
		return NULL;
	}
	proc->inst = inst;
	proc->events = req->events;
	proc->arg = req->arg;
	proc->pty = req->pty;
	buf_init(&proc->given, GIVEBACK_MAX);
	feed_init(&proc->feed, inst->loop);
	if (ends[FEED_END] >= 0)
		feed_open(&proc->feed, ends[FEED_END]);
	for (int i = 0; i < 3; i++) {
		struct pipe *p = &proc->pipes[i];
		*p = (struct pipe){ .proc = proc, .fd = ends[i], .number = i + 1 };
	}
	return proc;
}

void
local_kill(struct proc *proc)
{
	child_kill(proc->child);
}

void
local_flow(struct proc *proc, bool reading)
{
	for (int i = 0; i < 2; i++) {
		if (proc->pipes[i].watch)
			loop_watch_set(proc->pipes[i].watch,
			    reading ? LOOP_READ : 0);
	}
}

int
local_write(struct proc *proc, const void *data, size_t len, struct err *err)
{
	return feed_write(&proc->feed, data, len, err);
}

void
local_close_input(struct proc *proc)
{
	if (proc->pty)
		feed_terminal_end(&proc->feed);
	else
		feed_end(&proc->feed);
}
