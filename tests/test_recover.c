/* What a start finds after an unclean end (rules 2.4, 3.1, 3.8, 4.4). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/loop_sim.h"
#include "tests/store_sync.h"

#define K "agent:main:telegram:dm:42"
#define DAY ((msec_t)24 * 60 * 60 * 1000)

static void
recover(struct sync *s)
{
	sync_reopen(s);
	assert_int_equal(SYNC(s, store_recover(s->store, s->now, sync_on_json,
	    s)), ERR_NONE);
}

static void
assert_action(struct sync *s, const char *action, int attempts)
{
	const struct json *e = json_path(s->json, "sessions.0");

	assert_int_equal(json_len(json_get(s->json, "sessions")), 1);
	assert_string_equal(json_get_str(e, "action", ""), action);
	assert_int_equal(json_get_int(e, "attempts", -1), attempts);
	assert_string_equal(json_get_str(e, "session_key", ""), K);
}

static enum err_code
claim(struct sync *s)
{
	s->expect_ids = 0;
	s->expect_claims = 1;
	return SYNC(s, store_claim(s->store, K, s->now, sync_on_accept, s));
}

static enum err_code
tool_start(struct sync *s, uint64_t generation, const char *id, bool read_only)
{
	struct run_ref run = { K, generation };

	return SYNC(s, store_tool_start(s->store, &run, id, "terminal",
	    "{\"command\":\"make\"}", read_only, s->now, sync_on_done, s));
}

static void
nothing_open_gives_empty_lists(void **state)
{
	struct sync *s = *state;

	recover(s);
	assert_int_equal(json_len(json_get(s->json, "sessions")), 0);
	assert_true(json_is_array(json_get(s->json, "expired_approvals")));
	assert_true(json_is_array(json_get(s->json, "parked")));
}

static void
an_interrupted_run_is_resumed_three_times_and_then_closed(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "hello", true);
	for (int i = 1; i <= 3; i++) {
		recover(s);
		assert_action(s, "resume", i);
		assert_string_equal(json_str(json_path(s->json,
		    "sessions.0.texts.0")), "hello");
		assert_int_equal(claim(s), ERR_NONE);
		assert_int_equal(s->claim.set_size, 1);
	}
	recover(s);
	assert_action(s, "exhausted", 3);
	recover(s);
	assert_action(s, "exhausted", 3);
	claim(s);
	assert_int_equal(s->claim.generation, 5);
	assert_int_equal(sync_finish(s, K, 5, "gave up", 1, true), ERR_NONE);
	sync_mark(s, s->row.id, "delivered", "1");
	recover(s);
	assert_int_equal(json_len(json_get(s->json, "sessions")), 0);
	/* the counter belongs to the set, not to the person */
	sync_say(s, K, "2", "again", true);
	recover(s);
	assert_string_equal(json_get_str(json_path(s->json, "sessions.0"),
	    "action", ""), "resume");
	assert_int_equal(json_get_int(json_path(s->json, "sessions.0"),
	    "attempts", 0), 1);
	/* the words are in the history once */
	assert_string_equal(sync_transcript(s, K),
	    "user:hello|assistant:gave up|user:again");
}

static void
words_accepted_but_never_claimed_are_answered_without_an_attempt(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "hello", false);
	recover(s);
	assert_action(s, "resume", 0);
	assert_string_equal(json_str(json_path(s->json, "sessions.0.texts.0")),
	    "hello");
	assert_string_equal(json_get_str(json_path(s->json, "sessions.0.origin"),
	    "chat", ""), "42");
}

static void
a_run_with_an_unknown_tool_is_reported_not_resumed(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "build", true);
	tool_start(s, 1, "c1", false);
	recover(s);
	assert_action(s, "report", 0);
	const struct json *t = json_path(s->json, "sessions.0.tools.0");
	assert_string_equal(json_get_str(t, "call_id", ""), "c1");
	assert_string_equal(json_get_str(t, "args", ""), "{\"command\":\"make\"}");
	/* dying before the report was written, or while it was, changes nothing */
	recover(s);
	assert_action(s, "report", 0);
	claim(s);
	recover(s);
	assert_action(s, "report", 0);
	claim(s);
	assert_int_equal(sync_finish(s, K, 3, "make: end unknown", 1, false),
	    ERR_NONE);
	recover(s);
	assert_int_equal(json_len(json_get(s->json, "sessions")), 0);
	sync_say(s, K, "2", "next", true);
	recover(s);
	assert_action(s, "resume", 1);
}

