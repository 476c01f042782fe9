#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tests/sandbox_sim.h"
#include "tests/tmpdir.h"

const struct sandbox_key key = { "main", "chat:1", SANDBOX_MESSAGING };
struct loop *loop;
struct sandboxes *sb;
unsigned alarms;
msec_t retention;
bool plain_words;

static void
keep(char *to, size_t size, const char *from)
{
	assert_int_equal(mem_copy_str(to, size, from ? from : ""), 0);
}

static void
on_done(void *arg, const struct sandbox_result *res)
{
	struct ran *r = arg;

	r->op = NULL;
	r->calls++;
	r->code = res->exit_code;
	keep(r->output, sizeof(r->output), res->output);
	keep(r->error, sizeof(r->error), res->error);
	keep(r->note, sizeof(r->note), res->note);
	keep(r->cwd, sizeof(r->cwd), res->cwd);
	keep(r->process, sizeof(r->process), res->process_id);
	r->started = res->started;
	r->lost = res->lost;
	r->at = loop_now(loop);
}

static void
on_alarm(void *arg, const char *key_text, const char *text)
{
	(void)arg;
	assert_string_equal(key_text, "main/messaging/chat:1");
	assert_non_null(strstr(text, "5 s"));
	alarms++;
}

void
begin_cmd(struct ran *r, const struct sandbox_cmd *cmd)
{
	begin_for(r, &key, cmd);
}

void
begin_for(struct ran *r, const struct sandbox_key *who,
	const struct sandbox_cmd *cmd)
{
	char *text CLEANUP_FREE = sandbox_key_text(who);
	struct permit_terms terms = { .command = cmd->command,
		.command_len = cmd->command_len, .sandbox = text,
		.workdir = cmd->workdir, .background = cmd->background,
		.isolation = sandbox_props(sb, who->owner).isolation };
	struct permit *permit = permit_issue(&terms);

	memset(r, 0, sizeof(*r));
	r->op = sandbox_run(sb, who, cmd, &permit, NULL, on_done, r);
	assert_null(permit);
	assert_int_equal(r->calls, 0);
}

void
begin(struct ran *r, const char *command)
{
	struct sandbox_cmd cmd = { .command = command,
		.command_len = strlen(command) };

	begin_cmd(r, &cmd);
}

void
run(struct ran *r, const char *command)
{
	begin(r, command);
	sim_advance(loop, 1000);
	assert_int_equal(r->calls, 1);
}

void
make(uint64_t seed, msec_t lifetime)
{
	struct sandbox_opts opts = { .messaging_backend = "fake",
		.console_backend = "fake", .state_dir = tmpdir_make(),
		.instance_id = "test", .lifetime_ms = lifetime,
		.timeout_ms = 60000, .timeout_max_ms = 600000,
		.output_max = 1000, .retention_ms = retention,
		.plain_words = plain_words };
	struct err err = { ERR_NONE, "" };

	loop = loop_sim_new(seed);
	alarms = 0;
	sb = sandboxes_new(loop, NULL, NULL, &opts, &err);
	assert_non_null(sb);
	sandboxes_on_alarm(sb, on_alarm, NULL);
}

void
on_flag(void *arg)
{
	*(bool *)arg = true;
}

void
end(void)
{
	bool closed = false;
	struct op *op = sandboxes_close(sb, on_flag, &closed);

	(void)op;
	sim_advance(loop, 11000);
	assert_true(closed);
	assert_int_equal(fake.procs, 0);
	assert_int_equal(fake.boxes, 0);
	sandboxes_free(&sb);
	assert_int_equal(op_live(), 0);
	assert_int_equal(permit_live(), 0);
	loop_free(&loop);	/* refuses while a timer is left */
	tmpdir_remove();
}
