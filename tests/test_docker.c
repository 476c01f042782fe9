/*
 * The parts of backend docker that need no engine: the stream's frames, what a
 * container is made from and what that isolates, and an engine that is played
 * by a few recorded answers.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/docker_engine.h"
#include "sandbox/docker_frames.h"
#include "sandbox/docker_plan.h"
#include "sandbox/docker_priv.h"
#include "sandbox/owner.h"
#include "tests/raw_server.h"
#include "tests/real.h"
#include "tests/tmpdir.h"

/* ---- frames --------------------------------------------------------------------- */

struct piece {
	int stream;
	const char *text;
};

/* As docker 20.10 and podman 4.3 sent it: cut frames, an empty one, number 3. */
static const char recorded[] =
    "\1\0\0\0\0\0\0\6hello\n" "\2\0\0\0\0\0\0\3err" "\1\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\2in" "\3\0\0\0\0\0\0\4boom" "\1\0\0\0\0\0\0\1x";

static void
frames_are_the_same_however_they_are_cut(void **state)
{
	(void)state;
	for (size_t step = 1; step < sizeof(recorded); step++) {
		struct docker_frames f = { .head_len = 0 };
		struct buf out[2];
		size_t total = sizeof(recorded) - 1;

		buf_init(&out[0], 100);
		buf_init(&out[1], 100);
		for (size_t at = 0; at < total; at += step) {
			const char *data = recorded + at, *piece;
			size_t len = total - at < step ? total - at : step, n;
			int rc;

			while ((rc = docker_frames_next(&f, &data, &len, &piece,
			    &n)) > 0)
				buf_add(&out[rc - 1], piece, n);
			assert_int_equal(rc, 0);
			assert_int_equal(len, 0);
		}
		assert_string_equal(out[0].data, "hello\nx");
		assert_string_equal(out[1].data, "errboom");
		buf_done(&out[0]);
		buf_done(&out[1]);
	}
}

static void
what_is_no_frame_is_known_at_once(void **state)
{
	static const char *const bad[] = { "HTTP/1.1 200 OK\r\n", "\4\0\0\0\0\0\0\1x",
		"OCI runtime exec failed" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct docker_frames f = { .head_len = 0 };
		const char *data = bad[i], *piece;
		size_t len = i == 1 ? 9 : strlen(bad[i]), n;

		assert_int_equal(docker_frames_next(&f, &data, &len, &piece, &n), -1);
	}
}

/* ---- the plan ------------------------------------------------------------------------ */

static const char *const no_list[] = { NULL };

static struct docker_opts
defaults(void)
{
	static const char *const hosts[] = { "unix:///x", NULL };

	return (struct docker_opts){ .hosts = hosts, .network = "false",
		.volumes = no_list, .extra_args = no_list, .env = no_list,
		.forward_env = no_list, .environ = no_list, .persistent = true };
}

static void
by_default_it_is_isolated_and_hardened(void **state)
{
	struct docker_opts opts = defaults();
	struct docker_plan plan;
	struct err err;

	(void)state;
	opts.memory = 1 << 30;
	opts.cpu_milli = 1500;
	assert_int_equal(docker_plan_make(&plan, &opts, &err), 0);
	assert_int_equal(plan.isolation, SANDBOX_ISOLATED);
	assert_string_equal(plan.risks, "");
	CLEANUP_FREE char *text = json_text(plan.config);
	assert_non_null(strstr(text, "\"CapDrop\":[\"ALL\"]"));
	assert_non_null(strstr(text, "no-new-privileges"));
	assert_non_null(strstr(text, "\"ReadonlyRootfs\":true"));
	assert_non_null(strstr(text, "\"NanoCpus\":1500000000"));
	assert_non_null(strstr(text, "\"Memory\":1073741824"));
	docker_plan_done(&plan);
}

