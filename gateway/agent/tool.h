/*
 * A tool the model can call: one vtable, one line in tools/list.h.  A tool
 * answers with a result text (JSON) for the model, never with a crash: bad
 * arguments give a result that lets the model correct itself.
 */
#ifndef GATEHOUSE_TOOL_H
#define GATEHOUSE_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/op.h"

struct tool_env;	/* what a run lends its tools: see run.h */

/* result: JSON text, borrowed. bad_input: the model must correct its call. */
struct tool_result {
	const char *result;
	bool bad_input;
	bool unknown;		/* the effect is not known (lost in mid-act) */
};
typedef void tool_done_cb(void *arg, const struct tool_result *res);

struct tool {
	const char *name;
	const char *description;
	const char *parameters;	/* JSON schema text */
	bool read_only;		/* may be repeated after a crash (rules 3.1) */
	/* args is an object. The op contract holds; cancel means no. */
	struct op *(*call)(struct tool_env *env, const char *call_id,
		const struct json *args, tool_done_cb *done, void *arg);
};

#endif
