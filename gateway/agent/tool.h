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
#include "base/loop.h"
#include "base/op.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

struct gate;
struct notices;
struct origin;
struct sandboxes;
struct seen;

/* How far a call got: what a cancel must say about its effects. */
enum tool_phase {
	TOOL_WAITING,		/* nothing happened yet */
	TOOL_RECORDED,		/* its row was started (queued): must be ended */
	TOOL_RUNNING,		/* it may have had effects */
};

/* code_execution.*; 0: 300 s, 50 calls. */
struct code_opts {
	msec_t timeout_ms;
	unsigned max_calls;
	bool files;	/* scripts talk by files even where a socket is possible */
};

/* What a run lends its tools; valid while the call is under way. */
struct tool_env {
	struct loop *loop;
	struct store *store;
	struct gate *gate;
	struct sandboxes *sandboxes;
	struct run_ref run;
	const struct origin *origin;
	struct sandbox_key sandbox;
	struct notices *notices;	/* of background processes; may be NULL */
	unsigned depth;		/* runs that woke each other up to this one */
	bool stateless;		/* nothing can be told after the answer */
	enum tool_phase *phase;		/* written by the tool, read by the run */
	struct seen *seen;		/* of the session: files it has read */
	bool nested;			/* a script's call: its row is the script's */
	struct code_opts code;		/* limits of execute_code */
};

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
	unsigned needs;		/* sandbox_ability; where one is missing it is
				 * not offered */
	/*
	 * args is a checked object.  The op contract holds; cancel means no and
	 * ends what was started.  A tool with effects starts its row
	 * (store_tool_start) before it acts and says so in env->phase.
	 */
	/* Result of a call that was cancelled; NULL: the general words. */
	struct json *(*cancelled)(const struct json *args, const char *why);
	struct op *(*call)(const struct tool_env *env, const char *call_id,
		const struct json *args, tool_done_cb *done, void *arg);
};

const struct tool *tool_find(const char *name);
/* Names of the tools that change nothing, NULL-terminated; static. */
const char *const *tool_read_only(void);
/*
 * The `tools` array of a request, of those that can work with these
 * sandbox_abilities(); NULL: none.  Caller frees.
 */
struct json *tool_schemas(unsigned abilities);
/* "terminal, patch": those, or (missing) the others. Caller frees. */
char *tool_names(unsigned abilities, bool missing);

#endif
