/*
 * The store under faults: killed at random moments, failing reads and writes
 * at the n-th act of a scripted day for every n, power lost with unsynced
 * writes gone.  The oracle: no corruption, and nothing that was acknowledged
 * is lost.  SOAK=1 runs all of it; a slice otherwise.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "tests/fault_vfs.h"
#include "tests/loop_sim.h"
#include "tests/store_sync.h"

#define K "agent:main:telegram:dm:42"

static bool
soak(void)
{
	return getenv("SOAK") != NULL;
}

static void
assert_whole(const char *path, const char *what, long n)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1,
	    &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	const char *text = (const char *)sqlite3_column_text(stmt, 0);
	if (strcmp(text, "ok") != 0)
		fail_msg("%s at %ld: %s", what, n, text);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

/* ---- the oracle: what was acknowledged -------------------------------------- */

struct acked {
	int events[128];	/* numbers of acknowledged events */
	size_t n;
	uint64_t appended;	/* acknowledged entries of role "mark" */
	int64_t delivered;	/* rows whose "delivered" was acknowledged */
};

static void
assert_kept(struct sync *s, const struct acked *a, const char *what, long n)
{
	assert_whole(s->path, what, n);
	for (size_t i = 0; i < a->n; i++) {
		char *sql = mem_printf("SELECT count(*) FROM inbox"
		    " WHERE event_id = '%d'", a->events[i]);

		if (sync_sql(s, sql) != 1)
			fail_msg("%s at %ld: event %d was acknowledged and is "
			    "not there", what, n, a->events[i]);
		mem_free(sql);
	}
	if (sync_sql(s, "SELECT count(*) FROM transcript WHERE body LIKE"
	    " '%\"mark\"%'") < (int64_t)a->appended)
		fail_msg("%s at %ld: an acknowledged entry is lost", what, n);
	if (sync_sql(s, "SELECT count(*) FROM outbox WHERE state = 'delivered'") <
	    a->delivered)
		fail_msg("%s at %ld: a delivery was forgotten", what, n);
}

/* ---- a scripted day ----------------------------------------------------------- */

static void
day_say(struct sync *s, struct acked *a, int event)
{
	char id[16];

	assert_int_equal(mem_format(id, sizeof(id), "%d", event), 0);
	if (sync_say(s, K, id, "words", true) == ERR_NONE && s->ids[0] > 0)
		a->events[a->n++] = event;
}

static void
day_turn(struct sync *s, struct acked *a, int event)
{
	struct run_ref run = { K, 0 };

	day_say(s, a, event);
	if (s->code != ERR_NONE)
		return;
	run.generation = s->claim.generation;
	if (sync_append(s, K, run.generation, "mark", "m") == ERR_NONE)
		a->appended++;
	SYNC(s, store_tool_start(s->store, &run, "c", "terminal", "{}", false,
	    s->now, sync_on_done, s));
	SYNC(s, store_tool_end(s->store, &run, "c", "ended", NULL, s->now,
	    sync_on_done, s));
	sync_finish(s, K, run.generation, "answer", 2, true);
	for (int i = 0; i < 2 && s->code == ERR_NONE && s->nrows == 1; i++) {
		if (sync_mark(s, s->row.id, "delivered", "1") == ERR_NONE)
			a->delivered++;
		sync_take(s);
	}
	SYNC(s, store_load(s->store, K, 100, 10000, sync_on_json, s));
}

static void
day(struct sync *s, struct acked *a)
{
	for (int i = 1; i <= 4; i++)
		day_turn(s, a, i);
	day_say(s, a, 10);
	SYNC(s, store_stop(s->store, K, s->now, sync_on_done, s));
	SYNC(s, store_reset(s->store, K, s->now, sync_on_json, s));
	day_say(s, a, 11);
	day_say(s, a, 12);
	SYNC(s, store_migrate_chat(s->store, "telegram", "1", "42", "43",
	    sync_on_done, s));
	day_turn(s, a, 13);
}

/* Probes and checks are on loop time, their work on real time. */
static void
wait_until_fine(struct sync *s, const char *what, long n)
{
	for (int i = 0; i < 1000 && !store_health(s->store).ok; i++) {
		sim_advance(s->loop, 1000);
		sim_wait(s->loop, 5);
	}
	if (!store_health(s->store).ok)
		fail_msg("%s at %ld: %s", what, n, store_health(s->store).why);
}