static void
a_tool_that_only_read_or_that_ended_does_not_stop_a_resume(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };

	sync_say(s, K, "1", "look", true);
	tool_start(s, 1, "c1", true);
	tool_start(s, 1, "c2", false);
	SYNC(s, store_tool_end(s->store, &run, "c2", "ended", NULL, s->now,
	    sync_on_done, s));
	recover(s);
	assert_action(s, "resume", 1);
}

static void
a_tool_of_a_cancelled_predecessor_counts_too(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "build", true);
	tool_start(s, 1, "c1", false);
	sync_say(s, K, "2", "stop, wrong host", true);
	recover(s);
	assert_action(s, "report", 0);
	assert_int_equal(json_len(json_path(s->json, "sessions.0.texts")), 2);
}

static void
a_send_in_flight_becomes_unknown_and_is_not_repeated(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 2, true);
	int64_t row = s->row.id;
	recover(s);
	SYNC(s, store_outbox_owed(s->store, sync_on_json, s));
	const struct json *u = json_at(s->json, 0);
	assert_int_equal(json_len(s->json), 1);
	assert_int_equal(json_get_int(u, "id", 0), row);
	assert_string_equal(json_get_str(u, "text", ""), "a 1");
	assert_string_equal(json_get_str(u, "chat_id", ""), "42");
	assert_string_equal(json_get_str(u, "session_key", ""), K);
	/* later chunks do not wait for it */
	sync_take(s);
	assert_string_equal(s->row.text, "a 2");
	/* whatever ends meanwhile: both are owed until they were told */
	for (int i = 0; i < 2; i++) {
		sync_reopen(s);
		recover(s);
		SYNC(s, store_outbox_owed(s->store, sync_on_json, s));
		assert_int_equal(json_len(s->json), 2);
	}
	SYNC(s, store_outbox_told(s->store, row, sync_on_done, s));
	SYNC(s, store_outbox_owed(s->store, sync_on_json, s));
	assert_int_equal(json_len(s->json), 1);
}

/* Written down, not begun: the next request says so, and the run goes on. */
static void
a_call_without_a_row_was_not_started(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };
	static const char text[] = "[{\"role\":\"assistant\",\"content\":\"\","
	    "\"tool_calls\":[{\"id\":\"a1\",\"type\":\"function\",\"function\":"
	    "{\"name\":\"terminal\",\"arguments\":\"{}\"}},{\"id\":\"b2\","
	    "\"type\":\"function\",\"function\":{\"name\":\"terminal\","
	    "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":"
	    "\"a1\",\"content\":\"done\"}]";
	CLEANUP_JSON struct json *entries = json_parse(text, strlen(text), NULL);

	assert_non_null(entries);
	sync_say(s, K, "1", "q", true);
	SYNC(s, store_append(s->store, &run, entries, s->now, sync_on_done, s));
	recover(s);
	assert_string_equal(json_get_str(json_path(s->json, "sessions.0"),
	    "action", ""), "resume");
	SYNC(s, store_load(s->store, K, 100, 1 << 20, sync_on_json, s));
	assert_int_equal(json_len(s->json), 4);
	assert_string_equal(json_get_str(json_at(s->json, 3), "tool_call_id",
	    ""), "b2");
	assert_string_equal(json_get_str(json_at(s->json, 3), "mark", ""),
	    "not_started");
	recover(s);		/* once */
	SYNC(s, store_load(s->store, K, 100, 1 << 20, sync_on_json, s));
	assert_int_equal(json_len(s->json), 4);
}

/* Rules 2.4: what is known is edited, to a word that nobody goes on with it. */
static void
a_preview_of_an_interrupted_run_gets_its_last_edit(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };
	struct outbox_chunk chunk = {
		.kind = OUT_PREVIEW, .platform = "telegram", .account = "1",
		.chat_id = "42", .thread_id = "", .text = "pre",
	};

	sync_say(s, K, "1", "q", true);
	SYNC(s, store_outbox_add(s->store, &run, &chunk, s->now, sync_on_rows, s));
	sync_take(s);
	sync_mark(s, s->row.id, "shown", "77");
	sync_take(s);		/* its run goes on: nothing to do */
	assert_int_equal(s->nrows, 0);
	SYNC(s, store_outbox_add(s->store, &run, &chunk, s->now, sync_on_rows, s));
	recover(s);
	SYNC(s, store_outbox_chats(s->store, sync_on_json, s));
	assert_int_equal(json_len(s->json), 1);
	sync_take(s);		/* the one that waited is dead */
	assert_int_equal(s->nrows, 1);
	assert_string_equal(s->row.edit_msg_id, "77");
	/* An edit may be repeated: found in flight, it is due again. */
	sync_reopen(s);
	recover(s);
	SYNC(s, store_outbox_owed(s->store, sync_on_json, s));
	assert_int_equal(json_len(s->json), 0);
	sync_take(s);
	assert_string_equal(s->row.edit_msg_id, "77");
	sync_mark(s, s->row.id, "delivered", "77");
	sync_take(s);
	assert_int_equal(s->nrows, 0);
}

