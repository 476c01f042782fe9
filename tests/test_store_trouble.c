/* The store in trouble: full disk, locks, damage, foreign files, stalls. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/schema.h"
#include "tests/fault_vfs.h"
#include "tests/loop_sim.h"
#include "tests/store_sync.h"

#define K "agent:main:telegram:dm:42"

static int
teardown(void **state)
{
	fault_disarm();
	return sync_teardown(state);
}

static void
let_it_work(struct sync *s, bool (*until)(struct sync *s))
{
	for (int i = 0; i < 500 && !until(s); i++) {
		sim_advance(s->loop, 1000);
		sim_wait(s->loop, 5);
	}
	if (!until(s))
		fail_msg("health: %s", store_health(s->store).why);
}

static bool
is_ok(struct sync *s)
{
	return store_health(s->store).ok;
}

static bool
is_not_ok(struct sync *s)
{
	return !store_health(s->store).ok;
}

static size_t
files_with(const struct sync *s, const char *part)
{
	DIR *dir = opendir(s->dir);
	struct dirent *e;
	size_t n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir)))
		n += strstr(e->d_name, part) != NULL;
	closedir(dir);
	return n;
}

/* ---- files ---------------------------------------------------------------- */

static void
files_are_for_the_owner_only(void **state)
{
	struct sync *s = *state;
	static const char *const names[] = { "", "-wal", "-shm", ".reserve" };

	sync_say(s, K, "1", "a", true);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *name = mem_printf("%s%s", s->path, names[i]);
		struct stat st;

		assert_int_equal(stat(name, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		mem_free(name);
	}
}

static void
a_reader_beside_the_owner_sees_rows_and_writes_nothing(void **state)
{
	struct sync *s = *state;
	struct sync r = *s;
	struct store_opts opts = { .path = s->path, .read_only = true };

	sync_say(s, K, "1", "a", true);
	r.json = NULL;
	r.store = store_open(r.loop, &opts, &r.err);
	assert_non_null(r.store);
	assert_string_equal(sync_transcript(&r, K), "user:a");
	assert_int_equal(sync_say(&r, K, "2", "b", true), ERR_DENIED);
	assert_int_equal(SYNC(&r, store_summary(r.store, sync_on_json, &r)),
	    ERR_NONE);
	assert_int_equal(json_get_int(r.json, "inbox_owned", 0), 1);
	sync_say(s, K, "3", "c", true);
	assert_string_equal(sync_transcript(&r, K), "user:a|user:c");
	json_free(&r.json);
	store_close(&r.store);
}

static void
a_log_left_by_a_killed_writer_is_recovered_by_a_reader(void **state)
{
	struct sync *s = *state;
	struct store_opts opts = { .path = s->path, .read_only = true };
	int status;

	sync_close(s);
	pid_t pid = fork();
	if (pid == 0) {
		assert_true(sync_try_open(s));
		sync_say(s, K, "1", "a", true);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(files_with(s, "-wal"), 1);
	char *shm = mem_printf("%s-shm", s->path);
	unlink(shm);
	mem_free(shm);
	s->store = store_open(s->loop, &opts, &s->err);
	assert_non_null(s->store);
	assert_string_equal(sync_transcript(s, K), "user:a");
}

static void
a_missing_database_is_an_error_for_a_reader(void **state)
{
	struct sync *s = *state;
	struct store_opts opts = { .path = "/nonexistent/state.db",
		.read_only = true };

	assert_null(store_open(s->loop, &opts, &s->err));
	assert_non_null(strstr(s->err.text, "/nonexistent/state.db"));
}

/* ---- versions ------------------------------------------------------------- */

static void
a_newer_or_foreign_database_is_refused_and_left_alone(void **state)
{
	struct sync *s = *state;
	CLEANUP_FREE char *foreign = mem_printf("PRAGMA user_version = %d;"
	    "PRAGMA application_id = 7", SCHEMA_VERSION);

	sync_say(s, K, "1", "a", true);
	sync_close(s);
	sync_sql_run(s->path, "PRAGMA user_version = 99");
	assert_false(sync_try_open(s));
	assert_int_equal(s->err.code, ERR_CONFIG);
	assert_int_equal(sync_sql(s, "SELECT count(*) FROM inbox"), 1);
	sync_sql_run(s->path, foreign);
	assert_false(sync_try_open(s));
	assert_int_equal(s->err.code, ERR_CONFIG);
	assert_int_equal(files_with(s, "damaged"), 0);
	sync_sql_run(s->path, "PRAGMA application_id = 0x67617465");
	assert_true(sync_try_open(s));
}

static char *
fixture_read(const char *name)
{
	char *path = mem_printf("%s/tests/fixtures/%s", getenv("TOP_SRCDIR"), name);
	FILE *f = fopen(path, "r");
	struct buf b;
	int c;

	if (!f)
		fail_msg("cannot open %s", path);
	buf_init(&b, 1 << 20);
	while ((c = getc(f)) != EOF)
		buf_add_char(&b, (char)c);
	fclose(f);
	mem_free(path);
	return buf_take(&b);
}

static char *
schema_text(const char *path)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT group_concat(sql, char(10))"
	    " FROM (SELECT sql FROM sqlite_schema ORDER BY type, name)", -1,
	    &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	char *text = mem_str((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return text;
}

/* Frozen files: one a released version, never regenerated afterwards. */
static void
a_database_of_every_released_version_opens(void **state)
{
	static const char *const fixtures[] = { "store-v1.sql", "store-v2.sql",
	    "store-v3.sql", "store-v4.sql" };
	struct sync *s = *state;
	char *fresh = schema_text(s->path);

	for (size_t i = 0; i < ARRAY_LEN(fixtures); i++) {
		char *sql = fixture_read(fixtures[i]);

		sync_close(s);
		unlink(s->path);
		sync_sql_run(s->path, sql);
		mem_free(sql);
		if (!sync_try_open(s))
			fail_msg("%s: %s", fixtures[i], s->err.text);
		assert_string_equal(sync_transcript(s, K),
		    "user:hello|assistant:part one~|user:more");
		sync_take(s);
		assert_string_equal(s->row.text, "a note");
		sync_say(s, K, "77", "on", true);
		assert_int_equal(s->claim.generation, 3);
		/* migrated or made afresh: the same tables */
		char *there = schema_text(s->path);
		assert_string_equal(there, fresh);
		mem_free(there);
	}
	mem_free(fresh);
}

/* ---- full disk ------------------------------------------------------------ */

static int
unlink_beside(struct sync *s, const char *suffix)
{
	char *name = mem_printf("%s%s", s->path, suffix);
	int rc = unlink(name);

	mem_free(name);
	return rc;
}

static void
a_full_disk_spends_the_reserve_and_refuses_new_work_only(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };
	char *reserve = mem_printf("%s.reserve", s->path);

	sync_say(s, K, "1", "a", true);
	fault_full_while(reserve);
	/* the write that met the shortage is not lost: it goes into the reserve */
	assert_int_equal(sync_append(s, K, 1, "assistant", "b"), ERR_NONE);
	assert_int_equal(access(reserve, F_OK), -1);
	assert_false(store_health(s->store).ok);
	assert_string_equal(store_health(s->store).why, "disk full");
	assert_int_equal(sync_say(s, K, "2", "c", true), ERR_UNAVAILABLE);
	assert_int_equal(SYNC(s, store_tool_start(s->store, &run, "c1", "terminal",
	    "{}", false, s->now, sync_on_done, s)), ERR_UNAVAILABLE);
	assert_int_equal(sync_finish(s, K, 1, "end", 1, true), ERR_NONE);
	assert_int_equal(sync_mark(s, s->row.id, "delivered", "1"), ERR_NONE);
	assert_string_equal(sync_transcript(s, K),
	    "user:a|assistant:b|assistant:end");
	/* space comes back: noticed without a restart and without a message */
	fault_disarm();
	let_it_work(s, is_ok);
	assert_int_equal(access(reserve, F_OK), 0);
	assert_int_equal(sync_say(s, K, "2", "c", true), ERR_NONE);
	assert_true(s->ids[0] > 0);
	mem_free(reserve);
}

static void
a_start_on_a_full_disk_spends_the_reserve_and_knows_what_was_stored(void **state)
{
	struct sync *s = *state;
	char *reserve = mem_printf("%s.reserve", s->path);

	sync_say(s, K, "1", "a", true);
	sync_close(s);
	fault_full_while(reserve);
	assert_true(sync_try_open(s));
	assert_string_equal(sync_transcript(s, K), "user:a");
	assert_int_equal(sync_finish(s, K, 1, "end", 1, true), ERR_NONE);
	fault_disarm();
	mem_free(reserve);
}

static void
a_start_on_a_full_disk_without_a_reserve_says_what_to_do(void **state)
{
	struct sync *s = *state;

	sync_close(s);
	fault_arm(FAULT_FULL_ON, 1);
	assert_int_equal(unlink_beside(s, ".reserve"), 0);
	assert_false(sync_try_open(s));
	assert_non_null(strstr(s->err.text, "the disk is full"));
	assert_non_null(strstr(s->err.text, "free some space"));
	fault_disarm();
	assert_true(sync_try_open(s));
}

/* ---- writes that nobody waits for --------------------------------------------- */

static void
queue_entry(struct sync *s, const char *role, const char *text)
{
	CLEANUP_JSON struct json *list = json_array(), *entry = json_object();
	struct run_ref run = { K, 1 };

	json_set_str(entry, "role", role);
	json_set_str(entry, "content", text);
	if (strcmp(role, "tool") == 0) {
		store_tool_end(s->store, &run, "c1", "ended", entry, s->now,
		    NULL, NULL);
		return;
	}
	json_add_take(list, STEAL(entry));
	store_append(s->store, &run, list, s->now, NULL, NULL);
}

static void
fail_while_queued(struct sync *s, enum fault_kind kind, long nth)
{
	struct run_ref run = { K, 1 };

	sync_say(s, K, "1", "a", true);
	queue_entry(s, "assistant", "calls");
	SYNC(s, store_tool_start(s->store, &run, "c1", "terminal", "{}", false,
	    s->now, sync_on_done, s));
	fault_arm(kind, nth);
	queue_entry(s, "tool", "result");
	queue_entry(s, "assistant", "thinks");
	/* what is waited for is not done before what was queued before it */
	enum err_code code = sync_append(s, K, 1, "assistant", "says");
	fault_disarm();
	let_it_work(s, is_ok);
	if (code != ERR_NONE)
		assert_int_equal(sync_append(s, K, 1, "assistant", "says"),
		    ERR_NONE);
	assert_string_equal(sync_transcript(s, K), "user:a|assistant:calls|"
	    "tool:result|assistant:thinks|assistant:says");
	assert_int_equal(sync_sql(s, "SELECT count(*) FROM tool"
	    " WHERE state = 'ended'"), 1);
}

static void
what_nobody_waits_for_outlives_a_failing_disk(void **state)
{
	static const enum fault_kind kinds[] = { FAULT_IO, FAULT_SHORT, FAULT_FULL,
		FAULT_IO_ON, FAULT_FULL_ON };
	struct sync *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		for (long nth = 1; nth <= 4; nth++) {
			sync_done(s);
			sync_init(s);
			fail_while_queued(s, kinds[i], nth);
		}
}

/* The last chance of what is kept is the end of the process. */
static void
what_is_kept_is_written_at_the_end(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "a", true);
	fault_arm(FAULT_IO_ON, 1);
	queue_entry(s, "assistant", "b");
	assert_int_not_equal(sync_append(s, K, 1, "assistant", "c"), ERR_NONE);
	fault_disarm();
	sync_reopen(s);
	assert_string_equal(sync_transcript(s, K), "user:a|assistant:b");
}

static void
a_database_that_cannot_be_written_accepts_nothing_until_it_can(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "a", true);
	fault_arm(FAULT_IO_ON, 1);
	assert_int_equal(sync_say(s, K, "2", "b", true), ERR_IO);
	assert_false(store_health(s->store).ok);
	assert_string_equal(store_health(s->store).why,
	    "the database cannot be written");
	assert_int_equal(sync_say(s, K, "2", "b", true), ERR_IO);
	fault_disarm();
	let_it_work(s, is_ok);
	assert_int_equal(sync_say(s, K, "2", "b", true), ERR_NONE);
	assert_true(s->ids[0] > 0);
}

