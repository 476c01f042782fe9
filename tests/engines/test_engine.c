/*
 * What only a real container engine shows: containers that vanish, that end at
 * once, that are left behind; trees that resist; what the engine's own records
 * hold.  test_engine BACKEND, with GATEHOUSE_TEST_ENGINE: see tests/engines/run.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/backend.h"
#include "sandbox/docker_engine.h"
#include "sandbox/procs.h"
#include "tests/conformance/harness.h"
#include "tests/engines/test_engine.h"

/* ---- the engine, asked directly ------------------------------------------------- */

struct answer {
	bool done;
	int status;
	struct json *json;
	char *text;
};

static void
on_answer(void *arg, const struct engine_res *res)
{
	struct answer *a = arg;

	a->done = true;
	a->status = res->status;
	a->json = res->json ? json_clone(res->json) : NULL;
	a->text = mem_strn(res->text ? res->text : "", res->len);
}

static void
on_hello(void *arg, const struct err *err)
{
	if (err)
		fail_msg("%s", err->text);
	*(bool *)arg = true;
}

/* The caller frees json and text. */
static struct answer
ask(const char *method, const char *path, const struct json *body)
{
	struct engine_opts opts = { .hosts = cf_docker.hosts };
	struct engine *e = engine_new(cf.real.loop, &opts, NULL);
	struct engine_req req = { .method = method, .path = path, .json = body,
		.max_body = 16 << 20 };
	struct answer a = { 0 };
	bool hello = false;

	assert_non_null(e);
	engine_hello(e, on_hello, &hello);
	assert_true(real_until(&cf.real, &hello));
	engine_call(e, &req, on_answer, &a);
	assert_true(real_until(&cf.real, &a.done));
	engine_free(&e);
	return a;
}

static int
tell(const char *method, const char *path, const struct json *body)
{
	struct answer a = ask(method, path, body);

	json_free(&a.json);
	mem_free(a.text);
	return a.status;
}

static struct json *
containers(void)
{
	struct answer a = ask("GET", "/containers/json?all=1", NULL);

	assert_int_equal(a.status, 200);
	mem_free(a.text);
	return a.json;
}

/* Of the only container there is. */
static char *
only_one(void)
{
	CLEANUP_JSON struct json *list = containers();

	assert_int_equal(json_len(list), 1);
	return mem_str(json_get_str(json_first(list), "Id", ""));
}

static void
remove_all(void)
{
	CLEANUP_JSON struct json *list = containers();

	for (const struct json *c = json_first(list); c; c = json_next(c)) {
		CLEANUP_FREE char *path = mem_printf("/containers/%s?force=1",
		    json_get_str(c, "Id", ""));
		tell("DELETE", path, NULL);
	}
}

static void
act_on_the_only_one(const char *act)
{
	CLEANUP_FREE char *id = only_one();
	CLEANUP_FREE char *path = mem_printf("/containers/%s/%s", id, act);

	assert_in_range(tell("POST", path, NULL), 200, 204);
}

static unsigned
arguments_with(const char *mark)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;

	while ((e = readdir(dir))) {
		CLEANUP_FREE char *path = mem_printf("/proc/%s/cmdline", e->d_name);
		int fd = e->d_name[0] >= '1' && e->d_name[0] <= '9' ?
		    open(path, O_RDONLY) : -1;
		char text[8192];
		ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text));
		if (fd >= 0)
			close(fd);
		n += len > 0 && memmem(text, (size_t)len, mark, strlen(mark));
	}
	closedir(dir);
	return n;
}

static void
fresh(void)
{
	cf.opts.image = "gatehouse-test:bash";
	cf_restart();
}

/* ---- behind our back --------------------------------------------------------------- */

static void
a_container_removed_behind_our_back_is_made_again(void **state)
{
	struct ran r;

	(void)state;
	fresh();
	cf_expect("export KEPT=1; echo data >f", "", 0);
	remove_all();
	cf_run(&r, "echo $KEPT; cat f");
	assert_string_equal(r.output, "1\ndata\n");
	assert_non_null(strstr(r.note, "had been removed"));
	cf_done(&r);
	cf_expect("rm f", "", 0);
}

static void
removed_under_a_command_the_outcome_is_unknown(void **state)
{
	struct sandbox_cmd cmd = { .command = "echo up; sleep 100" };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_until_output(&r, "up");
	remove_all();
	cf_wait(&r);
	assert_true(r.lost && r.started && r.error);
	cf_done(&r);
	cf_expect("echo again", "again\n", 0);
}

