/*
 * Private to store/: what the SQL of one noun offers to the others.  Worker
 * threads only, inside the job's savepoint.  Functions return -1 with err;
 * finders 1 (found), 0 (no such row), -1.
 */
#ifndef GATEHOUSE_STORE_Q_H
#define GATEHOUSE_STORE_Q_H

#include "store/store_job.h"

/* q_source.c: accounts, and chats that moved */
int q_source(const struct q *q, const char *platform, const char *account,
	int64_t *ret_id, struct err *err);		/* made if missing */
int q_chat_now(const struct q *q, struct job *job, int64_t source,
	const char *chat_id, const char **ret_chat, struct err *err);

/* q_session.c */
struct q_session {
	int64_t id, conversation, generation;
	const char *session_id;
	const char *model;	/* "" if none was chosen */
};
struct q_session_new {
	const char *key, *chat_id, *origin;
	int64_t source;			/* 0: none */
	msec_t now;
};
int q_session_find(const struct q *q, struct job *job, const char *key,
	struct q_session *ret, struct err *err);
/* Finds or makes. */
int q_session_need(const struct q *q, struct job *job,
	const struct q_session_new *in, struct q_session *ret, struct err *err);
int q_conversation_start(const struct q *q, struct job *job, int64_t session,
	msec_t now, struct q_session *ret, struct err *err);

/* q_run.c */
struct q_run {
	int64_t id, session, conversation, generation;
	bool live;		/* open and the session's newest */
	bool finished;
};
int q_run_find(const struct q *q, struct job *job, const struct run_ref *ref,
	struct q_run *ret, struct err *err);
/* As find, but a missing or dead run is ERR_DENIED. */
int q_run_live(const struct q *q, struct job *job, const struct run_ref *ref,
	struct q_run *ret, struct err *err);
/* The run that holds the session's generation. */
int q_run_newest(const struct q *q, const struct q_session *s,
	struct q_run *ret, struct err *err);
int q_run_end(const struct q *q, int64_t run, const char *state,
	const char *outcome, msec_t now, struct err *err);
/* As store_stop. */
int q_session_stop(const struct q *q, struct job *job,
	const struct q_session *s, msec_t now, struct err *err);
/* As store_reset. */
int q_session_reset(const struct q *q, struct job *job, int64_t session,
	msec_t now, struct err *err);

/* q_claim.c */
/* The session has something that wants an answer. origin: NULL keeps it.
 * interrupts: new words, which take back what of the last answer still waits. */
int q_claim(const struct q *q, struct job *job, const struct q_session *s,
	bool interrupts, const char *origin, msec_t now, struct run_claim *ret, struct err *err);
/* The set's words that are not in the transcript yet become user entries. */
int q_set_words(const struct q *q, struct job *job, const struct q_session *s,
	int64_t generation, msec_t now, struct err *err);

/* q_transcript.c */
int q_transcript_add(const struct q *q, const struct q_run *run,
	const char *body, msec_t now, int64_t *ret_id, struct err *err);
int q_transcript_user(const struct q *q, int64_t conversation,
	int64_t generation, const char *text, bool glue, msec_t at,
	int64_t *ret_id, struct err *err);
int q_transcript_words(const struct q *q, int64_t entry, const char *text,
	msec_t now, struct err *err);			/* replaces a user entry's words */
/* Rule 1.5: the answer becomes what was delivered of it, marked cut. */
int q_transcript_cut(const struct q *q, int64_t run, msec_t now,
	struct err *err);

/* What of an entry can be searched. */
#define Q_ENTRY_WORDS "CASE WHEN json_valid(body) THEN" \
	" coalesce(json_extract(body, '$.content'), '') ||" \
	" coalesce(' ' || json_extract(body, '$.tool_calls'), '') ELSE '' END"

/* q_outbox.c */
struct q_chunk_in {
	const struct outbox_chunk *chunk;
	int64_t session, run;		/* 0: none */
	int64_t group;			/* 0: starts one */
	msec_t now;
};
int q_outbox_insert(const struct q *q, struct job *job,
	const struct q_chunk_in *in, int64_t *ret_id, struct err *err);
/* The answer's waiting chunks are taken back; *ret_n tells how many. */
int q_outbox_withdraw_answer(const struct q *q, int64_t run, msec_t now,
	unsigned *ret_n, struct err *err);
/* All that waits of a run which did not finish. */
int q_outbox_withdraw_run(const struct q *q, int64_t run, msec_t now,
	struct err *err);
int q_outbox_row(const struct q *q, struct job *job, int64_t id,
	struct outbox_row *ret, struct err *err);
/* waiting -> sending unless the row is dead; 1: sent, 0: not. */
int q_outbox_take_row(const struct q *q, int64_t id, msec_t now, struct err *err);
int q_outbox_chat_busy(const struct q *q, int64_t id, struct err *err);
void outbox_chunk_copy(struct job *job, struct outbox_chunk *to,
	const struct outbox_chunk *from);

/* q_owed.c: the next request to the model knows that nobody read it. */
int q_owed_undelivered(const struct q *q, int64_t id, msec_t now, struct err *err);

/* q_calls.c */
/* Calls of the run without row and result get the result "not started". */
int q_calls_not_begun(const struct q *q, struct job *job,
	const struct q_run *run, msec_t now, struct err *err);

/* q_preview.c */
/* The row that this chunk replaces; *ret_id 0: none. */
int q_preview_replace(const struct q *q, const struct q_chunk_in *in,
	int64_t *ret_id, struct err *err);
/* `by` was delivered: what it is an edit of is no message of its own. */
int q_preview_replaced(const struct q *q, int64_t by, msec_t now, struct err *err);
int q_preview_due(const struct q *q, int64_t source, const char *chat,
	const char *thread, int64_t *ret_id, struct err *err);
int q_preview_take(const struct q *q, int64_t id, msec_t now, struct err *err);

/* q_approval.c */
int q_approval_withdraw(const struct q *q, int64_t session, msec_t now,
	struct err *err);

/* Rows of a query become an array of objects: column names are the keys. */
struct q_col { const char *key; bool is_int, is_json; };
int q_list(struct db_rows *rows, const struct q_col *cols, size_t ncols,
	struct json *array, struct err *err);

#endif