static const struct {
	const char *network, *volume, *args[4];
	uint32_t lost;		/* of SANDBOX_ISOLATED */
	const char *risk;
} risks[] = {
	{ "true", NULL, { NULL }, SANDBOX_NO_NETWORK, "" },
	{ "my-net", NULL, { NULL }, SANDBOX_NO_NETWORK, "" },
	{ "host", NULL, { NULL }, SANDBOX_NO_NETWORK | SANDBOX_NO_HOST_PROCS,
	  "host's network" },
	{ "container:x", NULL, { NULL },
	  SANDBOX_NO_NETWORK | SANDBOX_NO_HOST_PROCS, "another container" },
	{ "true", NULL, { "--network", "host" },
	  SANDBOX_NO_NETWORK | SANDBOX_NO_HOST_PROCS, "host's network" },
	{ "false", "/srv/data:/data:ro", { NULL }, 0, "" },
	{ "false", "data:/data", { NULL }, 0, "" },
	{ "false", "/srv/data:/data", { NULL }, SANDBOX_NO_HOST_FILES, "writable" },
	{ "false", NULL, { "-v", "/srv:/data" }, SANDBOX_NO_HOST_FILES, "writable" },
	{ "false", "/var/run/docker.sock:/s:ro", { NULL },
	  SANDBOX_NO_HOST_FILES | SANDBOX_NO_HOST_PROCS, "engine's socket" },
	{ "false", "/run:/r:ro", { NULL },
	  SANDBOX_NO_HOST_FILES | SANDBOX_NO_HOST_PROCS, "engine's socket" },
	{ "false", "/:/host:ro", { NULL },
	  SANDBOX_NO_HOST_FILES | SANDBOX_NO_HOST_PROCS, "engine's socket" },
	{ "false", NULL, { "--privileged" },
	  SANDBOX_NO_HOST_FILES | SANDBOX_NO_HOST_PROCS, "privileged" },
	{ "false", NULL, { "--cap-add=SYS_ADMIN" },
	  SANDBOX_NO_HOST_FILES | SANDBOX_NO_HOST_PROCS, "cap-add" },
	{ "false", NULL, { "--cap-add", "cap_net_bind_service" }, 0, "" },
	{ "false", NULL, { "--security-opt", "seccomp=unconfined" },
	  SANDBOX_NO_HOST_FILES | SANDBOX_NO_HOST_PROCS, "security-opt" },
	{ "false", NULL, { "--device=/dev/sda" },
	  SANDBOX_NO_HOST_FILES | SANDBOX_NO_HOST_PROCS, "device" },
	{ "false", NULL, { "--shm-size", "2g" }, 0, "" },
	{ "false", NULL, { "--init", "--dns", "1.1.1.1" }, 0, "" },
};

static void
what_reaches_the_host_ends_the_isolation(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(risks); i++) {
		const char *const volumes[] = { risks[i].volume, NULL };
		struct docker_opts opts = defaults();
		struct docker_plan plan;
		struct err err = { ERR_NONE, "" };

		opts.network = risks[i].network;
		opts.volumes = volumes;
		opts.extra_args = risks[i].args;
		if (docker_plan_make(&plan, &opts, &err) < 0)
			fail_msg("row %zu: %s", i, err.text);
		if (plan.isolation != (SANDBOX_ISOLATED & ~risks[i].lost) ||
		    !strstr(plan.risks, risks[i].risk) ||
		    (*plan.risks != 0) != (*risks[i].risk != 0))
			fail_msg("row %zu: isolation %x, %s", i, plan.isolation,
			    plan.risks);
		if (plan.rights != (strstr(plan.risks, "privileged") ||
		    strstr(plan.risks, "cap-add") ||
		    strstr(plan.risks, "security-opt")))
			fail_msg("row %zu: rights %d", i, plan.rights);
		docker_plan_done(&plan);
	}
}

static const struct {
	const char *network, *volume, *args[3], *says;
} refused[] = {
	{ "filtered", NULL, { NULL }, "filtered is not offered" },
	{ "false", "relative:path", { NULL }, "expected /host/path" },
	{ "false", "./x:/y", { NULL }, "expected /host/path" },
	{ "false", "/x", { NULL }, "expected /host/path" },
	{ "false", "/x:/y:exec", { NULL }, "'exec' is not known" },
	{ "false", NULL, { "--network", "bridge" }, "docker_network: false" },
	{ "false", NULL, { "--pid=host" }, "--pid" },
	{ "false", NULL, { "--restart", "always" }, "is not offered" },
	{ "false", NULL, { "--rm" }, "is not offered" },
	{ "false", NULL, { "alpine" }, "is not offered" },
	{ "false", NULL, { "--memory" }, "its value is missing" },
	{ "false", NULL, { "--memory", "lots" }, "no size" },
	{ "false", NULL, { "--env", "ONLY_NAME" }, "docker_forward_env" },
	{ "false", NULL, { "--label", "gatehouse.instance=x" }, "recognised" },
	{ "false", NULL, { "--privileged=true" }, "takes no value" },
};

