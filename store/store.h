/*
 * The durable half of gatehouse: SQLite behind one writer thread (and one
 * reader), WAL, synchronous=FULL, group commit.  Every call copies its input,
 * is queued in order and reports on the loop after COMMIT; the op contract
 * holds.  Where cb is NULL the write is queued and not awaited (returns NULL):
 * if the disk refuses it, it is kept in memory and goes first once it can.
 *
 * Cancelling an op drops the result, not the write (rules 1.7).
 * Order: all jobs take effect in the order of the calls.
 *
 * The store knows rows, generations and states; not what a model or a platform
 * is.  Times are Unix milliseconds given by the caller.
 */
#ifndef GATEHOUSE_STORE_H
#define GATEHOUSE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/op.h"

struct store;

struct store_opts {
	const char *path;	/* state.db; its directory exists, mode 0700 */
	const char *profile;	/* part of every key; "main" */
	bool read_only;		/* for commands beside a living owner */
};

/* Opens and migrates on the worker thread; blocks the caller (start-up only). */
struct store *store_open(struct loop *loop, const struct store_opts *opts,
	struct err *err);
/* Commits all that is queued. Requires: no op of it left. */
void store_close(struct store **store);

struct store_health {
	bool ok;		/* commits succeed and none is older than 5 s */
	bool stalled;		/* a call is older than 5 s */
	bool dead;		/* older than 60 s, or the thread ended: exit 75 */
	const char *why;	/* "", "store stalled", "disk full", "damaged" ... */
	size_t depth;
	uint64_t commits, jobs;
};
struct store_health store_health(struct store *store);

typedef void store_cb(void *arg, const struct err *err);	/* err NULL: done */
typedef void store_json_cb(void *arg, const struct json *res, const struct err *err);

/* ---- intake (rules 1.1 to 1.4, 1.8) --------------------------------------- */

enum inbox_kind {
	INBOX_TURN,		/* words that want an answer */
	INBOX_EDIT,		/* new words of an earlier message (ref_id) */
	INBOX_CONTROL,		/* a command or press: recorded, no run */
	INBOX_PASSED,		/* unreadable and the like: recorded, passed */
};

struct inbox_event {
	enum inbox_kind kind;
	const char *kind_name;	/* platform's event kind: part of the key */
	const char *event_id;	/* unique for (profile, platform, account, kind_name) */
	const char *session_key;
	const char *chat_id, *thread_id, *user_id, *msg_id;
	const char *ref_id;	/* edits: msg_id of the message edited */
	const char *text;
	const char *payload;	/* JSON, bounded by the caller; may be NULL.
				 * "glue": true goes on in the user entry */
	const char *notice;	/* told in its chat, in the same commit; or NULL */
	msec_t sent_wall;
};

/* A run to be claimed if at least one event of this session is new. */
struct inbox_claim {
	const char *session_key;
	const char *origin;	/* JSON: platform, account, chat, thread, user ... */
	bool run;		/* false: only attach to the session's waiting set */
	msec_t stale_before;	/* a conversation that rests since before this
				 * instant (wall) ends first; 0: none does */
};

struct accept_req {
	const char *platform, *account;
	const char *cursor;	/* stored with the rows; NULL: leave as it is */
	const struct inbox_event *events;
	size_t nevents;
	const struct inbox_claim *claims;
	size_t nclaims;
	msec_t now_wall;
};

/* What a claim gave. */
struct run_claim {
	bool claimed;		/* false: nothing new for this session */
	const char *session_key;
	const char *session_id;	/* "YYYYMMDD_HHMMSS_xxxxxxxx" */
	uint64_t generation;	/* raised by this claim */
	unsigned set_size;	/* rows the run now owns, its predecessor's too;
				 * not claimed: above 0 if something new waits */
	unsigned withdrawn;	/* waiting chunks of the old answer taken back (1.5) */
	bool first;		/* a new session */
	const char *model;	/* chosen for this session; "": none */
	bool rested;		/* its conversation ended first, as it was stale */
};

struct accept_result {
	const int64_t *row_ids;		/* one an event; 0 for a duplicate */
	const struct run_claim *claims;	/* one a claim, same order */
};
typedef void store_accept_cb(void *arg, const struct accept_result *res,
	const struct err *err);

/*
 * One transaction: insert what is new, store the cursor, claim runs.  A claim
 * raises the generation, moves the predecessor's unfinished set to the new
 * run, withdraws waiting chunks (1.5) and appends the set's new words as user
 * entries to the transcript under the new generation.
 */
