/* An engine that answers nothing for a while. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/mem.h"
#include "tests/conformance/harness.h"
#include "tests/engines/test_engine.h"

/* `start` wrote it beside the socket. */
static pid_t
engine_pid(void)
{
	const char *at = cf_docker.hosts[0] + strlen("unix://");
	CLEANUP_FREE char *path = mem_printf("%.*s/pid",
	    (int)(strrchr(at, '/') - at), at);
	FILE *f = fopen(path, "re");
	int pid = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	return pid;
}

/*
 * Red if a tree that can't be killed counts as dead: then the next command runs
 * beside it, nobody is told, or the sandbox stays closed for good.
 */
void
while_the_engine_is_deaf_the_sandbox_is_closed(void **state)
{
	const char *mark = cf_mark();
	CLEANUP_FREE char *text = mem_printf("echo up; sleep %s", mark);
	struct sandbox_cmd cmd = { .command = text };
	pid_t pid = engine_pid();
	unsigned alarms;
	struct ran r;

	(void)state;
	cf.opts.image = "gatehouse-test:bash";
	cf_restart();
	alarms = cf.alarms;
	cf_begin(&r, &key_a, &cmd);
	cf_until_output(&r, "up");
	assert_int_equal(kill(pid, SIGSTOP), 0);
	op_cancel(&r.op);
	cf_done(&r);
	for (int i = 0; i < 3000 && cf.alarms == alarms; i++)
		real_turn(&cf.real, 10);
	CLEANUP_JSON struct json *closed = sandboxes_status(cf.sb);
	cf_run(&r, "echo beside it");
	bool refused = r.code == SANDBOX_EXIT_REFUSED && !r.started;
	int living = real_count(mark);
	assert_int_equal(kill(pid, SIGCONT), 0);	/* before anything can fail */
	assert_int_equal(cf.alarms, alarms + 1);
	assert_int_equal(json_len(closed), 1);
	assert_non_null(strstr(json_get_str(json_first(closed), "why", ""),
	    "could not be ended"));
	assert_true(refused && living >= 1);
	cf_done(&r);
	for (bool open = false; !open; real_turn(&cf.real, 10)) {
		CLEANUP_JSON struct json *dying = sandboxes_status(cf.sb);
		open = json_len(dying) == 0;
	}
	cf_expect("echo after", "after\n", 0);
	assert_int_equal(real_count(mark), 0);
}