static void
what_cannot_be_followed_is_refused_with_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		const char *const volumes[] = { refused[i].volume, NULL };
		struct docker_opts opts = defaults();
		struct docker_plan plan;
		struct err err = { ERR_NONE, "" };

		opts.network = refused[i].network;
		opts.volumes = volumes;
		opts.extra_args = refused[i].args;
		assert_int_equal(docker_plan_make(&plan, &opts, &err), -1);
		if (!strstr(err.text, refused[i].says))
			fail_msg("row %zu: %s", i, err.text);
	}
}

/* Values are for the helper's input only. */
static void
values_of_variables_are_not_in_the_request(void **state)
{
	static const char *const env[] = { "MODE=zzz-plain", NULL };
	static const char *const names[] = { "MY_API_KEY", "ABSENT", NULL };
	static const char *const environ_[] = { "MY_API_KEY=zzz-secret", NULL };
	struct docker_opts opts = defaults();
	struct docker_plan plan;
	struct err err;

	(void)state;
	opts.env = env;
	opts.forward_env = names;
	opts.environ = environ_;
	assert_int_equal(docker_plan_make(&plan, &opts, &err), 0);
	assert_string_equal(vars_get(&plan.env, "MODE"), "zzz-plain");
	assert_string_equal(vars_get(&plan.env, "MY_API_KEY"), "zzz-secret");
	assert_null(vars_get(&plan.env, "ABSENT"));
	assert_false(plan.isolation & SANDBOX_NO_CREDENTIALS);
	CLEANUP_FREE char *text = json_text(plan.config);
	assert_null(strstr(text, "zzz-"));
	docker_plan_done(&plan);
}

/* ---- whose it is ------------------------------------------------------------------------- */

/* 0: as it should be. In a mount namespace of its own. */
static int
judge_blindly(pid_t living, pid_t dead)
{
	char self[OWNER_TEXT_MAX];
	const char *owner;

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/proc", "tmpfs", 0, NULL) < 0)
		return 77;
	owner_self(self);
	const char *world = strrchr(self, '-');
	CLEANUP_FREE char *a = mem_printf("x-%d-1%s", (int)living, world);
	CLEANUP_FREE char *b = mem_printf("x-%d-1%s", (int)dead, world);
	return owner_judge(a, &owner) != OWNER_LIVING ? 1 :
	    owner_judge(b, &owner) != OWNER_DEAD ? 2 : 0;
}

