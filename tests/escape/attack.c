/*
 * One attack (or harmless act) by name, run inside the sandbox and, as a
 * control, outside.  Prints what came of it as one word: OK, the errno's name,
 * or a value.  Every act is harmless outside: files are opened, not written;
 * with -u (when CONTROL is set) it happens in fresh namespaces of our own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

static int
say(long result)
{
	puts(result < 0 ? strerrorname_np(errno) : "OK");
	return 0;
}

static long
number(const char *s)
{
	return (long)strtoull(s, NULL, 0);
}

static void
write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		perror(path);
	if (fd >= 0)
		close(fd);
}

/* For controls: root of namespaces of our own. */
static void
own_namespaces(void)
{
	char map[64];
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS) < 0)
		return;
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_text("/proc/self/gid_map", map);
}

static const struct {
	const char *name;
	long nr;
} calls[] = {
#define CALL(name) { #name, SYS_##name }
	CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(unshare),
	CALL(clone3), CALL(setns), CALL(mknodat), CALL(ptrace), CALL(kcmp),
	CALL(process_vm_readv), CALL(process_vm_writev), CALL(process_madvise),
	CALL(pidfd_getfd), CALL(keyctl), CALL(add_key), CALL(request_key), CALL(bpf),
	CALL(perf_event_open), CALL(userfaultfd), CALL(io_uring_setup),
	CALL(io_uring_enter), CALL(io_uring_register), CALL(memfd_secret),
	CALL(kexec_load), CALL(init_module), CALL(delete_module), CALL(reboot),
	CALL(swapon), CALL(acct), CALL(syslog), CALL(iopl), CALL(clock_settime),
	CALL(clock_adjtime), CALL(sethostname), CALL(setdomainname),
	CALL(personality), CALL(name_to_handle_at), CALL(open_by_handle_at),
	CALL(fanotify_init), CALL(mbind), CALL(move_pages), CALL(open_tree),
	CALL(fsopen), CALL(mount_setattr), CALL(move_mount), CALL(prlimit64),
	CALL(kill), CALL(socket), CALL(socketpair), CALL(cachestat), CALL(quotactl),
	CALL(pidfd_open), CALL(setuid), CALL(memfd_create), CALL(mq_open),
	CALL(vhangup), CALL(lookup_dcookie), CALL(clone), CALL(renameat2),
	CALL(setpriority),
};

/* Arguments: numbers, s:TEXT, b (a zeroed buffer). */
static int
act_sys(char **argv)
{
	static char buffer[4096] __attribute__((aligned(4096)));
	long args[6] = { 0 };
	long nr = -1;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, argv[0]) == 0)
			nr = calls[i].nr;
	if (nr < 0)
		nr = number(argv[0]);
	for (int i = 0; i < 6 && argv[i + 1]; i++)
		args[i] = strncmp(argv[i + 1], "s:", 2) == 0 ? (long)(argv[i + 1] + 2) :
			strcmp(argv[i + 1], "b") == 0 ? (long)buffer : number(argv[i + 1]);
	return say(syscall(nr, args[0], args[1], args[2], args[3], args[4], args[5]));
}

/* creat PATH: makes and removes a file. */
static int
act_creat(char **argv)
{
	int fd = open(argv[0], O_WRONLY | O_CREAT | O_EXCL, 0600);

	if (fd >= 0)
		unlink(argv[0]);
	return say(fd);
}

/* open PATH: for writing, without writing. */
static int
act_open(char **argv)
{
	return say(open(argv[0], O_WRONLY | O_NONBLOCK | O_NOCTTY));
}

/* write PATH TEXT: into an existing file. */
static int
act_write(char **argv)
{
	int fd = open(argv[0], O_WRONLY | O_NOCTTY);

	return say(fd < 0 ? -1 : write(fd, argv[1], strlen(argv[1])));
}

