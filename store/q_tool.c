/*
 * Tool calls: a row before the act, its end with the entry that tells it
 * (rules 3.1).  A row found "started" after an unclean end becomes "lost".
 */
#include "store/q.h"

#include <string.h>

#include "base/mem.h"

struct tool_job {
	struct job job;
	struct run_ref run;
	const char *call_id, *name, *args, *state, *body;
	bool read_only;
	msec_t now;
};

static struct tool_job *
tool_new(struct store *store, const struct job_type *type,
	const struct run_ref *run, const char *call_id, msec_t now)
{
	struct tool_job *t = job_new(store, type, sizeof(*t));

	t->run.generation = run->generation;
	t->run.session_key = job_key(&t->job, "session key", run->session_key);
	t->call_id = job_key(&t->job, "call id", call_id);
	t->now = now;
	return t;
}

static int
start_run(struct job *job, const struct q *q, struct err *err)
{
	struct tool_job *t = (struct tool_job *)job;
	struct q_run run;

	if (q_run_live(q, job, &t->run, &run, err) == -1)
		return -1;
	return db_run(q->db, err, "INSERT INTO tool(run, call_id, name, args,"
	    " read_only, state, started_at) VALUES(?, ?, ?, ?, ?, 'started', ?)",
	    DB_I(run.id), DB_S(t->call_id), DB_S(t->name), DB_S(t->args),
	    DB_I(t->read_only), DB_I(t->now));
}

struct op *
store_tool_start(struct store *store, const struct run_ref *run,
	const char *call_id, const char *name, const char *args,
	bool read_only, msec_t now_wall, store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "record the start of a tool",
		.flags = JOB_WRITES | JOB_OPENS,
		.result = JOB_DONE, .run = start_run,
	};
	struct tool_job *t = tool_new(store, &type, run, call_id, now_wall);

	t->name = job_key(&t->job, "tool name", name);
	t->args = job_str(&t->job, "arguments", args ? args : "", JOB_BODY_MAX);
	t->read_only = read_only;
	return job_submit_done(&t->job, cb, arg);
}

/* What became of a call is told even where its start could not be recorded. */
static int
end_unrecorded(const struct tool_job *t, const struct q *q, int64_t run,
	struct err *err)
{
	if (db_run(q->db, err, "INSERT INTO tool(run, call_id, name, args,"
	    " read_only, state, started_at, ended_at)"
	    " VALUES(?, ?, coalesce(json_extract(?, '$.name'), ''), '', 0, ?,"
	    " ?, ?) ON CONFLICT DO NOTHING", DB_I(run), DB_S(t->call_id),
	    DB_S(t->body), DB_S(t->state), DB_I(t->now), DB_I(t->now)) == -1)
		return -1;
	if (db_changes(q->db) == 1)
		return 0;
	return err_set(err, ERR_NOT_FOUND, "tool call %s in run %llu of session "
	    "%s has ended already", t->call_id,
	    (unsigned long long)t->run.generation, t->run.session_key);
}

/* Also for a dead run: how it ended is true whoever runs now. */
static int
end_run(struct job *job, const struct q *q, struct err *err)
{
	struct tool_job *t = (struct tool_job *)job;
	struct q_run run;
	int64_t entry;
	int rc = q_run_find(q, job, &t->run, &run, err);

	if (rc == 0)
		return err_set(err, ERR_NOT_FOUND, "no run %llu of session %s",
		    (unsigned long long)t->run.generation, t->run.session_key);
	if (rc == -1 || db_run(q->db, err, "UPDATE tool SET state = ?,"
	    " ended_at = ? WHERE run = ? AND call_id = ?"
	    " AND state IN ('started', 'lost')", DB_S(t->state), DB_I(t->now),
	    DB_I(run.id), DB_S(t->call_id)) == -1)
		return -1;
	if (db_changes(q->db) == 0 && end_unrecorded(t, q, run.id, err) == -1)
		return -1;
	return t->body ?
	    q_transcript_add(q, &run, t->body, t->now, &entry, err) : 0;
}

struct op *
store_tool_end(struct store *store, const struct run_ref *run,
	const char *call_id, const char *state, const struct json *entry,
	msec_t now_wall, store_cb *cb, void *arg)
{
	static const struct job_type type = {
		.name = "record the end of a tool", .flags = JOB_WRITES,
		.result = JOB_DONE, .run = end_run,
	};
	struct tool_job *t = tool_new(store, &type, run, call_id, now_wall);

	t->state = job_key(&t->job, "state", state);
	if (strcmp(t->state, "ended") != 0 && strcmp(t->state, "unknown") != 0)
		job_fail(&t->job, ERR_INVALID, "%s: no such state: %s",
		    type.name, t->state);
	if (entry) {
		char *text = json_text(entry);

		t->body = job_str(&t->job, "the entry", text, JOB_BODY_MAX);
		mem_free(text);
	}
	return job_submit_done(&t->job, cb, arg);
}
