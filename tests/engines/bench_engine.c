/*
 * Figures of a backend, beside the engine's own command line in the same run, or
 * beside OpenSSH with a connection that is there already (ControlMaster).
 * bench_engine BACKEND CLI, with GATEHOUSE_TEST_ENGINE if it is a container's; prints
 * lines `name value unit` (tests/engines/bench starts an engine for it).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/bench/figure.h"
#include "tests/conformance/harness.h"

#define ROUNDS 20
#define SANDBOXES 50

static long
resident_kb(void)
{
	char text[256] = "";
	int fd = open("/proc/self/statm", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	char *space = n > 0 ? strchr(text, ' ') : NULL;
	return space ? strtol(space, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024) : 0;
}

static char control[96];	/* the socket of OpenSSH's master; "": none */

static void
ssh_run(const char *cli, const char *how, const char *command)
{
	const struct ssh_opts *o = cf_ssh();
	CLEANUP_FREE char *hosts = mem_printf("UserKnownHostsFile=%s",
	    o->known_hosts);
	CLEANUP_FREE char *path = mem_printf("ControlPath=%s", control);
	CLEANUP_FREE char *port = mem_printf("%u", (unsigned)o->port);

	execl(cli, cli, "-F", "none", "-i", o->key_file, "-p", port, "-l",
	    o->user ? o->user : getenv("USER"), "-o", hosts, "-o", path, how,
	    o->host, command, (char *)NULL);
	_exit(127);
}

/* "-M" opens the line and stays; "-O" with "exit" ends it. */
static void
ssh_master(const char *cli, bool up)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		if (up)
			ssh_run(cli, "-fNM", NULL);
		ssh_run(cli, "-Oexit", NULL);
	}
	waitpid(pid, &status, 0);
	if (up && status != 0)
		control[0] = 0;
}

/* The other program, once: in the container that is there, or over the line. */
static double
cli_once(const char *cli, const char *container)
{
	double began = now_ms();
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, 1);
		dup2(null, 2);
		if (*control)
			ssh_run(cli, "-n", "true");
		setenv("DOCKER_HOST", getenv("GATEHOUSE_TEST_ENGINE"), 1);
		execl(cli, cli, "exec", container, "/bin/true", (char *)NULL);
		_exit(127);
	}
	int status;
	waitpid(pid, &status, 0);
	return status == 0 ? now_ms() - began : -1;
}

/* "docker ps -q" of the CLI: the only container's id. */
static bool
the_container(const char *cli, char *id, size_t size)
{
	int out[2];

	if (pipe2(out, O_CLOEXEC) < 0)
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		dup2(out[1], 1);
		setenv("DOCKER_HOST", getenv("GATEHOUSE_TEST_ENGINE"), 1);
		execl(cli, cli, "ps", "-q", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	ssize_t n = read(out[0], id, size - 1);
	close(out[0]);
	waitpid(pid, NULL, 0);
	id[n > 0 ? n : 0] = 0;
	id[strcspn(id, "\n")] = 0;
	return *id != 0;
}

static void
bench_exec(const char *cli)
{
	double ours[ROUNDS], theirs[ROUNDS];
	char id[128];

	cf_expect("true", "", 0);
	bool there = cli && (*control || the_container(cli, id, sizeof(id)));
	for (int i = 0; i < ROUNDS; i++) {
		double began = now_ms();
		cf_expect("true", "", 0);
		ours[i] = now_ms() - began;
		theirs[i] = there ? cli_once(cli, id) : -1;
	}
	printf("%s_exec_overhead_ms %.1f ms\n", cf.backend, median(ours, ROUNDS));
	if (there)
		printf("%s_exec_cli_ms %.1f ms\n", cf.backend,
		    median(theirs, ROUNDS));
}

static void
bench_cancel(void)
{
	struct sandbox_cmd cmd = { .command = "(setsid sleep 1000 &); echo up; "
		"sleep 1000" };
	double took[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		struct ran r;
		cf_begin(&r, &key_a, &cmd);
		cf_until_output(&r, "up");
		double began = now_ms();
		op_cancel(&r.op);
		for (;;) {	/* the sandbox's own word that all is dead */
			CLEANUP_JSON struct json *dying = sandboxes_status(cf.sb);
			if (json_len(dying) == 0)
				break;
			real_turn(&cf.real, 1);
		}
		took[i] = now_ms() - began;
		cf_done(&r);
	}
	printf("%s_cancel_to_dead_ms %.1f ms\n", cf.backend, median(took, ROUNDS));
}

static void
bench_many(void)
{
	struct ran r[SANDBOXES];
	struct sandbox_key keys[SANDBOXES];
	struct sandbox_cmd cmd = { .command = "true" };
	char *scopes[SANDBOXES];
	double ready[5];

	for (int i = 0; i < SANDBOXES; i++) {
		scopes[i] = mem_printf("bench:%d", i);
		keys[i] = (struct sandbox_key){ "main", scopes[i],
			SANDBOX_MESSAGING };
	}
	long before = resident_kb();
	for (int i = 0; i < SANDBOXES; i++) {
		double began = now_ms();
		cf_begin(&r[i], &keys[i], &cmd);
		cf_wait(&r[i]);
		if (i < 5)
			ready[i] = now_ms() - began;
		assert_int_equal(r[i].code, 0);
		cf_done(&r[i]);
	}
	printf("%s_sandbox_ready_ms %.1f ms\n", cf.backend, median(ready, 5));
	printf("%s_sandbox_memory_kb %.1f kB\n", cf.backend,
	    (double)(resident_kb() - before) / SANDBOXES);
	for (int i = 0; i < SANDBOXES; i++)
		mem_free(scopes[i]);
}

static const char *cli;

static void
bench(void **state)
{
	(void)state;
	bench_exec(cli);
	bench_cancel();
	bench_many();
}

/* The harness's other half has cases of the suite: none runs here. */
void
cf_case(const char *name, void (*run)(void **state), void *state)
{
	(void)name, (void)run, (void)state;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bench) };

	signal(SIGPIPE, SIG_IGN);
	cf.backend = argc > 1 ? argv[1] : "docker";
	cli = argc > 2 ? argv[2] : NULL;
	bool ssh = strcmp(cf.backend, "ssh") == 0;
	const char *why = ssh ? cf_ssh_start() : NULL;
	if (why) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (ssh && cli) {
		assert_int_equal(mem_format(control, sizeof(control),
		    "/tmp/ghcm%d", (int)getpid()), 0);
		ssh_master(cli, true);
	}
	cf_start(cf.backend);
	if (!cf.props.available) {
		fprintf(stderr, "%s\n", cf.props.why);
		return 1;
	}
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	cf_stop();
	if (*control)
		ssh_master(cli, false);
	if (ssh)
		cf_ssh_stop();
	return rc;
}
