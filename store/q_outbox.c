/*
 * Outbox rows and their states: waiting, sending, shown (a preview), delivered,
 * replaced (a preview, by the answer), refused, unknown, withdrawn, parked.  Only the conditional update here turns waiting into
 * sending (rules 1.6).  The calls of delivery are in q_delivery.c.
 */
#include "store/q.h"

#include <string.h>

#include "base/ids.h"
#include "base/mem.h"

void
outbox_chunk_copy(struct job *job, struct outbox_chunk *to,
	const struct outbox_chunk *from)
{
	*to = (struct outbox_chunk){
		.kind = from->kind, .plain = from->plain,
		.edit_of = from->edit_of,
		.platform = job_key(job, "platform", from->platform),
		.account = job_key(job, "account", from->account),
		.chat_id = job_key(job, "chat id", from->chat_id),
		.thread_id = job_key(job, "thread id", from->thread_id),
		.text = job_str(job, "text", from->text ? from->text : "",
		    JOB_TEXT_MAX),
		.reply_to = job_str(job, "reply id", from->reply_to, JOB_KEY_MAX),
		.buttons = job_str(job, "buttons", from->buttons, JOB_TEXT_MAX),
	};
}

int
q_outbox_insert(const struct q *q, struct job *job,
	const struct q_chunk_in *in, int64_t *ret_id, struct err *err)
{
	const struct outbox_chunk *c = in->chunk;
	const char *chat;
	int64_t source, edit_of;
	char nonce[17];

	ids_hex(nonce, 16);
	if (q_source(q, c->platform, c->account, &source, err) == -1 ||
	    q_chat_now(q, job, source, c->chat_id, &chat, err) == -1 ||
	    q_preview_replace(q, in, &edit_of, err) == -1 ||
	    db_run(q->db, err, "INSERT INTO outbox(source, session, run, grp,"
	    " kind, chat_id, thread_id, text, plain, reply_to, buttons, edit_of,"
	    " nonce, state, created_at, updated_at)"
	    " VALUES(?, nullif(?, 0), nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
	    " 'waiting', ?, ?)", DB_I(source), DB_I(in->session), DB_I(in->run),
	    DB_I(in->group), DB_I(c->kind), DB_S(chat), DB_S(c->thread_id),
	    DB_S(c->text), DB_I(c->plain), DB_S(c->reply_to), DB_S(c->buttons),
	    DB_I(edit_of), DB_S(nonce), DB_I(in->now), DB_I(in->now)) == -1)
		return -1;
	*ret_id = db_last_id(q->db);
	if (in->group != 0)
		return 0;
	return db_run(q->db, err, "UPDATE outbox SET grp = id WHERE id = ?",
	    DB_I(*ret_id));
}

int
q_outbox_withdraw_answer(const struct q *q, int64_t run, msec_t now,
	unsigned *ret_n, struct err *err)
{
	if (db_run(q->db, err, "UPDATE outbox SET state = 'withdrawn',"
	    " updated_at = ? WHERE run = ? AND state = 'waiting' AND kind = ?",
	    DB_I(now), DB_I(run), DB_I(OUT_FINAL)) == -1)
		return -1;
	*ret_n = (unsigned)db_changes(q->db);
	if (*ret_n == 0)
		return 0;
	return db_run(q->db, err, "UPDATE run SET cut = 1 WHERE id = ?",
	    DB_I(run));
}

int
q_outbox_withdraw_run(const struct q *q, int64_t run, msec_t now,
	struct err *err)
{
	return db_run(q->db, err, "UPDATE outbox SET state = 'withdrawn',"
	    " updated_at = ? WHERE run = ? AND state = 'waiting'",
	    DB_I(now), DB_I(run));
}

int
q_outbox_row(const struct q *q, struct job *job, int64_t id,
	struct outbox_row *ret, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, "SELECT o.id, r.generation,"
	    " coalesce(s.session_key, ''), o.kind, a.platform, a.account,"
	    " o.chat_id, o.thread_id, o.text, o.plain, o.reply_to, o.buttons,"
	    " o.edit_of, coalesce(p.msg_id, o.msg_id), o.nonce, o.attempts,"
	    " o.not_before, o.created_at, o.state = 'sending' FROM outbox o"
	    " JOIN source a ON a.id = o.source"
	    " LEFT JOIN run r ON r.id = o.run"
	    " LEFT JOIN session s ON s.id = o.session"
	    " LEFT JOIN outbox p ON p.id = o.edit_of WHERE o.id = ?", DB_I(id));
	int rc = rows ? db_next(rows, err) : -1;

	if (rc != 1)
		return rc;
	*ret = (struct outbox_row){
		.id = db_col_int(rows, 0),
		.generation = (uint64_t)db_col_int(rows, 1),
		.session_key = job_keep(job, db_col_text(rows, 2)),
		.chunk = {
			.kind = (enum outbox_kind)db_col_int(rows, 3),
			.platform = job_keep(job, db_col_text(rows, 4)),
			.account = job_keep(job, db_col_text(rows, 5)),
			.chat_id = job_keep(job, db_col_text(rows, 6)),
			.thread_id = job_keep(job, db_col_text(rows, 7)),
			.text = job_keep(job, db_col_text(rows, 8)),
			.plain = db_col_int(rows, 9) != 0,
			.reply_to = job_keep(job, db_col_text(rows, 10)),
			.buttons = job_keep(job, db_col_text(rows, 11)),
			.edit_of = db_col_int(rows, 12),
		},
		.edit_msg_id = job_keep(job, db_col_text(rows, 13)),
		.nonce = job_keep(job, db_col_text(rows, 14)),
		.attempts = (unsigned)db_col_int(rows, 15),
		.not_before = db_col_int(rows, 16),
		.created = db_col_int(rows, 17),
		.sending = db_col_int(rows, 18) != 0,
	};
	db_end(rows);
	return 1;
}

int
q_outbox_take_row(const struct q *q, int64_t id, msec_t now, struct err *err)
{
	if (db_run(q->db, err, "UPDATE outbox SET state = 'sending',"
	    " attempts = attempts + 1, updated_at = ?"
	    " WHERE id = ? AND state = 'waiting' AND not_before <= ?"
	    " AND (run IS NULL OR EXISTS(SELECT 1 FROM run r"
	    "  JOIN session s ON s.id = r.session WHERE r.id = outbox.run"
	    "  AND (r.state = 'finished' OR"
	    "   (r.state = 'open' AND r.generation = s.generation))))",
	    DB_I(now), DB_I(id), DB_I(now)) == -1)
		return -1;
	return db_changes(q->db) == 1;
}

int
q_outbox_chat_busy(const struct q *q, int64_t id, struct err *err)
{
	int64_t one;

	return db_int(q->db, err, &one, "SELECT 1 FROM outbox o WHERE o.id = ?"
	    " AND (EXISTS(SELECT 1 FROM outbox w WHERE w.state = 'waiting'"
	    "  AND w.source = o.source AND w.chat_id = o.chat_id"
	    "  AND w.thread_id = o.thread_id AND w.id < o.id)"
	    " OR EXISTS(SELECT 1 FROM outbox w WHERE w.state = 'sending'"
	    "  AND w.source = o.source AND w.chat_id = o.chat_id"
	    "  AND w.thread_id = o.thread_id))", DB_I(id));
}