static void
a_paused_container_is_killed_for_a_cancelled_command(void **state)
{
	const char *mark = cf_mark();
	CLEANUP_FREE char *text = mem_printf("echo up; sleep %s", mark);
	struct sandbox_cmd cmd = { .command = text };
	struct ran r;

	(void)state;
	fresh();
	cf_begin(&r, &key_a, &cmd);
	cf_until_output(&r, "up");
	act_on_the_only_one("pause");
	op_cancel(&r.op);
	cf_done(&r);
	cf_expect("echo after", "after\n", 0);
	assert_int_equal(real_count(mark), 0);
}

/* ---- trees that resist --------------------------------------------------------------- */

static void
a_command_that_kills_its_keeper_is_swept_and_others_are_spared(void **state)
{
	const char *mark = cf_mark();
	CLEANUP_FREE char *other = mem_printf("sleep %s1", mark);
	CLEANUP_FREE char *text = mem_printf("(setsid sleep %s2 >/dev/null 2>&1 &); "
	    "sleep 0.3; kill -9 $PPID; sleep 5", mark);
	CLEANUP_FREE char *first = mem_printf("%s1", mark);
	CLEANUP_FREE char *second = mem_printf("%s2", mark);
	struct sandbox_cmd cmd = { .command = other, .background = true };
	struct ran r;

	(void)state;
	fresh();
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	assert_non_null(r.process);
	CLEANUP_FREE char *id = mem_str(r.process);
	cf_done(&r);
	cf_run(&r, text);
	assert_true(r.lost);
	cf_done(&r);
	assert_true(real_none_left(second));
	assert_true(real_count(first) >= 1);
	CLEANUP_JSON struct json *j = procs_poll(cf.sb, &key_a, id);
	assert_string_equal(json_get_str(j, "status", ""), "running");
	sandbox_end_processes(cf.sb, &key_a);
	assert_true(real_none_left(first));
}

/* C163: each time out leaves nothing but PID 1. */
static void
time_outs_leave_only_the_first_process(void **state)
{
	(void)state;
	fresh();
	for (int i = 0; i < 5; i++) {
		struct sandbox_cmd cmd = { .timeout_ms = 300,
			.command = "(while :; do :; done) & while :; do :; done" };
		struct ran r;
		cf_begin(&r, &key_a, &cmd);
		cf_wait(&r);
		assert_int_equal(r.code, SANDBOX_EXIT_TIMEOUT);
		cf_done(&r);
	}
	/* PID 1, the keeper and the shell. */
	cf_expect("set -- /proc/[0-9]*; echo $#", "3\n", 0);
}

/* C164: nothing stays as a zombie. */
static void
fifty_orphans_leave_no_zombie(void **state)
{
	struct sandbox_cmd cmd = { .background = true, .command =
		"for i in {1..50}; do (setsid sleep 0.2 &); done; sleep 1; "
		"grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l; "
		"sleep 0.1" };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_wait(&r);
	CLEANUP_FREE char *id = mem_str(r.process);
	cf_done(&r);
	for (int i = 0; i < 500; i++) {
		CLEANUP_JSON struct json *j = procs_poll(cf.sb, &key_a, id);
		if (strcmp(json_get_str(j, "status", ""), "running") != 0) {
			assert_string_equal(json_get_str(j, "output", ""), "0\n");
			break;
		}
		real_turn(&cf.real, 10);
	}
	sandbox_end_processes(cf.sb, &key_a);
	cf_expect("grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l",
	    "0\n", 0);
}

/* C169: sessions of the engine end with their commands. */
static void
no_session_of_the_engine_stays(void **state)
{
	(void)state;
	fresh();
	for (int i = 0; i < 10; i++) {
		struct sandbox_cmd cmd = { .command = "sleep 600" };
		struct ran r;
		cf_begin(&r, &key_a, &cmd);
		real_turn(&cf.real, 100);
		op_cancel(&r.op);
		cf_done(&r);
	}
	cf_expect("/no/such/command 2>/dev/null", "", 127);
	CLEANUP_FREE char *id = only_one();
	CLEANUP_FREE char *path = mem_printf("/containers/%s/json", id);
	for (int i = 0; i < 200; i++) {
		struct answer a = ask("GET", path, NULL);
		size_t n = json_len(json_get(a.json, "ExecIDs"));
		json_free(&a.json);
		mem_free(a.text);
		if (n == 0)
			break;
		assert_true(i < 199);
		real_turn(&cf.real, 100);
	}
	cf_expect("echo fine", "fine\n", 0);
}

