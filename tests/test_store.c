/* The store's calls on a real file: intake, runs, transcript, stop, reset. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/store_job.h"
#include "tests/loop_sim.h"
#include "tests/store_sync.h"

#define K "agent:main:telegram:dm:42"

static struct accept_req
request(struct sync *s, const struct inbox_event *events, size_t n,
	const struct inbox_claim *claims, size_t nclaims)
{
	s->expect_ids = n;
	s->expect_claims = nclaims;
	return (struct accept_req){
		.platform = "telegram", .account = "1", .cursor = "507",
		.events = events, .nevents = n, .claims = claims,
		.nclaims = nclaims, .now_wall = s->now,
	};
}

static struct inbox_event
turn(const char *id, const char *text)
{
	return (struct inbox_event){
		.kind = INBOX_TURN, .kind_name = "text", .event_id = id,
		.session_key = K, .chat_id = "42", .thread_id = "",
		.user_id = "7", .msg_id = id, .text = text, .sent_wall = SYNC_WALL,
	};
}

static const struct inbox_claim claim_now = { K, "{\"chat\":\"42\"}", true, 0 };

static void
words_are_stored_with_the_cursor_and_claimed_in_one_call(void **state)
{
	struct sync *s = *state;
	struct inbox_event e[6];
	static const char *const ids[] = { "501", "502", "503", "504", "505", "506" };

	for (int i = 0; i < 6; i++)
		e[i] = turn(ids[i], "m");
	struct accept_req req = request(s, e, 6, &claim_now, 1);
	assert_int_equal(SYNC(s, store_accept(s->store, &req, sync_on_accept, s)),
	    ERR_NONE);
	for (int i = 0; i < 6; i++)
		assert_true(s->ids[i] > 0);
	assert_true(s->claim.claimed && s->claim.first);
	assert_int_equal(s->claim.generation, 1);
	assert_int_equal(s->claim.set_size, 6);
	assert_int_equal(strlen(s->claim.session_id), 24);
	assert_memory_equal(s->claim.session_id, "20260921_1", 10);
	assert_int_equal(SYNC(s, store_cursor_get(s->store, "telegram", "1",
	    sync_on_json, s)), ERR_NONE);
	assert_string_equal(json_get_str(s->json, "value", ""), "507");
	assert_int_equal(json_get_int(s->json, "at", 0), s->now);
	assert_int_equal(SYNC(s, store_cursor_get(s->store, "telegram", "2",
	    sync_on_json, s)), ERR_NONE);
	assert_null(s->json);
}

static void
a_duplicate_is_known_by_its_key_even_within_a_batch(void **state)
{
	struct sync *s = *state;
	struct inbox_event e[3] = { turn("1", "a"), turn("1", "a"), turn("2", "b") };

	e[2].event_id = "1";		/* the same id of another kind is new */
	e[2].kind_name = "edit";
	struct accept_req req = request(s, e, 3, &claim_now, 1);
	assert_int_equal(SYNC(s, store_accept(s->store, &req, sync_on_accept, s)),
	    ERR_NONE);
	assert_true(s->ids[0] > 0 && s->ids[1] == 0 && s->ids[2] > 0);
	assert_int_equal(s->claim.set_size, 2);
	assert_int_equal(SYNC(s, store_accept(s->store, &req, sync_on_accept, s)),
	    ERR_NONE);
	assert_true(s->ids[0] == 0 && s->ids[1] == 0 && s->ids[2] == 0);
	assert_false(s->claim.claimed);
	req.account = "2";		/* another bot: another key */
	assert_int_equal(SYNC(s, store_accept(s->store, &req, sync_on_accept, s)),
	    ERR_NONE);
	assert_true(s->ids[0] > 0);
}

static void
a_claim_takes_over_the_set_and_keeps_all_words(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "disk?", true);
	assert_int_equal(sync_say(s, K, "2", "uptime?", true), ERR_NONE);
	assert_int_equal(s->claim.generation, 2);
	assert_int_equal(s->claim.set_size, 2);
	assert_false(s->claim.first);
	/* closing words of the first run come late and stay before the second's */
	assert_int_equal(sync_append(s, K, 1, "assistant", "partial"), ERR_NONE);
	assert_int_equal(sync_append(s, K, 2, "assistant", "hm"), ERR_NONE);
	assert_string_equal(sync_transcript(s, K),
	    "user:disk?|assistant:partial|user:uptime?|assistant:hm");
	sync_reopen(s);
	assert_string_equal(sync_transcript(s, K),
	    "user:disk?|assistant:partial|user:uptime?|assistant:hm");
}

