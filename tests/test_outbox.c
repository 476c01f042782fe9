/* Delivery's half of the store, and rule 1.5: a new message while an answer goes out. */
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

static enum err_code
add(struct sync *s, const char *key, uint64_t generation, enum outbox_kind kind,
	const char *text)
{
	struct run_ref run = { key, generation };
	struct outbox_chunk chunk = {
		.kind = kind, .platform = "telegram", .account = "1",
		.chat_id = "42", .thread_id = "", .text = text,
	};

	return SYNC(s, store_outbox_add(s->store, key ? &run : NULL, &chunk,
	    s->now, sync_on_rows, s));
}

static int64_t
state_count(struct sync *s, const char *state)
{
	char *sql = mem_printf("SELECT count(*) FROM outbox WHERE state = '%s'",
	    state);
	int64_t n = sync_sql(s, sql);

	mem_free(sql);
	return n;
}

static void
the_first_chunk_comes_back_sending_and_the_rest_in_order(void **state)
{
	struct sync *s = *state;
	char nonce[32];

	sync_say(s, K, "1", "q", true);
	assert_int_equal(sync_finish(s, K, 1, "a", 3, true), ERR_NONE);
	assert_int_equal(s->nrows, 1);
	assert_string_equal(s->row.text, "a 1");
	assert_string_equal(s->row.session_key, K);
	assert_int_equal(s->row.generation, 1);
	assert_int_equal(s->row.attempts, 1);
	memcpy(nonce, s->row.nonce, sizeof(nonce));
	sync_mark(s, s->row.id, "delivered", "100");
	for (int i = 2; i <= 3; i++) {
		sync_take(s);
		assert_int_equal(s->nrows, 1);
		assert_int_equal(s->row.text[2], '0' + i);
		assert_string_not_equal(s->row.nonce, nonce);
		assert_int_equal(sync_mark(s, s->row.id, "delivered", "101"),
		    ERR_NONE);
	}
	sync_take(s);
	assert_int_equal(s->nrows, 0);
	/* what was delivered is kept once, in the transcript */
	assert_int_equal(sync_sql(s, "SELECT sum(length(text)) FROM outbox"), 0);
	assert_string_equal(sync_transcript(s, K), "user:q|assistant:a");
}

static void
a_finish_does_not_overtake_what_the_chat_still_waits_for(void **state)
{
	struct sync *s = *state;

	add(s, NULL, 0, OUT_REPORT, "earlier");
	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 1, true);
	assert_int_equal(s->nrows, 0);
	sync_take(s);
	assert_string_equal(s->row.text, "earlier");
	/* also not while one is in flight */
	sync_say(s, "k2", "2", "q", true);
	sync_finish(s, "k2", 1, "b", 1, true);
	assert_int_equal(s->nrows, 0);
}

static void
a_flood_wait_holds_the_order_and_survives_a_restart(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 2, true);
	int64_t first = s->row.id;
	SYNC(s, store_outbox_mark(s->store, first, "waiting", NULL,
	    s->now + 149000, "flood", s->now, sync_on_done, s));
	sync_take(s);
	assert_int_equal(s->nrows, 1);		/* shown, but not taken */
	assert_true(s->row.not_before > s->now);
	assert_int_equal(s->row.attempts, 1);
	SYNC(s, store_outbox_chats(s->store, sync_on_json, s));
	assert_int_equal(json_len(s->json), 1);
	assert_int_equal(json_get_int(json_at(s->json, 0), "due", 0),
	    s->now + 149000);
	sync_reopen(s);
	s->now += 60000;
	SYNC(s, store_recover(s->store, s->now, sync_on_json, s));
	SYNC(s, store_outbox_owed(s->store, sync_on_json, s));
	assert_int_equal(json_len(s->json), 0);
	s->now += 89000;
	sync_take(s);
	assert_int_equal(s->row.id, first);
	assert_int_equal(s->row.attempts, 2);
	assert_int_equal(sync_mark(s, first, "delivered", "9"), ERR_NONE);
	assert_int_equal(state_count(s, "delivered"), 1);
}