static int
act_read(char **argv)
{
	char text[256];
	int fd = open(argv[0], O_RDONLY | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (n == 0)
		puts("EMPTY");
	return n == 0 ? 0 : say(n);
}

static int
act_stat(char **argv)
{
	struct stat st;

	return say(stat(argv[0], &st));
}

static int
act_readlink(char **argv)
{
	char text[256];

	return say(readlink(argv[0], text, sizeof(text)));
}

static int
act_list(char **argv)
{
	return say(open(argv[0], O_RDONLY | O_DIRECTORY));
}

static int
act_link(char **argv)
{
	int result = link(argv[0], argv[1]);

	if (result == 0)
		unlink(argv[1]);
	return say(result);
}

static int
act_fifo(char **argv)
{
	int result = mkfifo(argv[0], 0600);

	if (result == 0)
		unlink(argv[0]);
	return say(result);
}

static int
act_flags(char **argv)
{
	struct statvfs st;

	if (statvfs(argv[0], &st) < 0)
		return say(-1);
	printf("%s%s%s\n", st.f_flag & ST_RDONLY ? "ro" : "rw",
		st.f_flag & ST_NOSUID ? ",nosuid" : "",
		st.f_flag & ST_NODEV ? ",nodev" : "");
	return 0;
}

/* Lines of /proc/PID/status that begin so, joined. */
static int
act_status(char **argv)
{
	char line[256], path[64];

	snprintf(path, sizeof(path), "/proc/%s/status", argv[0]);
	FILE *f = fopen(path, "r");
	if (!f)
		return say(-1);
	const char *space = "";
	while (fgets(line, sizeof(line), f))
		for (char **want = argv + 1; *want; want++) {
			size_t n = strlen(*want);
			if (strncmp(line, *want, n) || line[n] != ':')
				continue;
			line[strcspn(line, "\n")] = 0;
			char *value = line + n + 1;
			value += strspn(value, " \t");
			printf("%s%s", space, value);
			space = " ";
		}
	putchar('\n');
	fclose(f);
	return 0;
}

static int
act_securebits(char **argv)
{
	(void)argv;
	printf("0x%x\n", (unsigned)prctl(PR_GET_SECUREBITS));
	return 0;
}

static int
act_fds(char **argv)
{
	bool any = false;

	(void)argv;
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0) {
			printf("%s%d", any ? " " : "", fd);
			any = true;
		}
	puts(any ? "" : "none");
	return 0;
}

static int
act_connect(char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int errnum = 0;
	socklen_t len = sizeof(errnum);

	to.sin_port = htons((uint16_t)number(argv[1]));
	inet_pton(AF_INET, argv[0], &to.sin_addr);
	if (fd < 0 || (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 &&
	    errno != EINPROGRESS))
		return say(-1);
	if (poll(&p, 1, 1000) != 1) {
		puts("TIMEOUT");
		return 0;
	}
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len);
	errno = errnum;
	return say(errnum ? -1 : 0);
}

static int
act_udp(char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	to.sin_port = htons((uint16_t)number(argv[1]));
	inet_pton(AF_INET, argv[0], &to.sin_addr);
	return say(fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof(to)));
}

/* Sends to the sandbox's proxy and reads what it answers: bytes, 0, or -1. */
static ssize_t
ask_proxy(const void *text, size_t len, char *answer, size_t size)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(3128) };
	static int fd = -1;
	struct pollfd p = { .events = POLLIN };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
			return -1;
	}
	if (send(fd, text, len, MSG_NOSIGNAL) < 0)
		return -1;
	p.fd = fd;
	if (poll(&p, 1, 12000) != 1) {
		errno = ETIMEDOUT;
		return -1;
	}
	ssize_t n = recv(fd, answer, size - 1, 0);
	if (n >= 0)
		answer[n] = 0;
	return n;
}

