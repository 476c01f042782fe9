/*
 * The escape suite: each line of probes.tsv is run outside as a control, where
 * it must give what the control column says, then inside the native sandbox,
 * where it must give exactly the word expected.  A control that gives something
 * else makes the probe a SKIP, never a pass.  TAP on stdout.
 *
 *	escape PROBES ATTACK [NETWORK]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ip.h"
#include "base/mem.h"
#include "tests/real_native.h"

#define FIELDS 7
#define LINE_MAX_BYTES 2048

enum field { F_ID, F_NAME, F_ROOT, F_USER, F_INSIDE, F_COMMAND, F_BACKGROUND };

static struct suite {
	struct nat nat;
	char *attack;		/* outside */
	char *state;		/* has a secret that a command may try to read */
	const char *inside;	/* the workspace as a command sees it */
	char *variables;	/* for both sides: NAME=value lines of shell */
	int shm;
	unsigned n, failed, skipped;
} s;

/* Names of the filtered network's probes, as the gateway's resolver tells them. */
int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
	struct addrinfo **ret)
{
	static const struct { const char *name, *first, *then; } names[] = {
		{ "inner.probe", "127.0.0.1", NULL }, { "meta.probe", "169.254.169.254", NULL },
		{ "private.probe", "10.255.255.1", NULL },
		{ "nat64.probe", "64:ff9b::10.255.255.1", NULL },
		{ "mixed.probe", "127.0.0.77", "127.0.0.1" },
		/* What is permitted at the first question, then what is not. */
		{ "rebind.probe", "127.0.0.77", NULL },
	};
	static int asked;	/* by one thread after the other */

	(void)service, (void)hints;
	*ret = NULL;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *list[] = { names[i].then, names[i].first };
		if (strcmp(name, names[i].name) != 0)
			continue;
		if (strcmp(name, "rebind.probe") == 0 && asked++ > 0)
			list[1] = "127.0.0.1";
		for (size_t k = 0; k < ARRAY_LEN(list); k++) {
			struct ip ip;
			if (!list[k])
				continue;
			struct { struct addrinfo info; struct sockaddr_storage sa; } *a =
				mem_alloc(sizeof(*a));
			REQUIRE(ip_parse(list[k], &ip) == 0);
			a->info.ai_addrlen = ip_to_sockaddr(&ip, 0, &a->sa);
			a->info.ai_addr = (struct sockaddr *)&a->sa;
			a->info.ai_next = *ret;
			*ret = &a->info;
		}
	}
	return *ret ? 0 : EAI_NONAME;
}

void
freeaddrinfo(struct addrinfo *list)
{
	while (list) {
		struct addrinfo *next = list->ai_next;
		mem_free(list);
		list = next;
	}
}

static void
bait_tcp(struct buf *vars)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0 &&
		listen(fd, 100) == 0 &&
		getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	buf_printf(vars, "PORT=%d\n", ntohs(at.sin_port));
}

static void
bait_abstract(struct buf *vars)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char name[40];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	REQUIRE(mem_format(name, sizeof(name), "gh-bait-%d", (int)getpid()) == 0);
	memcpy(at.sun_path + 1, name, strlen(name));
	REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&at, (socklen_t)
		(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) == 0 &&
		listen(fd, 100) == 0);
	buf_printf(vars, "ABSTRACT=%s\n", name);
}

