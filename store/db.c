#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

#define DB_BUSY_MS 10000	/* how long another process may hold the lock */
#define DB_CACHE 256		/* statements; a power of two, never full */
#define DB_WAL_CHECKPOINT 1000	/* frames (4 MB) before the first checkpoint */
#define DB_WAL_WARN 8192	/* frames (32 MB): somebody reads for too long */

struct db_rows {
	const char *sql;
	sqlite3_stmt *stmt;
	struct db *db;
};

struct db {
	sqlite3 *sql;
	char *path;
	enum db_trouble trouble;
	int64_t wal_frames;
	bool wal_warned;
	struct db_rows cache[DB_CACHE];
	size_t cached;
};

/* SHMSIZE: the log's index could not grow; SQLite forgets that errno. */
static bool
is_no_space(sqlite3 *sql, int rc)
{
	int err = sqlite3_system_errno(sql);

	return rc == SQLITE_FULL || rc == SQLITE_IOERR_SHMSIZE ||
	    ((rc & 0xff) == SQLITE_IOERR && (err == ENOSPC || err == EDQUOT));
}

static enum db_trouble
trouble_of(sqlite3 *sql, int rc)
{
	if (is_no_space(sql, rc))
		return DB_FULL;
	rc &= 0xff;
	if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED || rc == SQLITE_PROTOCOL)
		return DB_BUSY;
	if (rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB)
		return DB_CORRUPT;
	if (rc == SQLITE_IOERR || rc == SQLITE_CANTOPEN ||
	    rc == SQLITE_READONLY || rc == SQLITE_PERM || rc == SQLITE_NOMEM)
		return DB_IO;
	return DB_FINE;
}

/* Remembers the engine's trouble, fills err, returns -1. */
static int
db_fail(struct db *db, int rc, const char *what, struct err *err)
{
	static const enum err_code codes[] = {
		[DB_FINE] = ERR_INTERNAL, [DB_FULL] = ERR_UNAVAILABLE,
		[DB_BUSY] = ERR_UNAVAILABLE, [DB_CORRUPT] = ERR_INVALID,
		[DB_IO] = ERR_IO,
	};
	enum db_trouble trouble = trouble_of(db->sql, rc);
	enum err_code code = codes[trouble];

	if (trouble != DB_FINE)
		db->trouble = trouble;
	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		code = ERR_EXISTS;
	if ((rc & 0xff) == SQLITE_INTERRUPT)
		code = ERR_TIMEOUT;
	if (trouble == DB_FULL)
		return err_set(err, code, "%s: %s: the disk is full (code %d): "
		    "free some space on it", db->path, what, rc);
	return err_set(err, code, "%s: %s: %s (code %d)", db->path, what,
	    sqlite3_errmsg(db->sql), rc);
}

/*
 * Runs after each commit in place of SQLite's own checkpoint, so that a
 * reader who never ends is noticed before the log fills the disk.
 */
static int
on_wal(void *arg, sqlite3 *sql, const char *name, int frames)
{
	struct db *db = arg;
	int log = 0, done = 0;

	db->wal_frames = frames;
	if (frames < DB_WAL_CHECKPOINT)
		return SQLITE_OK;
	/* A failure here leaves the frames in the log: the next commit tries. */
	(void)sqlite3_wal_checkpoint_v2(sql, name, SQLITE_CHECKPOINT_PASSIVE,
	    &log, &done);
	db->wal_frames = log - done;
	if (db->wal_frames < DB_WAL_WARN) {
		db->wal_warned = false;
	} else if (!db->wal_warned) {
		db->wal_warned = true;
		log_warn("store", NULL, "%s-wal holds %d pages that a reader "
		    "keeps from being written back: end programs that have "
		    "%s open", db->path, (int)db->wal_frames, db->path);
	}
	return SQLITE_OK;
}