static void
open_approvals_expire_before_anything_else_can_answer(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };
	struct json *row = json_set_str(json_object(), "prompt_msg", "9");

	sync_say(s, K, "1", "q", true);
	SYNC(s, store_approval_open(s->store, &run, "a1", row, s->now,
	    sync_on_done, s));
	recover(s);
	const struct json *e = json_path(s->json, "expired_approvals.0");
	assert_string_equal(json_get_str(e, "id", ""), "a1");
	assert_string_equal(json_get_str(json_get(e, "row"), "prompt_msg", ""),
	    "9");
	assert_int_equal(SYNC(s, store_approval_close(s->store, "a1", "yes", "7",
	    s->now, sync_on_done, s)), ERR_EXISTS);
	assert_action(s, "resume", 1);
	json_free(&row);
}

static void
approvals_are_closed_once_and_withdrawn_with_their_run(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 }, dead = { K, 1 };
	struct json *row = json_object();

	sync_say(s, K, "1", "q", true);
	SYNC(s, store_approval_open(s->store, &run, "a1", row, s->now,
	    sync_on_done, s));
	SYNC(s, store_approval_open(s->store, &run, "a2", row, s->now,
	    sync_on_done, s));
	SYNC(s, store_approvals(s->store, 10, sync_on_json, s));
	assert_int_equal(json_len(s->json), 2);
	assert_int_equal(SYNC(s, store_approval_close(s->store, "a1", "yes", "7",
	    s->now, sync_on_done, s)), ERR_NONE);
	assert_int_equal(SYNC(s, store_approval_close(s->store, "a1", "yes", "7",
	    s->now, sync_on_done, s)), ERR_NONE);	/* as it is already */
	assert_int_equal(SYNC(s, store_approval_close(s->store, "a1", "no", "7",
	    s->now, sync_on_done, s)), ERR_EXISTS);
	assert_int_equal(SYNC(s, store_approval_close(s->store, "zz", "no", "7",
	    s->now, sync_on_done, s)), ERR_NOT_FOUND);
	sync_say(s, K, "2", "r", true);
	assert_int_equal(SYNC(s, store_approval_close(s->store, "a2", "yes", "7",
	    s->now, sync_on_done, s)), ERR_EXISTS);
	assert_int_equal(SYNC(s, store_approval_open(s->store, &dead, "a3", row,
	    s->now, sync_on_done, s)), ERR_DENIED);
	json_free(&row);
}

static void
what_is_older_than_a_day_is_parked(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "old", true);
	sync_say(s, "k2", "2", "old too", true);
	sync_finish(s, "k2", 1, "a", 2, false);
	s->now += DAY + 1000;
	sync_say(s, "k3", "3", "new", true);
	recover(s);
	const struct json *p = json_path(s->json, "parked.0.row");
	assert_int_equal(json_len(json_get(s->json, "parked")), 1);
	assert_int_equal(json_get_int(p, "inbox", 0), 1);
	assert_int_equal(json_get_int(p, "outbox", 0), 2);
	assert_string_equal(json_get_str(p, "chat_id", ""), "42");
	assert_int_equal(json_len(json_get(s->json, "sessions")), 1);
	assert_string_equal(json_get_str(json_path(s->json, "sessions.0"),
	    "session_key", ""), "k3");
	sync_take(s);
	assert_int_equal(s->nrows, 0);
	/* owed to the chat until it was told */
	sync_reopen(s);
	recover(s);
	assert_int_equal(json_len(json_get(s->json, "parked")), 1);
	CLEANUP_FREE char *id = mem_str(json_get_str(json_path(s->json,
	    "parked.0"), "id", ""));
	SYNC(s, store_ledger_remove(s->store, STORE_PARKED, id, sync_on_done, s));
	recover(s);
	assert_int_equal(json_len(json_get(s->json, "parked")), 0);
}