/* As with hidepid: what can't be seen is not dead, and its things are not ours. */
static void
an_owner_that_is_hidden_lives(void **state)
{
	pid_t dead = fork(), child;
	int status;

	(void)state;
	if (dead == 0)
		_exit(0);
	assert_int_equal(waitpid(dead, &status, 0), dead);
	child = fork();
	if (child == 0)
		_exit(judge_blindly(getppid(), dead));
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		fprintf(stderr, "SKIP: /proc can't be hidden here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* C176: the container we run in is never ours to end, whatever it is called. */
static void
our_own_container_is_living_whatever_it_says(void **state)
{
	struct backend_inst inst = { .instance_id = (char []){ "i" },
		.own_container = NULL };
	char own[65];
	struct json *c = json_object(), *names = json_array();
	struct json *labels = json_object();

	(void)state;
	memset(own, 'a', 64);
	own[64] = 0;
	owner_self(inst.owner);
	json_add_take(names, json_string("/gatehouse-00000000-sx-4194999-1-"
	    "000000000000"));
	json_set_str(c, "Id", own);
	json_set_take(c, "Names", names);
	json_set_str(labels, "gatehouse", "1");
	json_set_take(c, "Labels", labels);
	assert_int_equal(docker_whose(&inst, c), WHOSE_UNKNOWN);
	inst.own_container = own;
	assert_int_equal(docker_whose(&inst, c), WHOSE_LIVING);
	json_free(&c);
}

/* As docker 20.10 and podman 4.3 mount; the ids in between are of other things. */
static void
the_container_we_run_in_is_known_by_its_files(void **state)
{
#define ID(c) c c c c c c c c c c c c c c c c
	static const struct { const char *mounts, *id; } cases[] = {
		{ "36 35 0:33 / / rw - overlay o rw,upperdir=/v/" ID("1111") "/diff\n"
		  "40 36 8:1 /lib/docker/containers/" ID("abcd") "/hostname "
		  "/etc/hostname rw - ext4 /dev/sda rw\n", ID("abcd") },
		{ "40 36 0:9 /containers/overlay-containers/" ID("0def")
		  "/userdata/.containerenv /run/.containerenv rw - tmpfs t rw\n",
		  ID("0def") },
		/* What we started ourselves from here. */
		{ "40 36 0:9 / /d/overlay/" ID("0def") "/merged rw - overlay o rw\n"
		  "41 36 0:9 /x/" ID("0def") "/hosts /d/etc/hosts rw - ext4 x rw\n"
		  "42 36 8:1 /etc/hosts /etc/hosts rw - ext4 x rw", NULL },
		{ "40 36 0:9 /x/" ID("abcd") "a/hosts /etc/hosts rw - ext4 x rw\n",
		  NULL },
		{ "40 36\n\n40 36 0:9 /x", NULL },
	};

	(void)state;
	const char *dir = tmpdir_make();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		tmpdir_write("mountinfo", cases[i].mounts);
		CLEANUP_FREE char *id = docker_own_container(dir);
		if (!id != !cases[i].id || (id && strcmp(id, cases[i].id) != 0))
			fail_msg("%zu: %s", i, id ? id : "none");
	}
	tmpdir_write("mountinfo", "");
	tmpdir_write("cgroup", "0::/docker/" ID("beef") "\n");
	CLEANUP_FREE char *id = docker_own_container(dir);
	assert_string_equal(id, ID("beef"));
	tmpdir_remove();
#undef ID
}

/* ---- an engine of recorded answers ------------------------------------------------------- */

static const char *script;	/* the body of every answer */
static int script_status;

static void
play(void *arg, int fd, int n)
{
	char request[65536];

	(void)arg, (void)n;
	while (raw_read_request(fd, request, sizeof(request)) > 0) {
		CLEANUP_FREE char *answer = mem_printf("HTTP/1.1 %d X\r\n"
		    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		    script_status, strlen(script), script);
		if (!raw_write(fd, answer))
			return;
	}
}

static struct err said;

static void
on_hello(void *arg, const struct err *err)
{
	said = err ? *err : (struct err){ ERR_NONE, "" };
	*(bool *)arg = true;
}

static void
hello(int status, const char *body)
{
	struct raw_server *server = raw_server_new(play, NULL);
	CLEANUP_FREE char *url = mem_printf("tcp://127.0.0.1:%d",
	    raw_server_port(server));
	const char *const hosts[] = { url, NULL };
	struct engine_opts opts = { .hosts = hosts };
	struct real real;
	struct err err = { ERR_NONE, "" };
	bool done = false;

	script = body;
	script_status = status;
	real_setup(&real);
	struct engine *e = engine_new(real.loop, &opts, &err);
	assert_non_null(e);
	engine_hello(e, on_hello, &done);
	assert_true(real_until(&real, &done));
	engine_free(&e);
	real_teardown(&real);
	raw_server_free(&server);
}

static void
a_version_is_agreed_or_refused_with_words(void **state)
{
	(void)state;
	hello(200, "{\"Version\":\"20.10.24\",\"ApiVersion\":\"1.41\","
	    "\"MinAPIVersion\":\"1.12\"}");
	assert_int_equal(said.code, ERR_NONE);
	hello(200, "{\"Version\":\"29.0\",\"ApiVersion\":\"1.52\","
	    "\"MinAPIVersion\":\"1.44\"}");
	assert_int_equal(said.code, ERR_NONE);
	hello(200, "{\"Version\":\"99\",\"ApiVersion\":\"1.99\","
	    "\"MinAPIVersion\":\"1.60\"}");
	assert_int_equal(said.code, ERR_CONFIG);
	assert_non_null(strstr(said.text, "update the older"));
	hello(200, "{\"Version\":\"17.03\",\"ApiVersion\":\"1.26\","
	    "\"MinAPIVersion\":\"1.12\"}");
	assert_non_null(strstr(said.text, "update the older"));
	hello(400, "{\"message\":\"client version 1.41 is too old. Minimum supported "
	    "API version is 1.44, please upgrade your client to a newer version\"}");
	assert_int_equal(said.code, ERR_CONFIG);
	assert_non_null(strstr(said.text, "client version 1.41 is too old"));
	hello(200, "<html>hello</html>");
	assert_int_equal(said.code, ERR_PROTOCOL);
	assert_non_null(strstr(said.text, "no container engine"));
	hello(500, "{\"cause\":\"boom\",\"message\":\"\",\"response\":500}");
	assert_int_equal(said.code, ERR_UNAVAILABLE);
}

static void
addresses_are_checked(void **state)
{
	static const struct { const char *host, *says; } rows[] = {
		{ "ssh://u@h", "backend ssh" }, { "unix://x", "absolute path" },
		{ "http://h", "expected unix://" }, { "tcp://", "expected unix://" },
		{ "fd://", "expected unix://" },
	};
	struct real real;

	(void)state;
	real_setup(&real);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *const hosts[] = { rows[i].host, NULL };
		struct engine_opts opts = { .hosts = hosts };
		struct err err = { ERR_NONE, "" };

		assert_null(engine_new(real.loop, &opts, &err));
		assert_int_equal(err.code, ERR_CONFIG);
		if (!strstr(err.text, rows[i].says))
			fail_msg("%s: %s", rows[i].host, err.text);
	}
	real_teardown(&real);
}

