/*
 * The gate: decides whether a command may run, asks the right person where a
 * person must decide, and makes the permit.  Only this folder makes permits.
 * Exactly one outcome a request; time-out, cancel and a failed prompt mean no.
 * It blocks nothing but the run that waits.
 */
#ifndef GATEHOUSE_GATE_H
#define GATEHOUSE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/op.h"
#include "gateway/route.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

struct gate;

enum gate_outcome {
	GATE_ALLOWED,		/* permit is given */
	GATE_DENIED,		/* a person said no */
	GATE_TIMEOUT,
	GATE_UNREACHABLE,	/* no approver could be asked */
	GATE_FORBIDDEN,		/* the hardline floor or approvals.deny */
};

struct gate_opts {
	msec_t timeout_ms;	/* approvals.gateway_timeout; 0: 300 s */
	bool ask_in_sandbox;	/* approvals.in_sandbox: ask */
	bool off;		/* approvals.mode: off */
	const char *const *deny;	/* approvals.deny globs, NULL-terminated */
	const char *const *allow;	/* command_allowlist */
	const char *state_dir;	/* rules 4.5: never an operand on local */
	const long *pids;	/* ours and the launcher's: the same */
	size_t npids;
};

/*
 * How prompts reach people: the gateway gives these.  prompt() queues a
 * recorded send with the two buttons; undo() edits it to show the outcome.
 */
struct gate_host {
	void *arg;
	/* false: the origin's platform cannot be reached at all. */
	bool (*prompt)(void *arg, const struct run_ref *run,
		const struct origin *to, const char *request_id, const char *text);
	void (*settled)(void *arg, const struct origin *to,
		const char *request_id, const char *text);
	/* May this person decide for that asker? */
	bool (*may_decide)(void *arg, const struct origin *asked,
		const char *platform, const char *user_id);
};

struct gate *gate_new(struct loop *loop, struct store *store,
	const struct gate_opts *opts, const struct gate_host *host);
void gate_free(struct gate **gate);	/* requires: no op of it left */

/* What would happen; every kind passes this one gate. */
enum gate_act {
	GATE_COMMAND,		/* shell text, perhaps with standard input */
	GATE_INPUT,		/* bytes for a process that runs already */
};

/*
 * Strings and bytes are copied.  The permit is bound to command and input.
 */
struct gate_req {
	struct run_ref run;
	const struct origin *asker;
	enum gate_act act;
	const char *command;	/* as sandbox_run() gets it; GATE_INPUT: the bytes */
	size_t command_len;
	const void *input;	/* sandbox_cmd.input, NULL: none */
	size_t input_len;
	const char *program;	/* GATE_INPUT: the command that the process runs */
	const char *workdir;	/* as the call gave it: part of the permit;
				 * GATE_INPUT: the process's id */
	const char *dir;	/* where it will start: judged and shown */
	const char *sandbox;	/* sandbox_key_text() */
	struct sandbox_props props;
	bool background;
	/*
	 * For a command that one of our tools made (a file is written, a script
	 * run): the shell text that means the same and is judged, and what a
	 * person is shown in its place. NULL: the command itself.
	 */
	const char *judged;
	const char *shown;
	const char *what;	/* "this change of files"; NULL: "this command" */
};

/* Borrowed; permit is yours if ALLOWED. reason: plain words for the model. */
typedef void gate_cb(void *arg, enum gate_outcome outcome, struct permit *permit,
	const char *reason);
struct op *gate_ask(struct gate *gate, const struct gate_req *req, gate_cb *cb,
	void *arg);

enum gate_answer { GATE_ANSWER_YES, GATE_ANSWER_NO };
/*
 * A person's answer.  id NULL or "": the oldest open request of the session
 * (all of them for `all`).  Returns a sentence for that person (caller frees):
 * what was decided, or why nothing was.
 */
char *gate_decide(struct gate *gate, const char *session_key, const char *id,
	bool all, enum gate_answer answer, const char *reason,
	const char *platform, const char *user_id);
/* A prompt could not be delivered: a denial that names the cause. */
void gate_prompt_failed(struct gate *gate, const char *request_id,
	const char *why);
/*
 * Open requests, oldest first: [{id, session_key, command, workdir, backend,
 * age_ms, asked_wall}].
 */
struct json *gate_open_requests(struct gate *gate, const char *session_key);

#endif