static void
a_clock_behind_the_store_parks_nothing(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "old", true);
	s->now += 3 * DAY;
	sync_say(s, "k2", "2", "newest", true);
	s->now -= DAY;		/* still two days after the first */
	recover(s);
	assert_int_equal(json_len(json_get(s->json, "parked")), 0);
	assert_int_equal(json_len(json_get(s->json, "sessions")), 2);
}

/* ---- retention ------------------------------------------------------------- */

/* Time passes in ticks, so that the store's own jobs run in between. */
static void
hours_pass(struct sync *s, int hours)
{
	for (int i = 0; i < 6 * hours; i++) {
		sim_advance(s->loop, 10 * 60 * 1000);
		while (store_health(s->store).depth > 0)
			sim_wait(s->loop, 1000);
	}
}

static int64_t
rows(struct sync *s, const char *table)
{
	char *sql = mem_printf("SELECT count(*) FROM %s", table);
	int64_t n = sync_sql(s, sql);

	mem_free(sql);
	return n;
}

static void
what_is_over_and_old_is_deleted_and_the_rest_is_kept(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };

	sync_say(s, K, "1", "q", true);
	SYNC(s, store_tool_start(s->store, &run, "c", "terminal", "{}", false,
	    s->now, sync_on_done, s));
	SYNC(s, store_tool_end(s->store, &run, "c", "ended", NULL, s->now,
	    sync_on_done, s));
	sync_finish(s, K, 1, "a", 1, true);
	sync_mark(s, s->row.id, "delivered", "1");
	sync_say(s, K, "2", "r", true);
	sync_finish(s, K, 2, "b", 2, true);
	sync_mark(s, s->row.id, "unknown", NULL);
	sync_say(s, "waits", "3", "w", false);
	hours_pass(s, 6 * 24);
	assert_int_equal(rows(s, "inbox"), 3);
	s->now += 6 * DAY;
	assert_int_equal(sync_say(s, K, "1", "q", true), ERR_NONE);
	assert_int_equal(s->ids[0], 0);		/* the key is still known */
	hours_pass(s, 2 * 24);
	assert_int_equal(rows(s, "inbox"), 1);	/* what waits */
	assert_int_equal(rows(s, "outbox"), 2);	/* unknown, waiting */
	assert_int_equal(rows(s, "run"), 1);	/* of what is in the outbox */
	assert_int_equal(rows(s, "tool"), 0);
	assert_string_equal(sync_transcript(s, K),
	    "user:q|assistant:a|user:r|assistant:b");
	sync_say(s, K, "4", "on", true);
	assert_int_equal(s->claim.generation, 3);
}

static void
nothing_is_deleted_while_the_clock_jumps_or_lags(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 0, false);
	sim_advance(s->loop, 5 * 60 * 1000);
	sim_set_wall(s->loop, SYNC_WALL + 300 * DAY);	/* the clock lies */
	sim_advance(s->loop, 5 * 60 * 1000);
	SYNC(s, store_load(s->store, K, 1, 1, sync_on_json, s));
	assert_int_equal(rows(s, "inbox"), 1);
	sim_set_wall(s->loop, SYNC_WALL);
	hours_pass(s, 1);
	assert_int_equal(rows(s, "inbox"), 1);
	s->now += 400 * DAY;		/* stored by a clock ahead of ours */
	sync_say(s, "k2", "2", "q", true);
	sim_set_wall(s->loop, SYNC_WALL + 300 * DAY);
	hours_pass(s, 2);
	assert_int_equal(rows(s, "inbox"), 2);
}

#define T(f) cmocka_unit_test_setup_teardown(f, sync_setup, sync_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_open_gives_empty_lists),
		T(an_interrupted_run_is_resumed_three_times_and_then_closed),
		T(words_accepted_but_never_claimed_are_answered_without_an_attempt),
		T(a_run_with_an_unknown_tool_is_reported_not_resumed),
		T(a_tool_that_only_read_or_that_ended_does_not_stop_a_resume),
		T(a_tool_of_a_cancelled_predecessor_counts_too),
		T(a_send_in_flight_becomes_unknown_and_is_not_repeated),
		T(a_call_without_a_row_was_not_started),
		T(a_preview_of_an_interrupted_run_gets_its_last_edit),
		T(open_approvals_expire_before_anything_else_can_answer),
		T(approvals_are_closed_once_and_withdrawn_with_their_run),
		T(what_is_older_than_a_day_is_parked),
		T(a_clock_behind_the_store_parks_nothing),
		T(what_is_over_and_old_is_deleted_and_the_rest_is_kept),
		T(nothing_is_deleted_while_the_clock_jumps_or_lags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
