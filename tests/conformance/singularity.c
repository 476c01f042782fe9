/*
 * Backend singularity runs against the stand-in tests/stub/singularity, or
 * against a real one: GATEHOUSE_TEST_SINGULARITY is an image for it then.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/conformance/harness.h"

#define TEST_UID 64125	/* nobody else's: pids come back */

static char home[64], stub[4096], image[4096];
static char *environ_for_it[4];
static struct singularity_opts opts;
static bool real;

static int
shell(const char *command)
{
	fflush(NULL);
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	int status = -1;
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void
put(const char *name, const char *text)
{
	char path[4200];

	assert_int_equal(mem_format(path, sizeof(path), "%s/%s",
	    strcmp(name, "stub-version") == 0 ? home : image, name), 0);
	(void)unlink(path);
	if (!text)
		return;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* The backend again, with what was put: why it can't be used, or NULL. */
static const char *
again(void)
{
	cf_restart();
	return cf.props.available ? NULL : cf.props.why;
}

/* Red if an error is not told with its own words, or a cure is missing. */
static void
each_failure_has_its_own_words(void **state)
{
	static const struct { const char *file, *text, *words; } cases[] = {
		{ "stub-version", "singularity version 2.6.1\n", "is needed" },
		{ "stub-version", "bash: what?\n", "is needed" },
		{ "stub-start-fails", "Failed to create user namespace: x",
		  "kernel.unprivileged_userns_clone" },
		{ "stub-start-fails", "failed to mount overlay",
		  "terminal.container_persistent" },
		{ "stub-start-fails", "no space left", "no space left" },
		{ "stub-no-sh", "", "has no /bin/sh" },
	};
	const char *own = cf.opts.image;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put(cases[i].file, cases[i].text);
		const char *why = again();
		if (!why || !strstr(why, cases[i].words))
			fail_msg("%zu: %s", i, why ? why : "available");
		put(cases[i].file, NULL);
	}
	cf.opts.image = "/nowhere/x.sif";
	assert_non_null(strstr(again(), "/nowhere/x.sif"));
	cf.opts.image = "/usr";
	assert_non_null(strstr(again(), "apptainer build --sandbox"));
	cf.opts.image = "docker-daemon://x";
	assert_non_null(strstr(again(), "only docker://"));
	cf.opts.image = own;
	opts.environ = (const char *const[]){ "PATH=/nowhere", NULL };
	assert_non_null(strstr(again(), "neither apptainer nor singularity"));
	opts.environ = (const char *const *)environ_for_it;
	assert_null(again());
}

/* Red if limits that don't hold are told as limits, or the reverse. */
static void
limits_are_said_as_they_are(void **state)
{
	(void)state;
	assert_non_null(strstr(cf.props.limits, "NOT LIMITED"));
	assert_non_null(strstr(cf.props.limits, "systemd"));
	put("stub-limits", "");
	assert_null(again());
	assert_null(strstr(cf.props.limits, "NOT LIMITED"));
	assert_non_null(strstr(cf.props.limits, "memory 1024 MiB"));
	put("stub-limits", NULL);
	assert_null(again());
}

/* Red if a bind leaves the sandbox "isolated", or the network counts as none. */
static void
a_bind_ends_the_isolation(void **state)
{
	static const char *const binds[] = { "/usr:/host-usr:ro", NULL };
	static const char *const bad[] = { "/usr,/etc:/x", NULL };

	(void)state;
	assert_int_equal(cf.props.isolation, SANDBOX_NO_HOST_FILES |
	    SANDBOX_NO_HOST_PROCS | SANDBOX_NO_CREDENTIALS);
	opts.binds = binds;
	assert_null(again());
	assert_int_equal(cf.props.isolation, 0);
	assert_non_null(strstr(cf.props.limits, "NOT ISOLATED"));
	cf_expect("test -d /host-usr/bin && echo yes", "yes\n", 0);
	opts.binds = bad;
	assert_non_null(strstr(again(), "no comma"));
	opts.binds = NULL;
	assert_null(again());
}

/* Red if an image is pulled twice, half, or its failure is not told. */
static void
an_address_is_pulled_once(void **state)
{
	const char *own = cf.opts.image;
	struct sandbox_cmd cmd = { .command = "echo b" };
	char command[256];
	struct ran a, b;

	(void)state;
	cf.opts.image = "docker://example.org/some/thing:1";
	assert_null(again());
	assert_int_equal(mem_format(command, sizeof(command),
	    "test ! -e %s/stub-pulls", home), 0);
	assert_int_equal(shell(command), 0);
	cf_begin(&a, &key_a, &cmd);
	cf_begin(&b, &key_b, &cmd);
	cf_wait(&a);
	cf_wait(&b);
	if (a.code || b.code)
		fail_msg("%s %s", a.error ? a.error : "", b.error ? b.error : "");
	cf_done(&a);
	cf_done(&b);
	assert_int_equal(mem_format(command, sizeof(command),
	    "test $(wc -l <%s/stub-pulls) = 1", home), 0);
	assert_int_equal(shell(command), 0);
	cf.opts.image = "missing/image";
	assert_null(again());
	cf_run(&a, "echo no");
	assert_int_equal(a.code, SANDBOX_EXIT_REFUSED);
	assert_false(a.started);
	if (!strstr(a.error, "docker://missing/image") ||
	    !strstr(a.error, "APPTAINER_DOCKER_USERNAME") ||
	    !strstr(a.error, "denied"))
		fail_msg("%s", a.error);
	cf_done(&a);
	cf.opts.image = own;
	assert_null(again());
}

/* Red if the next command is lost with the instance, or does not get a new one. */
static void
an_instance_ended_behind_our_back_is_started_anew(void **state)
{
	(void)state;
	cf_expect("echo kept >kept.txt; export GONE=no", "", 0);
	char command[256];
	assert_int_equal(mem_format(command, sizeof(command), "%s/stop-all", home),
	    0);
	assert_int_equal(shell(command), 0);
	real_turn(&cf.real, 300);
	cf_expect("cat kept.txt; rm kept.txt", "kept\n", 0);
}

/* Red if what a killed keeper left is not found, or what lives is touched. */
static void
what_was_left_behind_is_stopped(void **state)
{
	char command[600];

	(void)state;
	/* PID 1 did not begin at tick 1: its like is dead. Another's is not ours. */
	assert_int_equal(mem_format(command, sizeof(command), "export HOME=%s\n"
	    "n=$(%s instance list --json | grep -o 'gatehouse-[0-9a-f]*-trial' | head -1)\n"
	    "p=$(ls $HOME/.stub-instances | grep -o '^gatehouse-[0-9a-f]*-' | head -1)\n"
	    "%s instance start %s ${p}left-1-1-1-$(ls $HOME/.stub-instances | "
	    "grep -o '[0-9a-f]*$' | head -1) && "
	    "%s instance start %s gatehouse-00000000-x-1-1-1-abc", home, stub,
	    stub, image, stub, image), 0);
	assert_int_equal(shell(command), 0);
	assert_null(again());
	assert_int_equal(mem_format(command, sizeof(command), "export HOME=%s\n"
	    "l=$(%s instance list --json)\n"
	    "case $l in *left-1-1*) exit 1;; *00000000-x*) exit 0;; esac; exit 2",
	    home, stub), 0);
	assert_int_equal(shell(command), 0);
	assert_int_equal(mem_format(command, sizeof(command), "%s/stop-all", home),
	    0);
	(void)shell(command);
}

void
singularity_add(void)
{
#define CASE(name) cf_case("singularity " #name, name, NULL)
	if (real)
		return;
	CASE(each_failure_has_its_own_words);
	CASE(limits_are_said_as_they_are);
	CASE(a_bind_ends_the_isolation);
	CASE(an_address_is_pulled_once);
	CASE(an_instance_ended_behind_our_back_is_started_anew);
	CASE(what_was_left_behind_is_stopped);
#undef CASE
}

/* ---- the program --------------------------------------------------------------------- */

/* Root would be refused: the rest of the suite is an ordinary user's. */
static const char *
become_ordinary(void)
{
	if (geteuid() != 0)
		return NULL;
	if (setgroups(0, NULL) < 0 || setresgid(TEST_UID, TEST_UID, TEST_UID) < 0 ||
	    setresuid(TEST_UID, TEST_UID, TEST_UID) < 0)
		return "no ordinary user can be become here";
	return access(getenv("GATEHOUSE_HELPER"), X_OK) == 0 ? NULL :
	    "an ordinary user cannot reach the build directory";
}

static const char *
stub_start(void)
{
	const char *src = getenv("TOP_SRCDIR");
	char command[9000], *here = realpath(src ? src : ".", NULL);

	if (!here || shell("unshare --user --map-current-user --keep-caps --mount "
	    "--pid --fork mount -t tmpfs x /tmp 2>/dev/null") != 0) {
		mem_free(here);
		return "ordinary users may make no user namespaces here";
	}
	assert_int_equal(mem_format(stub, sizeof(stub),
	    "%s/tests/stub/singularity", here), 0);
	assert_int_equal(mem_format(image, sizeof(image), "%s/image", home), 0);
	assert_int_equal(mem_format(command, sizeof(command),
	    "mkdir -p %s/bin %s/.singularity.d/actions && "
	    ": >%s/.singularity.d/actions/start && ln -s %s %s/bin/singularity && "
	    "printf '#!/bin/sh\\nfor f in %s/.stub-instances/*/pid; do "
	    "kill -9 $(cat $f); done 2>/dev/null; exit 0\\n' >%s/stop-all && "
	    "chmod +x %s/stop-all",
	    home, image, image, stub, home, home, home, home), 0);
	mem_free(here);
	environ_for_it[0] = mem_printf("HOME=%s", home);
	environ_for_it[1] = mem_printf("PATH=%s/bin:/usr/bin:/bin", home);
	return shell(command) == 0 ? NULL : "the stand-in could not be set up";
}

const char *
cf_singularity_start(void)
{
	const char *why = become_ordinary(), *given = getenv(
	    "GATEHOUSE_TEST_SINGULARITY");

	if (why)
		return why;
	real = given && *given;
	if (mem_copy_str(home, sizeof(home), "/tmp/stub-XXXXXX") < 0 ||
	    !mkdtemp(home))
		return "no directory in /tmp";
	if (real) {
		assert_int_equal(mem_copy_str(image, sizeof(image), given), 0);
		environ_for_it[0] = mem_printf("HOME=%s", getenv("HOME"));
		environ_for_it[1] = mem_printf("PATH=%s", getenv("PATH"));
	} else if ((why = stub_start())) {
		return why;
	}
	opts = (struct singularity_opts){
		.helper = getenv("GATEHOUSE_HELPER"), .persistent = true,
		.environ = (const char *const *)environ_for_it,
		.memory = 1u << 30, .cpu_milli = 2000,
	};
	return NULL;
}

const struct singularity_opts *
cf_singularity(void)
{
	return &opts;
}

const char *
cf_singularity_image(void)
{
	return image;
}

void
cf_singularity_stop(void)
{
	char command[256];

	if (!*home)
		return;
	assert_int_equal(mem_format(command, sizeof(command), "rm -rf %s", home), 0);
	(void)shell(command);
	mem_free(environ_for_it[0]);
	mem_free(environ_for_it[1]);
}
