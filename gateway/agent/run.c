/* The story of a run is told top to bottom; the steps are in run.h. */
#include "gateway/agent/run_priv.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/agent/history.h"
#include "gateway/agent/run_entry.h"

#define MAX_TURNS 90
#define EMPTY_MAX 2		/* silent answers asked again */
#define LENGTH_MAX 3		/* cut tool calls asked again */
#define PARTIAL_MAX (256 * 1024)

static void on_held(void *arg);
static void on_loaded(void *arg, const struct json *res, const struct err *err);
static void on_text(void *arg, const char *text, size_t len);
static void on_thought(void *arg, const struct model_result *res);
static void on_paused(void *arg);
static void on_saved(void *arg, const struct outbox_row *rows, size_t n,
    const struct err *err);

static const char *
run_step_name(enum run_step step)
{
	static const char *const names[] = {
		[RUN_HOLD] = "hold", [RUN_LOAD] = "load", [RUN_THINK] = "think",
		[RUN_PAUSE] = "pause", [RUN_TOOL] = "tool", [RUN_SAVE] = "save",
	};

	return names[step];
}

static const char *
outcome_name(enum run_outcome outcome)
{
	static const char *const names[] = {
		[RUN_ANSWERED] = "answered", [RUN_FAILED] = "failed",
		[RUN_DEAD] = "dead", [RUN_STORE_LOST] = "store lost",
	};

	return names[outcome];
}

void
run_enter(struct run *run, enum run_step step, const char *activity)
{
	msec_t now = loop_now(run->env.loop);

	log_debug("run", &run->log, "step=%s was=%s after_ms=%lld",
	    run_step_name(step), run_step_name(run->step),
	    (long long)(now - run->step_since));
	run->step = step;
	run->step_since = now;
	size_t n = utf8_cut(activity, strlen(activity),
	    sizeof(run->activity) - 1);

	memcpy(run->activity, activity, n);
	run->activity[n] = '\0';
	run->host.activity(run->host.arg, run->activity);
}

static void
run_free(struct run *run)
{
	op_cancel(&run->waiting);
	loop_cancel(&run->timer);
	mem_free(run->model_name);
	json_free(&run->entries);
	json_free(&run->calls);
	buf_done(&run->partial);
	mem_free(run);
}

/* The only exit of a run that was not cancelled. */
static void
run_finish(struct run *run, const struct run_result *res)
{
	struct run_host host = run->host;

	log_info("run", &run->log, "outcome=%s turns=%u ms=%lld",
	    outcome_name(res->outcome), run->turns,
	    (long long)(loop_now(run->env.loop) - run->started));
	run_free(run);
	host.done(host.arg, res);
}

struct run *
run_start(const struct tool_env *env, struct model *model,
    const struct run_opts *opts, const struct run_host *host)
{
	struct run *run = mem_alloc(sizeof(*run));

	run->env = *env;
	run->env.phase = &run->phase;
	run->model = model;
	run->opts = *opts;
	run->host = *host;
	run->opts.model = run->model_name = mem_str(opts->model);
	if (run->opts.max_turns == 0)
		run->opts.max_turns = MAX_TURNS;
	buf_init(&run->partial, PARTIAL_MAX);
	retry_init(&run->retry);
	run->started = run->step_since = loop_now(env->loop);
	log_ctx_set(&run->log, NULL, "session=%s gen=%llu",
	    env->run.session_key, (unsigned long long)env->run.generation);
	run->step = RUN_HOLD;
	run->timer = loop_after(env->loop, opts->hold_ms, "run hold", on_held,
	    run);
	return run;
}

static void
on_held(void *arg)
{
	struct run *run = arg;

	run->timer = NULL;
	run_enter(run, RUN_LOAD, "reading the conversation");
	run->waiting = store_load(run->env.store, run->env.run.session_key,
	    run->opts.history_messages ? run->opts.history_messages : 400,
	    run->opts.history_bytes ? run->opts.history_bytes : 400 * 1024,
	    on_loaded, run);
}