static void
rows_that_wait_are_claimed_later(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "a", false);
	assert_false(s->claim.claimed);
	sync_say(s, K, "2", "b", false);
	assert_string_equal(sync_transcript(s, K), "");
	s->expect_claims = 1;
	s->expect_ids = 0;
	assert_int_equal(SYNC(s, store_claim(s->store, K, s->now, sync_on_accept,
	    s)), ERR_NONE);
	assert_true(s->claim.claimed);
	assert_int_equal(s->claim.set_size, 2);
	assert_string_equal(sync_transcript(s, K), "user:a|user:b");
	sync_finish(s, K, 1, "ok", 1, false);
	assert_int_equal(SYNC(s, store_claim(s->store, K, s->now, sync_on_accept,
	    s)), ERR_NONE);
	assert_false(s->claim.claimed);
}

static void
a_command_and_an_unreadable_update_are_stored_without_a_run(void **state)
{
	struct sync *s = *state;
	struct inbox_event e[2] = { turn("1", "/status"), turn("2", NULL) };

	e[0].kind = INBOX_CONTROL;
	e[1].kind = INBOX_PASSED;
	e[1].session_key = NULL;
	struct accept_req req = request(s, e, 2, &claim_now, 1);
	assert_int_equal(SYNC(s, store_accept(s->store, &req, sync_on_accept, s)),
	    ERR_NONE);
	assert_true(s->ids[0] > 0 && s->ids[1] > 0);
	assert_false(s->claim.claimed);
	assert_int_equal(sync_sql(s, "SELECT count(*) FROM inbox"
	    " WHERE state = 'recorded'"), 2);
}

static void
an_edit_of_unanswered_words_replaces_them_and_claims(void **state)
{
	struct sync *s = *state;
	struct inbox_event e = turn("1/9", "ls -l");

	sync_say(s, K, "1", "ls", true);
	e.kind = INBOX_EDIT;
	e.kind_name = "edit";
	e.ref_id = "1";
	struct accept_req req = request(s, &e, 1, &claim_now, 1);
	assert_int_equal(SYNC(s, store_accept(s->store, &req, sync_on_accept, s)),
	    ERR_NONE);
	assert_true(s->claim.claimed);
	assert_int_equal(s->claim.set_size, 1);
	assert_string_equal(sync_transcript(s, K), "user:ls -l");
	sync_finish(s, K, 2, "done", 1, true);
	sync_mark(s, s->row.id, "delivered", "100");
	e.event_id = "1/10";
	e.text = "ls -a";
	assert_int_equal(SYNC(s, store_accept(s->store, &req, sync_on_accept, s)),
	    ERR_NONE);
	assert_false(s->claim.claimed);
	assert_string_equal(sync_transcript(s, K), "user:ls -l|assistant:done");
}

static void
an_edit_of_words_that_wait_replaces_them(void **state)
{
	struct sync *s = *state;
	struct inbox_event e = turn("1/9", "new");
	struct inbox_claim c = { K, NULL, false, 0 };

	sync_say(s, K, "1", "old", false);
	e.kind = INBOX_EDIT;
	e.ref_id = "1";
	struct accept_req req = request(s, &e, 1, &c, 1);
	SYNC(s, store_accept(s->store, &req, sync_on_accept, s));
	SYNC(s, store_claim(s->store, K, s->now, sync_on_accept, s));
	assert_string_equal(sync_transcript(s, K), "user:new");
}

static void
finish_of_a_dead_generation_is_refused_whole(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "a", true);
	sync_say(s, K, "2", "b", true);
	assert_int_equal(sync_finish(s, K, 1, "late", 1, true), ERR_DENIED);
	assert_string_equal(sync_transcript(s, K), "user:a|user:b");
	assert_int_equal(sync_sql(s, "SELECT count(*) FROM outbox"), 0);
	assert_int_equal(sync_finish(s, K, 2, "both", 1, true), ERR_NONE);
	assert_int_equal(sync_finish(s, K, 2, "again", 1, true), ERR_DENIED);
	assert_int_equal(sync_sql(s, "SELECT count(*) FROM inbox"
	    " WHERE state = 'answered' AND answer > 0"), 2);
	assert_int_equal(sync_append(s, K, 9, "assistant", "x"), ERR_NOT_FOUND);
}

