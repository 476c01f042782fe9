#include "tests/real_sshd.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define SSHD "/usr/sbin/sshd"

static int
run(const char *const *argv)
{
	union { const char *const *in; char *const *out; } args = { argv };
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, 0);
		dup2(null, 1);
		execv(argv[0], args.out);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

static bool
make_key(const char *path)
{
	const char *const argv[] = { "/usr/bin/ssh-keygen", "-q", "-t", "ed25519",
		"-N", "", "-f", path, NULL };

	unlink(path);
	return run(argv) == 0;
}

static bool
write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return false;
	bool ok = fputs(text, f) >= 0;
	return fclose(f) == 0 && ok;
}

static char *
read_text(const char *path)
{
	char *text = mem_alloc(4096);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, 4095) : -1;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return text;
}

static unsigned
free_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sin, &len) < 0)
		sin.sin_port = 0;
	close(fd);
	return ntohs(sin.sin_port);
}

static void
write_known_hosts(struct sshd *s)
{
	char *pub CLEANUP_FREE = mem_printf("%s/host.pub", s->dir);
	char *key CLEANUP_FREE = read_text(pub);
	char *line CLEANUP_FREE = mem_printf("[127.0.0.1]:%u %s", s->port, key);

	(void)write_text(s->known_hosts, line);
}

static bool
write_files(struct sshd *s)
{
	char *host CLEANUP_FREE = mem_printf("%s/host", s->dir);
	char *pub CLEANUP_FREE = mem_printf("%s.pub", s->key);
	char *config CLEANUP_FREE = mem_printf("%s/config", s->dir);
	char *allowed CLEANUP_FREE = mem_printf("%s/allowed", s->dir);
	char *text CLEANUP_FREE = mem_printf("Port %u\nListenAddress 127.0.0.1\n"
	    "HostKey %s\nPidFile none\nAuthorizedKeysFile %s\nStrictModes no\n"
	    "UsePAM no\nPasswordAuthentication no\nPermitRootLogin "
	    "prohibit-password\nPrintMotd no\nMaxSessions 10\n", s->port, host,
	    allowed);

	if (!make_key(host) || !make_key(s->key) || !make_key(s->other_key) ||
	    !write_text(config, text))
		return false;
	char *key CLEANUP_FREE = read_text(pub);
	write_known_hosts(s);
	return write_text(allowed, key) && chmod(allowed, 0644) == 0;
}

static bool
answers(const struct sshd *s)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)s->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = connect(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0;

	close(fd);
	return ok;
}

#define ACCOUNT "gh-tester"
#define ACCOUNT_UID 64321

static bool
append(const char *from, const char *to, const char *line)
{
	CLEANUP_FREE char *text = read_text(from);
	CLEANUP_FREE char *all = mem_printf("%s%s", text, line);

	return write_text(to, all);
}

/* An account that only this process and its children see. */
static bool
make_account(const struct sshd *s)
{
	static const char *const files[] = { "passwd", "shadow" };
	CLEANUP_FREE char *home = mem_printf("%s/home", s->dir);
	CLEANUP_FREE char *line = mem_printf(ACCOUNT ":x:%d:%d::%s:/bin/bash\n",
	    ACCOUNT_UID, ACCOUNT_UID, home);
	const char *lines[] = { line, ACCOUNT ":*:19000:0:99999:7:::\n" };

	mkdir(home, 0700);
	if (chown(home, ACCOUNT_UID, ACCOUNT_UID) < 0 ||
	    unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP_FREE char *real = mem_printf("/etc/%s", files[i]);
		CLEANUP_FREE char *own = mem_printf("%s/%s", s->dir, files[i]);
		if (!append(real, own, lines[i]) ||
		    mount(own, real, NULL, MS_BIND, NULL) < 0)
			return false;
	}
	return true;
}

static bool
launch(struct sshd *s)
{
	char *config CLEANUP_FREE = mem_printf("%s/config", s->dir);
	char *log CLEANUP_FREE = mem_printf("%s/log", s->dir);

	s->pid = fork();
	if (s->pid == 0) {
		int null = open("/dev/null", O_RDWR);

		setsid();
		/* Whoever reads our output must not wait for it; nor may it stay. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < 3; i++)
			dup2(null, i);
		if (geteuid() == 0 && !make_account(s))
			_exit(126);
		execl(SSHD, SSHD, "-D", "-f", config, "-E", log, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 1000; i++) {
		if (answers(s))
			return true;
		if (waitpid(s->pid, NULL, WNOHANG) == s->pid)
			break;
		usleep(10000);
	}
	s->pid = 0;
	return false;
}

bool
sshd_start(struct sshd *s, const char **why)
{
	memset(s, 0, sizeof(*s));
	*why = "openssh-server is not installed";
	if (access(SSHD, X_OK) != 0 || access("/usr/bin/ssh-keygen", X_OK) != 0)
		return false;
	if (geteuid() == 0) {
		mkdir("/run/sshd", 0755);	/* sshd wants it when it is root */
		s->user = ACCOUNT;
	} else if (!getpwuid(geteuid())) {
		*why = "an account without a name can't log in";
		return false;
	}
	*why = "a private sshd did not start";
	if (mem_copy_str(s->dir, sizeof(s->dir), "/tmp/sshd-XXXXXX") < 0 ||
	    !mkdtemp(s->dir) || chmod(s->dir, 0755) < 0 ||
	    mem_format(s->key, sizeof(s->key), "%s/key", s->dir) < 0 ||
	    mem_format(s->other_key, sizeof(s->other_key), "%s/other", s->dir) < 0 ||
	    mem_format(s->known_hosts, sizeof(s->known_hosts), "%s/known_hosts",
	    s->dir) < 0)
		return false;
	s->port = free_port();
	if (s->port && write_files(s) && launch(s))
		return true;
	sshd_stop(s);
	return false;
}

void
sshd_new_host_key(struct sshd *s)
{
	char *host CLEANUP_FREE = mem_printf("%s/host", s->dir);

	(void)make_key(host);
}

/* The number after "Name:" in a process's status; 0: none. */
static pid_t
parent_of(const char *pid)
{
	char *path CLEANUP_FREE = mem_printf("/proc/%s/status", pid);
	char *text CLEANUP_FREE = read_text(path);
	const char *p = strstr(text, "\nPPid:");

	return p ? (pid_t)strtol(p + 6, NULL, 10) : 0;
}

/* Children of the listener (and theirs that are sshd): the sessions. */
static void
kill_sessions(pid_t of, int depth)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    parent_of(e->d_name) != of)
			continue;
		char *path CLEANUP_FREE = mem_printf("/proc/%s/comm", e->d_name);
		char *comm CLEANUP_FREE = read_text(path);
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		if (strncmp(comm, "sshd", 4) != 0)
			continue;
		if (depth < 3)
			kill_sessions(pid, depth + 1);
		kill(pid, SIGKILL);
	}
	if (dir)
		closedir(dir);
}

void
sshd_cut(struct sshd *s)
{
	kill_sessions(s->pid, 0);
}

static void
end(struct sshd *s)
{
	if (s->pid <= 0)
		return;
	sshd_cut(s);
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	s->pid = 0;
}

void
sshd_restart(struct sshd *s)
{
	end(s);
	(void)launch(s);
}

void
sshd_stop(struct sshd *s)
{
	const char *const argv[] = { "/bin/rm", "-rf", s->dir, NULL };

	end(s);
	if (s->dir[0])
		run(argv);
}
