/*
 * One command as its sandbox's init sees it: a process prepared in a PID and
 * mount namespace of its own, to which the request is handed later.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/pty.h"
#include "sandbox/native-init/helper.h"

static void
close_pair(int fds[2])
{
	if (fds[0] >= 0)
		close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
}

int
job_prepare(const struct box *box, struct job *job)
{
	int request[2], status[2], pidfd = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, request) < 0)
		return -1;
	if (pipe2(status, O_CLOEXEC) < 0) {
		close(request[0]);
		close(request[1]);
		return -1;
	}
	bool bare = box->level == BOX_BARE;
	job->living[0] = job->living[1] = -1;
	/* clone, not clone3: filters of containers know the former. */
	pid_t pid = bare && pipe2(job->living, O_CLOEXEC) < 0 ? -1 :
		sys_clone((bare ? 0 : CLONE_NEWPID | CLONE_NEWNS) | CLONE_PIDFD,
		&pidfd);
	if (pid == 0 && bare)
		bare_cmd_main(box, request[1], status[1]);
	if (pid == 0)
		cmd_main(box, request[1], status[1]);
	int errnum = errno;
	close(request[1]);
	close(status[1]);
	if (pid < 0) {
		close(request[0]);
		close(status[0]);
		close_pair(job->living);
		errno = errnum;
		return -1;
	}
	job->pid = pid;
	job->pidfd = pidfd;
	job->request = request[0];
	job->status = status[0];
	return 0;
}

/* What a command gets ([0]) and what is told to the gateway ([1]). */
struct ends {
	int fds[4][2];
	size_t n;
};

static void
ends_close(struct ends *e, bool all)
{
	for (size_t i = 0; i < e->n; i++) {
		close(e->fds[i][0]);
		if (all)
			close(e->fds[i][1]);
	}
}

static int
ends_pipe(struct ends *e, bool to_command)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	e->fds[e->n][0] = pair[to_command ? 0 : 1];
	e->fds[e->n++][1] = pair[to_command ? 1 : 0];
	return 0;
}

/*
 * Made here, so that they belong to the uid that may reopen them as
 * /dev/stdout and its kind. Give-back, out or a terminal, err, feed.
 */
static int
ends_make(struct ends *e, const struct job *job, uint32_t flags)
{
	int pty[2];

	if (ends_pipe(e, false) < 0)
		return -1;
	if (flags & BOX_RUN_PTY) {
		/* This sandbox's own /dev/pts: its terminals are its own.  Bare:
		 * it has none, and only the descriptors reach the command. */
		if (pty_open(job->living[0] < 0 ? "/dev/pts/ptmx" : "/dev/ptmx",
		    pty) < 0)
			return -1;
		e->fds[e->n][0] = pty[1];
		e->fds[e->n++][1] = pty[0];
	} else if (ends_pipe(e, false) < 0) {
		return -1;
	}
	if (flags & BOX_RUN_SPLIT && ends_pipe(e, false) < 0)
		return -1;
	return flags & BOX_RUN_FEED ? ends_pipe(e, true) : 0;
}

int
job_start(struct job *job, const void *frame, size_t len, uint32_t flags,
	const int *in_fds, size_t nin, int ret_fds[JOB_FDS_MAX],
	size_t *ret_nfds)
{
	struct wire_out out = { .len = len };
	struct ends ends = { .n = 0 };
	int give[JOB_FDS_MAX];
	size_t ngive = 0;
	union { const void *in; unsigned char *out; } data = { .in = frame };

	if (ends_make(&ends, job, flags) < 0)
		goto fail;
	for (size_t i = 0; i < ends.n; i++)
		give[ngive++] = ends.fds[i][0];
	for (size_t i = 0; i < nin && ngive < JOB_FDS_MAX; i++)
		give[ngive++] = in_fds[i];
	out.data = data.out;
	if (wire_send(job->request, &out, give, ngive, 0) < 0)
		goto fail;
	close(job->request);
	job->request = -1;
	ret_fds[0] = job->living[0] >= 0 ? job->living[0] : job->pidfd;
	ret_fds[1] = job->status;
	job->status = -1;
	*ret_nfds = 2;
	ends_close(&ends, false);
	for (size_t i = 0; i < ends.n; i++)
		ret_fds[(*ret_nfds)++] = ends.fds[i][1];
	return 0;
fail:;
	int errnum = errno;
	ends_close(&ends, true);
	errno = errnum;
	return -1;
}

void
job_kill(const struct job *job)
{
	/* PID 1 of a namespace takes all with it; a keeper kills, then ends. */
	if (job->living[0] < 0)
		sys_pidfd_kill(job->pidfd);
	else
		kill(job->pid, SIGTERM);
}

void
job_release(struct job *job)
{
	if (job->request >= 0)
		close(job->request);
	if (job->status >= 0)
		close(job->status);
	close(job->pidfd);
	close_pair(job->living);
	memset(job, 0, sizeof(*job));
}