static void
a_clock_set_back_does_not_lengthen_a_wait(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 1, true);
	SYNC(s, store_outbox_mark(s->store, s->row.id, "waiting", NULL,
	    s->now + 5000, NULL, s->now, sync_on_done, s));
	s->now -= 3600000;
	SYNC(s, store_recover(s->store, s->now, sync_on_json, s));
	s->now += 5000;
	sync_take(s);
	assert_int_equal(s->row.attempts, 2);
}

static void
rows_of_a_dead_run_are_never_taken(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	assert_int_equal(add(s, K, 1, OUT_PREVIEW, "pre"), ERR_NONE);
	sync_say(s, K, "2", "r", true);
	SYNC(s, store_outbox_chats(s->store, sync_on_json, s));
	assert_int_equal(json_len(s->json), 0);
	sync_take(s);
	assert_int_equal(s->nrows, 0);
	assert_int_equal(add(s, K, 1, OUT_PROMPT, "ask"), ERR_DENIED);
	/* the fence itself, not only the claim's sweep */
	sync_close(s);
	sync_sql_run(s->path, "UPDATE outbox SET state = 'waiting'");
	assert_true(sync_try_open(s));
	sync_take(s);
	assert_int_equal(s->nrows, 0);
	assert_int_equal(state_count(s, "withdrawn"), 1);
}

static void
rows_of_a_finished_run_are_not_dead_also_after_a_restart(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 1, false);
	assert_int_equal(add(s, K, 1, OUT_REPORT, "note"), ERR_NONE);
	sync_reopen(s);
	SYNC(s, store_recover(s->store, s->now, sync_on_json, s));
	assert_int_equal(json_len(json_get(s->json, "sessions")), 0);
	sync_take(s);
	assert_string_equal(s->row.text, "a 1");
}

static void
a_stopped_run_sends_nothing_more(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	add(s, K, 1, OUT_PREVIEW, "pre");
	SYNC(s, store_stop(s->store, K, s->now, sync_on_done, s));
	sync_take(s);
	assert_int_equal(s->nrows, 0);
	assert_int_equal(add(s, K, 1, OUT_PREVIEW, "pre"), ERR_DENIED);
}

static void
the_final_text_edits_the_preview_whose_id_is_known(void **state)
{
	struct sync *s = *state;
	struct json *e = json_set_str(json_object(), "role", "assistant");
	struct outbox_chunk chunk = {
		.kind = OUT_FINAL, .platform = "telegram", .account = "1",
		.chat_id = "42", .thread_id = "", .text = "final",
	};
	struct finish_req req = {
		.run = { K, 1 }, .entry = e, .chunks = &chunk, .nchunks = 1,
		.outcome = "answered", .send_first = true, .now_wall = s->now,
	};

	sync_say(s, K, "1", "q", true);
	add(s, K, 1, OUT_PREVIEW, "pre");
	chunk.edit_of = s->row.id;
	sync_take(s);
	sync_mark(s, s->row.id, "delivered", "555");
	SYNC(s, store_finish(s->store, &req, sync_on_rows, s));
	assert_string_equal(s->row.edit_msg_id, "555");
	/* an edit may be repeated: found in flight at boot, it waits again */
	sync_reopen(s);
	SYNC(s, store_recover(s->store, s->now, sync_on_json, s));
	SYNC(s, store_outbox_owed(s->store, sync_on_json, s));
	assert_int_equal(json_len(s->json), 0);
	sync_take(s);
	assert_string_equal(s->row.edit_msg_id, "555");
	json_free(&e);
}

static void
a_preview_never_sent_is_withdrawn_by_its_final_text(void **state)
{
	struct sync *s = *state;
	struct outbox_chunk chunk = {
		.kind = OUT_FINAL, .platform = "telegram", .account = "1",
		.chat_id = "42", .thread_id = "", .text = "final",
	};
	struct finish_req req = {
		.run = { K, 1 }, .chunks = &chunk, .nchunks = 1,
		.outcome = "answered", .send_first = true, .now_wall = s->now,
	};

	sync_say(s, K, "1", "q", true);
	add(s, K, 1, OUT_PREVIEW, "pre");
	chunk.edit_of = s->row.id;
	SYNC(s, store_finish(s->store, &req, sync_on_rows, s));
	assert_int_equal(s->nrows, 1);
	assert_string_equal(s->row.text, "final");
	assert_string_equal(s->row.edit_msg_id, "");
	sync_mark(s, s->row.id, "delivered", "1");
	sync_take(s);
	assert_int_equal(s->nrows, 0);
}