static int
db_pragmas(struct db *db, enum db_mode mode, struct err *err)
{
	static const char common[] =
	    "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"
	    "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;";
	static const char owner[] =
	    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
	    "PRAGMA journal_size_limit = 16777216;";

	sqlite3_extended_result_codes(db->sql, 1);
	sqlite3_busy_timeout(db->sql, DB_BUSY_MS);
	if (db_script(db, common, err) == -1)
		return -1;
	if (mode == DB_READER)
		return db_script(db, "PRAGMA query_only = ON;"
		    "SELECT count(*) FROM sqlite_schema", err);
	if (db_script(db, owner, err) == -1)
		return -1;
	sqlite3_wal_hook(db->sql, on_wal, db);
	return 0;
}

/* SQLite would create the file readable for all. */
static int
make_private(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd == -1)
		return err_set_errno(err, errno, "open the database %s", path);
	close(fd);
	return 0;
}

struct db *
db_open(const char *path, enum db_mode mode, struct err *err,
	enum db_trouble *ret_trouble)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;

	*ret_trouble = DB_FINE;
	if (mode == DB_OWNER && make_private(path, err) == -1) {
		*ret_trouble = DB_IO;
		return NULL;
	}
	struct db *db = mem_alloc(sizeof(*db));
	db->path = mem_str(path);
	int rc = sqlite3_open_v2(path, &db->sql, flags, NULL);
	if (rc != SQLITE_OK && mode == DB_READER) {
		sqlite3_close(db->sql);
		db->sql = NULL;
		rc = sqlite3_open_v2(path, &db->sql,
		    SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	}
	if (!db->sql)
		mem_require_failed("sqlite3_open_v2", __FILE__, __LINE__);
	if (rc != SQLITE_OK)
		db_fail(db, rc, "open", err);
	else
		rc = db_pragmas(db, mode, err);
	if (rc != 0) {
		*ret_trouble = db->trouble;
		db_close(&db);
	}
	return db;
}

void
db_close(struct db **dbp)
{
	struct db *db = STEAL(*dbp);

	if (!db)
		return;
	for (size_t i = 0; i < DB_CACHE; i++)
		sqlite3_finalize(db->cache[i].stmt);
	REQUIRE(sqlite3_close(db->sql) == SQLITE_OK);
	mem_free(db->path);
	mem_free(db);
}

enum db_trouble
db_trouble(const struct db *db)
{
	return db->trouble;
}

void
db_trouble_clear(struct db *db)
{
	db->trouble = DB_FINE;
}

bool
db_in_transaction(const struct db *db)
{
	return !sqlite3_get_autocommit(db->sql);
}

bool
db_moved(struct db *db)
{
	int moved = 0;

	return sqlite3_file_control(db->sql, "main", SQLITE_FCNTL_HAS_MOVED,
	    &moved) == SQLITE_OK && moved;
}

int64_t
db_wal_frames(const struct db *db)
{
	return db->wal_frames;
}

void
db_interrupt(struct db *db)
{
	sqlite3_interrupt(db->sql);
}

static struct db_rows *
cache_find(struct db *db, const char *sql, struct err *err)
{
	size_t i = ((uintptr_t)sql >> 3) * 2654435761u % DB_CACHE;

	while (db->cache[i].stmt && db->cache[i].sql != sql)
		i = (i + 1) % DB_CACHE;
	struct db_rows *rows = &db->cache[i];
	if (rows->stmt)
		return rows;
	REQUIRE(db->cached < DB_CACHE - 1);
	int rc = sqlite3_prepare_v3(db->sql, sql, -1, SQLITE_PREPARE_PERSISTENT,
	    &rows->stmt, NULL);
	if (rc != SQLITE_OK) {
		db_fail(db, rc, "prepare", err);
		return NULL;
	}
	db->cached++;
	rows->sql = sql;
	rows->db = db;
	return rows;
}