/* ---- locks and stalls ------------------------------------------------------- */

/* Forked while no thread lives: SQLite's state is not for a fork beside one. */
static pid_t
lock_for(struct sync *s, unsigned ms)
{
	int go[2], ready[2];
	char c = 'x';

	sync_close(s);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		sqlite3 *db;

		if (read(go[0], &c, 1) != 1 ||
		    sqlite3_open(s->path, &db) != SQLITE_OK ||
		    sqlite3_busy_timeout(db, 5000) != SQLITE_OK ||
		    sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) !=
		    SQLITE_OK || write(ready[1], &c, 1) != 1)
			_exit(1);
		usleep(ms * 1000);
		_exit(0);
	}
	close(ready[1]);
	assert_true(sync_try_open(s));
	SYNC(s, store_ledger_list(s->store, "k", sync_on_json, s));
	assert_int_equal(write(go[1], &c, 1), 1);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(go[0]);
	close(go[1]);
	close(ready[0]);
	return pid;
}

static void
another_process_that_holds_the_lock_is_waited_for(void **state)
{
	struct sync *s = *state;
	int status;

	pid_t pid = lock_for(s, 2000);
	assert_int_equal(sync_say(s, K, "1", "a", true), ERR_NONE);
	assert_true(s->ids[0] > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(store_health(s->store).ok);
}

static void
an_old_job_is_a_stall_and_a_very_old_one_is_death(void **state)
{
	struct sync *s = *state;
	int status;

	pid_t pid = lock_for(s, 500);
	s->done = false;
	store_stop(s->store, K, s->now, sync_on_done, s);
	sim_advance(s->loop, 4000);
	assert_true(store_health(s->store).ok);
	sim_advance(s->loop, 2000);
	assert_false(store_health(s->store).ok);
	assert_false(store_health(s->store).dead);
	assert_string_equal(store_health(s->store).why, "store stalled");
	assert_int_equal(store_health(s->store).depth, 1);
	sim_advance(s->loop, 60000);
	assert_true(store_health(s->store).dead);
	assert_int_equal(sync_wait(s), ERR_NONE);
	assert_true(store_health(s->store).ok);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void
a_stuck_reader_does_not_let_the_log_grow_without_bound(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };
	struct json *entries = json_array();
	struct stat st;
	sqlite3 *db;

	json_add_take(entries, json_set_str(json_object(), "role", "tool"));
	sync_say(s, K, "1", "q", true);
	assert_int_equal(sqlite3_open(s->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT * FROM inbox", NULL, NULL,
	    NULL), SQLITE_OK);
	for (int i = 0; i < 20000; i++) {
		store_append(s->store, &run, entries, s->now, NULL, NULL);
		if (i % 64 == 0)
			SYNC(s, store_append(s->store, &run, entries, s->now,
			    sync_on_done, s));
	}
	SYNC(s, store_append(s->store, &run, entries, s->now, sync_on_done, s));
	char *wal = mem_printf("%s-wal", s->path);
	assert_int_equal(stat(wal, &st), 0);
	if (st.st_size > 64 << 20)
		fail_msg("the log holds %lld bytes", (long long)st.st_size);
	sqlite3_close(db);
	mem_free(wal);
	json_free(&entries);
}

static void
too_many_calls_are_refused(void **state)
{
	struct sync *s = *state;
	int status;

	struct json *row = json_object();
	pid_t pid = lock_for(s, 1000);
	for (int i = 0; i < 100000; i++)
		store_ledger_put(s->store, "k", "i", row, NULL, NULL);
	assert_int_equal(SYNC(s, store_ledger_put(s->store, "k", "i", row,
	    sync_on_done, s)), ERR_LIMIT);
	json_free(&row);
	sync_reopen(s);		/* close commits all that is queued */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	SYNC(s, store_ledger_list(s->store, "k", sync_on_json, s));
	assert_int_equal(json_len(s->json), 1);
}

/* ---- damage ----------------------------------------------------------------- */

static void
fill(struct sync *s)
{
	char text[900];

	memset(text, 'w', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	sync_say(s, K, "1", "q", true);
	for (int i = 0; i < 60; i++)
		sync_append(s, K, 1, "assistant", text);
}

static void
overwrite(struct sync *s, off_t at, size_t len)
{
	int fd = open(s->path, O_WRONLY);
	char *zeros = mem_alloc(len);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, zeros, len, at), len);
	close(fd);
	mem_free(zeros);
}

