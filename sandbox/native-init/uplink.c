/*
 * The way out of a sandbox with the full network: slirp4netns, a user-mode
 * network stack, as a process of the sandbox's uid in the host's namespaces.
 * It is a child of the launcher, which ends it with the sandbox; its program
 * is the one that was sealed.
 *
 * Why it is safe to start: it gets no descriptor but the two namespaces, an
 * empty environment, no right that its uid hasn't, and may gain none; the
 * system's loopback is closed to it (--disable-host-loopback).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

#define READY_MS 5000

enum { USER_FD = 10, NET_FD, READY_FD, ERROR_FD, UPLINK_FDS = 4 };

/* The sealed program; ESTALE if another one stands in its place by now. */
static int
open_program(const struct seal *seal)
{
	struct stat st;
	int fd = open(seal->uplink, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_dev == seal->uplink_dev &&
	    st.st_ino == seal->uplink_ino)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

static void __attribute__((noreturn))
give_up(const char *what)
{
	dprintf(2, "%s: %s", what, strerror(errno));
	_exit(1);
}

static void __attribute__((noreturn))
uplink_main(const struct box *box, int channel)
{
	static const char *const argv[] = {
		"slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback",
		"--enable-seccomp", "--netns-type=path",
		"--userns-path=/proc/self/fd/10", "--ready-fd=12", "/proc/self/fd/11",
		"tap0", NULL,
	};
	static const char *const env[] = { NULL };
	unsigned char frame[64];
	int fds[WIRE_FDS_MAX];
	size_t nfds;

	prctl(PR_SET_NAME, "gatehouse-net");
	setsid();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != box->launcher)
		_exit(1);
	channel = sys_fd_up(channel, 100);
	if (channel < 0 || sys_close_range(3, (unsigned)channel - 1) < 0 ||
	    sys_close_range((unsigned)channel + 1, ~0u) < 0)
		_exit(1);
	/* Ends without a word if the setup failed before it came to us. */
	if (wire_recv(channel, frame, sizeof(frame), fds, WIRE_FDS_MAX, &nfds, 0) <= 0 ||
	    nfds != UPLINK_FDS)
		_exit(1);
	int program = open_program(box->seal);
	if (program < 0)
		give_up(box->seal->uplink);
	program = sys_fd_up(program, 100);
	for (size_t i = 0; i < UPLINK_FDS; i++)
		fds[i] = sys_fd_up(fds[i], 100);
	for (int i = 0; i < UPLINK_FDS; i++)
		if (dup2(fds[i], USER_FD + i) < 0)
			_exit(1);
	if (dup2(ERROR_FD, 2) < 0 || close(ERROR_FD) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(1);
	/* Nobody reads its words once it runs. */
	signal(SIGPIPE, SIG_IGN);
	syscall(SYS_execveat, program, "", argv, env, AT_EMPTY_PATH);
	give_up(box->seal->uplink);
}

void
uplink_fork(struct box *box, pid_t *ret_pid)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		box_fail(box, BOX_STEP_UPLINK);
	pid_t pid = sys_clone(CLONE_PARENT | CLONE_PARENT_SETTID, ret_pid);
	if (pid < 0)
		box_fail(box, BOX_STEP_UPLINK);
	if (pid == 0)
		uplink_main(box, pair[1]);
	close(pair[1]);
	box->uplink = pair[0];
}

/* The last line it wrote, for the message. */
static void
read_words(struct box *box, int fd)
{
	static char words[200];
	ssize_t n = read(fd, words, sizeof(words) - 1);

	if (n <= 0)
		return;
	while (n > 0 && words[n - 1] == '\n')
		n--;
	words[n] = 0;
	char *line = strrchr(words, '\n');
	box->detail = line ? line + 1 : words;
}

void
uplink_connect(struct box *box)
{
	int ready[2], words[2], fds[UPLINK_FDS];
	struct wire_out out;
	char byte = 0;

	fds[0] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	fds[1] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (fds[0] < 0 || fds[1] < 0 || pipe2(ready, O_CLOEXEC) < 0 ||
	    pipe2(words, O_CLOEXEC | O_NONBLOCK) < 0)
		box_fail(box, BOX_STEP_UPLINK);
	fds[2] = ready[1];
	fds[3] = words[1];
	wire_out_init(&out, 1);
	if (wire_send(box->uplink, &out, fds, UPLINK_FDS, 0) < 0)
		box_fail(box, BOX_STEP_UPLINK);
	wire_out_done(&out);
	for (size_t i = 0; i < UPLINK_FDS; i++)
		close(fds[i]);
	struct pollfd p = { .fd = ready[0], .events = POLLIN };
	int n = poll(&p, 1, READY_MS);
	if (n != 1 || read(ready[0], &byte, 1) != 1) {
		int errnum = n == 0 ? ETIMEDOUT : EIO;
		read_words(box, words[0]);
		errno = errnum;
		box_fail(box, BOX_STEP_UPLINK);
	}
	close(ready[0]);
	close(words[0]);
	close(box->uplink);
}