/* ---- the taken-over connection ------------------------------------------------------------- */

static void
echo_after_upgrade(void *arg, int fd, int n)
{
	char request[65536];

	(void)arg, (void)n;
	if (!raw_read_request(fd, request, sizeof(request)))
		return;
	if (strstr(request, "/refuse")) {
		raw_write(fd, "HTTP/1.1 409 Conflict\r\nContent-Length: 20\r\n\r\n"
		    "{\"message\":\"paused\"}");
		raw_wait_gone(fd);
		return;
	}
	/* The first bytes of the stream come with the header. */
	raw_write(fd, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\n"
	    "Upgrade: tcp\r\n\r\nfirst ");
	raw_write(fd, "second");
}

struct talk {
	struct http_stream *stream;
	bool open, ended;
	int status;
	struct buf got;
};

static void
on_open(void *arg)
{
	struct talk *t = arg;

	t->open = true;
}

static void
on_data(void *arg, const char *data, size_t len)
{
	struct talk *t = arg;

	assert_true(t->open);
	buf_add(&t->got, data, len);
}

static void
on_end(void *arg, const struct err *err, int status, const char *body, size_t len)
{
	struct talk *t = arg;

	(void)err;
	t->ended = true;
	t->status = status;
	buf_add(&t->got, body, len);
}

static void
a_stream_begins_with_its_header_or_is_refused(void **state)
{
	static const struct http_stream_events events = { on_open, on_data, on_open,
		on_end };
	static const char *const paths[] = { "/exec/x/start", "/refuse" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct raw_server *server = raw_server_new(echo_after_upgrade, NULL);
		struct http_opts opts = { .user_agent = "test" };
		CLEANUP_FREE char *url = mem_printf("http://127.0.0.1:%d%s",
		    raw_server_port(server), paths[i]);
		struct http_stream_req req = { .label = "test", .url = url,
			.body = "{}", .open_ms = 5000 };
		struct talk t = { 0 };
		struct real real;

		buf_init(&t.got, 1000);
		real_setup(&real);
		struct http *http = http_new(real.loop, &opts);
		t.stream = http_stream_start(http, &req, &events, &t);
		assert_true(real_until(&real, &t.ended));
		assert_int_equal(t.open, i == 0);
		assert_int_equal(t.status, i == 0 ? 0 : 409);
		assert_string_equal(t.got.data, i == 0 ? "first second" :
		    "{\"message\":\"paused\"}");
		http_stream_free(&t.stream);
		http_free(&http);
		buf_done(&t.got);
		real_teardown(&real);
		raw_server_free(&server);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_the_same_however_they_are_cut),
		cmocka_unit_test(what_is_no_frame_is_known_at_once),
		cmocka_unit_test(by_default_it_is_isolated_and_hardened),
		cmocka_unit_test(what_reaches_the_host_ends_the_isolation),
		cmocka_unit_test(what_cannot_be_followed_is_refused_with_words),
		cmocka_unit_test(values_of_variables_are_not_in_the_request),
		cmocka_unit_test(an_owner_that_is_hidden_lives),
		cmocka_unit_test(our_own_container_is_living_whatever_it_says),
		cmocka_unit_test(the_container_we_run_in_is_known_by_its_files),
		cmocka_unit_test(a_version_is_agreed_or_refused_with_words),
		cmocka_unit_test(addresses_are_checked),
		cmocka_unit_test(a_stream_begins_with_its_header_or_is_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
