/* What run.c and run_calls.c share. */
#ifndef GATEHOUSE_RUN_PRIV_H
#define GATEHOUSE_RUN_PRIV_H

#include "base/buf.h"
#include "base/log.h"
#include "gateway/agent/retry.h"
#include "gateway/agent/run.h"

enum run_step {
	RUN_HOLD, RUN_LOAD, RUN_THINK, RUN_PAUSE, RUN_TOOL, RUN_SAVE,
};

struct run {
	struct tool_env env;
	struct model *model;
	struct run_opts opts;
	char *model_name;		/* opts.model */
	struct run_host host;
	struct log_ctx log;
	enum run_step step;
	msec_t started, step_since;

	struct op *waiting;		/* the one thing it waits for */
	struct timer *timer;		/* or this: HOLD and PAUSE */

	struct json *entries;		/* history as stored, and what it added */
	struct json *calls;		/* tool calls of the last answer */
	size_t call_at;
	enum tool_phase phase;		/* of the call under way */
	size_t result_bytes;		/* of the results of these calls */
	bool unknown;			/* of the result that is put aside */
	struct retry retry;
	unsigned turns, empties, lengths, bad_inputs;
	bool last_turn;			/* no tools any more */
	bool failed;			/* what is being saved is an apology */
	struct buf partial;		/* visible text of the answer under way */
	char activity[96];
};

/* run.c */
void run_enter(struct run *run, enum run_step step, const char *activity);
void run_think(struct run *run);
/* Keeps an entry in memory and queues its row; nobody waits for that. */
void run_append(struct run *run, struct json *entry);
void run_save(struct run *run, const char *text, bool failed);

/* run_calls.c: the calls of one answer, one after the other. */
void run_next_call(struct run *run);
/* The result of a call that was cancelled: by its tool's words, or ours. */
char *run_cancelled_call(const struct run *run, const char *words,
	bool under_way);
/* Takes the result of the call under way into history and store. */
void run_end_call(struct run *run, const char *result, bool unknown);

#endif
