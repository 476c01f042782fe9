/*
 * Figures of the store on a real file and the real loop, beside a floor of
 * bare SQLite measured in the same run.  Lines: name value unit.  The file is
 * made in the current directory, so that it lies on a real disk.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/store.h"
#include "tests/bench/figure.h"

#define OUTSTANDING 64
#define ACCEPTS 20000
#define SESSIONS 10000
#define APPENDS 5000		/* at 1,000 a second */
#define MESSAGES 10000
#define WALL 1790000000000
#define TEXT_LEN 200

struct bench {
	struct loop *loop;
	struct store *store;
	char dir[64], path[96], text[TEXT_LEN + 1];
	long started, ended, target;
	double *lat;
	double load_ms;
	size_t loaded;
};

struct call { struct bench *b; double at; };

static double
cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void
check(const struct err *err)
{
	if (!err)
		return;
	fprintf(stderr, "bench_store: %s\n", err->text);
	exit(1);
}

static void
print(const char *name, double value, const char *unit)
{
	printf("%s %.3f %s\n", name, value, unit);
}

/* ---- the floor -------------------------------------------------------------- */

static void
sql(sqlite3 *db, const char *text)
{
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) {
		fprintf(stderr, "bench_store: %s\n", sqlite3_errmsg(db));
		exit(1);
	}
}

/* The least that makes a word durable and knows it again: one indexed row. */
static double
floor_per_s(struct bench *b)
{
	char *path = mem_printf("%s/floor.db", b->dir);
	sqlite3_stmt *stmt;
	sqlite3 *db;

	sqlite3_open(path, &db);
	sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
	    "CREATE TABLE t(id INTEGER PRIMARY KEY, event TEXT UNIQUE, text TEXT)");
	sqlite3_prepare_v2(db, "INSERT INTO t(event, text) VALUES(?, ?)", -1,
	    &stmt, NULL);
	double t0 = now_ms();
	for (int i = 0; i < ACCEPTS; i++) {
		char event[24];

		if (i % OUTSTANDING == 0)
			sql(db, i == 0 ? "BEGIN IMMEDIATE" :
			    "COMMIT; BEGIN IMMEDIATE");
		snprintf(event, sizeof(event), "%d", i);
		sqlite3_bind_text(stmt, 1, event, -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(stmt, 2, b->text, -1, SQLITE_STATIC);
		sqlite3_step(stmt);
		sqlite3_reset(stmt);
	}
	sql(db, "COMMIT");
	double rate = ACCEPTS / (now_ms() - t0) * 1e3;
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	mem_free(path);
	return rate;
}

/* ---- accept ------------------------------------------------------------------ */

static void accept_next(struct bench *b);

static void
on_accepted(void *arg, const struct accept_result *res, const struct err *err)
{
	struct bench *b = arg;

	check(err);
	if (!res->claims[0].claimed)
		abort();
	b->ended++;
	if (b->ended == b->target)
		loop_stop(b->loop);
	else
		accept_next(b);
}

static void
accept_next(struct bench *b)
{
	char id[24], key[40];

	if (b->started == b->target)
		return;
	snprintf(id, sizeof(id), "%ld", b->started);
	snprintf(key, sizeof(key), "agent:main:bench:dm:%ld", b->started % SESSIONS);
	b->started++;
	struct inbox_event e = {
		.kind = INBOX_TURN, .kind_name = "text", .event_id = id,
		.session_key = key, .chat_id = "1", .user_id = "1",
		.msg_id = id, .text = b->text, .sent_wall = WALL,
	};
	struct inbox_claim c = { key, "{\"chat\":\"1\"}", true, 0 };
	struct accept_req req = {
		.platform = "bench", .account = "1", .cursor = id, .events = &e,
		.nevents = 1, .claims = &c, .nclaims = 1, .now_wall = WALL,
	};
	store_accept(b->store, &req, on_accepted, b);
}

static double
accept_per_s(struct bench *b)
{
	double t0 = now_ms();

	b->started = b->ended = 0;
	b->target = ACCEPTS;
	for (int i = 0; i < OUTSTANDING; i++)
		accept_next(b);
	loop_run(b->loop);
	return ACCEPTS / (now_ms() - t0) * 1e3;
}

/* ---- append at 1,000 a second -------------------------------------------------- */

static void
on_appended(void *arg, const struct err *err)
{
	struct call *call = arg;
	struct bench *b = call->b;

	check(err);
	b->lat[b->ended++] = now_ms() - call->at;
	free(call);
	if (b->ended == b->target)
		loop_stop(b->loop);
}

static void
on_tick(void *arg)
{
	struct bench *b = arg;
	struct run_ref run = { "agent:main:bench:dm:1", 1 };
	struct json *entries = json_array(), *e = json_object();
	struct call *call = malloc(sizeof(*call));

	json_set_str(e, "role", "assistant");
	json_set_str(e, "content", b->text);
	json_add_take(entries, e);
	*call = (struct call){ b, now_ms() };
	store_append(b->store, &run, entries, WALL, on_appended, call);
	json_free(&entries);
	if (++b->started < b->target)
		loop_after(b->loop, 1, "tick", on_tick, b);
}

static double
append_p99(struct bench *b)
{
	b->started = b->ended = 0;
	b->target = APPENDS;
	b->lat = calloc(APPENDS, sizeof(*b->lat));
	loop_after(b->loop, 1, "tick", on_tick, b);
	loop_run(b->loop);
	double p99 = quantile(b->lat, APPENDS, 0.99);
	free(b->lat);
	return p99;
}