static void
stop_closes_the_set_for_good(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "a", true);
	sync_say(s, K, "2", "queued", false);
	assert_int_equal(SYNC(s, store_stop(s->store, K, s->now, sync_on_done,
	    s)), ERR_NONE);
	assert_int_equal(sync_finish(s, K, 1, "late", 1, true), ERR_DENIED);
	assert_int_equal(SYNC(s, store_recover(s->store, s->now, sync_on_json,
	    s)), ERR_NONE);
	assert_int_equal(json_len(json_get(s->json, "sessions")), 0);
	/* the words are not lost to the history, nor to the next run */
	assert_int_equal(sync_say(s, K, "3", "c", true), ERR_NONE);
	assert_int_equal(s->claim.set_size, 1);
	assert_string_equal(sync_transcript(s, K), "user:a|user:queued|user:c");
	assert_int_equal(SYNC(s, store_stop(s->store, "no such", s->now,
	    sync_on_done, s)), ERR_NONE);
}

static void
reset_starts_a_conversation_and_never_lowers_the_generation(void **state)
{
	struct sync *s = *state;
	char old[40];

	sync_say(s, K, "1", "a", true);
	memcpy(old, s->session_id, sizeof(old));
	assert_int_equal(SYNC(s, store_reset(s->store, K, s->now, sync_on_json,
	    s)), ERR_NONE);
	assert_string_not_equal(json_get_str(s->json, "session_id", ""), old);
	assert_string_equal(sync_transcript(s, K), "");
	/* late words of the stopped run go where they belong */
	assert_int_equal(sync_append(s, K, 1, "assistant", "late"), ERR_NONE);
	assert_string_equal(sync_transcript(s, K), "");
	sync_say(s, K, "2", "b", true);
	assert_int_equal(s->claim.generation, 2);
	assert_string_not_equal(s->session_id, old);
	assert_string_equal(sync_transcript(s, K), "user:b");
}

static void
load_is_bounded_by_entries_and_bytes_and_keeps_the_newest(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "0", true);
	for (int i = 1; i < 10; i++) {
		char text[2] = { (char)('0' + i), '\0' };

		sync_append(s, K, 1, "assistant", text);
	}
	SYNC(s, store_load(s->store, K, 3, 1 << 20, sync_on_json, s));
	assert_int_equal(json_len(s->json), 3);
	assert_string_equal(json_get_str(json_at(s->json, 0), "content", ""), "7");
	assert_int_equal(json_get_int(json_at(s->json, 0), "at", 0), s->now);
	SYNC(s, store_load(s->store, K, 100, 80, sync_on_json, s));
	assert_int_equal(json_len(s->json), 2);
	assert_string_equal(json_get_str(json_at(s->json, 1), "content", ""), "9");
	SYNC(s, store_load(s->store, K, 100, 1, sync_on_json, s));
	assert_int_equal(json_len(s->json), 1);	/* never nothing */
	SYNC(s, store_load(s->store, "other", 100, 100, sync_on_json, s));
	assert_int_equal(json_len(s->json), 0);
}

static void
calls_not_awaited_take_effect_in_order_before_a_load(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };

	sync_say(s, K, "1", "q", true);
	for (int i = 0; i < 300; i++) {
		struct json *entries = json_array(), *e = json_object();

		json_set_str(e, "role", "assistant");
		json_set_int(e, "content", i);
		json_add_take(entries, e);
		assert_null(store_append(s->store, &run, entries, s->now, NULL,
		    NULL));
		json_free(&entries);
	}
	SYNC(s, store_load(s->store, K, 1000, 1 << 20, sync_on_json, s));
	assert_int_equal(json_len(s->json), 301);
	for (int i = 0; i < 300; i++)
		assert_int_equal(json_get_int(json_at(s->json, (size_t)i + 1),
		    "content", -1), i);
}

struct count { int n, failed; };

static void
count_done(void *arg, const struct err *err)
{
	struct count *c = arg;

	c->n++;
	c->failed += err != NULL;
}

static bool
count_is_64(void *arg)
{
	return ((struct count *)arg)->n == 64;
}