static void
on_loaded(void *arg, const struct json *res, const struct err *err)
{
	struct run *run = arg;

	run->waiting = NULL;
	if (err) {
		run_finish(run, &(struct run_result){ RUN_STORE_LOST, NULL, 0,
		    err });
		return;
	}
	run->entries = json_clone(res);
	run_think(run);
}

void
run_think(struct run *run)
{
	struct history_opts hist = {
		.system = run->opts.system,
		.max_messages = run->opts.history_messages,
		.max_bytes = run->opts.history_bytes,
		.now_wall = loop_wall(run->env.loop),
		.read_only = tool_read_only(),
	};
	bool repaired = false;
	CLEANUP_JSON struct json *messages = history_messages(run->entries,
	    &hist, &repaired);
	CLEANUP_JSON struct json *tools = run->last_turn ? NULL :
	    tool_schemas(sandbox_abilities(run->env.sandboxes,
	    run->env.sandbox.owner));
	struct model_req req = {
		.messages = messages,
		.tools = tools,
		.max_tokens = run->opts.max_tokens,
		.model = run->opts.model,
		.on_text = on_text,
	};

	if (repaired)
		log_debug("run", &run->log, "history was repaired");
	buf_clear(&run->partial);
	if (run->host.begin)
		run->host.begin(run->host.arg);
	run->turns++;
	run_enter(run, RUN_THINK, "thinking");
	run->waiting = model_call(run->model, &req, on_thought, run);
}

static void
on_text(void *arg, const char *text, size_t len)
{
	struct run *run = arg;

	buf_add(&run->partial, text, len);
	if (run->host.text)
		run->host.text(run->host.arg, text, len);
}

void
run_append(struct run *run, struct json *entry)
{
	CLEANUP_JSON struct json *list = json_array();

	json_add_take(list, json_clone(entry));
	json_add_take(run->entries, entry);
	store_append(run->env.store, &run->env.run, list,
	    loop_wall(run->env.loop), NULL, NULL);
}

static void
run_pause(struct run *run, msec_t wait, const char *why)
{
	log_warn("run", &run->log, "model call failed, next try in %lld ms: %s",
	    (long long)wait, why);
	run_enter(run, RUN_PAUSE, "waiting for the model server");
	run->timer = loop_after(run->env.loop, wait, "run pause", on_paused, run);
}

static void
on_paused(void *arg)
{
	struct run *run = arg;

	run->timer = NULL;
	run_think(run);
}

static void
run_failed(struct run *run, const struct model_result *res)
{
	msec_t wait = retry_next(&run->retry, res, loop_random(run->env.loop));

	if (wait >= 0) {
		run_pause(run, wait, res->err->text);
		return;
	}
	CLEANUP_FREE char *text = run_error_text(res->error, res->err->text);

	run_save(run, text, true);
}

/* The length limit hit a tool call: none of that message runs. */
static void
run_cut_calls(struct run *run, const struct model_result *res)
{
	run_append(run, run_entry_assistant(res));
	for (size_t i = 0; i < res->ncalls; i++)
		run_append(run, run_entry_error(res->calls[i].id,
		    res->calls[i].name, "not run: your message was cut at the "
		    "output limit before the call was complete; send the call "
		    "again, in smaller pieces"));
	if (++run->lengths > LENGTH_MAX) {
		run_save(run, "I could not finish: my answers were cut at the "
		    "model's output limit again and again. Ask for a smaller "
		    "step, or raise model.max_tokens.", true);
		return;
	}
	run_think(run);
}

static void
run_text_answer(struct run *run, const struct model_result *res)
{
	if (!res->text[strspn(res->text, " \t\r\n")]) {
		if (++run->empties <= EMPTY_MAX) {
			run_pause(run, 500, "the answer was empty");
			return;
		}
		run_save(run, "The model gave no answer (several times). "
		    "Your message is kept: write again to try once more.", true);
		return;
	}
	if (res->finish == FINISH_LENGTH || res->finish == FINISH_FILTER) {
		CLEANUP_FREE char *text = mem_printf("%s\n\n[%s]", res->text,
		    res->finish == FINISH_LENGTH ?
		    "cut off at the model's output limit" :
		    "cut off by the provider's content filter");

		run_save(run, text, false);
		return;
	}
	run_save(run, res->text, false);
}

