#include "gateway/agent/rpc.h"

#include <string.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/agent/tool_args.h"

#define BAD_MAX 20		/* frames that are not the script's */

struct rpc {
	struct tool_env env;
	enum tool_phase phase;		/* of the inner call; nobody asks */
	char *call_id;
	struct rpc_opts opts;
	unsigned char token[RPC_TOKEN_LEN];
	uint64_t seq;			/* of the call that comes next */
	struct buf in;
	struct op *waiting;		/* the tool's call */
	struct timer *next;		/* look for another line */
	unsigned calls, bad;
	bool deaf;
};

static void on_next(void *arg);

/* Whether a script may call this tool. */
static bool
offered(const char *tool)
{
	static const char *const names[] = {
		"terminal", "read_file", "write_file", "search_files", "patch",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], tool) == 0)
			return tool_find(tool) != NULL;
	return false;
}

struct rpc *
rpc_new(const struct tool_env *env, const char *call_id,
    const struct rpc_opts *opts)
{
	struct rpc *r = mem_alloc(sizeof(*r));

	r->env = *env;
	r->env.nested = true;
	r->env.phase = &r->phase;
	r->call_id = mem_str(call_id);
	r->opts = *opts;
	r->seq = 1;
	ids_random(r->token, sizeof(r->token));
	buf_init(&r->in, RPC_LINE_MAX + 1);
	return r;
}

void
rpc_free(struct rpc **rp)
{
	struct rpc *r = STEAL(*rp);

	if (!r)
		return;
	op_cancel(&r->waiting);
	loop_cancel(&r->next);
	buf_done(&r->in);
	mem_free(r->call_id);
	explicit_bzero(r->token, sizeof(r->token));
	mem_free(r);
}

const unsigned char *
rpc_token(const struct rpc *r)
{
	return r->token;
}

unsigned
rpc_calls(const struct rpc *r)
{
	return r->calls;
}

static void
look_again(struct rpc *r)
{
	if (!r->next && !r->waiting && memchr(r->in.data, '\n', r->in.len))
		r->next = loop_defer(r->env.loop, "rpc line", on_next, r);
}

static void
answer(struct rpc *r, const char *result)
{
	CLEANUP_BUF struct buf line;

	buf_init(&line, RPC_LINE_MAX + 4096);
	rpc_frame_reply(&line, r->token, r->seq, result);
	if (line.over) {
		buf_clear(&line);
		rpc_frame_reply(&line, r->token, r->seq,
		    "{\"error\":\"the result is too large\"}");
	}
	r->seq++;
	r->opts.send(r->opts.arg, line.data, line.len);
	look_again(r);
}

static void
answer_error(struct rpc *r, const char *text)
{
	CLEANUP_JSON struct json *j = json_set_str(json_object(), "error", text);
	CLEANUP_FREE char *result = json_text(j);

	answer(r, result);
}

static void
on_tool(void *arg, const struct tool_result *res)
{
	struct rpc *r = arg;

	r->waiting = NULL;
	answer(r, res->result);
}

static void
call_tool(struct rpc *r, const struct rpc_call *call)
{
	const struct tool *tool = offered(call->tool) ?
	    tool_find(call->tool) : NULL;
	CLEANUP_FREE char *text = json_text(call->args);
	CLEANUP_FREE char *id = mem_printf("%s.%llu", r->call_id,
	    (unsigned long long)call->seq);
	struct err err;

	if (!tool) {
		CLEANUP_FREE char *why = mem_printf("a script cannot call "
		    "'%.60s'", call->tool);

		answer_error(r, why);
		return;
	}
	if (r->calls >= r->opts.max_calls) {
		CLEANUP_FREE char *why = mem_printf("not run: this script has made "
		    "its %u tool calls (code_execution.max_tool_calls)",
		    r->opts.max_calls);

		answer_error(r, why);
		return;
	}
	CLEANUP_JSON struct json *args = tool_args_parse(tool, text, &err);

	if (!args) {
		answer_error(r, err.text);
		return;
	}
	/* A script's processes end with it. */
	json_remove(args, "background");
	json_remove(args, "pty");
	json_remove(args, "notify_on_complete");
	json_remove(args, "watch_patterns");
	r->calls++;
	log_debug("rpc", NULL, "call=%s tool=%s", id, tool->name);
	r->waiting = tool->call(&r->env, id, args, on_tool, r);
}

static void
take_line(struct rpc *r, const char *line, size_t len)
{
	static const char *const words[] = {
		[RPC_NOT_A_FRAME] = "not a frame", [RPC_FORGED] = "a wrong token",
		[RPC_REPLAYED] = "seen before",
	};
	struct rpc_call call = { 0 };
	enum rpc_verdict v = rpc_frame_read(&call, r->token, r->seq, line, len);

	if (v == RPC_GOOD) {
		call_tool(r, &call);
		json_free(&call.root);
		return;
	}
	/* No answer: whoever it was has nothing to learn here. */
	if (r->bad++ == 0)
		log_warn("rpc", NULL, "call=%s a frame was refused: %s",
		    r->call_id, words[v]);
	r->deaf = r->bad >= BAD_MAX;
	look_again(r);
}

static void
on_next(void *arg)
{
	struct rpc *r = arg;
	const char *nl = memchr(r->in.data, '\n', r->in.len);

	r->next = NULL;
	if (!nl || r->deaf)
		return;
	size_t n = (size_t)(nl - r->in.data);
	CLEANUP_FREE char *line = mem_strn(r->in.data, n);

	buf_drain(&r->in, n + 1);
	take_line(r, line, n);
}

bool
rpc_feed(struct rpc *r, const char *data, size_t len)
{
	if (r->deaf || !buf_add(&r->in, data, len)) {
		r->deaf = true;
		return false;
	}
	look_again(r);
	return true;
}
