/*
 * A model that answers from a script.  Invariants inside: every request obeys
 * what strict servers demand (history_check), and never two calls live at
 * once where the test says that it has one session.
 */
#ifndef GATEHOUSE_TESTS_FAKE_MODEL_H
#define GATEHOUSE_TESTS_FAKE_MODEL_H

#include "gateway/agent/model.h"

struct fake_answer {
	msec_t delay;		/* before the first text and before the end */
	const char *text;	/* streamed before the end, in one piece */
	const char *partial;	/* streamed at once, then delay, then the end */
	unsigned chunks;	/* partial comes so often, spread over the delay */
	const char *call;	/* command of a terminal call, or NULL */
	const char *call2;	/* a second call of the same message */
	const char *tool;	/* another tool's name for `call` (its arguments) */
	enum model_error error;
	enum model_finish finish;	/* FINISH_STOP by default */
};

struct fake_model;

struct fake_model *fake_model_new(struct loop *loop);
struct model *fake_model_as_model(struct fake_model *fm);
/* Queued; once empty, every call is answered "echo: <last user text>". */
void fake_model_script(struct fake_model *fm, const struct fake_answer *answer);
size_t fake_model_calls(const struct fake_model *fm);
size_t fake_model_live(const struct fake_model *fm);
size_t fake_model_live_max(const struct fake_model *fm);
/* Instead of script and echo: fills the answer, whose strings live on. */
typedef void fake_model_think(void *arg, const struct json *messages,
	struct fake_answer *ret);
void fake_model_on_request(struct fake_model *fm, fake_model_think *think,
	void *arg);
/* Messages of the i-th request (borrowed). */
const struct json *fake_model_request(const struct fake_model *fm, size_t i);
/* All text of the i-th request's messages in one string; caller frees. */
char *fake_model_request_text(const struct fake_model *fm, size_t i);
/* Drops the recorded requests (long benchmarks). */
void fake_model_forget(struct fake_model *fm);
/* Names of the tools of the last request, each with a blank behind it. */
const char *fake_model_tools(const struct fake_model *fm);
/* Which model the last request asked for; "": the configured one. */
const char *fake_model_asked(const struct fake_model *fm);
void fake_model_free(struct fake_model **fm);

#endif