/* After the fault: it works again without a restart, and all is kept. */
static void
one_fault(enum fault_kind kind, const char *what, long n)
{
	struct sync s;
	struct acked a = { .n = 0 };

	sync_init(&s);
	fault_arm(kind, n);
	day(&s, &a);
	fault_disarm();
	sync_say(&s, "other", "nudge", "x", false);
	wait_until_fine(&s, what, n);
	day_say(&s, &a, 99);
	if (s.code != ERR_NONE)
		fail_msg("%s at %ld: still refused: %s", what, n, s.err.text);
	assert_kept(&s, &a, what, n);
	sync_reopen(&s);
	assert_kept(&s, &a, what, n);
	sync_done(&s);
}

static long
acts_of_a_day(void)
{
	struct sync s;
	struct acked a = { .n = 0 };

	sync_init(&s);
	fault_arm(FAULT_IO, 0);		/* only counts */
	day(&s, &a);
	long n = fault_count();
	fault_disarm();
	assert_int_equal(a.n, 8);
	sync_done(&s);
	return n;
}

static void
sweep(enum fault_kind kind, const char *what)
{
	long acts = acts_of_a_day(), step = soak() ? 1 : 11;

	assert_true(acts > 100);
	for (long n = 1; n <= acts; n += step)
		one_fault(kind, what, n);
}

static void
an_io_error_at_any_act_loses_nothing_acknowledged(void **state)
{
	(void)state;
	sweep(FAULT_IO, "I/O error");
}

static void
a_short_write_at_any_act_loses_nothing_acknowledged(void **state)
{
	(void)state;
	sweep(FAULT_SHORT, "short write");
}

static void
io_errors_that_last_lose_nothing_acknowledged(void **state)
{
	(void)state;
	sweep(FAULT_IO_ON, "lasting I/O errors");
}

static void
a_full_disk_at_any_act_loses_nothing_acknowledged(void **state)
{
	(void)state;
	sweep(FAULT_FULL, "full disk");
	sweep(FAULT_FULL_ON, "lastingly full disk");
}

static void
power_lost_at_any_act_loses_nothing_acknowledged(void **state)
{
	long acts = acts_of_a_day(), step = soak() ? 1 : 5;

	(void)state;
	for (long n = 1; n <= acts; n += step) {
		struct sync s;
		struct acked a = { .n = 0 };

		sync_init(&s);
		fault_arm(FAULT_POWER, n);
		day(&s, &a);
		sync_close(&s);
		char *shm = mem_printf("%s-shm", s.path);
		unlink(shm);
		mem_free(shm);
		fault_power_back((uint64_t)n);
		assert_true(sync_try_open(&s));
		assert_string_equal(store_health(s.store).why, "");
		assert_kept(&s, &a, "power lost", n);
		day_turn(&s, &a, 98);
		assert_int_equal(s.code, ERR_NONE);
		assert_kept(&s, &a, "power lost, next day", n);
		sync_done(&s);
	}
}

/* ---- kill -9 ------------------------------------------------------------------- */

struct writer_child {
	struct loop *loop;
	struct store *store;
	int fd;
	int next;		/* number of the next event */
	int left;		/* to be acknowledged; 0: no end */
	bool over;
};
struct one { struct writer_child *w; int event; };

static void child_send(struct writer_child *w);

static void
child_acked(void *arg, const struct accept_result *res, const struct err *err)
{
	struct one *o = arg;
	struct writer_child *w = o->w;

	if (err || res->row_ids[0] == 0)
		_exit(3);
	if (write(w->fd, &o->event, sizeof(o->event)) != sizeof(o->event))
		_exit(4);
	free(o);
	if (w->left > 0 && --w->left < 8) {
		w->over = w->left == 0;
		return;
	}
	child_send(w);
}

static void
child_send(struct writer_child *w)
{
	struct one *o = malloc(sizeof(*o));
	char id[16], key[32];

	o->w = w;
	o->event = w->next++;
	if (mem_format(id, sizeof(id), "%d", o->event) != 0 ||
	    mem_format(key, sizeof(key), "k%d", o->event % 7) != 0)
		_exit(5);
	struct inbox_event e = {
		.kind = INBOX_TURN, .kind_name = "text", .event_id = id,
		.session_key = key, .chat_id = "1", .text = "words words words",
	};
	struct inbox_claim c = { key, "{}", true, 0 };
	struct accept_req req = {
		.platform = "p", .account = "1", .events = &e, .nevents = 1,
		.claims = &c, .nclaims = 1, .now_wall = SYNC_WALL,
	};
	store_accept(w->store, &req, child_acked, o);
}

