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
struct model;

enum gate_outcome {
	GATE_ALLOWED,		/* permit is given */
	GATE_DENIED,		/* a person said no */
	GATE_TIMEOUT,
	GATE_UNREACHABLE,	/* no approver could be asked */
	GATE_FORBIDDEN,		/* the hardline floor or approvals.deny */
};

/* What a person may answer; a longer yes only where it is offered. */
enum gate_answer {
	GATE_ANSWER_NO,
	GATE_ANSWER_ONCE,
	GATE_ANSWER_HOUR,	/* the same rules, this session and asker */
	GATE_ANSWER_SESSION,	/* the same, until the session or process ends */
	GATE_ANSWER_ALWAYS,	/* this very command, in command_allowlist */
};
#define GATE_OFFER(answer) (1u << (answer))

struct gate_opts {
	msec_t timeout_ms;	/* approvals.gateway_timeout; 0: 300 s */
	bool ask_in_sandbox;	/* approvals.in_sandbox: ask */
	bool off;		/* approvals.mode: off */
	bool smart;		/* approvals.mode: smart */
	struct model *reviewer;	/* of smart; NULL or the stand-in: people decide */
	const char *reviewer_model;	/* another of the same server; NULL, "": no */
	const char *smart_policy;	/* approvals.smart_policy */
	bool cron_approve;	/* approvals.cron_mode: approve */
	const char *const *deny;	/* approvals.deny globs, NULL-terminated */
	const char *const *allow;	/* command_allowlist */
	const char *state_dir;	/* rules 4.5: never an operand on local */
	const long *pids;	/* ours and the launcher's: the same */
	size_t npids;
};

/* Borrowed. */
struct gate_prompt {
	const struct run_ref *run;
	const struct origin *to;
	const char *id;
	const char *text;
	const char *file;	/* what was too long for text, to be sent before it
				 * as a file of this name; or NULL */
	const char *file_name;
	unsigned offers;	/* GATE_OFFER() of what may be answered */
};

typedef void gate_kept_cb(void *arg, const struct err *err);

/*
 * How prompts reach people: the gateway gives these.  prompt() queues a
 * recorded send with buttons; settled() edits it to show the outcome.
 */
struct gate_host {
	void *arg;
	/* false: the origin's platform cannot be reached at all. */
	bool (*prompt)(void *arg, const struct gate_prompt *prompt);
	void (*settled)(void *arg, const struct origin *to,
		const char *request_id, const char *text);
	/* What one message may hold there (UTF-16 units), and whether a file can
	 * be sent. No function: DISPLAY_UNITS_MAX, and none. */
	size_t (*room)(void *arg, const struct origin *to, bool *ret_files);
	/* May this person decide for that asker? */
	bool (*may_decide)(void *arg, const struct origin *asked,
		const struct origin *who);
	/* Is there anybody who may?  *ret_note: a sentence for the prompt about
	 * who must answer, or NULL.  No function: there is. */
	bool (*has_decider)(void *arg, const struct origin *asked,
		const char **ret_note);
	/* Writes an entry of command_allowlist; the op contract holds. NULL:
	 * "always" is not offered. */
	struct op *(*keep)(void *arg, const char *entry, gate_kept_cb *cb,
		void *cb_arg);
	/* The scene in which it would run (sandbox_look); NULL: none is kept. */
	struct op *(*look)(void *arg, const char *sandbox, const char *dir,
		const char *const *scripts, size_t n, sandbox_scene_cb *cb,
		void *cb_arg);
	/* Something that the person who answered must know. */
	void (*say)(void *arg, const struct origin *to, const char *text);
};

struct gate *gate_new(struct loop *loop, struct store *store,
	const struct gate_opts *opts, const struct gate_host *host);
void gate_free(struct gate **gate);	/* requires: no op of it left */

/* What would happen; every kind passes this one gate. */
enum gate_act {
	GATE_COMMAND,		/* shell text, perhaps with standard input */
	GATE_INPUT,		/* bytes for a process that runs already */
};

/* Who could be asked. */
enum gate_caller {
	GATE_BY_PERSON,		/* somebody waits for the run's answer */
	GATE_BY_CRON,		/* decided at once by approvals.cron_mode */
	GATE_BY_SERVICE,	/* a webhook, an API call: what asks is refused */
};

/*
 * Strings and bytes are copied.  The permit is bound to command and input.
 */
struct gate_req {
	struct run_ref run;
	const struct origin *asker;
	enum gate_caller caller;
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
	const char *changed;	/* asked anew, because this has changed; or NULL */
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

/* A person's answer; who: also where it was said. */
struct gate_reply {
	const char *session_key;
	const struct origin *who;
	const char *id;		/* NULL or "": what waits here */
	bool all;
	enum gate_answer answer;
	const char *reason;	/* of a no */
};
/*
 * Returns a sentence for that person (caller frees): what was decided, or why
 * nothing was.  Without an id: the open question of the session, or else of the
 * chat.  A yes without an id is refused while several are open.
 */
char *gate_decide(struct gate *gate, const struct gate_reply *reply);
/* The prompt is on somebody's screen, as this message. */
void gate_prompt_shown(struct gate *gate, const char *request_id,
	const char *msg_id);
/* A prompt could not be delivered: a denial that names the cause. */
void gate_prompt_failed(struct gate *gate, const char *request_id,
	const char *why);
/* A question of an earlier process: what a late press is told. */
void gate_note_past(struct gate *gate, const char *request_id,
	const char *text);
/*
 * Open questions, oldest first: [{id, session_key, command, workdir, backend,
 * msg_id, offers, waiting, age_ms, asked_wall}].  session_key NULL: all of them.
 */
struct json *gate_open_requests(struct gate *gate, const char *session_key);
/* The same of a chat, whoever asked there. */
struct json *gate_open_in_chat(struct gate *gate, const struct origin *at);

/* Session grants (grants.h); NULL: all. */
struct json *gate_grants(struct gate *gate, const char *session_key);
/* /new, and revoking (NULL: everywhere): how many there were. */
unsigned gate_forget_grants(struct gate *gate, const char *session_key);
/*
 * /yolo: nothing of this session and asker is asked about any more, until said
 * again, /new or the end of the process.  The floor and approvals.deny hold.
 * Returns a sentence (caller frees).
 */
char *gate_yolo(struct gate *gate, const char *session_key,
	const struct origin *who);

#endif
