/* The tool calls of one answer of the model: RUN_TOOL, one after the other. */
#include "gateway/agent/run_priv.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/agent/run_entry.h"
#include "gateway/agent/spill.h"
#include "gateway/agent/tool_args.h"

#define BAD_INPUT_MAX 3		/* wrong tool calls in a row */
#define CALLS_MAX 32		/* tool calls of one message */

static void on_tool_done(void *arg, const struct tool_result *res);
static void on_spilled(void *arg, const char *result);

static const struct json *
current_call(const struct run *run)
{
	return json_at(run->calls, run->call_at);
}

void
run_end_call(struct run *run, const char *result, bool unknown)
{
	const struct json *call = current_call(run);
	struct json *entry = run_entry_tool(json_get_str(call, "id", ""),
	    json_get_str(call, "name", ""), result);

	if (run->phase == TOOL_WAITING) {
		run_append(run, entry);
	} else {
		store_tool_end(run->env.store, &run->env.run,
		    json_get_str(call, "id", ""), unknown ? "unknown" : "ended",
		    entry, loop_wall(run->env.loop), NULL, NULL);
		json_add_take(run->entries, entry);
	}
	run->phase = TOOL_WAITING;
	run->call_at++;
}

char *
run_cancelled_call(const struct run *run, const char *words, bool under_way)
{
	const struct json *call = current_call(run);
	const struct tool *tool = tool_find(json_get_str(call, "name", ""));
	CLEANUP_JSON struct json *args = NULL, *res = NULL;

	if (under_way && tool && tool->cancelled)
		args = tool_args_parse(tool, json_get_str(call, "arguments", ""),
		    NULL);
	if (args)
		res = tool->cancelled(args, words);
	return res ? json_text(res) : run_cancelled_result(words,
	    under_way && run->phase == TOOL_RUNNING);
}

/* A call that cannot even start: a result text, no crash. */
static void
run_refuse_call(struct run *run, const char *why)
{
	CLEANUP_JSON struct json *res = json_object();

	json_set_str(res, "error", why);
	CLEANUP_FREE char *text = json_text(res);

	if (run->call_at < CALLS_MAX)	/* one too many is no wrong one */
		run->bad_inputs++;
	run_end_call(run, text, false);
}

static void
run_after_calls(struct run *run)
{
	if (run->bad_inputs >= BAD_INPUT_MAX) {
		run_save(run, "I stopped: the model sent three wrong tool calls "
		    "in a row. Try again, or use another model.", true);
		return;
	}
	if (run->turns >= run->opts.max_turns)
		run->last_turn = true;
	if (run->turns > run->opts.max_turns) {
		run_save(run, "I stopped at the limit of steps for one answer "
		    "(agent.max_turns). Tell me to go on if you want more.",
		    true);
		return;
	}
	run_think(run);
}

void
run_next_call(struct run *run)
{
	struct err err;

	while (run->call_at < json_len(run->calls)) {
		const struct json *call = current_call(run);
		const char *name = json_get_str(call, "name", "");
		const struct tool *tool = tool_find(name);
		CLEANUP_FREE char *why = NULL;
		CLEANUP_JSON struct json *args = NULL;

		if (run->call_at >= CALLS_MAX)
			why = mem_printf("not run: at most %d calls in one "
			    "message", CALLS_MAX);
		else if (!tool)
			why = mem_printf("there is no tool named '%.60s'", name);
		else if (!(args = tool_args_parse(tool,
		    json_get_str(call, "arguments", ""), &err)))
			why = mem_str(err.text);
		if (why) {
			run_refuse_call(run, why);
			continue;
		}
		CLEANUP_FREE char *activity = mem_printf("%s: %s", name,
		    json_get_str(args, "command", ""));

		run_enter(run, RUN_TOOL, activity);
		run->waiting = tool->call(&run->env, json_get_str(call, "id", ""),
		    args, on_tool_done, run);
		return;
	}
	run_after_calls(run);
}

static void
on_tool_done(void *arg, const struct tool_result *res)
{
	struct run *run = arg;

	run->waiting = NULL;
	run->bad_inputs = res->bad_input ? run->bad_inputs + 1 : 0;
	if (spill_wanted(json_get_str(current_call(run), "name", ""),
	    strlen(res->result), run->result_bytes)) {
		run->unknown = res->unknown;
		run->waiting = spill_start(&run->env,
		    json_get_str(current_call(run), "id", ""), res->result,
		    on_spilled, run);
		return;
	}
	run->result_bytes += strlen(res->result);
	run_end_call(run, res->result, res->unknown);
	run_next_call(run);
}

/* Too large for the conversation: it is in a file of the sandbox now. */
static void
on_spilled(void *arg, const char *result)
{
	struct run *run = arg;

	run->waiting = NULL;
	run->result_bytes += strlen(result);
	run_end_call(run, result, run->unknown);
	run_next_call(run);
}
