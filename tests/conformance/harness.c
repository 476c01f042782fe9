#include "tests/conformance/harness.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "sandbox/docker.h"
#include "sandbox/local.h"
#include "sandbox/native.h"

struct cf cf;
const struct sandbox_key key_a = { "main", "conformance:a", SANDBOX_MESSAGING };
const struct sandbox_key key_b = { "main", "conformance:b", SANDBOX_MESSAGING };

static const char *const passed[] = { "PASSED_ON", "CANARY_API_KEY", NULL };
static const char *const gateway_env[] = { "PASSED_ON=yes it was",
	"CANARY_API_KEY=zzz-canary", "SECRET_OF_OURS=zzz-canary",
	"TZ=Europe/Berlin", "PATH=/nowhere", NULL };
static struct local_opts local = { 0 };
static struct native_opts native = { 0 };
/* The engine is given by tests/engines/run: its address, and an image. */
static const char *engine_hosts[2];
struct docker_opts cf_docker = { .hosts = engine_hosts, .network = "false",
	.persistent = true, .reap = true, .memory = 1u << 30, .cpu_milli = 2000,
	.environ = gateway_env };

static void
on_alarm(void *arg, const char *key, const char *text)
{
	(void)arg;
	fprintf(stderr, "alarm %s: %s\n", key, text);
	cf.alarms++;
}

static void
on_flag(void *arg)
{
	*(bool *)arg = true;
}

static void
cf_open(void)
{
	struct err err = { ERR_NONE, "" };
	bool probed = false;

	cf.sb = sandboxes_new(cf.real.loop, cf.real.launcher, NULL, &cf.opts, &err);
	if (!cf.sb)
		fail_msg("%s", err.text);
	/* sealed before anything runs, whatever the backend */
	assert_int_equal(launcher_allow_local(cf.real.launcher, NULL, NULL), -1);
	sandboxes_on_alarm(cf.sb, on_alarm, NULL);
	sandboxes_probe(cf.sb, on_flag, &probed);
	assert_true(real_until(&cf.real, &probed));
	cf.props = sandbox_props_of(cf.sb, &key_a);
}

void
cf_close(void)
{
	bool closed = false;

	sandboxes_close(cf.sb, on_flag, &closed);
	assert_true(real_until(&cf.real, &closed));
	sandboxes_free(&cf.sb);
	assert_int_equal(op_live(), 0);
	assert_int_equal(permit_live(), 0);
}

void
cf_restart(void)
{
	if (cf.sb)
		cf_close();
	if (cf.real.loop)
		real_teardown(&cf.real);
	real_setup(&cf.real);
	cf_open();
}

void
cf_start(const char *backend)
{
	cf.backend = backend;
	if (mem_copy_str(cf.dir, sizeof(cf.dir), "/tmp/conformance-XXXXXX") < 0 ||
	    !mkdtemp(cf.dir))
		fail_msg("no directory");
	if (geteuid() == 0) {
		local.user = "nobody";
		chmod(cf.dir, 0711);
		char *home = mem_printf("%s/local", cf.dir);
		mkdir(home, 0777);
		chmod(home, 0777);
		local.cwd = home;
	} else {
		local.cwd = cf.dir;
	}
	engine_hosts[0] = getenv("GATEHOUSE_TEST_ENGINE");
	cf_docker.helper = getenv("GATEHOUSE_HELPER");
	if (!engine_hosts[0])
		engine_hosts[0] = "unix:///nonexistent";
	native.minimum = getenv("CONFORMANCE_MINIMUM");
	cf.opts = (struct sandbox_opts){
		.messaging_backend = backend, .console_backend = backend,
		.state_dir = cf.dir, .instance_id = "conformance",
		.timeout_ms = REAL_LATE_MS / 2, .output_max = 20000, .spool_max = 200000,
		.env_passthrough = passed, .environ = gateway_env,
		.local = &local, .native = &native, .ssh = cf_ssh(),
		.docker = &cf_docker, .podman = &cf_docker,
		.image = strcmp(backend, "docker") == 0 ||
		    strcmp(backend, "podman") == 0 ? "gatehouse-test:bash" :
		    strcmp(backend, "singularity") == 0 ?
		    cf_singularity_image() : NULL,
		.singularity = cf_singularity(),
	};
	cf_restart();
}

void
cf_stop(void)
{
	char *cmd[] = { (char []){ "rm" }, (char []){ "-rf" }, cf.dir, NULL };
	pid_t pid;

	if (cf.sb)
		cf_close();
	real_teardown(&cf.real);
	pid = fork();
	if (pid == 0) {
		execv("/bin/rm", cmd);
		_exit(1);
	}
}