static void
only_a_row_in_flight_can_be_marked(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 1, false);
	assert_int_equal(sync_mark(s, 1, "delivered", "1"), ERR_NOT_FOUND);
	sync_take(s);
	assert_int_equal(sync_mark(s, 1, "done", "1"), ERR_INVALID);
	assert_int_equal(sync_mark(s, 1, "unknown", NULL), ERR_NONE);
	assert_int_equal(sync_mark(s, 1, "delivered", "1"), ERR_NONE);
	assert_int_equal(sync_mark(s, 1, "waiting", NULL), ERR_NOT_FOUND);
}

/* ---- rule 1.5 ------------------------------------------------------------- */

static void
nothing_withdrawn_means_the_old_run_counts_as_finished(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 1, true);	/* its only chunk is in flight */
	int64_t row = s->row.id;
	sync_say(s, K, "2", "r", true);
	assert_int_equal(s->claim.withdrawn, 0);
	assert_int_equal(s->claim.set_size, 1);
	assert_int_equal(sync_mark(s, row, "delivered", "1"), ERR_NONE);
	assert_string_equal(sync_transcript(s, K), "user:q|assistant:a|user:r");
}

static void
withdrawn_chunks_cut_the_answer_and_its_set_joins_the_next_run(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 3, true);
	sync_mark(s, s->row.id, "delivered", "1");
	sync_take(s);
	int64_t flying = s->row.id;		/* "a 2" */
	sync_say(s, K, "2", "r", true);
	assert_int_equal(s->claim.withdrawn, 1);
	assert_int_equal(s->claim.set_size, 2);
	assert_string_equal(sync_transcript(s, K), "user:q|assistant:a 1~|user:r");
	/* the one in flight is recorded, and the history tells it too */
	assert_int_equal(sync_mark(s, flying, "delivered", "2"), ERR_NONE);
	assert_string_equal(sync_transcript(s, K),
	    "user:q|assistant:a 1\na 2~|user:r");
	sync_take(s);
	assert_int_equal(s->nrows, 0);
	assert_int_equal(sync_finish(s, K, 2, "both", 1, true), ERR_NONE);
	assert_int_equal(sync_sql(s, "SELECT count(*) FROM inbox WHERE"
	    " state = 'answered' AND answer = (SELECT max(id) FROM outbox)"), 2);
}

static void
an_answer_of_which_nothing_arrived_was_never_said(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 2, false);
	sync_say(s, K, "2", "r", true);
	assert_int_equal(s->claim.withdrawn, 2);
	assert_int_equal(s->claim.set_size, 2);
	assert_string_equal(sync_transcript(s, K), "user:q|user:r");
}

static void
a_chunk_in_flight_that_failed_is_not_retried_after_a_cut(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 2, true);
	int64_t flying = s->row.id;
	sync_say(s, K, "2", "r", true);
	assert_int_equal(s->claim.withdrawn, 1);
	SYNC(s, store_outbox_mark(s->store, flying, "waiting", NULL, s->now,
	    "429", s->now, sync_on_done, s));
	sync_take(s);
	assert_int_equal(s->nrows, 0);
	assert_string_equal(sync_transcript(s, K), "user:q|user:r");
}

static void
a_report_is_not_withdrawn_by_a_new_message(void **state)
{
	struct sync *s = *state;
	struct outbox_chunk chunk = {
		.kind = OUT_REPORT, .platform = "telegram", .account = "1",
		.chat_id = "42", .thread_id = "", .text = "rm: end unknown",
	};
	struct finish_req req = {
		.run = { K, 1 }, .chunks = &chunk, .nchunks = 1,
		.outcome = "reported", .now_wall = s->now,
	};

	sync_say(s, K, "1", "q", true);
	SYNC(s, store_finish(s->store, &req, sync_on_rows, s));
	sync_say(s, K, "2", "r", true);
	assert_int_equal(s->claim.withdrawn, 0);
	assert_int_equal(s->claim.set_size, 1);
	sync_take(s);
	assert_string_equal(s->row.text, "rm: end unknown");
}

