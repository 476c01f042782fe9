#include "store/words.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/q.h"

#define SLICE 500		/* entries taken in by one job */
#define SETTLED_MS ((msec_t)60 * 60 * 1000)	/* until then entries may change */
#define TICK_MS ((msec_t)10 * 60 * 1000)
#define GROUPS_MAX 64		/* of one search */
#define IDENT_MAX 160

struct words {
	char *path;		/* of the index */
	bool owner;
	struct db *db;
};

/* Which database it is an index of, and since which change. */
#define IDENT "SELECT coalesce((SELECT session_id FROM conversation" \
	" ORDER BY id LIMIT 1), '') || ':' || coalesce((SELECT value FROM meta" \
	" WHERE profile = '' AND key = 'words'), '')"

static const char layout[] =
"CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'trigram',"
" detail = none, columnsize = 0, content = '');"
"CREATE TABLE mark(ident TEXT NOT NULL, upto INTEGER NOT NULL);"
"INSERT INTO mark VALUES('', 0);";

struct words *
words_new(const char *path, bool owner)
{
	struct words *w = mem_alloc(sizeof(*w));

	w->path = mem_printf("%s-words", path);
	w->owner = owner;
	return w;
}

void
words_free(struct words **wp)
{
	if (!*wp)
		return;
	struct words *w = STEAL(*wp);

	db_close(&w->db);
	mem_free(w->path);
	mem_free(w);
}

static void
remove_files(const char *path)
{
	static const char *const ends[] = { "", "-wal", "-shm" };

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		CLEANUP_FREE char *name = mem_printf("%s%s", path, ends[i]);

		(void)unlink(name);	/* not there: nothing to do */
	}
}

/* It can be made again from the database, so nothing is repaired. */
static void
words_close(struct words *w, const struct err *why)
{
	if (why)
		log_warn("store", NULL, "the index of words is left out: %s",
		    why->text);
	db_close(&w->db);
	if (w->owner)
		remove_files(w->path);
}

static int
words_make(struct words *w, struct err *err)
{
	int64_t there = 0;

	if (db_int(w->db, err, &there, "SELECT count(*) FROM sqlite_schema"
	    " WHERE name = 'mark'") == -1)
		return -1;
	if (db_script(w->db, "PRAGMA synchronous = NORMAL", err) == -1)
		return -1;
	if (there > 0)
		return 0;
	if (db_script(w->db, "BEGIN IMMEDIATE", err) == -1)
		return -1;
	if (db_script(w->db, layout, err) == 0)
		return db_script(w->db, "COMMIT", err);
	(void)db_script(w->db, "ROLLBACK", NULL);	/* err tells the cause */
	return -1;
}

static bool
words_open(struct words *w)
{
	enum db_trouble trouble;
	struct err err;

	if (w->db)
		return true;
	if (!w->owner && access(w->path, F_OK) != 0)
		return false;
	w->db = db_open(w->path, w->owner ? DB_OWNER : DB_READER, &err,
	    &trouble);
	if (w->db && (!w->owner || words_make(w, &err) == 0))
		return true;
	words_close(w, &err);
	return false;
}

static int
ident_read(const struct q *q, char *ret, size_t size, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, IDENT);
	int rc = rows ? db_next(rows, err) : -1;

	if (rc != 1)
		return -1;
	rc = mem_copy_str(ret, size, db_col_text(rows, 0));
	db_end(rows);
	return rc < 0 ? err_set(err, ERR_LIMIT, "an overlong session id") : 0;
}

/* 1: it is of this database; 0: of another state of it, or empty. */
static int
words_match(struct words *w, const struct q *q, int64_t *ret_upto,
	struct err *err)
{
	char ident[IDENT_MAX];
	int64_t newest = 0;