/* ---- what the engine's records hold ------------------------------------------------------- */

#define CANARY "zzz-engine-canary"

static void
nothing_of_a_command_is_in_the_records_or_in_arguments(void **state)
{
	static const char *const env[] = { "SECRET_WORD=" CANARY, NULL };
	static const char input[] = CANARY "-input";
	struct sandbox_cmd cmd = { .command = "echo " CANARY "-command; "
		"echo ${#SECRET_WORD}; export MORE=" CANARY "; sleep 1", .input = input,
		.input_len = sizeof(input) - 1 };
	struct ran r;

	(void)state;
	cf_docker.env = env;
	fresh();
	assert_false(cf.props.isolation & SANDBOX_NO_CREDENTIALS);
	cf_begin(&r, &key_a, &cmd);
	cf_until_output(&r, "\n17\n");
	assert_int_equal(arguments_with(CANARY), 0);
	CLEANUP_FREE char *id = only_one();
	CLEANUP_FREE char *path = mem_printf("/containers/%s/json", id);
	struct answer a = ask("GET", path, NULL);
	assert_null(strstr(a.text, CANARY));
	for (const struct json *e = json_first(json_get(a.json, "ExecIDs")); e;
	    e = json_next(e)) {
		CLEANUP_FREE char *exec = mem_printf("/exec/%s/json", json_str(e));
		struct answer x = ask("GET", exec, NULL);
		assert_null(strstr(x.text, CANARY));
		json_free(&x.json);
		mem_free(x.text);
	}
	json_free(&a.json);
	mem_free(a.text);
	cf_wait(&r);
	cf_done(&r);
	CLEANUP_FREE char *events = mem_printf("/events?since=%lld&until=%lld",
	    (long long)loop_wall(cf.real.loop) / 1000 - 60,
	    (long long)loop_wall(cf.real.loop) / 1000);
	a = ask("GET", events, NULL);
	if (strcmp(cf.backend, "docker") == 0)
		assert_non_null(strstr(a.text, "exec_start"));
	assert_null(strstr(a.text, CANARY));
	json_free(&a.json);
	mem_free(a.text);
	cf_docker.env = NULL;
}

static void
it_is_hardened(void **state)
{
	static const char *const want[] = { "\"CapDrop\":[\"", "no-new-privileges",
		"\"ReadonlyRootfs\":true", "\"NetworkMode\":\"none\"",
		"\"PidsLimit\":256", "\"Privileged\":false" };

	(void)state;
	fresh();
	cf_expect("true", "", 0);
	CLEANUP_FREE char *id = only_one();
	CLEANUP_FREE char *path = mem_printf("/containers/%s/json", id);
	struct answer a = ask("GET", path, NULL);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		if (!strstr(a.text, want[i]))
			fail_msg("no %s in %s", want[i], a.text);
	json_free(&a.json);
	mem_free(a.text);
	cf_expect("touch /x 2>/dev/null; echo $?; grep NoNewPrivs /proc/self/status; "
	    "(echo x >/.gatehouse/helper) 2>/dev/null || echo no; "
	    "ls /sys/class/net", "1\nNoNewPrivs:\t1\nno\nlo\n", 0);
}

/* ---- images ---------------------------------------------------------------------------------- */

static void
without_bash_it_is_sh_and_said_once(void **state)
{
	const char *mark = cf_mark();
	CLEANUP_FREE char *text = mem_printf("echo up; (setsid sleep %s &); sleep %s",
	    mark, mark);
	struct sandbox_cmd cmd = { .command = text };
	struct ran r;

	(void)state;
	cf.opts.image = "gatehouse-test:busybox";
	cf_restart();
	cf_run(&r, "echo hi; cd /tmp; export A=b");
	assert_string_equal(r.output, "hi\n");
	assert_non_null(strstr(r.note, "no bash"));
	cf_done(&r);
	cf_run(&r, "pwd; echo $A");
	assert_string_equal(r.output, "/tmp\nb\n");
	assert_null(r.note);
	cf_done(&r);
	cf_begin(&r, &key_a, &cmd);
	cf_until_output(&r, "up");
	op_cancel(&r.op);
	cf_done(&r);
	cf_expect("echo after", "after\n", 0);
	assert_int_equal(real_count(mark), 0);
}