static void
on_thought(void *arg, const struct model_result *res)
{
	struct run *run = arg;

	run->waiting = NULL;
	if (res->error != MODEL_ERR_NONE) {
		run_failed(run, res);
		return;
	}
	retry_init(&run->retry);
	if (res->ncalls == 0) {
		run_text_answer(run, res);
		return;
	}
	if (res->finish == FINISH_LENGTH) {
		run_cut_calls(run, res);
		return;
	}
	json_free(&run->calls);
	run->calls = run_calls_json(res);
	run->call_at = 0;
	run->result_bytes = 0;
	run_append(run, run_entry_assistant(res));
	buf_clear(&run->partial);
	if (run->host.stays)
		run->host.stays(run->host.arg, res->text);
	run_next_call(run);
}

void
run_save(struct run *run, const char *text, bool failed)
{
	const struct outbox_chunk *chunks;
	CLEANUP_JSON struct json *entry = failed ? NULL :
	    run_entry_text(text, NULL);
	struct finish_req req = {
		.run = run->env.run,
		.entry = entry,
		.outcome = failed ? "failed" : "answered",
		.send_first = true,
		.now_wall = loop_wall(run->env.loop),
	};

	run->failed = failed;
	run_enter(run, RUN_SAVE, "answering");
	buf_clear(&run->partial);
	if (!failed)
		buf_add_str(&run->partial, text);
	req.nchunks = run->host.chunks(run->host.arg, text, &chunks);
	req.chunks = chunks;
	run->waiting = store_finish(run->env.store, &req, on_saved, run);
}

static void
on_saved(void *arg, const struct outbox_row *rows, size_t n,
    const struct err *err)
{
	struct run *run = arg;
	struct run_result res = { run->failed ? RUN_FAILED : RUN_ANSWERED, rows,
		n, err };

	run->waiting = NULL;
	if (err)
		res.outcome = err->code == ERR_DENIED ? RUN_DEAD : RUN_STORE_LOST;
	run_finish(run, &res);
}

static const char *
stop_words(enum run_stop why)
{
	switch (why) {
	case RUN_STOP_MESSAGE:
		return "cancelled by a new message";
	case RUN_STOP_PERSON:
		return "stopped by the person";
	case RUN_STOP_EXIT:
	case RUN_STOP_ABANDON:
		return "interrupted: the gateway was going down";
	}
	return "";
}

/*
 * A final text whose transaction is queued belongs to the store.  A new
 * message's claim was queued before it (else on_saved would have run), so the
 * store refuses it and it becomes partial text; any other reason comes too
 * late: the answer is out.
 */
bool
run_cancel(struct run **runp, enum run_stop why)
{
	if (!*runp)
		return true;
	bool saving = (*runp)->step == RUN_SAVE;

	if (saving && (why == RUN_STOP_PERSON || why == RUN_STOP_EXIT))
		return false;
	struct run *run = STEAL(*runp);
	const char *words = stop_words(why);

	log_info("run", &run->log, "cancelled in step=%s: %s",
	    run_step_name(run->step), words);
	op_cancel(&run->waiting);
	if ((run->step == RUN_THINK || (saving && why == RUN_STOP_MESSAGE)) &&
	    run->partial.len > 0)
		run_append(run, run_entry_text(run->partial.data, "cut"));
	for (bool first = true; run->step == RUN_TOOL &&
	    run->call_at < json_len(run->calls); first = false) {
		CLEANUP_FREE char *result = run_cancelled_call(run, words, first);

		run_end_call(run, result, false);
	}
	run_free(run);
	return true;
}

const char *
run_activity(const struct run *run)
{
	return run->activity;
}

msec_t
run_age(const struct run *run)
{
	return loop_now(run->env.loop) - run->started;
}
