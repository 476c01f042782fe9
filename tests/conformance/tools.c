#include "tests/conformance/tools.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/seen.h"
#include "gateway/agent/tool_args.h"
#include "gateway/gate/gate.h"
#include "gateway/route.h"

struct tw tw;

static struct origin origin = { .platform = (char []){ "console" },
	.chat_id = (char []){ "1" }, .user_id = (char []){ "7" } };
static const char session[] = "agent:main:console:dm:1";

static void
say(void *arg, const struct origin *to, const char *text)
{
	(void)arg, (void)to, (void)text;
}

static void
on_settled(void *arg, const struct origin *to, const char *id, const char *text)
{
	(void)arg, (void)to, (void)id, (void)text;
}

static bool
has_decider(void *arg, const struct origin *asked, const char **ret_note)
{
	(void)arg, (void)asked, (void)ret_note;
	return true;
}

static bool
may_decide(void *arg, const struct origin *asked, const struct origin *who)
{
	(void)arg, (void)asked, (void)who;
	return true;
}

static void
on_answer(void *arg)
{
	(void)arg;
	tw.answer = NULL;
	mem_free(gate_decide(tw.gate, &(struct gate_reply){
		.session_key = session, .id = tw.request, .who = &origin,
		.answer = tw.says_no && tw.prompts > tw.yes_first ? GATE_ANSWER_NO : GATE_ANSWER_ONCE,
		.reason = "" }));
}

static bool
on_prompt(void *arg, const struct gate_prompt *p)
{
	(void)arg;
	tw.prompts++;
	if (mem_copy_str(tw.request, sizeof(tw.request), p->id) < 0 ||
	    mem_copy_str(tw.prompt, sizeof(tw.prompt), p->text) < 0)
		fail();
	tw.answer = loop_defer(cf.real.loop, "answer", on_answer, NULL);
	return true;
}

static void
on_claim(void *arg, const struct accept_result *res, const struct err *err)
{
	(void)arg;
	assert_null(err);
	tw.env.run.generation = res->claims[0].generation;
	tw.done = true;
}

static void
claim_run(void)
{
	struct inbox_event e = {
		.kind = INBOX_TURN, .kind_name = "text", .event_id = "1",
		.session_key = session, .chat_id = "1", .thread_id = "",
		.user_id = "7", .msg_id = "1", .text = "go", .sent_wall = 1,
	};
	struct inbox_claim c = { .session_key = session, .run = true,
		.origin = "{\"platform\":\"console\",\"chat\":\"1\"}" };
	struct accept_req req = {
		.platform = "console", .account = "1", .events = &e,
		.nevents = 1, .claims = &c, .nclaims = 1,
		.now_wall = loop_wall(cf.real.loop),
	};

	tw.done = false;
	store_accept(tw.env.store, &req, on_claim, NULL);
	assert_true(real_until(&cf.real, &tw.done));
}

void
tw_start(void)
{
	static const struct gate_host host = {
		.prompt = on_prompt, .settled = on_settled,
		.may_decide = may_decide, .has_decider = has_decider,
		.say = say,
	};
	static const struct gate_opts opts = { .timeout_ms = 60000 };
	struct err err = { ERR_NONE, "" };
	static unsigned stores;
	char *path CLEANUP_FREE = mem_printf("%s/tools%u.db", cf.dir, ++stores);
	struct store_opts sopts = { .path = path, .profile = "main" };

	memset(&tw, 0, sizeof(tw));
	tw.env = (struct tool_env){
		.loop = cf.real.loop, .sandboxes = cf.sb,
		.store = store_open(cf.real.loop, &sopts, &err),
		.run = { session, 0 }, .origin = &origin, .sandbox = key_a,
		.phase = &tw.phase, .seen = seen_new(),
	};
	if (!tw.env.store)
		fail_msg("%s", err.text);
	tw.env.gate = tw.gate = gate_new(cf.real.loop, tw.env.store, &opts, &host);
	claim_run();
	sandbox_reset(cf.sb, &key_a);	/* where earlier cases went to */
}

void
tw_stop(void)
{
	json_free(&tw.result);
	gate_free(&tw.gate);
	seen_free(&tw.env.seen);
	store_close(&tw.env.store);
}

static void
on_done(void *arg, const struct tool_result *res)
{
	(void)arg;
	assert_false(tw.done);
	tw.done = true;
	tw.bad_input = res->bad_input;
	tw.unknown = res->unknown;
	tw.result = json_parse(res->result, strlen(res->result), NULL);
	assert_non_null(tw.result);
}

struct op *
tw_begin(const char *name, struct json *args)
{
	static unsigned calls;
	const struct tool *tool = tool_find(name);
	char *id CLEANUP_FREE = mem_printf("call_%u", ++calls);
	char *text CLEANUP_FREE = json_text(args);
	struct err err = { ERR_NONE, "" };
	struct json *checked;
	struct op *op;

	assert_non_null(tool);
	json_free(&args);
	checked = tool_args_parse(tool, text, &err);
	if (!checked)
		fail_msg("%s", err.text);
	json_free(&tw.result);
	tw.done = false;
	tw.phase = TOOL_WAITING;
	op = tool->call(&tw.env, id, checked, on_done, NULL);
	json_free(&checked);
	assert_false(tw.done);
	return op;
}

void
tw_wait(void)
{
	assert_true(real_until(&cf.real, &tw.done));
}

const struct json *
tw_call(const char *tool, struct json *args)
{
	(void)tw_begin(tool, args);
	tw_wait();
	return tw.result;
}

struct json *
tw_args(const char *key, ...)
{
	struct json *args = json_object();
	va_list ap;

	va_start(ap, key);
	for (; key; key = va_arg(ap, const char *))
		json_set_str(args, key, va_arg(ap, const char *));
	va_end(ap);
	return args;
}

const char *
tw_str(const char *key)
{
	return json_get_str(tw.result, key, "");
}

const char *
tw_shell(const char *command)
{
	static char out[65536];
	struct ran r;

	cf_run(&r, command);
	if (r.error)
		fail_msg("%s: %s", command, r.error);
	if (mem_copy_str(out, sizeof(out), r.output) < 0)
		fail_msg("%s: %zu bytes", command, r.output_len);
	cf_done(&r);
	return out;
}

const char *
tw_path(const char *name)
{
	static char path[4][4096];
	static unsigned next;
	char *p = path[next++ % 4];

	if (mem_format(p, sizeof(path[0]), "%s/%s", cf.props.workspace, name) < 0)
		fail();
	return p;
}