static void
one_failing_call_of_a_group_fails_alone(void **state)
{
	struct sync *s = *state;
	struct count c = { 0, 0 };
	struct run_ref good = { K, 1 }, bad = { K, 99 };
	struct json *entries = json_array();

	sync_say(s, K, "1", "q", true);
	json_add_take(entries, json_set_str(json_object(), "role", "tool"));
	uint64_t before = store_health(s->store).commits;
	for (int i = 0; i < 64; i++)
		store_append(s->store, i % 8 == 3 ? &bad : &good, entries,
		    s->now, count_done, &c);
	sim_wait_until(s->loop, count_is_64, &c);
	json_free(&entries);
	assert_int_equal(c.failed, 8);
	assert_int_equal(sync_sql(s, "SELECT count(*) FROM transcript"), 57);
	/* many calls, few commits: a group has no timer */
	assert_true(store_health(s->store).commits - before < 32);
}

static int
half_run(struct job *job, const struct q *q, struct err *err)
{
	(void)job;
	if (db_run(q->db, err, "INSERT INTO meta VALUES('main', 'half', '1')") == -1)
		return -1;
	return err_set(err, ERR_INVALID, "the second half fails");
}

static void
a_call_that_fails_midway_leaves_nothing_behind(void **state)
{
	static const struct job_type type = {
		.name = "half", .flags = JOB_WRITES, .result = JOB_DONE,
		.run = half_run,
	};
	struct sync *s = *state;

	struct json *row = json_object();

	store_ledger_put(s->store, "k", "before", row, NULL, NULL);
	assert_int_equal(SYNC(s, job_submit_done(job_new(s->store, &type,
	    sizeof(struct job)), sync_on_done, s)), ERR_INVALID);
	SYNC(s, store_ledger_put(s->store, "k", "after", row, sync_on_done, s));
	json_free(&row);
	assert_int_equal(sync_sql(s, "SELECT count(*) FROM ledger"), 2);
	assert_int_equal(sync_sql(s, "SELECT count(*) FROM meta"
	    " WHERE key = 'half'"), 0);
}

static void
cancel_drops_the_result_but_not_the_write(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };
	struct json *entries = json_array();
	struct count c = { 0, 0 };

	sync_say(s, K, "1", "q", true);
	json_add_take(entries, json_set_str(json_object(), "role", "tool"));
	struct op *op = store_append(s->store, &run, entries, s->now, count_done,
	    &c);
	op_cancel(&op);
	json_free(&entries);
	SYNC(s, store_load(s->store, K, 10, 1000, sync_on_json, s));
	assert_int_equal(json_len(s->json), 2);
	assert_int_equal(c.n, 0);
}

static void
what_is_over_a_bound_is_refused_later_and_cancellable(void **state)
{
	struct sync *s = *state;
	struct count c = { 0, 0 };
	char *key = mem_alloc(1000);

	memset(key, 'k', 999);
	struct op *op = store_stop(s->store, key, s->now, count_done, &c);
	assert_int_equal(c.n, 0);	/* never from inside the start */
	op_cancel(&op);
	sim_run_until_idle(s->loop);
	assert_int_equal(c.n, 0);
	assert_int_equal(SYNC(s, store_stop(s->store, key, s->now, sync_on_done,
	    s)), ERR_LIMIT);
	mem_free(key);
	struct inbox_event e = turn("", "no id");
	struct accept_req req = request(s, &e, 1, &claim_now, 1);
	assert_int_equal(SYNC(s, store_accept(s->store, &req, sync_on_accept, s)),
	    ERR_INVALID);
}

static void
tool_rows_precede_the_act_and_end_with_their_entry(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 }, next = { K, 2 };
	struct json *e = json_object();

	json_set_str(e, "role", "tool");
	json_set_str(e, "content", "cancelled, may have had effects");
	sync_say(s, K, "1", "q", true);
	assert_int_equal(SYNC(s, store_tool_start(s->store, &run, "c1", "terminal",
	    "{}", false, s->now, sync_on_done, s)), ERR_NONE);
	assert_int_equal(SYNC(s, store_tool_start(s->store, &run, "c1", "terminal",
	    "{}", false, s->now, sync_on_done, s)), ERR_EXISTS);
	sync_say(s, K, "2", "r", true);
	assert_int_equal(SYNC(s, store_tool_start(s->store, &run, "c2", "terminal",
	    "{}", false, s->now, sync_on_done, s)), ERR_DENIED);
	/* its end is told whoever runs now, once, and before the next words */
	assert_int_equal(SYNC(s, store_tool_end(s->store, &run, "c1", "unknown",
	    e, s->now, sync_on_done, s)), ERR_NONE);
	assert_int_equal(SYNC(s, store_tool_end(s->store, &run, "c1", "ended",
	    e, s->now, sync_on_done, s)), ERR_NOT_FOUND);
	assert_int_equal(SYNC(s, store_tool_end(s->store, &next, "c1", "gone",
	    NULL, s->now, sync_on_done, s)), ERR_INVALID);
	assert_string_equal(sync_transcript(s, K),
	    "user:q|tool:cancelled, may have had effects|user:r");
	/* nor is it lost where the disk refused its start */
	for (int i = 0; i < 2; i++)
		assert_int_equal(SYNC(s, store_tool_end(s->store, &next, "c3",
		    "ended", e, s->now, sync_on_done, s)),
		    i == 0 ? ERR_NONE : ERR_NOT_FOUND);
	assert_string_equal(sync_transcript(s, K),
	    "user:q|tool:cancelled, may have had effects|user:r|"
	    "tool:cancelled, may have had effects");
	json_free(&e);
}