static void
a_file_that_is_no_database_is_set_aside_loudly(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "a", true);
	sync_close(s);
	overwrite(s, 0, 100);
	assert_true(sync_try_open(s));
	assert_true(store_health(s->store).ok);
	assert_non_null(strstr(store_health(s->store).why, "kept as"));
	assert_int_equal(files_with(s, ".damaged-20"), 1);
	assert_int_equal(sync_say(s, K, "1", "a", true), ERR_NONE);
	sync_reopen(s);
	assert_string_equal(store_health(s->store).why, "");
	assert_string_equal(sync_transcript(s, K), "user:a");
}

static void
a_damaged_page_is_found_after_opening_and_nothing_more_is_accepted(void **state)
{
	struct sync *s = *state;

	fill(s);
	sync_close(s);
	int64_t page = sync_sql(s, "SELECT max(pageno) FROM dbstat"
	    " WHERE name = 'transcript' AND pagetype = 'leaf'");
	if (page <= 0)
		page = sync_sql(s, "SELECT rootpage FROM sqlite_schema"
		    " WHERE name = 'transcript'");
	overwrite(s, (page - 1) * 4096, 4096);
	assert_true(sync_try_open(s));
	let_it_work(s, is_not_ok);
	assert_string_equal(store_health(s->store).why, "the database is damaged");
	assert_int_equal(sync_say(s, K, "9", "a", true), ERR_UNAVAILABLE);
	/* the next start sets it aside, and the file is kept */
	sync_reopen(s);
	assert_non_null(strstr(store_health(s->store).why, "kept as"));
	assert_int_equal(files_with(s, ".damaged-20"), 1);
	assert_int_equal(sync_say(s, K, "9", "a", true), ERR_NONE);
}

