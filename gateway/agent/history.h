/*
 * What goes to the model: stored transcript entries become a legal message
 * list.  Pure.  Guarantees for every input: each call id has exactly one
 * result directly after its assistant message; no orphan results; cuts only
 * before a user message; adjacent user messages merged; arguments are always
 * a JSON object text; never an empty assistant message; starts with system,
 * then user.
 */
#ifndef GATEHOUSE_HISTORY_H
#define GATEHOUSE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/loop.h"

struct history_opts {
	const char *system;	/* the system prompt */
	size_t max_messages;	/* window; 0: 400 */
	size_t max_bytes;	/* of message text; 0: 400 kB */
	msec_t now_wall;	/* for stale confirmations (replay clean-up) */
};

/*
 * entries: array of stored messages in order: {role, content, tool_calls?,
 * tool_call_id?, at?, mark?}; mark "cut" = partial assistant text.  Returns a
 * new array.  *ret_repaired tells whether anything had to be repaired.
 */
struct json *history_messages(const struct json *entries,
	const struct history_opts *opts, bool *ret_repaired);

/* 0 if messages obey what strict servers demand; -1 with the reason. */
int history_check(const struct json *messages, struct err *err);

#endif
