/*
 * A run: one answer to a set of messages, from the claim to the committed
 * final text.  HOLD (a long paste may go on) > LOAD > THINK <> TOOL > SAVE.
 * It waits for one thing at a time.  A session has one run at most; a new
 * message cancels it.
 */
#ifndef GATEHOUSE_RUN_H
#define GATEHOUSE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "gateway/agent/model.h"
#include "gateway/agent/tool.h"
#include "store/store.h"

struct run;

enum run_outcome {
	RUN_ANSWERED,
	RUN_FAILED,		/* the person was told why */
	RUN_DEAD,		/* its generation was over: nothing was sent */
	RUN_STORE_LOST,		/* could not be saved: nothing was sent */
};

/* Borrowed during the callback. The rows: chunk 1 is "sending" already. */
struct run_result {
	enum run_outcome outcome;
	const struct outbox_row *rows;
	size_t nrows;
	const struct err *err;
};

/* Turns the final text into chunks for the session's place. */
struct run_host {
	void *arg;
	/* *ret_chunks and what it points to stay valid until the next call. */
	size_t (*chunks)(void *arg, const char *text,
		const struct outbox_chunk **ret_chunks);
	/* Visible text as it comes (preview); may be NULL. */
	void (*text)(void *arg, const char *text, size_t len);
	/* A new answer of the model begins: its text() replaces the last one's. */
	void (*begin)(void *arg);
	/* Tools follow this text: it is no part of the answer to come. */
	void (*stays)(void *arg, const char *text);
	/* What it does now, for typing and progress: "thinking", "terminal: ls". */
	void (*activity)(void *arg, const char *what);
	void (*done)(void *arg, const struct run_result *res);
};

struct run_opts {
	const char *system;		/* system prompt; kept by the caller */
	const char *model;		/* instead of the configured one; "", NULL:
					 * that; copied */
	msec_t hold_ms;			/* wait before thinking (rules 1.9) */
	unsigned max_turns;		/* model calls; 0: 90 */
	size_t history_messages, history_bytes;	/* 0: defaults of history.h */
	int64_t max_tokens;
};

/* env: run, origin and sandbox are of this session; copied (not deep). */
struct run *run_start(const struct tool_env *env, struct model *model,
	const struct run_opts *opts, const struct run_host *host);

enum run_stop {
	RUN_STOP_MESSAGE,	/* a new message takes over the set */
	RUN_STOP_PERSON,	/* /stop or /new */
	RUN_STOP_EXIT,		/* the gateway goes down: resumed later */
	RUN_STOP_ABANDON,	/* the same, and no time is left for a save */
};
/*
 * Cancels all it waits for, queues its closing words, frees it.  false: too
 * late, its answer is being saved and host.done() will come.
 */
bool run_cancel(struct run **run, enum run_stop why);

/* "thinking", "terminal: make check", for /status. */
const char *run_activity(const struct run *run);
msec_t run_age(const struct run *run);

#endif
