/*
 * What goes to the model: stored transcript entries become a legal message
 * list.  Pure.  Guarantees for every input: each call id has exactly one
 * result directly after its assistant message; no orphan results; cuts only
 * before a user message or a whole exchange; roles alternate (adjacent user
 * messages are merged, and so are adjacent assistant texts); arguments are
 * always a JSON object text; never an empty message; starts with system, then
 * user; ends with user or tool.
 */
#ifndef GATEHOUSE_HISTORY_H
#define GATEHOUSE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/loop.h"

struct history_opts {
	const char *system;	/* the system prompt, not empty */
	size_t max_messages;	/* window; 0: 400 */
	size_t max_bytes;	/* of message text; 0: 400 kB */
	msec_t now_wall;	/* for stale confirmations (replay clean-up) */
	/* Tools that change nothing: a broken exchange of only such is dropped. */
	const char *const *read_only;	/* NULL-terminated; NULL: none */
};

/*
 * entries: array of stored messages in order: {role, content, tool_calls?,
 * tool_call_id?, at?, mark?, glue?}; at: Unix ms.  Marks: on assistant text
 * "cut" (partial) and "undelivered" (the answer before it did not reach the
 * person; no text of its own); glue: a user's text that goes on the one before
 * it without a separator; on a tool result "unknown" (nobody knows how it ended),
 * "cancelled" (stopped in the middle), "not_started"; its content is then
 * what is known, and may be empty.  Returns a new array.  *ret_repaired tells
 * whether anything had to be repaired that should have been stored otherwise.
 */
struct json *history_messages(const struct json *entries,
	const struct history_opts *opts, bool *ret_repaired);

/* 0 if messages obey what strict servers demand; -1 with the reason. */
int history_check(const struct json *messages, struct err *err);

#endif