	*ret_upto = 0;
	if (ident_read(q, ident, sizeof(ident), err) == -1 ||
	    db_int(q->db, err, &newest, "SELECT coalesce(max(id), 0)"
	    " FROM transcript") == -1)
		return -1;
	int rc = db_int(w->db, err, ret_upto, "SELECT upto FROM mark"
	    " WHERE ident = ?", DB_S(ident));
	if (rc == 1 && *ret_upto > newest)	/* an older copy was put back */
		rc = 0;
	if (rc == 0)
		*ret_upto = 0;
	return rc;
}

void
words_upto(struct words *w, const struct q *q, int64_t *ret_upto)
{
	struct err err;

	*ret_upto = 0;
	if (words_open(w) && words_match(w, q, ret_upto, &err) == -1)
		words_close(w, &err);
}

/* ---- finding ------------------------------------------------------------------ */

static const char *
next_char(const char *p)
{
	do
		p++;
	while (((unsigned char)*p & 0xC0) == 0x80);
	return p;
}

bool
words_can_find(const char *text)
{
	size_t n = 0;

	for (const char *p = text; *p; p = next_char(p))
		n++;
	return n >= 3;
}

/* Every group of three characters, each a string of its own. */
static char *
match_text(const char *text)
{
	struct buf b;
	size_t groups = 0;

	buf_init(&b, 65536);
	for (const char *p = text; *p && groups < GROUPS_MAX; p = next_char(p)) {
		const char *second = next_char(p);
		const char *third = *second ? next_char(second) : second;

		if (!*second || !*third)
			break;
		buf_add_str(&b, groups++ ? " AND \"" : "\"");
		for (const char *c = p; c < next_char(third); c++) {
			if (*c == '"')
				buf_add_char(&b, '"');
			buf_add_char(&b, *c);
		}
		buf_add_char(&b, '"');
	}
	return buf_take(&b);
}

int
words_find(struct words *w, const char *text, int64_t before, int64_t *ids,
	size_t max, size_t *ret_n)
{
	CLEANUP_FREE char *match = match_text(text);
	struct err err;
	struct db_rows *rows = db_query(w->db, &err, "SELECT rowid FROM words"
	    " WHERE words MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?",
	    DB_S(match), DB_I(before), DB_I(max));
	int rc = rows ? 1 : -1;

	*ret_n = 0;
	while (rc == 1 && (rc = db_next(rows, &err)) == 1)
		ids[(*ret_n)++] = db_col_int(rows, 0);
	if (rc == -1)
		words_close(w, &err);
	return rc;
}

/* ---- filling ------------------------------------------------------------------- */

/* In the order of the ids, as far as they are settled. */
static int
fill_rows(struct words *w, const struct q *q, int64_t from, msec_t now,
	int64_t *ret_upto, struct err *err)
{
	struct db_rows *rows = db_query(q->db, err, "SELECT id, at <= ? OR at > ?,"
	    " " Q_ENTRY_WORDS " FROM transcript WHERE id > ? ORDER BY id LIMIT ?",
	    DB_I(now - SETTLED_MS), DB_I(now), DB_I(from), DB_I(SLICE));
	int rc = rows ? 1 : -1;

	*ret_upto = from;
	while (rc == 1 && (rc = db_next(rows, err)) == 1) {
		if (!db_col_int(rows, 1)) {
			db_end(rows);
			return 0;
		}
		if (db_run(w->db, err, "INSERT INTO words(rowid, text)"
		    " VALUES(?, ?)", DB_I(db_col_int(rows, 0)),
		    DB_S(db_col_text(rows, 2))) == -1) {
			db_end(rows);
			return -1;
		}
		*ret_upto = db_col_int(rows, 0);
	}
	return rc;
}

static int
fill_slice(struct words *w, const struct q *q, int64_t from, msec_t now,
	int64_t *ret_upto, struct err *err)
{
	char ident[IDENT_MAX];

	if (ident_read(q, ident, sizeof(ident), err) == -1 ||
	    db_script(w->db, "BEGIN IMMEDIATE", err) == -1)
		return -1;
	if (fill_rows(w, q, from, now, ret_upto, err) == 0 &&
	    db_run(w->db, err, "UPDATE mark SET ident = ?, upto = ?",
	    DB_S(ident), DB_I(*ret_upto)) == 0)
		return db_script(w->db, "COMMIT", err);
	if (db_in_transaction(w->db))
		(void)db_script(w->db, "ROLLBACK", NULL);
	return -1;
}