static void
child_run(const char *path, int fd, int first, int left)
{
	struct writer_child w = { .fd = fd, .next = first, .left = left };
	struct store_opts opts = { .path = path };
	struct err err;

	w.loop = loop_sim_new(1);
	w.store = store_open(w.loop, &opts, &err);
	if (!w.store)
		_exit(2);
	for (int i = 0; i < 8; i++)
		child_send(&w);
	while (!w.over)
		sim_wait(w.loop, 1000);
	store_close(&w.store);
	_exit(0);
}

static void
expect_stored(struct sync *s, int event)
{
	CLEANUP_FREE char *sql = mem_printf("SELECT count(*) FROM inbox WHERE"
	    " event_id = '%d' AND entry IS NOT NULL", event);

	if (sync_sql(s, sql) != 1)
		fail_msg("event %d was acknowledged and is lost", event);
}

/* writing: the delay begins at the first acknowledgement, not at the start. */
static int
kill_round(const char *path, int first, bool writing, unsigned delay_us,
    struct sync *s)
{
	int fds[2], status, event, last = first;

	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		child_run(path, fds[1], first, 0);
	}
	close(fds[1]);
	if (writing) {
		assert_int_equal(read(fds[0], &event, sizeof(event)),
		    sizeof(event));
		last = event + 1;
	}
	usleep(delay_us);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		fail_msg("the writer ended by itself: %d", WEXITSTATUS(status));
	assert_whole(path, "kill", first);
	if (writing)
		expect_stored(s, last - 1);
	while (read(fds[0], &event, sizeof(event)) == sizeof(event)) {
		expect_stored(s, event);
		last = event + 1;
	}
	close(fds[0]);
	return last + 100;
}

static void
killed_at_random_moments_nothing_acknowledged_is_lost(void **state)
{
	int rounds = soak() ? 1000 : 50, next = 1;
	struct sync s;

	(void)state;
	sync_init(&s);
	sync_close(&s);
	srand(7);
	for (int i = 0; i < rounds; i++)
		next = kill_round(s.path, next, i % 4 != 0,
		    (unsigned)(rand() % 30000), &s);
	/* a session has one open run, and it holds the generation */
	assert_int_equal(sync_sql(&s, "SELECT count(*) FROM session s WHERE"
	    " (SELECT count(*) FROM run r WHERE r.session = s.id AND"
	    "  r.state = 'open' AND r.generation = s.generation) <> 1"), 0);
	assert_int_equal(sync_sql(&s, "SELECT count(*) FROM run"
	    " WHERE state = 'open'"), 7);
	assert_true(sync_try_open(&s));
	sync_done(&s);
}

static void
two_processes_on_one_file_lose_and_double_nothing(void **state)
{
	struct sync s;
	int status;

	(void)state;
	sync_init(&s);
	sync_close(&s);
	for (int i = 0; i < 2; i++) {
		int fds[2];

		assert_int_equal(pipe(fds), 0);
		pid_t pid = fork();
		if (pid == 0)	/* nobody reads: 200 numbers fit a pipe */
			child_run(s.path, fds[1], 1000 * i, 200);
		close(fds[0]);
		close(fds[1]);
	}
	for (int i = 0; i < 2; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_whole(s.path, "two processes", 0);
	assert_int_equal(sync_sql(&s, "SELECT count(*) FROM inbox"), 400);
	assert_int_equal(sync_sql(&s, "SELECT count(DISTINCT entry) FROM inbox"),
	    400);
	/* generations of a session are 1, 2, 3 ... without a gap or a double */
	assert_int_equal(sync_sql(&s, "SELECT count(*) FROM session s WHERE"
	    " generation <> (SELECT count(*) FROM run r WHERE r.session = s.id)"),
	    0);
	assert_true(sync_try_open(&s));
	sync_done(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_at_random_moments_nothing_acknowledged_is_lost),
		cmocka_unit_test(two_processes_on_one_file_lose_and_double_nothing),
		cmocka_unit_test(an_io_error_at_any_act_loses_nothing_acknowledged),
		cmocka_unit_test(a_short_write_at_any_act_loses_nothing_acknowledged),
		cmocka_unit_test(io_errors_that_last_lose_nothing_acknowledged),
		cmocka_unit_test(a_full_disk_at_any_act_loses_nothing_acknowledged),
		cmocka_unit_test(power_lost_at_any_act_loses_nothing_acknowledged),
	};

	fault_install();
	log_open(-1, LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