/* ---- load --------------------------------------------------------------------- */

static void
on_loaded(void *arg, const struct json *res, const struct err *err)
{
	struct bench *b = arg;

	check(err);
	b->loaded = json_len(res);
	loop_stop(b->loop);
}

static double
load_ms(struct bench *b)
{
	struct run_ref run = { "agent:main:bench:dm:2", 1 };
	struct json *entries = json_array();

	for (int i = 0; i < MESSAGES / 10; i++) {
		struct json *e = json_object();

		json_set_str(e, "role", i % 2 ? "assistant" : "user");
		json_set_str(e, "content", b->text);
		json_add_take(entries, e);
	}
	for (int i = 0; i < 10; i++)
		store_append(b->store, &run, entries, WALL, NULL, NULL);
	json_free(&entries);
	store_load(b->store, run.session_key, 1, 1, on_loaded, b);
	loop_run(b->loop);
	double t0 = now_ms();
	store_load(b->store, run.session_key, MESSAGES, 1 << 30, on_loaded, b);
	loop_run(b->loop);
	double t = now_ms() - t0;
	if (b->loaded != MESSAGES)
		abort();
	return t;
}

/* ---- size: whole turns ----------------------------------------------------------- */

static void
on_finished(void *arg, const struct outbox_row *rows, size_t n,
	const struct err *err)
{
	struct bench *b = arg;

	check(err);
	store_outbox_mark(b->store, rows[0].id, "delivered", "12345", 0, NULL,
	    WALL, NULL, NULL);
	(void)n;
	if (++b->ended == b->target)
		loop_stop(b->loop);
}

static void
on_turn(void *arg, const struct accept_result *res, const struct err *err)
{
	struct bench *b = arg;
	struct json *e = json_object();

	check(err);
	json_set_str(e, "role", "assistant");
	json_set_str(e, "content", b->text);
	struct outbox_chunk chunk = {
		.kind = OUT_FINAL, .platform = "bench", .account = "1",
		.chat_id = res->claims[0].session_key, .text = b->text,
	};
	struct finish_req req = {
		.run = { res->claims[0].session_key, res->claims[0].generation },
		.entry = e, .chunks = &chunk, .nchunks = 1,
		.outcome = "answered", .send_first = true, .now_wall = WALL,
	};
	store_finish(b->store, &req, on_finished, b);
	json_free(&e);
}

static double
bytes_ratio(struct bench *b)
{
	struct err err;
	struct stat st;
	char *path = mem_printf("%s/size.db", b->dir);
	struct store_opts opts = { .path = path, .profile = "main" };

	store_close(&b->store);
	b->store = store_open(b->loop, &opts, &err);
	if (!b->store)
		check(&err);
	b->ended = 0;
	b->target = 5000;
	for (long i = 0; i < b->target; i++) {
		char id[24], key[40];

		snprintf(id, sizeof(id), "%ld", 100000 + i);
		snprintf(key, sizeof(key), "agent:main:bench:dm:%ld", i);
		if (i % 100 != 0)	/* 50 sessions of 100 turns */
			snprintf(key, sizeof(key), "agent:main:bench:dm:%ld",
			    i - i % 100);
		struct inbox_event e = {
			.kind = INBOX_TURN, .kind_name = "text", .event_id = id,
			.session_key = key, .chat_id = "100012345",
			.user_id = "100012345", .msg_id = id, .text = b->text,
			.sent_wall = WALL,
		};
		struct inbox_claim c = { key, "{\"chat\":\"1\"}", true, 0 };
		struct accept_req req = {
			.platform = "bench", .account = "1", .events = &e,
			.nevents = 1, .claims = &c, .nclaims = 1,
			.now_wall = WALL,
		};
		long before = b->ended;
		store_accept(b->store, &req, on_turn, b);
		long target = b->target;
		b->target = before + 1;
		loop_run(b->loop);
		b->target = target;
	}
	store_close(&b->store);
	if (stat(path, &st) != 0)
		abort();
	mem_free(path);
	return (double)st.st_size / (5000.0 * 2 * TEXT_LEN);
}

int
main(void)
{
	struct bench b = { .dir = "bench-store-XXXXXX" };
	struct err err;

	if (!mkdtemp(b.dir))
		return 1;
	snprintf(b.path, sizeof(b.path), "%s/state.db", b.dir);
	memset(b.text, 'w', TEXT_LEN);
	b.loop = loop_new();
	struct store_opts opts = { .path = b.path, .profile = "main" };
	b.store = store_open(b.loop, &opts, &err);
	if (!b.store)
		check(&err);
	double base = floor_per_s(&b), cpu = cpu_us(), accepts = accept_per_s(&b);
	cpu = (cpu_us() - cpu) / ACCEPTS;
	print("sqlite_floor_per_s", base, "rows/s");
	print("accept_per_s", accepts, "messages/s");
	print("accept_ratio", accepts / base, "of_floor");
	print("accept_cpu_us", cpu, "us");
	print("append_p99_ms", append_p99(&b), "ms");
	print("load_transcript_ms", load_ms(&b), "ms");
	print("db_bytes_ratio", bytes_ratio(&b), "of_payload");
	store_close(&b.store);
	loop_free(&b.loop);
	char *rm = mem_printf(getenv("KEEP") ? "true %s" : "rm -rf ./%s", b.dir);
	int rc = system(rm);
	mem_free(rm);
	return rc != 0;
}
