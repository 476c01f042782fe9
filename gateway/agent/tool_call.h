/*
 * What every tool's call has: the first member of the tool's own struct.  A
 * call ends in one place, by tool_call_finish(), or is cancelled; release()
 * then frees what the tool itself holds, and the rest goes with it.
 */
#ifndef GATEHOUSE_TOOL_CALL_H
#define GATEHOUSE_TOOL_CALL_H

#include "gateway/agent/tool.h"

struct tool_call {
	struct op op;
	struct tool_env env;
	struct op *waiting;
	struct timer *timer;
	char *call_id;
	struct json *args;
	struct json *answer;	/* of a refusal, until the loop turns */
	bool bad_input;
	void (*release)(void *call);	/* NULL: nothing besides */
	tool_done_cb *done;
	void *arg;
};

/* For the .cancel of the tool's op_type. */
void tool_call_cancel(struct op *op);
/* call: zeroed, from mem_alloc(). */
void tool_call_init(struct tool_call *call, const struct op_type *type,
	const struct tool_env *env, const char *call_id, const struct json *args,
	tool_done_cb *done, void *arg);
/* Takes answer; frees the call. */
void tool_call_finish(struct tool_call *call, struct json *answer, bool unknown);
/* The same from the loop: for a start function that can't go on. Takes answer. */
struct op *tool_call_refuse(struct tool_call *call, bool bad_input,
	struct json *answer);

/* Of an output that was cut in the middle: how all of it is read (spooled.h). */
void tool_call_spooled(struct json *result, const char *id, uint64_t total);

#endif