/* proxy LINE...: a request of these lines; the status of the answer. */
static int
act_proxy(char **argv)
{
	char text[8192], answer[4096];
	size_t len = 0;

	for (; *argv; argv++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\r\n", *argv);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "\r\n");
	ssize_t n = ask_proxy(text, len, answer, sizeof(answer));
	if (n < 0)
		return say(-1);
	printf("%.3s\n", n > 12 ? answer + 9 : "");
	return 0;
}

/* socks COMMAND TYPE HEX PORT: the code of the answer. HEX: address or name. */
static int
act_socks(char **argv)
{
	unsigned char text[300] = { 5, (unsigned char)number(argv[0]), 0,
		(unsigned char)number(argv[1]) };
	size_t len = 4, n = strlen(argv[2]);
	char answer[300];

	if (ask_proxy("\5\1\0", 3, answer, sizeof(answer)) != 2)
		return say(-1);
	if (text[3] == 3) {
		text[len++] = (unsigned char)n;
		memcpy(text + len, argv[2], n);
		len += n;
	} else {
		char byte[3] = "";
		for (size_t i = 0; i + 1 < n; i += 2) {
			memcpy(byte, argv[2] + i, 2);
			text[len++] = (unsigned char)strtoul(byte, NULL, 16);
		}
	}
	text[len++] = (unsigned char)(number(argv[3]) >> 8);
	text[len++] = (unsigned char)number(argv[3]);
	if (ask_proxy(text, len, answer, sizeof(answer)) < 2)
		return say(-1);
	printf("%d\n", answer[1]);
	return 0;
}

static socklen_t
abstract_address(struct sockaddr_un *un, const char *name)
{
	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path + 1, name, strlen(name));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static int
act_abstract(char **argv)
{
	struct sockaddr_un un;
	socklen_t len = abstract_address(&un, argv[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return say(fd < 0 ? -1 : connect(fd, (struct sockaddr *)&un, len));
}

static int
act_abstract_listen(char **argv)
{
	struct sockaddr_un un;
	socklen_t len = abstract_address(&un, argv[0]);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&un, len) < 0 || listen(fd, 5) < 0)
		return say(-1);
	say(0);
	fflush(stdout);
	pause();
	return 0;
}

static int
act_shm(char **argv)
{
	return say(shmget((key_t)number(argv[0]), 1, 0));
}

/* tty REQUEST: an ioctl on a terminal of our own. */
static int
act_tty(char **argv)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	char c = 'x';

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		return say(-1);
	/* As our controlling terminal, else TIOCSTI needs a capability. */
	setsid();
	int slave = open(ptsname(master), O_RDWR);
	if (slave < 0)
		return say(-1);
	return say(syscall(SYS_ioctl, slave, (unsigned long)number(argv[0]), &c));
}

#ifdef __x86_64__
static void
int80(void)
{
	long result;

	/* i386 getpid */
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
	_exit(result > 0 ? 0 : 1);
}
#else
static void
int80(void)
{
	_exit(0);
}
#endif

static int
act_int80(char **argv)
{
	int status;
	pid_t pid = fork();

	(void)argv;
	if (pid == 0)
		int80();
	waitpid(pid, &status, 0);
	puts(WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) :
		WEXITSTATUS(status) == 0 ? "OK" : "FAILED");
	return 0;
}

/* forks N: how many of N children could not be made. */
static int
act_forks(char **argv)
{
	long refused = 0;
	int held[2];
	char c;

	if (pipe(held) < 0)
		return say(-1);
	for (long i = 0; i < number(argv[0]); i++) {
		pid_t pid = fork();
		if (pid == 0) {
			close(held[1]);
			_exit(read(held[0], &c, 1) < 0);
		}
		if (pid < 0)
			refused = errno;
	}
	errno = (int)refused;
	return say(refused ? -1 : 0);
}

static int
act_opens(char **argv)
{
	long fd = 0;

	for (long i = 0; i < number(argv[0]) && fd >= 0; i++)
		fd = open("/dev/null", O_RDONLY);
	return say(fd);
}

static int
act_inotify(char **argv)
{
	long fd = 0;

	for (long i = 0; i < number(argv[0]) && fd >= 0; i++)
		fd = inotify_init1(IN_CLOEXEC);
	return say(fd);
}

static int
act_memory(char **argv)
{
	size_t size = (size_t)number(argv[0]) << 20;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			_exit(1);
		for (size_t i = 0; i < size; i += 4096)
			p[i] = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	puts(WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "OK" : "REFUSED");
	return 0;
}