struct op *store_accept(struct store *store, const struct accept_req *req,
	store_accept_cb *cb, void *arg);

/* Claims a run over rows that wait (queue mode, resume); no new event. */
struct op *store_claim(struct store *store, const char *session_key,
	msec_t now_wall, store_accept_cb *cb, void *arg);	/* claims[0] */

struct op *store_cursor_get(struct store *store, const char *platform,
	const char *account, store_json_cb *cb, void *arg);	/* {value, at} or null */

/* ---- a run's life (rules 1.4, 1.6, 3.1, 3.3) ------------------------------- */

struct run_ref {
	const char *session_key;
	uint64_t generation;
};

/*
 * Appends entries (array of chat messages) under the run's generation.  Order
 * in the transcript is (generation, sequence): closing words of a cancelled run
 * stay before the next run's, however late they are written.
 */
struct op *store_append(struct store *store, const struct run_ref *run,
	const struct json *entries, msec_t now_wall, store_cb *cb, void *arg);

/* Newest entries, oldest first, bounded; sees all calls made before. */
struct op *store_load(struct store *store, const char *session_key,
	size_t max_entries, size_t max_bytes, store_json_cb *cb, void *arg);

/* Row before the act; ERR_DENIED if the generation is dead. */
struct op *store_tool_start(struct store *store, const struct run_ref *run,
	const char *call_id, const char *name, const char *args,
	bool read_only, msec_t now_wall, store_cb *cb, void *arg);
/* Ends the row (made here, if its start could not be recorded) and appends the
 * tool entry. state: "ended" or "unknown". */
struct op *store_tool_end(struct store *store, const struct run_ref *run,
	const char *call_id, const char *state, const struct json *entry,
	msec_t now_wall, store_cb *cb, void *arg);

/* Stored as numbers: new ones at the end. */
enum outbox_kind {
	OUT_FINAL,
	OUT_PREVIEW,		/* the beginning of an answer, edited as it comes */
	OUT_PROMPT,
	OUT_REPORT,
	OUT_INTERIM,		/* what was said on the way to the answer */
	OUT_FILE,		/* of a prompt: text is what it holds, its name and
				 * request are in its one button */
	OUT_LABEL,		/* before what is sent again; its own end is told
				 * to nobody */
};

#define OUTBOX_PREVIEW (-1)	/* edit_of: the run's open preview, if any */

struct outbox_chunk {
	enum outbox_kind kind;
	const char *platform, *account, *chat_id, *thread_id;
	const char *text;
	bool plain;
	const char *reply_to;	/* message id or NULL */
	const char *buttons;	/* JSON array of [label, data] or NULL */
	int64_t edit_of;	/* outbox id of the preview this text replaces, or 0,
				 * or OUTBOX_PREVIEW */
};

/* A row as delivery sees it; borrowed. */
struct outbox_row {
	int64_t id;
	uint64_t generation;
	const char *session_key;
	struct outbox_chunk chunk;
	const char *edit_msg_id;	/* of the message to be edited; "" none */
	const char *nonce;		/* stable a row */
	unsigned attempts;
	bool sending;			/* its send was recorded: it may be done */
	msec_t not_before;		/* wall */
	msec_t created;			/* wall; for giving up */
};

struct finish_req {
	struct run_ref run;
	const struct json *entry;	/* final assistant entry, or NULL */
	const struct outbox_chunk *chunks;
	size_t nchunks;
	const char *outcome;		/* "answered", "failed", "reported" */
	bool send_first;		/* chunk 1 is returned already "sending" */
	msec_t now_wall;
};
typedef void store_rows_cb(void *arg, const struct outbox_row *rows, size_t n,
	const struct err *err);
/* One transaction (rules 1.4). ERR_DENIED: the generation is dead. */
struct op *store_finish(struct store *store, const struct finish_req *req,
	store_rows_cb *cb, void *arg);

/* /stop: the set is not answered after a restart; the run ends. */
struct op *store_stop(struct store *store, const char *session_key,
	msec_t now_wall, store_cb *cb, void *arg);
/* /new: as stop, then a new session id under the same key. res {session_id} */
struct op *store_reset(struct store *store, const char *session_key,
	msec_t now_wall, store_json_cb *cb, void *arg);

/* ---- one session's conversations, for its person (no other is reached) ----- */

