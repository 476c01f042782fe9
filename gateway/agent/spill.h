/*
 * A result that is too large for the conversation: it is put into a file of
 * the session's sandbox, and what the model gets is its beginning and how to
 * read on.
 */
#ifndef GATEHOUSE_SPILL_H
#define GATEHOUSE_SPILL_H

#include "gateway/agent/tool.h"

#define SPILL_RESULT_MAX 100000		/* bytes of one result */
#define SPILL_TURN_MAX 200000		/* of all results of one model call */
#define SPILL_PREVIEW 1500

/* Whether this result is put aside; so_far: bytes of the turn's results. */
bool spill_wanted(const char *tool, size_t len, size_t so_far);

/* Borrowed: the result that takes its place. */
typedef void spill_cb(void *arg, const char *result);
/* The op contract. */
struct op *spill_start(const struct tool_env *env, const char *call_id,
	const char *result, spill_cb *cb, void *arg);

#endif