/* fill DIR MIB: writes so much into one file there. */
static int
act_fill(char **argv)
{
	static char block[1 << 20];
	char path[256];
	ssize_t n = 0;

	signal(SIGXFSZ, SIG_IGN);
	snprintf(path, sizeof(path), "%s/fill", argv[0]);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (long i = 0; fd >= 0 && n >= 0 && i < number(argv[1]); i++)
		n = write(fd, block, sizeof(block));
	int errnum = errno;
	unlink(path);
	errno = errnum;
	return say(fd < 0 ? -1 : n);
}

static int
act_inodes(char **argv)
{
	char path[256];
	int fd = 0;
	long i;

	for (i = 0; fd >= 0 && i < number(argv[1]); i++) {
		snprintf(path, sizeof(path), "%s/i%ld", argv[0], i);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		if (fd >= 0)
			close(fd);
	}
	int errnum = errno;
	while (i-- > 0) {
		snprintf(path, sizeof(path), "%s/i%ld", argv[0], i);
		unlink(path);
	}
	errno = errnum;
	return say(fd);
}

/* How many Landlock rulesets still fit on top: 16 less those in force. */
static int
act_landlock_room(char **argv)
{
	uint64_t attr[3] = { 1, 0, 0 };
	int count = 0;

	(void)argv;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (; count < 20; count++) {
		int fd = (int)syscall(444, attr, sizeof(uint64_t), 0);
		if (fd < 0 || syscall(446, fd, 0) < 0)
			break;
		close(fd);
	}
	printf("%d\n", count);
	return 0;
}

static int
act_core(char **argv)
{
	struct rlimit r;

	(void)argv;
	getrlimit(RLIMIT_CORE, &r);
	printf("%llu\n", (unsigned long long)r.rlim_max);
	return 0;
}

static int
act_lookup(char **argv)
{
	struct addrinfo *list = NULL;
	int result = getaddrinfo(argv[0], "80", NULL, &list);

	puts(result == 0 ? "OK" : "FAILED");
	return 0;
}

static const struct {
	const char *name;
	int (*act)(char **argv);
	int args;
} acts[] = {
	{ "sys", act_sys, 1 }, { "creat", act_creat, 1 }, { "open", act_open, 1 },
	{ "write", act_write, 2 }, { "read", act_read, 1 }, { "stat", act_stat, 1 },
	{ "readlink", act_readlink, 1 }, { "list", act_list, 1 },
	{ "link", act_link, 2 }, { "fifo", act_fifo, 1 }, { "flags", act_flags, 1 },
	{ "status", act_status, 2 }, { "securebits", act_securebits, 0 },
	{ "fds", act_fds, 0 }, { "connect", act_connect, 2 }, { "udp", act_udp, 2 },
	{ "abstract", act_abstract, 1 }, { "abstract-listen", act_abstract_listen, 1 },
	{ "shm", act_shm, 1 }, { "tty", act_tty, 1 }, { "int80", act_int80, 0 },
	{ "forks", act_forks, 1 }, { "opens", act_opens, 1 },
	{ "inotify", act_inotify, 1 }, { "memory", act_memory, 1 }, { "fill", act_fill, 2 },
	{ "inodes", act_inodes, 2 }, { "landlock-room", act_landlock_room, 0 },
	{ "core", act_core, 0 }, { "lookup", act_lookup, 1 },
	{ "proxy", act_proxy, 1 }, { "socks", act_socks, 4 },
};

int
main(int argc, char **argv)
{
	argv++, argc--;
	if (argc && strcmp(argv[0], "-u") == 0) {
		if (getenv("CONTROL"))
			own_namespaces();
		argv++, argc--;
	}
	for (size_t i = 0; argc && i < sizeof(acts) / sizeof(acts[0]); i++)
		if (strcmp(argv[0], acts[i].name) == 0 && argc > acts[i].args)
			return acts[i].act(argv + 1);
	fprintf(stderr, "no such act\n");
	return 2;
}
