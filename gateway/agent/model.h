/*
 * What thinks: one request, one answer, streamed.  A model wire (openai.c,
 * demo.c) is one vtable.  On the loop's thread; the op contract holds.
 */
#ifndef GATEHOUSE_MODEL_H
#define GATEHOUSE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/http.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/op.h"

/* What to do about a failed call; the run decides by class, never by text. */
enum model_error {
	MODEL_ERR_NONE,
	MODEL_ERR_RETRY,	/* connection, 408, 409, 429, 5xx, broken stream */
	MODEL_ERR_AUTH,		/* 401, 403: tell the operator */
	MODEL_ERR_QUOTA,	/* insufficient_quota, 402 */
	MODEL_ERR_CONTEXT,	/* too long for the model's window */
	MODEL_ERR_REQUEST,	/* 400, 404, 413, 422: same request fails again */
	MODEL_ERR_POLICY,	/* content filter */
};
const char *model_error_name(enum model_error error);

enum model_finish { FINISH_STOP, FINISH_TOOLS, FINISH_LENGTH, FINISH_FILTER };

struct model_call {
	const char *id;		/* stable; generated if the server gave none */
	const char *name;
	const char *arguments;	/* JSON text; "{}" for none; as received if bad */
};

/* Borrowed during the callback. */
struct model_result {
	enum model_error error;
	const struct err *err;	/* for people: what, whom, what to do */
	msec_t retry_after_ms;	/* asked by the server; 0 none; -1: do not retry */
	bool retryable_before_text;	/* no byte of text has been given to on_text */
	const char *text;	/* valid UTF-8, without reasoning; partial on error */
	const char *reasoning;
	const struct model_call *calls;
	size_t ncalls;
	enum model_finish finish;
	int64_t prompt_tokens, completion_tokens;	/* -1 unknown */
};

typedef void model_text_cb(void *arg, const char *text, size_t len);
typedef void model_done_cb(void *arg, const struct model_result *res);

struct model_req {
	/* Both are needed during the call only, not until its end. */
	const struct json *messages;	/* array of chat messages, already legal */
	const struct json *tools;	/* array or NULL */
	int64_t max_tokens;		/* 0: server's default */
	bool cold;			/* temperature 0 */
	const char *model;		/* another of the same server; NULL, "": no */
	/*
	 * Visible text as it comes, whole characters; may cancel; may be NULL.
	 * A preview: the result's text is what counts.
	 */
	model_text_cb *on_text;
};

struct model;

struct model_type {
	const char *name;	/* "openai", "demo" */
	struct op *(*call)(struct model *model, const struct model_req *req,
		model_done_cb *done, void *arg);
	void (*free)(struct model *model);
};

/* First member of every wire's struct. */
struct model {
	const struct model_type *type;
	const char *label;	/* "gpt-x at api.example.org", for people */
	bool is_demo;
};

static inline struct op *
model_call(struct model *model, const struct model_req *req,
	model_done_cb *done, void *arg)
{
	return model->type->call(model, req, done, arg);
}

void model_free(struct model **model);

/* OpenAI chat completions, streaming. Strings are copied. */
struct openai_opts {
	const char *base_url;	/* ends in /v1 usually; .../chat/completions is appended */
	const char *api_key;	/* NULL or "": no Authorization header */
	const char *model;
	msec_t connect_ms;	/* 0: 15 s */
	msec_t first_event_ms;	/* until the first useful event; 0: 180 s */
	msec_t idle_ms;		/* between useful events (comments don't count); 0: 120 s */
	msec_t total_ms;	/* 0: 1800 s */
};
struct model *openai_new(struct loop *loop, struct http *http,
	const struct openai_opts *opts);

/* The stand-in: says so, explains how to connect a real one, runs `run CMD`. */
struct model *demo_new(struct loop *loop);

#endif
