/*
 * Sessions: one conversation each, one run at a time.  A session's slot is
 * taken synchronously when a message is taken in (session_plan), so two
 * messages never start two runs.  Sessions with nothing under way are
 * forgotten; all that must last is in the store.
 */
#ifndef GATEHOUSE_SESSION_H
#define GATEHOUSE_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/loop.h"
#include "gateway/agent/model.h"
#include "gateway/agent/run.h"
#include "gateway/delivery.h"
#include "gateway/gate/gate.h"
#include "gateway/reset_policy.h"
#include "gateway/route.h"
#include "gateway/scope.h"
#include "platforms/platform.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

struct sessions;

enum busy_mode { BUSY_INTERRUPT, BUSY_QUEUE };

struct session_env {
	struct loop *loop;
	struct store *store;
	struct model *model;
	struct gate *gate;
	struct sandboxes *sandboxes;
	struct delivery *delivery;
	struct notices *notices;	/* may be NULL */
	bool one_shot;			/* nobody is there after the answer */
	const char *profile;
	enum sandbox_scope scope;
	const char *hint;		/* on where commands run, or NULL */
	const char *persona;		/* extra system prompt or NULL */
	enum busy_mode busy;
	struct reset_rules reset;
	unsigned max_turns;
	struct code_opts code;
	int64_t max_tokens;
	void *arg;
	struct platform_instance *(*instance)(void *arg, const char *platform,
		const struct platform **ret_platform);
	/* Visible text as it comes, for a console; may be NULL. */
	void (*text)(void *arg, const struct origin *to, const char *text,
		size_t len);
	/* What a run does now, for a console's progress line; may be NULL. */
	void (*activity)(void *arg, const struct origin *to, const char *what);
	/* A run ended with an answer (ok) or an apology; before it is shown. */
	void (*answered)(void *arg, const struct origin *to, bool ok);
};

struct sessions *sessions_new(const struct session_env *env);
void sessions_free(struct sessions **s);	/* requires: no run left */

/* What intake shall ask of the store for a new message (rules 1.8, 1.9). */
struct session_plan {
	bool run;		/* claim a run; else only join the waiting set */
	bool joined;		/* follows its predecessor so closely that it counts as one */
	msec_t hold_ms;
	bool glue;		/* the newest text goes on a long paste: no separator */
	bool say_queued;	/* tell the person, once, that it waits */
	bool news;		/* no person's words: session_news.h */
	bool silent;		/* news that start no run */
};
/* What of this session was last active before it is over; 0: nothing is. */
msec_t session_stale_before(struct sessions *s, const char *key,
	const struct origin *from);
/* Takes the slot: each plan is followed by exactly one accepted or failed. */
struct session_plan session_plan(struct sessions *s, const char *key,
	const struct msg *msg);
/* Another text of the same batch: it joins the plan, which is changed. */
void session_plan_join(struct sessions *s, const char *key,
	const struct msg *msg, struct session_plan *plan);
/* The commit's answer; claim->claimed false: nothing new (duplicates). */
void session_accepted(struct sessions *s, const char *key,
	const struct origin *origin, const struct session_plan *plan,
	const struct run_claim *claim);
void session_failed(struct sessions *s, const char *key);

/*
 * /stop and /new act on memory at once, the store follows.  Sentence to say;
 * from: who said it, which tells the sandbox where people have their own.
 * A stop also ends what is planned; a reset leaves it: it was said later.
 */
char *session_stop(struct sessions *s, const char *key,
	const struct origin *from);
/* wipe: the workspace is deleted, too. */
char *session_reset(struct sessions *s, const char *key,
	const struct origin *from, bool wipe);
/* What is under way ends, as by a stop; the caller tells the store. */
void session_interrupt(struct sessions *s, const char *key);
/* Words wait for a run of this session. */
void session_again(struct sessions *s, const char *key,
	const struct origin *origin);
/* The store was told: as /model shows it from now on. */
void session_model_set(struct sessions *s, const char *key, const char *model);
/* Which model it uses; sentence, caller frees. */
char *session_model(struct sessions *s, const char *key);
char *session_status(struct sessions *s, const char *key,
	const struct origin *from);

/*
 * A chat has a new id (the store was told): what is said there belongs to the
 * sessions that are known by the old one; so do their workspaces.  Told again
 * at each start.
 */
void sessions_moved(struct sessions *s, const char *old_id, const char *new_id);
/* The key that a session is known by; caller frees. */
char *sessions_key(const struct sessions *s, const char *key);
/* Something about a sandbox (sandbox_key_text) that its people should know. */
void sessions_alarm(struct sessions *s, const char *sandbox, const char *text);

/* How far something is that a command waits for. first: worth a message. */
void sessions_sandbox_news(struct sessions *s, const char *sandbox,
	const char *text, bool first);

/* One row of store_recover()'s sessions: resume, report or give up. */
void session_recovered(struct sessions *s, const struct json *row);

/* New runs are not started any more; what runs may finish, except what waits
 * for a person: no answer can come in any more. */
void sessions_drain(struct sessions *s);
/* Marks what still runs as interrupted (resumed at the next start). */
void sessions_interrupt(struct sessions *s);
/* Gives up even what is being saved; afterwards nothing runs. */
void sessions_abandon(struct sessions *s);
/* No run, nothing queued, no commit under way for it. */
bool session_is_idle(const struct sessions *s, const char *key);
size_t sessions_running(const struct sessions *s);
struct json *sessions_list(const struct sessions *s);	/* for status */

#endif
