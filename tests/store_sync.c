#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tests/loop_sim.h"
#include "tests/store_sync.h"

bool
sync_try_open(struct sync *s)
{
	struct store_opts opts = { .path = s->path, .profile = "main" };

	s->store = store_open(s->loop, &opts, &s->err);
	return s->store != NULL;
}

void
sync_init(struct sync *s)
{
	memset(s, 0, sizeof(*s));
	strncpy(s->dir, "/tmp/gatehouse-store-XXXXXX", sizeof(s->dir) - 1);
	assert_non_null(mkdtemp(s->dir));
	assert_int_equal(mem_format(s->path, sizeof(s->path), "%s/state.db",
	    s->dir), 0);
	s->loop = loop_sim_new(1);
	s->now = SYNC_WALL;
	if (!sync_try_open(s))
		fail_msg("%s", s->err.text);
}

void
sync_close(struct sync *s)
{
	store_close(&s->store);
}

void
sync_reopen(struct sync *s)
{
	sync_close(s);
	if (!sync_try_open(s))
		fail_msg("%s", s->err.text);
}

static void
dir_remove(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char *name = mem_printf("%s/%s", path, e->d_name);

		if (e->d_name[0] != '.')
			unlink(name);
		mem_free(name);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

void
sync_done(struct sync *s)
{
	json_free(&s->json);
	sync_close(s);
	loop_free(&s->loop);
	dir_remove(s->dir);
}

int
sync_setup(void **state)
{
	struct sync *s = mem_alloc(sizeof(*s));

	sync_init(s);
	*state = s;
	return 0;
}

int
sync_teardown(void **state)
{
	struct sync *s = *state;

	assert_int_equal(op_live(), 0);
	sync_done(s);
	mem_free(s);
	return 0;
}

static bool
is_done(void *arg)
{
	return ((struct sync *)arg)->done;
}

enum err_code
sync_wait(struct sync *s)
{
	sim_wait_until(s->loop, is_done, s);
	return s->code;
}

static void
take_err(struct sync *s, const struct err *err)
{
	s->done = true;
	s->code = err ? err->code : ERR_NONE;
	if (err)
		s->err = *err;
}

void
sync_on_done(void *arg, const struct err *err)
{
	take_err(arg, err);
}

void
sync_on_json(void *arg, const struct json *res, const struct err *err)
{
	struct sync *s = arg;

	take_err(s, err);
	json_free(&s->json);
	s->json = res ? json_clone(res) : NULL;
}

void
sync_on_accept(void *arg, const struct accept_result *res, const struct err *err)
{
	struct sync *s = arg;

	take_err(s, err);
	memset(&s->claim, 0, sizeof(s->claim));
	if (!res)
		return;
	for (size_t i = 0; res->row_ids && i < s->expect_ids; i++)
		s->ids[i] = res->row_ids[i];
	if (s->expect_claims == 0)
		return;
	s->claim = res->claims[0];
	assert_int_equal(mem_copy_str(s->session_id, sizeof(s->session_id),
	    res->claims[0].session_id), 0);
	s->claim.session_id = s->session_id;
	s->claim.session_key = NULL;
}

static void
row_copy(struct sync_row *to, const struct outbox_row *r)
{
	struct outbox_chunk c = r->chunk;

	*to = (struct sync_row){
		.id = r->id, .generation = r->generation,
		.attempts = r->attempts, .not_before = r->not_before,
	};
	strncpy(to->text, c.text, sizeof(to->text) - 1);
	strncpy(to->chat_id, c.chat_id, sizeof(to->chat_id) - 1);
	strncpy(to->thread_id, c.thread_id, sizeof(to->thread_id) - 1);
	strncpy(to->edit_msg_id, r->edit_msg_id, sizeof(to->edit_msg_id) - 1);
	strncpy(to->nonce, r->nonce, sizeof(to->nonce) - 1);
	strncpy(to->session_key, r->session_key, sizeof(to->session_key) - 1);
}

void
sync_on_rows(void *arg, const struct outbox_row *rows, size_t n,
	const struct err *err)
{
	struct sync *s = arg;

	take_err(s, err);
	memset(&s->row, 0, sizeof(s->row));
	s->nrows = n;
	if (n > 0)
		row_copy(&s->row, &rows[0]);
}

enum err_code
sync_say(struct sync *s, const char *key, const char *event_id,
	const char *text, bool run)
{
	struct inbox_event e = {
		.kind = INBOX_TURN, .kind_name = "text", .event_id = event_id,
		.session_key = key, .chat_id = "42", .thread_id = "",
		.user_id = "7", .msg_id = event_id, .text = text,
		.sent_wall = s->now,
	};
	struct inbox_claim c = {
		.session_key = key, .run = run,
		.origin = "{\"platform\":\"telegram\",\"chat\":\"42\"}",
	};
	struct accept_req req = {
		.platform = "telegram", .account = "1", .events = &e,
		.nevents = 1, .claims = &c, .nclaims = 1, .now_wall = s->now,
	};

	s->expect_ids = s->expect_claims = 1;
	return SYNC(s, store_accept(s->store, &req, sync_on_accept, s));
}

enum err_code
sync_finish(struct sync *s, const char *key, uint64_t generation,
	const char *text, size_t nchunks, bool send_first)
{
	struct outbox_chunk chunks[4];
	char words[4][32];
	struct json *entry = json_object();

	json_set_str(entry, "role", "assistant");
	json_set_str(entry, "content", text);
	for (size_t i = 0; i < nchunks; i++) {
		assert_int_equal(mem_format(words[i], sizeof(words[i]), "%s %zu",
		    text, i + 1), 0);
		chunks[i] = (struct outbox_chunk){
			.kind = OUT_FINAL, .platform = "telegram",
			.account = "1", .chat_id = "42", .thread_id = "",
			.text = words[i],
		};
	}
	struct finish_req req = {
		.run = { key, generation }, .entry = entry, .chunks = chunks,
		.nchunks = nchunks, .outcome = "answered",
		.send_first = send_first, .now_wall = s->now,
	};
	enum err_code code = SYNC(s, store_finish(s->store, &req, sync_on_rows,
	    s));
	json_free(&entry);
	return code;
}

enum err_code
sync_append(struct sync *s, const char *key, uint64_t generation,
	const char *role, const char *text)
{
	struct run_ref run = { key, generation };
	struct json *entries = json_array(), *e = json_object();

	json_set_str(e, "role", role);
	json_set_str(e, "content", text);
	json_add_take(entries, e);
	enum err_code code = SYNC(s, store_append(s->store, &run, entries,
	    s->now, sync_on_done, s));
	json_free(&entries);
	return code;
}

enum err_code
sync_take(struct sync *s)
{
	return SYNC(s, store_outbox_take(s->store, "telegram", "1", "42", "",
	    s->now, sync_on_rows, s));
}

enum err_code
sync_mark(struct sync *s, int64_t id, const char *state, const char *msg_id)
{
	return SYNC(s, store_outbox_mark(s->store, id, state, msg_id, 0, NULL,
	    s->now, sync_on_done, s));
}

const char *
sync_transcript(struct sync *s, const char *key)
{
	static char text[2048];
	struct buf b;

	buf_init(&b, sizeof(text) - 1);
	assert_int_equal(SYNC(s, store_load(s->store, key, 1000, 1 << 20,
	    sync_on_json, s)), ERR_NONE);
	for (const struct json *e = json_first(s->json); e; e = json_next(e))
		buf_printf(&b, "%s%s:%s%s", b.len > 0 ? "|" : "",
		    json_get_str(e, "role", "?"), json_get_str(e, "content", "?"),
		    strcmp(json_get_str(e, "mark", ""), "cut") == 0 ? "~" : "");
	assert_false(b.over);
	memcpy(text, b.data, b.len + 1);
	buf_done(&b);
	return text;
}

int64_t
sync_sql(struct sync *s, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;
	int64_t value = -1;

	assert_int_equal(sqlite3_open(s->path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

void
sync_sql_run(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}