static void
damage_that_passes_needs_no_restart(void **state)
{
	struct sync *s = *state;
	char page[4096];

	fill(s);
	sync_close(s);
	int fd = open(s->path, O_RDWR);
	int64_t root = sync_sql(s, "SELECT rootpage FROM sqlite_schema"
	    " WHERE name = 'inbox'");
	off_t at = (off_t)(root - 1) * 4096;
	assert_int_equal(pread(fd, page, sizeof(page), at), sizeof(page));
	overwrite(s, at, sizeof(page));
	assert_true(sync_try_open(s));
	let_it_work(s, is_not_ok);
	assert_int_equal(pwrite(fd, page, sizeof(page), at), sizeof(page));
	close(fd);
	let_it_work(s, is_ok);
	assert_int_equal(sync_say(s, K, "9", "a", true), ERR_NONE);
	sync_reopen(s);
	assert_int_equal(files_with(s, ".damaged"), 0);
}

static void
a_file_removed_while_open_stops_intake(void **state)
{
	struct sync *s = *state;
	char *other = mem_printf("%s/moved", s->dir);

	sync_say(s, K, "1", "a", true);
	assert_int_equal(rename(s->path, other), 0);
	assert_int_equal(sync_say(s, K, "2", "b", true), ERR_UNAVAILABLE);
	assert_false(store_health(s->store).ok);
	assert_int_equal(rename(other, s->path), 0);
	let_it_work(s, is_ok);
	assert_int_equal(sync_say(s, K, "2", "b", true), ERR_NONE);
	mem_free(other);
}