static void
stop_takes_back_the_rest_of_an_answer(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 2, true);
	sync_mark(s, s->row.id, "delivered", "1");
	SYNC(s, store_stop(s->store, K, s->now, sync_on_done, s));
	sync_take(s);
	assert_int_equal(s->nrows, 0);
	assert_string_equal(sync_transcript(s, K), "user:q|assistant:a 1~");
}

/* ---- resend, migration ------------------------------------------------------ */

static void
a_resend_copies_the_whole_answer_once(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 2, true);
	int64_t first = s->row.id;
	sync_mark(s, first, "delivered", "1");
	sync_take(s);
	sync_mark(s, s->row.id, "unknown", NULL);
	/* a button pressed in another chat reaches nothing here */
	assert_int_equal(SYNC(s, store_outbox_resend(s->store, first, "another", NULL,
	    s->now, sync_on_done, s)), ERR_NOT_FOUND);
	assert_int_equal(SYNC(s, store_outbox_resend(s->store, first, NULL, NULL, s->now,
	    sync_on_done, s)), ERR_NONE);
	assert_int_equal(SYNC(s, store_outbox_resend(s->store, first + 1, NULL, NULL, s->now,
	    sync_on_done, s)), ERR_EXISTS);
	/* a new message does not take back what a person asked for */
	sync_say(s, K, "2", "r", true);
	assert_int_equal(s->claim.set_size, 1);
	for (int i = 1; i <= 2; i++) {
		sync_take(s);
		assert_int_equal(s->row.text[2], '0' + i);
		assert_true(s->row.id > first + 1);
		sync_mark(s, s->row.id, "delivered", "2");
	}
	assert_int_equal(SYNC(s, store_outbox_resend(s->store, s->row.id, NULL, NULL, s->now,
	    sync_on_done, s)), ERR_EXISTS);
	assert_int_equal(SYNC(s, store_outbox_resend(s->store, 999, NULL, NULL, s->now,
	    sync_on_done, s)), ERR_NOT_FOUND);
}

/* Rules 2.3: what is sent again unasked has its label before it, in one commit. */
static void
a_label_goes_before_what_is_sent_again(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 1, true);
	int64_t first = s->row.id;
	sync_mark(s, first, "unknown", NULL);
	SYNC(s, store_outbox_owed(s->store, sync_on_json, s));
	assert_int_equal(json_len(s->json), 1);
	assert_int_equal(SYNC(s, store_outbox_resend(s->store, first, NULL,
	    "again", s->now, sync_on_done, s)), ERR_NONE);
	SYNC(s, store_outbox_owed(s->store, sync_on_json, s));
	assert_int_equal(json_len(s->json), 0);
	sync_take(s);
	assert_string_equal(s->row.text, "again");
	sync_reopen(s);		/* nobody is told of the label's own end */
	SYNC(s, store_recover(s->store, s->now, sync_on_json, s));
	SYNC(s, store_outbox_owed(s->store, sync_on_json, s));
	assert_int_equal(json_len(s->json), 0);
	sync_take(s);
	assert_string_equal(s->row.text, "a 1");
}

/* Rules 2.5: marked with the state; the history knows it, once. */
static void
an_answer_given_up_is_owed_and_in_the_history(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "q", true);
	sync_finish(s, K, 1, "a", 1, true);
	sync_mark(s, s->row.id, "refused", NULL);
	sync_reopen(s);
	SYNC(s, store_recover(s->store, s->now, sync_on_json, s));
	SYNC(s, store_outbox_owed(s->store, sync_on_json, s));
	assert_int_equal(json_len(s->json), 1);
	assert_string_equal(json_get_str(json_at(s->json, 0), "state", ""),
	    "refused");
	SYNC(s, store_load(s->store, K, 100, 1 << 20, sync_on_json, s));
	assert_int_equal(json_len(s->json), 3);
	assert_string_equal(json_get_str(json_at(s->json, 2), "mark", ""),
	    "undelivered");
}

