/* What session.c, session_show.c and session_control.c share. */
#ifndef GATEHOUSE_SESSION_PRIV_H
#define GATEHOUSE_SESSION_PRIV_H

#include "base/map.h"
#include "gateway/chunks.h"
#include "gateway/preview.h"
#include "gateway/session.h"
#include "gateway/typing.h"

struct session {
	struct sessions *all;
	char *key;
	struct origin origin;
	bool known;			/* origin is set */
	struct origin next;		/* of the newest words that wait */
	bool has_next;
	struct tool_env env;
	char *scope;
	struct seen *seen;
	char *system;			/* system prompt, stable for the run */
	char *model;			/* chosen by a person; "": none */
	char session_id[64];
	uint64_t generation;
	struct run *run;
	unsigned planned;		/* plans without their answer yet */
	unsigned voided;		/* the first so many of them were stopped */
	bool queued;			/* rows wait for a run of their own */
	bool claim_later;		/* the store failed: not at once */
	bool told_lost;			/* said once a trouble */
	bool told_queued;
	unsigned cancelled;		/* runs in a row without an answer */
	msec_t last_text;		/* loop time of the last message */
	bool last_long;			/* so long that a client may have cut it */
	msec_t hold_ms;			/* of the words that wait */
	unsigned wake_depth;		/* of the news that wait */
	unsigned woken;			/* runs since a person's last words */
	bool told_enough;
	struct op *claiming;
	struct timer *timer;		/* claim again, or forget */
	struct typing typing;
	struct preview *preview;	/* of the run; NULL: none */
	struct chunks chunks;
};

struct sessions {
	struct session_env env;
	struct map map;
	struct moved_chat { char *old_id, *new_id; } *moved;	/* in order */
	size_t nmoved;
	size_t running;
	bool draining;
};

/* Made at need; forgotten when it has rested for a while. */
struct session *session_get(struct sessions *all, const char *key);
void session_know(struct session *s, const struct origin *origin);
/* true: there is no run any more; false: its answer is being saved. */
bool session_cancel_run(struct session *s, enum run_stop why);
/* What comes next for a session without a run: claim, or rest. */
void session_settle(struct session *s);
/* Something may wait for its chat. */
void session_kick(struct session *s);
/* session_show.c: what the person sees of a run under way. */
struct run_host session_show_host(struct session *s);	/* done is not set */
void session_show_start(struct session *s);
/* Its last conversation was ended by the policy: the person and the model know. */
void session_say_rested(struct session *s);
/* word: marks what is shown of a cancelled run's text. */
void session_show_end(struct session *s, const char *word);
const char *session_stop_word(enum run_stop why);
/* The operator's own console is the one place that is no messaging (5.1). */
enum sandbox_owner session_owner(const char *platform);

#endif