static void
profiles_do_not_see_each_other(void **state)
{
	struct sync *s = *state;
	struct store_opts opts = { .path = s->path, .profile = "other" };

	sync_say(s, K, "1", "a", true);
	struct json *row = json_object();
	SYNC(s, store_ledger_put(s->store, "k", "i", row, sync_on_done, s));
	json_free(&row);
	sync_close(s);
	s->store = store_open(s->loop, &opts, &s->err);
	assert_non_null(s->store);
	assert_string_equal(sync_transcript(s, K), "");
	sync_say(s, K, "1", "b", true);
	assert_true(s->claim.claimed && s->claim.generation == 1);
	SYNC(s, store_ledger_list(s->store, "k", sync_on_json, s));
	assert_int_equal(json_len(s->json), 0);
	SYNC(s, store_conversations(s->store, 0, 10, sync_on_json, s));
	assert_int_equal(json_len(json_get(s->json, "list")), 1);
}

static void
the_summary_counts_what_is_open(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "a", true);
	sync_say(s, "k2", "2", "b", false);
	SYNC(s, store_summary(s->store, sync_on_json, s));
	assert_int_equal(json_get_int(s->json, "sessions", 0), 2);
	assert_int_equal(json_get_int(s->json, "inbox_waiting", 0), 1);
	assert_int_equal(json_get_int(s->json, "inbox_owned", 0), 1);
	assert_int_equal(json_get_int(s->json, "runs_open", 0), 1);
}

static void
the_ledger_keeps_what_it_is_given(void **state)
{
	struct sync *s = *state;
	struct json *row = json_set_str(json_object(), "pid", "7");

	SYNC(s, store_ledger_put(s->store, "sandbox", "a", row, sync_on_done, s));
	SYNC(s, store_ledger_put(s->store, "sandbox", "b", row, sync_on_done, s));
	json_set_str(row, "pid", "8");
	SYNC(s, store_ledger_put(s->store, "sandbox", "a", row, sync_on_done, s));
	SYNC(s, store_ledger_remove(s->store, "sandbox", "b", sync_on_done, s));
	SYNC(s, store_ledger_list(s->store, "sandbox", sync_on_json, s));
	assert_int_equal(json_len(s->json), 1);
	assert_string_equal(json_get_str(json_path(s->json, "0.row"), "pid", ""),
	    "8");
	json_free(&row);
}

#define T(f) cmocka_unit_test_setup_teardown(f, sync_setup, sync_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(words_are_stored_with_the_cursor_and_claimed_in_one_call),
		T(a_duplicate_is_known_by_its_key_even_within_a_batch),
		T(a_claim_takes_over_the_set_and_keeps_all_words),
		T(rows_that_wait_are_claimed_later),
		T(a_command_and_an_unreadable_update_are_stored_without_a_run),
		T(an_edit_of_unanswered_words_replaces_them_and_claims),
		T(an_edit_of_words_that_wait_replaces_them),
		T(finish_of_a_dead_generation_is_refused_whole),
		T(stop_closes_the_set_for_good),
		T(reset_starts_a_conversation_and_never_lowers_the_generation),
		T(load_is_bounded_by_entries_and_bytes_and_keeps_the_newest),
		T(calls_not_awaited_take_effect_in_order_before_a_load),
		T(one_failing_call_of_a_group_fails_alone),
		T(a_call_that_fails_midway_leaves_nothing_behind),
		T(cancel_drops_the_result_but_not_the_write),
		T(what_is_over_a_bound_is_refused_later_and_cancellable),
		T(tool_rows_precede_the_act_and_end_with_their_entry),
		T(profiles_do_not_see_each_other),
		T(the_summary_counts_what_is_open),
		T(the_ledger_keeps_what_it_is_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