/* Newest first: [{session_id, title, messages, updated_at, current}]. */
struct op *store_session_list(struct store *store, const char *session_key,
	size_t max, store_json_cb *cb, void *arg);
/*
 * As stop, then goes back to another conversation: a number of that list, an
 * id, the beginning of one, or a title.  res: its row, as in the list.
 */
struct op *store_switch(struct store *store, const char *session_key,
	const char *ref, msec_t now_wall, store_json_cb *cb, void *arg);
/* title "": none. ERR_EXISTS: another conversation has it. */
struct op *store_title(struct store *store, const char *session_key,
	const char *title, store_cb *cb, void *arg);
/*
 * As stop, then hides the last exchanges (the rows stay).  res {turns: how many
 * there were, text: the words of the earliest one}.  again: these words wait
 * for a run (store_claim) as if they had just come.
 */
struct op *store_rewind(struct store *store, const char *session_key,
	unsigned turns, bool again, msec_t now_wall, store_json_cb *cb, void *arg);
/* A model's name for this session's runs, "": the configured one; no secrets. */
struct op *store_model_set(struct store *store, const char *session_key,
	const char *model, store_cb *cb, void *arg);

/* ---- outbox: owned by delivery -------------------------------------------- */

/* A recorded send outside of a finish (preview, prompt, report); state waiting. */
struct op *store_outbox_add(struct store *store, const struct run_ref *run,
	const struct outbox_chunk *chunk, msec_t now_wall,
	store_rows_cb *cb, void *arg);
/*
 * The run's open preview becomes a message of its own with the chunk's text:
 * what it shows is edited if need be, whoever runs by then.  Without a preview
 * the chunk is added if `add` says so and the run lives.
 */
struct op *store_outbox_keep(struct store *store, const struct run_ref *run,
	const struct outbox_chunk *chunk, bool add, msec_t now_wall,
	store_cb *cb, void *arg);
/*
 * waiting -> sending, the first waiting row of this chat in order; n is 0 or 1.
 * A first row that is not due yet holds the order: it is returned as it is
 * (not_before > now_wall, not `sending`) and stays waiting.  Where nothing waits: a shown
 * message that is to be edited a last time (edit_msg_id is its own id): an
 * OUT_INTERIM to its text, an OUT_PREVIEW, whose run is over, to its text and
 * a word about that.
 */
struct op *store_outbox_take(struct store *store, const char *platform,
	const char *account, const char *chat_id, const char *thread_id,
	msec_t now_wall, store_rows_cb *cb, void *arg);
/* state: "delivered", "refused", "unknown", "waiting" (with not_before), or
 * "shown": a preview whose msg_id is known.  An answer marked "refused" leaves a
 * mark in the history. */
struct op *store_outbox_mark(struct store *store, int64_t id, const char *state,
	const char *msg_id, msec_t not_before, const char *why,
	msec_t now_wall, store_cb *cb, void *arg);
/* Chats with waiting rows: [{platform, account, chat_id, thread_id, due}]. */
struct op *store_outbox_chats(struct store *store, store_json_cb *cb, void *arg);
/*
 * Whole answers for a resend button: copies the row's group as new rows.
 * chat_id: where it was asked for; rows of another chat are ERR_NOT_FOUND.
 * NULL: any chat.  label: a message of its own before them, or NULL.
 */
struct op *store_outbox_resend(struct store *store, int64_t id,
	const char *chat_id, const char *label, msec_t now_wall, store_cb *cb,
	void *arg);
/*
 * Answers and reports that were marked "unknown" or "refused", and whatever was
 * in flight at an unclean end: [{id, session_key, platform, account, chat_id,
 * thread_id, kind, state, text (its beginning), why}], until told.
 */
struct op *store_outbox_owed(struct store *store, store_json_cb *cb, void *arg);
struct op *store_outbox_told(struct store *store, int64_t id, store_cb *cb,
	void *arg);
/* A chat got a new id: sessions, inbox and outbox move in one transaction. */
struct op *store_migrate_chat(struct store *store, const char *platform,
	const char *account, const char *old_id, const char *new_id,
	store_cb *cb, void *arg);

/* Kind of ledger row: a chat of which something was parked and not told. */
#define STORE_PARKED "parked"

/* ---- boot (rules 2.4, 3.1, 3.8, 4.4) --------------------------------------- */

