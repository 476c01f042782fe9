/*
 * One command as its sandbox's init sees it: a process prepared in a PID and
 * mount namespace of its own, to which the request is handed later.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

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
	/* clone, not clone3: filters of containers know the former. */
	pid_t pid = sys_clone(CLONE_NEWPID | CLONE_NEWNS | CLONE_PIDFD, &pidfd);
	if (pid == 0)
		cmd_main(box, request[1], status[1]);
	int errnum = errno;
	close(request[1]);
	close(status[1]);
	if (pid < 0) {
		close(request[0]);
		close(status[0]);
		errno = errnum;
		return -1;
	}
	job->pid = pid;
	job->pidfd = pidfd;
	job->request = request[0];
	job->status = status[0];
	return 0;
}

static void
close_pair(int fds[2])
{
	if (fds[0] >= 0)
		close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
}

int
job_start(struct job *job, const void *frame, size_t len, uint32_t flags,
	const int *in_fds, size_t nin, int ret_fds[5], size_t *ret_nfds)
{
	struct wire_out out = { .len = len };
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	bool split = flags & BOX_RUN_SPLIT;
	int give[5], ngive = 0;
	union { const void *in; unsigned char *out; } data = { .in = frame };

	/* Made here, so that they belong to the uid that may reopen them as
	 * /dev/stdout and /dev/stderr. Give-back, out, err. */
	for (int i = 0; i < (split ? 3 : 2); i++) {
		if (pipe2(pipes[i], O_CLOEXEC) < 0)
			goto fail;
		give[ngive++] = pipes[i][1];
	}
	for (size_t i = 0; i < nin && ngive < 5; i++)
		give[ngive++] = in_fds[i];
	out.data = data.out;
	if (wire_send(job->request, &out, give, (size_t)ngive, 0) < 0)
		goto fail;
	close(job->request);
	job->request = -1;
	ret_fds[0] = job->pidfd;
	ret_fds[1] = job->status;
	job->status = -1;
	*ret_nfds = 2;
	for (int i = 0; i < (split ? 3 : 2); i++) {
		close(pipes[i][1]);
		ret_fds[(*ret_nfds)++] = pipes[i][0];
	}
	return 0;
fail:;
	int errnum = errno;
	for (int i = 0; i < 3; i++)
		close_pair(pipes[i]);
	errno = errnum;
	return -1;
}

void
job_release(struct job *job)
{
	if (job->request >= 0)
		close(job->request);
	if (job->status >= 0)
		close(job->status);
	close(job->pidfd);
	memset(job, 0, sizeof(*job));
}