static void
bait_all(void)
{
	CLEANUP_BUF struct buf vars;
	CLEANUP_FREE char *secret = mem_printf("%s/secret", s.nat.state);
	key_t key = (key_t)(0x67680000 + getpid());

	buf_init(&vars, 4096);
	int fd = open(secret, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	REQUIRE(fd >= 0 && write(fd, "secret\n", 7) == 7);
	close(fd);
	s.shm = shmget(key, 4096, IPC_CREAT | 0666);
	REQUIRE(s.shm >= 0);
	bait_tcp(&vars);
	bait_abstract(&vars);
	buf_printf(&vars, "SECRET=%s\nSTATE=%s\nHOSTPID=%d\nSHMKEY=%d\nTAG=%d\n",
		secret, s.nat.state, (int)getpid(), (int)key, (int)getpid());
	s.variables = buf_take(&vars);
}

static void
trim(char *text)
{
	size_t n = strlen(text);

	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		text[--n] = 0;
}

static pid_t
outside_start(const char *command, int out)
{
	CLEANUP_FREE char *script = mem_printf("A=%s\nTMP=%s\nP1=%d\n%s%s",
		s.attack, s.nat.state, (int)getpid(), s.variables, command);
	pid_t pid = fork();

	if (pid == 0) {
		if (chdir(s.nat.state) < 0 || setpgid(0, 0) < 0)
			_exit(126);
		int null = open("/dev/null", O_RDONLY);
		dup2(null, 0);
		dup2(out, 1);
		dup2(out, 2);
		for (int fd = 3; fd < 256; fd++)
			close(fd);
		setenv("CONTROL", "1", 1);
		execl("/bin/bash", "bash", "--norc", "-c", script, (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* Runs outside; the output, trimmed. */
static char *
outside(const char *command, const char *background)
{
	char text[4096];
	size_t len = 0;
	int out[2], bg[2] = { -1, -1 };
	pid_t bg_pid = 0;

	REQUIRE(pipe2(out, O_CLOEXEC) == 0);
	if (background) {
		REQUIRE(pipe2(bg, O_CLOEXEC) == 0);
		bg_pid = outside_start(background, bg[1]);
		if (read(bg[0], text, sizeof(text)) < 0)
			text[0] = 0;
	}
	pid_t pid = outside_start(command, out[1]);
	close(out[1]);
	while (len < sizeof(text) - 1) {
		ssize_t n = read(out[0], text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(out[0]);
	waitpid(pid, NULL, 0);
	if (bg_pid > 0) {
		kill(-bg_pid, SIGKILL);
		waitpid(bg_pid, NULL, 0);
		close(bg[0]);
		close(bg[1]);
	}
	text[len] = 0;
	trim(text);
	return mem_str(text);
}

static void
inside_start(struct nat_run *run, const char *command, unsigned flags)
{
	/* Variables in one line that isn't exported. */
	CLEANUP_FREE char *script = mem_printf("A=%s/attack\nP1=1\n%s%s",
		s.inside, s.variables, command);

	nat_spawn(&s.nat, run, script, flags, NULL);
}

static char *
inside(const char *command, const char *background)
{
	struct nat_run run, bg;

	if (background) {
		inside_start(&bg, background, NAT_KEEP);
		while (!bg.dead && bg.out.len == 0)
			real_turn(&s.nat.real, 5);
	}
	inside_start(&run, command, 0);
	if (!real_until(&s.nat.real, &run.dead)) {
		nat_kill(&run);
		REQUIRE(real_until(&s.nat.real, &run.dead));
	}
	char *text = run.error[0] ? mem_str(run.error) : mem_str(run.out.data);
	nat_run_done(&run);
	if (background) {
		if (!bg.dead)
			nat_kill(&bg);
		REQUIRE(real_until(&s.nat.real, &bg.dead));
		nat_run_done(&bg);
	}
	trim(text);
	return text;
}

/* `a|b`: either of them. */
static bool
among(const char *got, const char *wanted)
{
	size_t n = strlen(got);

	for (const char *p = wanted; ; p++) {
		size_t len = strcspn(p, "|");
		if (len == n && memcmp(p, got, n) == 0)
			return true;
		p += len;
		if (*p == 0)
			return false;
	}
}

static void
probe(char *const f[FIELDS])
{
	const char *want = geteuid() == 0 || strcmp(f[F_USER], "=") == 0 ?
		f[F_ROOT] : f[F_USER];
	CLEANUP_FREE char *control = NULL;

	s.n++;
	/* Where an ordinary user is refused outside, too, root's run has the
	 * control. */
	bool none = strcmp(want, "~") == 0 ||
		(strcmp(f[F_ROOT], want) != 0 && among(want, f[F_INSIDE]));
	if (!none)
		control = outside(f[F_COMMAND], f[F_BACKGROUND]);
	CLEANUP_FREE char *got = inside(f[F_COMMAND], f[F_BACKGROUND]);
	if (!among(got, f[F_INSIDE])) {
		printf("not ok %u - %s %s: %s\n# inside gave \"%s\": %s\n", s.n, f[F_ID],
			f[F_NAME], f[F_INSIDE], got, f[F_COMMAND]);
		s.failed++;
	} else if (control && strcmp(control, want) != 0) {
		printf("ok %u - %s %s # SKIP the control outside gave \"%s\", not "
			"\"%s\"\n", s.n, f[F_ID], f[F_NAME], control, want);
		s.skipped++;
	} else {
		printf("ok %u - %s %s: %s%s\n", s.n, f[F_ID], f[F_NAME], f[F_INSIDE],
			control ? "" : " (no control)");
	}
	fflush(stdout);
}

static void
probe_all(const char *path)
{
	char line[LINE_MAX_BYTES];
	FILE *f = fopen(path, "re");

	REQUIRE(f);
	/* Of a mutant it's enough to know that it is caught. */
	while (fgets(line, sizeof(line), f) &&
	    !(s.failed && getenv("ESCAPE_MUST_FAIL"))) {
		char *fields[FIELDS] = { NULL }, *p = line;
		int n = 0;

		line[strcspn(line, "\n")] = 0;
		if (line[0] == '#' || line[0] == 0)
			continue;
		while (p && n < FIELDS)
			fields[n++] = strsep(&p, "\t");
		REQUIRE(n >= FIELDS - 1);
		probe(fields);
	}
	fclose(f);
	printf("1..%u\n", s.n);
	fprintf(stderr, "# uid %d: %u probes, %u failed, %u skipped\n",
		(int)geteuid(), s.n, s.failed, s.skipped);
}

static void
copy_attack(const char *from)
{
	CLEANUP_FREE char *to = mem_printf("%s/attack", s.nat.workspace);
	CLEANUP_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	char block[65536];
	ssize_t n;

	REQUIRE(in >= 0 && out >= 0);
	while ((n = read(in, block, sizeof(block))) > 0)
		REQUIRE(write(out, block, (size_t)n) == n);
}

int
main(int argc, char **argv)
{
	/* As open as can be: what stops a probe is not the list. */
	const char *const every[] = { "*", NULL }, *const ports[] = { "1-65535", NULL };
	const char *const named[] = { "127.0.0.77", NULL };
	const struct native_opts opts = {
		.minimum = getenv("ESCAPE_MINIMUM"),
		.network = argc == 4 ? argv[3] : "none",
		.egress = { .allow = every, .ports = ports, .private_allow = named },
		.memory_max = 256u << 20, .pids_max = 100, .files_max = 256,
		.file_size_max = 16u << 20, .tmp_max = 16u << 20,
	};

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: escape PROBES ATTACK [NETWORK]\n");
		return 2;
	}
	s.attack = realpath(argv[2], NULL);
	REQUIRE(s.attack);
	/* Readable for the control of an ordinary user's secret. */
	umask(022);
	if (!nat_start(&s.nat, &opts, NULL)) {
		printf("Bail out! %s\n", s.nat.error);
		return 1;
	}
	/* At another level than full only the probe says so, and commands of
	 * another uid must pass through. */
	if (opts.minimum && (chmod(s.nat.state, 0711) < 0 || !nat_probe(&s.nat) ||
	    strcmp(s.nat.props.level, opts.minimum) != 0)) {
		printf("1..0 # SKIP %s\n", s.nat.error[0] ? s.nat.error :
			"there is a better level here");
		nat_stop(&s.nat);
		return getenv("ESCAPE_MUST_FAIL") ? 1 : 0;
	}
	if (!nat_open(&s.nat)) {
		printf("1..0 # SKIP %s\n", s.nat.error);
		nat_stop(&s.nat);
		return getenv("ESCAPE_MUST_FAIL") ? 1 : 0;
	}
	s.inside = opts.minimum ? s.nat.workspace : "/workspace";
	bait_all();
	copy_attack(s.attack);
	probe_all(argv[1]);
	shmctl(s.shm, IPC_RMID, NULL);
	nat_stop(&s.nat);
	return s.failed ? 1 : 0;
}
