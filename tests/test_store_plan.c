/*
 * No call of the store may walk a whole table: every statement it runs is
 * collected and SQLite is asked how it would find the rows.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/loop_sim.h"
#include "tests/store_sync.h"

#define K "agent:main:telegram:dm:42"
#define SQL_MAX 400

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *seen[SQL_MAX];
static size_t nseen;

static int
on_statement(unsigned type, void *arg, void *stmt, void *text)
{
	const char *sql = sqlite3_sql(stmt);

	(void)type;
	(void)arg;
	(void)text;
	pthread_mutex_lock(&lock);
	size_t i = 0;
	while (sql && i < nseen && strcmp(seen[i], sql) != 0)
		i++;
	if (sql && i == nseen && nseen < SQL_MAX)
		seen[nseen++] = mem_str(sql);
	pthread_mutex_unlock(&lock);
	return 0;
}

static int
on_open(sqlite3 *db, const char **err, const struct sqlite3_api_routines *api)
{
	(void)err;
	(void)api;
	return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, on_statement, NULL);
}

/* Every call once, so that its statements are seen. */
static void
all_calls(struct sync *s)
{
	struct run_ref run = { K, 1 };
	struct json *row = json_object();
	struct inbox_event e = {
		.kind = INBOX_EDIT, .kind_name = "edit", .event_id = "9",
		.session_key = K, .chat_id = "42", .ref_id = "1", .text = "x",
	};
	struct inbox_claim c = { K, NULL, true, 0 };
	struct accept_req edit = {
		.platform = "telegram", .account = "1", .cursor = "1",
		.events = &e, .nevents = 1, .claims = &c, .nclaims = 1,
		.now_wall = s->now,
	};

	sync_say(s, K, "1", "a", true);
	sync_append(s, K, 1, "assistant", "b");
	SYNC(s, store_tool_start(s->store, &run, "c", "t", "{}", false, s->now,
	    sync_on_done, s));
	SYNC(s, store_tool_end(s->store, &run, "c", "ended", row, s->now,
	    sync_on_done, s));
	SYNC(s, store_approval_open(s->store, &run, "r", row, s->now,
	    sync_on_done, s));
	SYNC(s, store_approval_close(s->store, "r", "yes", "7", s->now,
	    sync_on_done, s));
	SYNC(s, store_approvals(s->store, 10, sync_on_json, s));
	s->expect_ids = s->expect_claims = 1;
	SYNC(s, store_accept(s->store, &edit, sync_on_accept, s));
	sync_finish(s, K, 2, "answer", 3, true);
	sync_mark(s, s->row.id, "delivered", "1");
	sync_take(s);
	SYNC(s, store_outbox_mark(s->store, s->row.id, "waiting", "", 0, "429",
	    s->now, sync_on_done, s));
	sync_say(s, K, "2", "b", true);
	SYNC(s, store_outbox_resend(s->store, 1, NULL, NULL, s->now, sync_on_done, s));
	SYNC(s, store_outbox_chats(s->store, sync_on_json, s));
	SYNC(s, store_migrate_chat(s->store, "telegram", "1", "42", "43",
	    sync_on_done, s));
	SYNC(s, store_cursor_get(s->store, "telegram", "1", sync_on_json, s));
	SYNC(s, store_claim(s->store, K, s->now, sync_on_accept, s));
	SYNC(s, store_recover(s->store, s->now, sync_on_json, s));
	SYNC(s, store_stop(s->store, K, s->now, sync_on_done, s));
	SYNC(s, store_reset(s->store, K, s->now, sync_on_json, s));
	SYNC(s, store_ledger_put(s->store, "k", "i", row, sync_on_done, s));
	SYNC(s, store_ledger_list(s->store, "k", sync_on_json, s));
	SYNC(s, store_ledger_remove(s->store, "k", "i", sync_on_done, s));
	SYNC(s, store_summary(s->store, sync_on_json, s));
	SYNC(s, store_conversations(s->store, 0, 10, sync_on_json, s));
	SYNC(s, store_conversation(s->store, s->session_id, sync_on_json, s));
	SYNC(s, store_conversation_read(s->store, s->session_id, "", 10,
	    sync_on_json, s));
	SYNC(s, store_conversation_rename(s->store, s->session_id, "t",
	    sync_on_done, s));
	SYNC(s, store_search(s->store, "a", 0, sync_on_json, s));
	SYNC(s, store_conversation_erase(s->store, s->session_id, true, s->now,
	    sync_on_json, s));
	sync_transcript(s, K);
	for (int i = 0; i < 3; i++) {		/* what is old */
		sim_advance(s->loop, 10 * 60 * 1000);
		SYNC(s, store_ledger_list(s->store, "k", sync_on_json, s));
	}
	json_free(&row);
}

/* Reads in pages say so in their text; small tables may be walked. */
static bool
is_bounded(const char *sql, const char *detail)
{
	static const char *const small[] = {
		"SCAN sqlite_", "SCAN pragma_", "SCAN CONSTANT", "SCAN (",
		"SCAN approval", "SCAN x",
		"SCAN c VIRTUAL TABLE",		/* json_each() of one entry */
	};

	for (size_t i = 0; i < ARRAY_LEN(small); i++)
		if (strncmp(detail, small[i], strlen(small[i])) == 0)
			return true;
	return strstr(detail, "USING INDEX") || strstr(detail, "COVERING INDEX") ||
	    strstr(sql, "ORDER BY id LIMIT") || strstr(sql, "ORDER BY id DESC LIMIT");
}

static void
no_call_walks_a_whole_table(void **state)
{
	struct sync s;
	sqlite3 *db;
	size_t plans = 0;

	(void)state;
	sqlite3_auto_extension((void (*)(void))(uintptr_t)on_open);
	sync_init(&s);
	all_calls(&s);
	sqlite3_reset_auto_extension();
	assert_int_equal(sqlite3_open(s.path, &db), SQLITE_OK);
	/* The search index is still being filled, on another thread. */
	pthread_mutex_lock(&lock);
	size_t n = nseen;
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < n; i++) {
		char *sql = mem_printf("EXPLAIN QUERY PLAN %s", seen[i]);
		sqlite3_stmt *stmt = NULL;

		/* PRAGMA, BEGIN and the like have no plan. */
		sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
		while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
			const char *d = (const char *)sqlite3_column_text(stmt, 3);

			plans++;
			if (strncmp(d, "SCAN", 4) == 0 && !is_bounded(seen[i], d))
				fail_msg("%s: %s", d, seen[i]);
		}
		sqlite3_finalize(stmt);
		mem_free(sql);
	}
	assert_true(n > 80 && n < SQL_MAX);
	assert_true(plans > 100);
	sqlite3_close(db);
	sync_done(&s);
	for (size_t i = 0; i < nseen; i++)
		mem_free(seen[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_call_walks_a_whole_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