static void
a_missing_image_is_named(void **state)
{
	struct ran r;

	(void)state;
	cf.opts.image = "127.0.0.1:1/gatehouse-test-none:1";
	cf_restart();
	assert_true(cf.props.available);
	cf_run(&r, "echo no");
	assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
	assert_false(r.started);
	assert_non_null(strstr(r.error, "gatehouse-test-none"));
	assert_non_null(strstr(r.error, "can't be pulled"));
	cf_done(&r);
}

/* C175: no container a minute for ever. */
static void
containers_that_end_at_once_are_not_made_again_and_again(void **state)
{
	struct ran r;

	(void)state;
	cf_docker.helper = "/bin/true";	/* it becomes PID 1, and ends */
	fresh();
	for (int i = 0; i < 6; i++) {
		cf_run(&r, "echo no");
		assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
		assert_non_null(strstr(r.error, "ended at once"));
		assert_int_equal(strstr(r.error, "no further container") != NULL,
		    i >= 3);
		cf_done(&r);
	}
	remove_all();
	cf_docker.helper = getenv("GATEHOUSE_HELPER");
	fresh();
}

/* ---- no engine: each cause has its words -------------------------------------------------------- */

static void
each_kind_of_no_engine_has_its_own_words(void **state)
{
	const char *const *good = cf_docker.hosts;
	const char *hosts[2] = { "unix:///nonexistent/docker.sock", NULL };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct ran r;

	(void)state;
	cf_docker.hosts = hosts;
	cf_restart();
	assert_false(cf.props.available);
	assert_non_null(strstr(cf.props.why, "no container engine is at"));
	cf_run(&r, "echo no");
	assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
	cf_done(&r);

	CLEANUP_FREE char *path = mem_printf("%s/dead.sock", cf.dir);
	CLEANUP_FREE char *url = mem_printf("unix://%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(mem_copy_str(addr.sun_path, sizeof(addr.sun_path), path), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	hosts[0] = url;
	cf_restart();
	assert_non_null(strstr(cf.props.why, "nobody listens"));

	hosts[0] = "ssh://somewhere";
	struct err err = { ERR_NONE, "" };
	struct engine_opts opts = { .hosts = hosts };
	assert_null(engine_new(cf.real.loop, &opts, &err));
	assert_non_null(strstr(err.text, "backend ssh"));
	cf_docker.hosts = good;
	fresh();
}

/* ---- what is left behind ------------------------------------------------------------------------- */

static void
on_flag(void *arg, const struct err *err)
{
	if (err)
		fail_msg("%s", err->text);
	*(bool *)arg = true;
}

static void
reap(const char *instance)
{
	const struct backend *b = backend_find(cf.backend);
	struct backend_env env = { .loop = cf.real.loop, .state_dir = cf.dir,
		.instance_id = instance, .image = cf.opts.image,
		.opts = &cf_docker };
	struct backend_inst *inst = b->start(&env, NULL);
	bool done = false;

	assert_non_null(inst);
	b->probe(inst, on_flag, &done);
	assert_true(real_until(&cf.real, &done));
	done = false;
	b->reap(inst, on_flag, &done);
	assert_true(real_until(&cf.real, &done));
	b->stop(&inst);
}

/* A container as another process of ours would have made it. */
static void
plant(const char *name, const struct json *labels)
{
	CLEANUP_JSON struct json *body = json_object();
	CLEANUP_FREE char *path = mem_printf("/containers/create?name=%s", name);
	CLEANUP_FREE char *start = mem_printf("/containers/%s/start", name);
	struct json *cmd = json_array(), *host = json_object();

	json_add_take(cmd, json_string("sleep"));
	json_add_take(cmd, json_string("1000"));
	json_set_str(body, "Image", "gatehouse-test:bash");
	json_set_take(body, "Cmd", cmd);
	json_set_str(host, "NetworkMode", "none");
	json_set_take(body, "HostConfig", host);
	json_set_take(body, "Labels", json_clone(labels));
	assert_int_equal(tell("POST", path, body), 201);
	assert_int_equal(tell("POST", start, NULL), 204);
}

static bool
is_there(const char *name)
{
	CLEANUP_FREE char *path = mem_printf("/containers/%s/json", name);

	return tell("GET", path, NULL) == 200;
}

/* C176 and rules: running ones too, never those of the living, never others'. */
static void
only_what_is_provably_left_behind_is_removed(void **state)
{
	CLEANUP_JSON struct json *hermes = json_object();

	(void)state;
	fresh();
	cf_expect("true", "", 0);	/* a living one, with its name and labels */
	CLEANUP_JSON struct json *list = containers();
	const struct json *c = json_first(list);
	const struct json *labels = json_get(c, "Labels");
	const char *living = json_str(json_first(json_get(c, "Names")));
	living += *living == '/';
	const char *world = strrchr(living, '-') + 1;
	CLEANUP_FREE char *dead = mem_printf("gatehouse-00000000-sx-4194999-1-%s",
	    world);
	CLEANUP_FREE char *boot = mem_printf("gatehouse-00000000-sy-4194999-1-"
	    "000000000000");
	CLEANUP_FREE char *reused = mem_printf("gatehouse-00000000-sz-%d-1-%s",
	    (int)getppid(), world);
	plant(dead, labels);
	plant(boot, labels);
	plant(reused, labels);
	json_set_str(hermes, "hermes-agent", "1");
	plant("hermes-12345678", hermes);
	plant("gatehouse-looks-like-it-4194999-1-000000000000", hermes);
	reap("another");
	assert_false(is_there(dead));
	assert_false(is_there(reused));	/* that pid started at another time */
	assert_true(is_there(living));
	assert_true(is_there(boot));	/* another boot: not provable from here */
	assert_true(is_there("hermes-12345678"));
	assert_true(is_there("gatehouse-looks-like-it-4194999-1-000000000000"));
	cf_expect("echo alive", "alive\n", 0);
	cf_close();
	remove_all();
	cf_restart();
}

static void
a_kept_container_is_taken_over(void **state)
{
	const char *mark = cf_mark();
	CLEANUP_FREE char *text = mem_printf("echo up; sleep %s", mark);

	(void)state;
	cf_docker.persist_across = true;
	fresh();
	cf_expect("true", "", 0);
	CLEANUP_FREE char *first = only_one();
	cf_close();
	CLEANUP_FREE char *second = only_one();
	assert_string_equal(first, second);
	cf_restart();
	/* What somebody started there meanwhile ends before it is used. */
	act_on_the_only_one("start");
	cf_expect("echo here", "here\n", 0);
	CLEANUP_FREE char *third = only_one();
	assert_string_equal(first, third);
	/* Made from something else now: not taken over. */
	cf_docker.memory = 512u << 20;
	cf_restart();
	cf_expect("echo new", "new\n", 0);
	CLEANUP_FREE char *fourth = only_one();
	assert_string_not_equal(first, fourth);
	cf_docker.persist_across = false;
	cf_restart();
	cf_expect("true", "", 0);
	cf_close();
	CLEANUP_JSON struct json *list = containers();
	assert_int_equal(json_len(list), 0);
	cf_docker.memory = 1u << 30;
	cf_restart();
}

static int
setup(void **state)
{
	(void)state;
	cf_start(cf.backend);
	if (cf.props.available)
		return 0;
	fprintf(stderr, "%s\n", cf.props.why);
	return -1;
}

static int
teardown(void **state)
{
	(void)state;
	cf_stop();
	return 0;
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_removed_behind_our_back_is_made_again),
		cmocka_unit_test(removed_under_a_command_the_outcome_is_unknown),
		cmocka_unit_test(
		    a_paused_container_is_killed_for_a_cancelled_command),
		cmocka_unit_test(
		    a_command_that_kills_its_keeper_is_swept_and_others_are_spared),
		cmocka_unit_test(time_outs_leave_only_the_first_process),
		cmocka_unit_test(fifty_orphans_leave_no_zombie),
		cmocka_unit_test(no_session_of_the_engine_stays),
		cmocka_unit_test(
		    nothing_of_a_command_is_in_the_records_or_in_arguments),
		cmocka_unit_test(it_is_hardened),
		cmocka_unit_test(without_bash_it_is_sh_and_said_once),
		cmocka_unit_test(a_missing_image_is_named),
		cmocka_unit_test(
		    containers_that_end_at_once_are_not_made_again_and_again),
		cmocka_unit_test(each_kind_of_no_engine_has_its_own_words),
		cmocka_unit_test(only_what_is_provably_left_behind_is_removed),
		cmocka_unit_test(a_kept_container_is_taken_over),
		/* It takes 20 s: the last, and on one engine. */
		cmocka_unit_test(while_the_engine_is_deaf_the_sandbox_is_closed),
	};

	signal(SIGPIPE, SIG_IGN);
	cf.backend = argc > 1 ? argv[1] : "docker";
	return _cmocka_run_group_tests("tests", tests, ARRAY_LEN(tests) -
	    (strcmp(cf.backend, "docker") != 0), setup, teardown);
}