static void
on_bytes(void *arg, int fd, const char *data, size_t len)
{
	struct ran *r = arg;

	buf_add(&r->raw[fd == 2], data, len);
}

static void
on_done(void *arg, const struct sandbox_result *res)
{
	struct ran *r = arg;

	assert_false(r->done);
	r->op = NULL;
	r->done = true;
	r->code = res->exit_code;
	r->output = mem_strn(res->output, res->output_len);
	r->output_len = res->output_len;
	r->total = res->output_total;
	r->error = mem_str(res->error);
	r->note = mem_str(res->note);
	r->cwd = mem_str(res->cwd);
	r->process = mem_str(res->process_id);
	r->spool = mem_str(res->spool_path);
	r->spool_id = mem_str(res->spool_id);
	r->started = res->started;
	r->pty = res->pty;
	r->lost = res->lost;
}

struct permit *
cf_permit(const struct sandbox_key *key, const struct sandbox_cmd *cmd)
{
	char *text = sandbox_key_text(key);
	struct permit_terms terms = {
		.command = cmd->command, .command_len = cmd->command_len,
		.input = cmd->input, .input_len = cmd->input_len,
		.sandbox = text, .workdir = cmd->workdir ? cmd->workdir : "",
		.generation = cmd->generation,
		.isolation = sandbox_props(cf.sb, key->owner).isolation,
		.background = cmd->background,
	};
	struct permit *permit = permit_issue(&terms);

	mem_free(text);
	return permit;
}

static void
ran_init(struct ran *r)
{
	memset(r, 0, sizeof(*r));
	buf_init(&r->raw[0], 4 << 20);
	buf_init(&r->raw[1], 4 << 20);
	r->cf = &cf;
}

void
cf_begin_with(struct ran *r, const struct sandbox_cmd *cmd,
	struct permit **permit)
{
	ran_init(r);
	r->op = sandbox_run(cf.sb, &key_a, cmd, permit, on_bytes, on_done, r);
	assert_false(r->done);
}

void
cf_begin(struct ran *r, const struct sandbox_key *key,
	const struct sandbox_cmd *cmd)
{
	struct sandbox_cmd full = *cmd;

	ran_init(r);
	if (!full.command_len)
		full.command_len = strlen(full.command);
	struct permit *permit = cf_permit(key, &full);
	r->op = sandbox_run(cf.sb, key, &full, &permit, on_bytes, on_done, r);
	assert_null(permit);
	assert_false(r->done);
}

void
cf_wait(struct ran *r)
{
	assert_true(real_until(&cf.real, &r->done));
}

void
cf_run(struct ran *r, const char *command)
{
	struct sandbox_cmd cmd = { .command = command };

	cf_begin(r, &key_a, &cmd);
	cf_wait(r);
}

void
cf_done(struct ran *r)
{
	op_cancel(&r->op);
	mem_free(r->output);
	mem_free(r->error);
	mem_free(r->note);
	mem_free(r->cwd);
	mem_free(r->process);
	mem_free(r->spool);
	mem_free(r->spool_id);
	buf_done(&r->raw[0]);
	buf_done(&r->raw[1]);
	memset(r, 0, sizeof(*r));
}

void
cf_expect(const char *command, const char *output, int code)
{
	struct ran r;

	cf_run(&r, command);
	if (r.code != code || strcmp(r.output, output) != 0)
		fail_msg("%s\ngave %d (%s; %s):\n%s\nnot %d:\n%s", command, r.code,
		    r.error ? r.error : "", r.note ? r.note : "", r.output, code,
		    output);
	cf_done(&r);
}

void
cf_until_output(struct ran *r, const char *text)
{
	for (int i = 0; i < REAL_LATE_MS / 10; i++) {
		if (memmem(r->raw[0].data, r->raw[0].len, text, strlen(text)))
			return;
		real_turn(&cf.real, 10);
	}
	fail_msg("no \"%s\" in: %s", text, r->raw[0].data);
}

bool
cf_none_left(const char *mark)
{
	for (int i = 0; i < 1000; i++) {
		if (real_count(mark) == 0)
			return true;
		real_turn(&cf.real, 10);
	}
	return false;
}

const char *
cf_mark(void)
{
	static char mark[32];
	unsigned short n;

	/* sleep takes fractions: the digits make it unique. */
	ids_random(&n, sizeof(n));
	assert_int_equal(mem_format(mark, sizeof(mark), "31536000.%05u%d", n,
	    (int)getpid()), 0);
	return mark;
}