/*
 * After an unclean or clean end, before the first poll.  One transaction:
 * "sending" becomes "unknown"; open approvals expire; unfinished runs are
 * sorted.  res: {expired_approvals: [{id, session_key, row, msg_id of its prompt ("" if unknown)}],
 * parked: [{id, row: {platform, account, chat_id, thread_id, inbox, outbox}}],
 * until it is removed from the ledger (STORE_PARKED),
 * moved: [{old_id, new_id}] (chats),
 * sessions: [{session_key, origin, action: "resume"|"report"|"exhausted",
 *   attempts, texts: [..], tools: [{call_id, name, args}]}]}.
 * "resume" counted an attempt already; "report" and "exhausted" sets wait for
 * the report's store_finish (their run is claimed by store_claim as usual).
 */
struct op *store_recover(struct store *store, msec_t now_wall,
	store_json_cb *cb, void *arg);

/* ---- approvals, ledger, counts -------------------------------------- */

struct op *store_approval_open(struct store *store, const struct run_ref *run,
	const char *id, const struct json *row, msec_t now_wall,
	store_cb *cb, void *arg);
/* A decision that nobody was asked about: a closed row, for the record. */
struct op *store_approval_note(struct store *store, const struct run_ref *run,
	const char *id, const struct json *row, const char *outcome,
	const char *who, msec_t now_wall, store_cb *cb, void *arg);
struct op *store_approval_close(struct store *store, const char *id,
	const char *outcome, const char *who, msec_t now_wall,
	store_cb *cb, void *arg);
/* Newest first: [{id, session_key, row, state, outcome, who, opened_at}]. */
struct op *store_approvals(struct store *store, size_t max, store_json_cb *cb,
	void *arg);

/* What we own outside: sandboxes, containers. row: JSON object. */
struct op *store_ledger_put(struct store *store, const char *kind, const char *id,
	const struct json *row, store_cb *cb, void *arg);
struct op *store_ledger_remove(struct store *store, const char *kind,
	const char *id, store_cb *cb, void *arg);
struct op *store_ledger_list(struct store *store, const char *kind,
	store_json_cb *cb, void *arg);

/* All of it into a new file, as of now; to be called on a store of its own. */
struct op *store_backup(struct store *store, const char *path, store_cb *cb,
	void *arg);

/* Counts for status: {sessions, inbox_waiting, ...}. */
struct op *store_summary(struct store *store, store_json_cb *cb, void *arg);

/* ---- conversations: for a person who looks, searches, tidies up ------------- */

/*
 * By session id, by an unambiguous beginning of one, by title (whatever its
 * case in ASCII), or by session key (its current one).  res {session_id,
 * session_key, title, origin, created_at, updated_at, messages, current}.
 * ERR_NOT_FOUND; ERR_INVALID: several fit, the text names some.
 */
struct op *store_conversation(struct store *store, const char *ref,
	store_json_cb *cb, void *arg);
/* The same for all, newest first; before: a res.next of the call before, or 0.
 * res {list, next}: next is 0 at the end. */
struct op *store_conversations(struct store *store, int64_t before, size_t max,
	store_json_cb *cb, void *arg);
/* Entries in order from a place: "" at first, then res.next.  res {entries,
 * next}: next is "" at the end.  A transcript is never held whole. */
struct op *store_conversation_read(struct store *store, const char *session_id,
	const char *from, size_t max, store_json_cb *cb, void *arg);
/*
 * Looks through a slice of all entries, newest first, for words as they are
 * written (any language; capitals of ASCII letters do not matter).  res
 * {matches: [{session_id, title, role, at, text}], next}: next 0 at the end.
 */
struct op *store_search(struct store *store, const char *words, int64_t before,
	store_json_cb *cb, void *arg);

/* title "": none. ERR_EXISTS: another conversation has it. */
struct op *store_conversation_rename(struct store *store,
	const char *session_id, const char *title, store_cb *cb, void *arg);
/*
 * Erases a slice of the words; res {done}: call again until true.  Of a
 * session's current conversation: first as store_reset; if a run of it is open
 * ERR_UNAVAILABLE, unless even_open.
 */
struct op *store_conversation_erase(struct store *store, const char *session_id,
	bool even_open, msec_t now_wall, store_json_cb *cb, void *arg);
/* One with no entry since `before` and nothing open: res {session_id,
 * updated_at}, or null. */
struct op *store_conversation_idle(struct store *store, msec_t before,
	store_json_cb *cb, void *arg);

#endif