struct db_rows *
db_query_args(struct db *db, struct err *err, const char *sql,
	const struct db_arg *args, size_t n)
{
	struct db_rows *rows = cache_find(db, sql, err);

	if (!rows)
		return NULL;
	REQUIRE(!sqlite3_stmt_busy(rows->stmt));
	REQUIRE((size_t)sqlite3_bind_parameter_count(rows->stmt) == n);
	for (size_t i = 0; i < n; i++) {
		int rc;

		if (args[i].type == DB_ARG_INT)
			rc = sqlite3_bind_int64(rows->stmt, (int)i + 1, args[i].i);
		else
			rc = sqlite3_bind_text(rows->stmt, (int)i + 1, args[i].s,
			    -1, SQLITE_STATIC);
		if (rc != SQLITE_OK) {
			db_fail(db, rc, "bind", err);
			db_end(rows);
			return NULL;
		}
	}
	return rows;
}

int
db_next(struct db_rows *rows, struct err *err)
{
	int rc = sqlite3_step(rows->stmt);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		db_fail(rows->db, rc, rows->sql, err);
	db_end(rows);
	return rc == SQLITE_DONE ? 0 : -1;
}

void
db_end(struct db_rows *rows)
{
	sqlite3_reset(rows->stmt);	/* repeats the error db_next reported */
	sqlite3_clear_bindings(rows->stmt);
}

int
db_run_args(struct db *db, struct err *err, const char *sql,
	const struct db_arg *args, size_t n)
{
	struct db_rows *rows = db_query_args(db, err, sql, args, n);
	int rc;

	if (!rows)
		return -1;
	while ((rc = db_next(rows, err)) == 1)
		;
	return rc;
}

int
db_int_args(struct db *db, struct err *err, int64_t *ret, const char *sql,
	const struct db_arg *args, size_t n)
{
	struct db_rows *rows = db_query_args(db, err, sql, args, n);

	if (!rows)
		return -1;
	int rc = db_next(rows, err);
	if (rc == 1) {
		*ret = sqlite3_column_int64(rows->stmt, 0);
		db_end(rows);
	}
	return rc;
}

int
db_script(struct db *db, const char *sql, struct err *err)
{
	int rc = sqlite3_exec(db->sql, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : db_fail(db, rc, "script", err);
}

static int
copy_pages(struct db *db, sqlite3 *to, const char *path, struct err *err)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", db->sql, "main");
	int rc = SQLITE_OK;

	while (b && rc == SQLITE_OK)
		rc = sqlite3_backup_step(b, 1000);
	rc = b ? sqlite3_backup_finish(b) : sqlite3_errcode(to);
	/* One file is to be moved around, so no log stays beside it. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL,
		    NULL);
	if (rc == SQLITE_OK)
		return 0;
	return err_set(err, ERR_IO, "copy the database to %s: %s", path,
	    sqlite3_errmsg(to));
}

int
db_copy(struct db *db, const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	sqlite3 *to = NULL;

	if (fd == -1)
		return err_set_errno(err, errno, "create %s", path);
	close(fd);
	int rc = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE |
	    SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		rc = copy_pages(db, to, path, err);
	else
		rc = err_set(err, ERR_IO, "open %s: %s", path,
		    sqlite3_errmsg(to));
	sqlite3_close(to);
	if (rc == -1)
		(void)unlink(path);	/* half a copy helps nobody */
	return rc;
}

int64_t
db_col_int(struct db_rows *rows, int col)
{
	return sqlite3_column_int64(rows->stmt, col);
}

const char *
db_col_text(struct db_rows *rows, int col)
{
	return (const char *)sqlite3_column_text(rows->stmt, col);
}

size_t
db_col_len(struct db_rows *rows, int col)
{
	return (size_t)sqlite3_column_bytes(rows->stmt, col);
}

int64_t
db_last_id(const struct db *db)
{
	return sqlite3_last_insert_rowid(db->sql);
}

int64_t
db_changes(const struct db *db)
{
	return sqlite3_changes64(db->sql);
}
