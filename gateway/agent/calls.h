/*
 * The tool calls of one answer, put together from deltas in every rhythm that
 * servers are known to use.  Identity comes from id, index and place in the
 * array, never from name and arguments: two equal calls are two calls.
 */
#ifndef GATEHOUSE_CALLS_H
#define GATEHOUSE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "gateway/agent/model.h"
#include "gateway/agent/surrogate.h"

#define CALLS_MAX 128		/* of one answer */
#define CALL_NAME_MAX 128
#define CALL_ID_MAX 256
#define CALL_ARGUMENTS_MAX (1 << 20)

struct call {
	char *id;		/* NULL: none came yet */
	int64_t index;		/* INT64_MIN: none */
	struct buf name;
	struct buf arguments;
	struct surrogate half;
};

struct calls {
	struct call *list;
	size_t n;
	const struct json *tools;	/* of the request, borrowed; may be NULL */
	struct model_call *out;
};

void calls_init(struct calls *c, const struct json *tools);
void calls_done(struct calls *c);

/* `tool_calls` of one delta. -1: a bound was passed. */
int calls_delta(struct calls *c, const struct json *tool_calls);
/* `tool_calls` of a whole message: each entry is a call. */
int calls_whole(struct calls *c, const struct json *tool_calls);
/* The old `function_call` of a delta or message: at most one call. */
int calls_function(struct calls *c, const struct json *function_call);

/* True if every call's arguments are a whole JSON value (or none). */
bool calls_complete(const struct calls *c);
/* Ids for calls without one, "{}" for no arguments. Borrowed until done. */
const struct model_call *calls_finish(struct calls *c);

#endif
