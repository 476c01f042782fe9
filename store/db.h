/*
 * One SQLite connection: opening, pragmas, the statement cache, binding and
 * stepping, and SQLite's errors as struct err.  All of sqlite3_* lives here.
 * A connection belongs to the thread that opened it; only db_interrupt() may
 * be called from another.
 */
#ifndef GATEHOUSE_STORE_DB_H
#define GATEHOUSE_STORE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct db;
struct db_rows;		/* a query under way; also the cached statement */

enum db_mode {
	DB_OWNER,	/* creates, writes, recovers a hot journal */
	DB_READER,	/* never changes a row; recovers if it may */
};

/* What the engine itself suffers from, apart from one statement's failure. */
enum db_trouble {
	DB_FINE,
	DB_FULL,	/* no space left */
	DB_BUSY,	/* another process held the lock too long */
	DB_CORRUPT,	/* the file is damaged or is no database */
	DB_IO,		/* reading or writing failed */
};

struct db *db_open(const char *path, enum db_mode mode, struct err *err,
	enum db_trouble *ret_trouble);
void db_close(struct db **db);

enum db_trouble db_trouble(const struct db *db);	/* since db_trouble_clear */
void db_trouble_clear(struct db *db);
bool db_in_transaction(const struct db *db);	/* false after SQLite gave it up */
bool db_moved(struct db *db);		/* the file was removed or replaced */
int64_t db_wal_frames(const struct db *db);	/* left after the last checkpoint */
void db_interrupt(struct db *db);

/* An argument of a statement. Text is borrowed until the statement ends. */
struct db_arg {
	enum { DB_ARG_INT, DB_ARG_TEXT } type;
	int64_t i;
	const char *s;
};
#define DB_I(x) ((struct db_arg){ .type = DB_ARG_INT, .i = (int64_t)(x) })
#define DB_S(x) ((struct db_arg){ .type = DB_ARG_TEXT, .s = (x) })	/* NULL: null */
#define DB_ARGS(...) (const struct db_arg[]){ __VA_ARGS__ }, \
	sizeof((const struct db_arg[]){ __VA_ARGS__ }) / sizeof(struct db_arg)

/* sql has static storage: its address is the key of the cache. */
#define db_run(db, err, sql, ...) \
	db_run_args((db), (err), (sql), DB_ARGS(__VA_ARGS__))
#define db_query(db, err, sql, ...) \
	db_query_args((db), (err), (sql), DB_ARGS(__VA_ARGS__))
#define db_int(db, err, ret, sql, ...) \
	db_int_args((db), (err), (ret), (sql), DB_ARGS(__VA_ARGS__))

int db_run_args(struct db *db, struct err *err, const char *sql,
	const struct db_arg *args, size_t n);
struct db_rows *db_query_args(struct db *db, struct err *err, const char *sql,
	const struct db_arg *args, size_t n);
/* First column of the first row. 1: found, 0: no row, -1: failed. */
int db_int_args(struct db *db, struct err *err, int64_t *ret, const char *sql,
	const struct db_arg *args, size_t n);
int db_script(struct db *db, const char *sql, struct err *err);

/* 1: a row, 0: no more, -1: failed. The query ends by itself on 0 and -1. */
int db_next(struct db_rows *rows, struct err *err);
void db_end(struct db_rows *rows);		/* before the last row */
int64_t db_col_int(struct db_rows *rows, int col);
const char *db_col_text(struct db_rows *rows, int col);	/* NULL for null */
size_t db_col_len(struct db_rows *rows, int col);	/* bytes of the text */

/*
 * A copy of the whole database as of now into a new file (0600; one that is
 * there is ERR_EXISTS).  Others may go on writing meanwhile.
 */
int db_copy(struct db *db, const char *path, struct err *err);

int64_t db_last_id(const struct db *db);
int64_t db_changes(const struct db *db);	/* of the last statement */

#endif