static void
a_database_that_vanished_is_not_replaced_silently(void **state)
{
	struct sync *s = *state;

	sync_close(s);
	unlink(s->path);
	assert_true(sync_try_open(s));
	assert_non_null(strstr(store_health(s->store).why, "is gone"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, sync_setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(files_are_for_the_owner_only),
		T(a_reader_beside_the_owner_sees_rows_and_writes_nothing),
		T(a_log_left_by_a_killed_writer_is_recovered_by_a_reader),
		T(a_missing_database_is_an_error_for_a_reader),
		T(a_newer_or_foreign_database_is_refused_and_left_alone),
		T(a_database_of_every_released_version_opens),
		T(a_full_disk_spends_the_reserve_and_refuses_new_work_only),
		T(a_start_on_a_full_disk_spends_the_reserve_and_knows_what_was_stored),
		T(a_start_on_a_full_disk_without_a_reserve_says_what_to_do),
		T(what_nobody_waits_for_outlives_a_failing_disk),
		T(what_is_kept_is_written_at_the_end),
		T(a_database_that_cannot_be_written_accepts_nothing_until_it_can),
		T(another_process_that_holds_the_lock_is_waited_for),
		T(an_old_job_is_a_stall_and_a_very_old_one_is_death),
		T(a_stuck_reader_does_not_let_the_log_grow_without_bound),
		T(too_many_calls_are_refused),
		T(a_file_that_is_no_database_is_set_aside_loudly),
		T(a_damaged_page_is_found_after_opening_and_nothing_more_is_accepted),
		T(damage_that_passes_needs_no_restart),
		T(a_file_removed_while_open_stops_intake),
		T(a_database_that_vanished_is_not_replaced_silently),
	};

	fault_install();
	log_open(-1, LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
