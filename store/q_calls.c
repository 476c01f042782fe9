/*
 * Tool calls that a dead run had written down but not begun.  A tool's row
 * comes before its act (rules 3.1): where there is neither a row nor a result,
 * nothing was done, and the next request to the model can say so.
 */
#include "store/q.h"

#include <string.h>

#include "base/mem.h"

struct call { const char *id, *name; };

#define BODY "CASE WHEN json_valid(t.body) THEN t.body ELSE '{}' END"
#define NOT_BEGUN "SELECT json_extract(c.value, '$.id')," \
	" json_extract(c.value, '$.function.name') FROM transcript t," \
	" json_each(" BODY ", '$.tool_calls') c" \
	" WHERE t.conversation = ? AND t.generation = ?" \
	" AND NOT EXISTS(SELECT 1 FROM tool x WHERE x.run = ?" \
	"  AND x.call_id = json_extract(c.value, '$.id'))" \
	" AND NOT EXISTS(SELECT 1 FROM transcript e" \
	"  WHERE e.conversation = t.conversation" \
	"  AND e.generation = t.generation AND e.id > t.id" \
	"  AND e.body LIKE '%\"tool_call_id\":\"' ||" \
	"   json_extract(c.value, '$.id') || '\"%')" \
	" ORDER BY t.id, c.id LIMIT 64"

static int
calls_read(const struct q *q, struct job *job, const struct q_run *run,
	struct call *calls, size_t max, size_t *ret_n, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, NOT_BEGUN,
	    DB_I(run->conversation), DB_I(run->generation), DB_I(run->id));
	int rc = rows ? 1 : -1;

	*ret_n = 0;
	while (rc == 1 && (rc = db_next(rows, err)) == 1) {
		const char *id = db_col_text(rows, 0);
		const char *name = db_col_text(rows, 1);

		if (id && *ret_n < max)
			calls[(*ret_n)++] = (struct call){ job_keep(job, id),
				job_keep(job, name ? name : "") };
	}
	return rc;
}

int
q_calls_not_begun(const struct q *q, struct job *job, const struct q_run *run,
	msec_t now, struct err *err)
{
	struct call calls[64];
	size_t n;

	if (calls_read(q, job, run, calls, ARRAY_LEN(calls), &n, err) == -1)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct json *CLEANUP_JSON entry = json_object();
		int64_t id;

		json_set_str(entry, "role", "tool");
		json_set_str(entry, "tool_call_id", calls[i].id);
		json_set_str(entry, "name", calls[i].name);
		json_set_str(entry, "content", "");
		json_set_str(entry, "mark", "not_started");
		char *CLEANUP_FREE body = json_text(entry);
		if (q_transcript_add(q, run, body, now, &id, err) == -1)
			return -1;
	}
	return 0;
}