static enum err_code
migrate(struct sync *s)
{
	return SYNC(s, store_migrate_chat(s->store, "telegram", "1", "42",
	    "-1009001", sync_on_done, s));
}

static void
a_chat_moves_with_its_session_and_its_unsent_rows(void **state)
{
	struct sync *s = *state;
	const char *moved = "agent:main:telegram:dm:-1009001";

	sync_say(s, K, "1", "q", true);
	sync_say(s, K, "2", "r", true);
	add(s, K, 2, OUT_PREVIEW, "pre");
	assert_int_equal(migrate(s), ERR_NONE);
	/* the run under way still knows its old key and chat */
	assert_int_equal(sync_finish(s, K, 2, "a", 1, false), ERR_NONE);
	assert_string_equal(sync_transcript(s, moved),
	    "user:q|user:r|assistant:a");
	sync_take(s);
	assert_string_equal(s->row.chat_id, "-1009001");
	assert_string_equal(s->row.session_key, moved);
	sync_mark(s, s->row.id, "delivered", "1");
	sync_take(s);
	assert_string_equal(s->row.text, "a 1");
	assert_string_equal(s->row.chat_id, "-1009001");
	/* the second signal changes nothing */
	assert_int_equal(migrate(s), ERR_NONE);
	sync_say(s, moved, "3", "s", true);
	assert_int_equal(s->claim.generation, 3);
	assert_int_equal(sync_sql(s, "SELECT count(*) FROM session"), 1);
	assert_int_equal(sync_sql(s, "SELECT json_extract(origin, '$.chat') ="
	    " '42' FROM session"), 1);	/* the last claim's */
}

static void
words_of_the_new_chat_that_came_first_are_joined(void **state)
{
	struct sync *s = *state;
	const char *moved = "agent:main:telegram:dm:-1009001";

	sync_say(s, K, "1", "old", true);
	sync_append(s, K, 1, "assistant", "part");
	sync_say(s, moved, "2", "new", true);
	assert_int_equal(migrate(s), ERR_NONE);
	assert_int_equal(sync_append(s, moved, 1, "assistant", "b"), ERR_NONE);
	assert_string_equal(sync_transcript(s, moved),
	    "user:old|assistant:part|user:new|assistant:b");
	/* the old chat's unanswered words wait for the joined session's run */
	sync_say(s, moved, "3", "more", true);
	assert_int_equal(s->claim.set_size, 3);
	assert_int_equal(sync_finish(s, moved, 2, "all", 1, true), ERR_NONE);
}

#define T(f) cmocka_unit_test_setup_teardown(f, sync_setup, sync_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_first_chunk_comes_back_sending_and_the_rest_in_order),
		T(a_finish_does_not_overtake_what_the_chat_still_waits_for),
		T(a_flood_wait_holds_the_order_and_survives_a_restart),
		T(a_clock_set_back_does_not_lengthen_a_wait),
		T(rows_of_a_dead_run_are_never_taken),
		T(rows_of_a_finished_run_are_not_dead_also_after_a_restart),
		T(a_stopped_run_sends_nothing_more),
		T(the_final_text_edits_the_preview_whose_id_is_known),
		T(a_preview_never_sent_is_withdrawn_by_its_final_text),
		T(only_a_row_in_flight_can_be_marked),
		T(nothing_withdrawn_means_the_old_run_counts_as_finished),
		T(withdrawn_chunks_cut_the_answer_and_its_set_joins_the_next_run),
		T(an_answer_of_which_nothing_arrived_was_never_said),
		T(a_chunk_in_flight_that_failed_is_not_retried_after_a_cut),
		T(a_report_is_not_withdrawn_by_a_new_message),
		T(stop_takes_back_the_rest_of_an_answer),
		T(a_resend_copies_the_whole_answer_once),
		T(a_label_goes_before_what_is_sent_again),
		T(an_answer_given_up_is_owed_and_in_the_history),
		T(a_chat_moves_with_its_session_and_its_unsent_rows),
		T(words_of_the_new_chat_that_came_first_are_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