/* false: nothing is left to do now. */
static bool
words_fill(struct words *w, const struct q *q, msec_t now)
{
	int64_t upto = 0, from = 0;
	struct err err;

	if (!w->owner || !words_open(w))
		return false;
	int rc = words_match(w, q, &from, &err);
	if (rc == 0) {		/* a fresh file: nothing of the old one stays */
		words_close(w, NULL);
		if (!words_open(w))
			return false;
		from = 0;
	}
	if (rc != -1)
		rc = fill_slice(w, q, from, now, &upto, &err);
	if (rc == -1) {
		words_close(w, &err);
		return false;
	}
	return upto > from;
}

/* ---- changes -------------------------------------------------------------------- */

static int
ident_change(const struct q *q, struct err *err)
{
	return db_run(q->db, err, "INSERT INTO meta(profile, key, value)"
	    " VALUES('', 'words', lower(hex(randomblob(8))))"
	    " ON CONFLICT(profile, key) DO UPDATE SET value = excluded.value");
}

int
words_drop(const struct q *q, const char *path, struct err *err)
{
	CLEANUP_FREE char *index = mem_printf("%s-words", path);

	remove_files(index);
	return ident_change(q, err);
}

int
words_changed(const struct q *q, int64_t entry, msec_t now, struct err *err)
{
	int64_t old = 0;
	int rc = db_int(q->db, err, &old, "SELECT at <= ? OR at > ?"
	    " FROM transcript WHERE id = ?", DB_I(now - SETTLED_MS), DB_I(now),
	    DB_I(entry));

	return rc == 1 && old ? ident_change(q, err) : rc == -1 ? -1 : 0;
}

/* ---- loop thread ------------------------------------------------------------------ */

struct words_pump {
	struct store *store;
	struct timer *timer;
	bool stopped;
};

struct fill_job {
	struct job job;
	struct words_pump *pump;
	msec_t now;
	bool more;
};

static void fill_start(struct words_pump *pump);

static void
on_tick(void *arg)
{
	struct words_pump *pump = arg;

	pump->timer = NULL;
	fill_start(pump);
}

static int
fill_run(struct job *job, const struct q *q, struct err *err)
{
	struct fill_job *f = (struct fill_job *)job;

	(void)err;
	f->more = q->words && words_fill(q->words, q, f->now);
	return 0;
}

static void
fill_ended(struct job *job)
{
	struct fill_job *f = (struct fill_job *)job;
	struct words_pump *pump = f->pump;

	if (pump->stopped)
		return;
	if (f->more)
		fill_start(pump);
	else
		pump->timer = loop_after(store_loop(pump->store), TICK_MS,
		    "store words", on_tick, pump);
}

static void
fill_start(struct words_pump *pump)
{
	static const struct job_type type = {
		.name = "index words", .flags = JOB_ASIDE,
		.run = fill_run, .ended = fill_ended,
	};
	struct fill_job *f = job_new(pump->store, &type, sizeof(*f));

	f->pump = pump;
	f->now = loop_wall(store_loop(pump->store));
	job_submit_own(&f->job);
}

struct words_pump *
words_pump_start(struct store *store)
{
	struct words_pump *pump = mem_alloc(sizeof(*pump));

	pump->store = store;
	pump->timer = loop_after(store_loop(store), TICK_MS, "store words",
	    on_tick, pump);
	return pump;
}

void
words_pump_stop(struct words_pump *pump)
{
	if (!pump)
		return;
	pump->stopped = true;
	loop_cancel(&pump->timer);
}

void
words_pump_free(struct words_pump **pump)
{
	mem_free(STEAL(*pump));
}
