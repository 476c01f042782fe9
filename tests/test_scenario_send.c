/* Delivery on the hand-moved clock (rules 2). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/world.h"

static void
start(struct world *w, uint64_t seed)
{
	world_init(w, seed);
	world_boot(w);
}

static const char *
long_answer(void)
{
	static char text[600];

	memset(text, 'a', 180);
	memset(text + 181, 'b', 180);
	memset(text + 362, 'c', 180);
	text[180] = text[361] = '\n';
	text[542] = '\0';
	return text;
}

/* Case C026: three chunks and a notice, delays and a flood wait. */
static void
chunks_leave_in_order_whatever_the_platform_does(void **state)
{
	struct world w;

	(void)state;
	start(&w, 1);
	fake_model_script(w.model, &(struct fake_answer){ .text = long_answer() });
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .chat = "1001", .delay = 4000 });
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .chat = "1001", .outcome = SEND_NO, .error = SEND_ERR_RATE, .retry_after = 2000 });
	fake_say(w.platform, "1001", "write much");
	world_pass(&w, 1000);
	fake_say(w.platform, "1002", "hi");
	world_pass(&w, 1000);
	assert_string_equal(fake_last(w.platform, "1002"), "echo: hi");
	assert_true(world_settle(&w, 60000));
	assert_int_equal(fake_count(w.platform, "1001"), 3);
	assert_int_equal(fake_text(w.platform, "1001", 0)[0], 'a');
	assert_int_equal(fake_text(w.platform, "1001", 1)[0], 'b');
	assert_int_equal(fake_text(w.platform, "1001", 2)[0], 'c');
	world_done(&w);
}

/* Case C020: the wait outlives the process; the text is sent once. */
static void
a_long_flood_wait_survives_a_restart(void **state)
{
	struct world w;

	(void)state;
	start(&w, 2);
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .outcome = SEND_NO, .error = SEND_ERR_RATE, .retry_after = 149000 });
	msec_t t0 = loop_wall(w.loop);

	fake_say(w.platform, "1001", "hello");
	world_pass(&w, 60000);
	assert_int_equal(fake_count(w.platform, "1001"), 0);
	world_crash(&w);
	world_boot(&w);
	world_pass(&w, 60000);
	assert_int_equal(fake_count(w.platform, "1001"), 0);
	world_pass(&w, 120000);
	assert_int_equal(fake_count(w.platform, "1001"), 1);
	assert_true(loop_wall(w.loop) - t0 >= 149000);
	world_done(&w);
}

/* Case C004: one who blocked the bot holds up nobody. */
static void
a_blocked_chat_is_settled_once_and_holds_up_nobody(void **state)
{
	struct world w;

	(void)state;
	start(&w, 3);
	for (int i = 0; i < 2; i++)	/* the answer, and the notice about it */
		fake_platform_trouble(w.platform, &(struct fake_trouble){
		    .outcome = SEND_NO, .error = SEND_ERR_TARGET_GONE });
	fake_say(w.platform, "1002", "hello");
	world_pass(&w, 500);
	fake_say(w.platform, "1001", "hi");
	assert_true(world_settle(&w, 10000));
	assert_string_equal(fake_last(w.platform, "1001"), "echo: hi");
	assert_int_equal(fake_count(w.platform, "1002"), 0);
	world_stop(&w);
	world_boot(&w);
	world_pass(&w, 600000);
	assert_int_equal(fake_count(w.platform, "1002"), 0);
	world_done(&w);
}

/* Rules 2.3: unknown is not no. */
static void
an_unknown_send_is_not_repeated_but_told_with_a_button(void **state)
{
	struct world w;
	size_t i;

	(void)state;
	start(&w, 4);
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .delay = 100, .outcome = SEND_UNKNOWN });
	fake_say(w.platform, "1001", "hello");
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_count(w.platform, "1001"), 1);
	assert_true(fake_saw(w.platform, "1001", "may not have arrived"));
	for (i = 0; i < w.platform->nsent; i++)
		if (strncmp(w.platform->sent[i].buttons0, "rs:", 3) == 0)
			break;
	assert_true(i < w.platform->nsent);
	fake_press(w.platform, "1001", w.platform->sent[i].buttons0);
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_count(w.platform, "1001"), 2);
	assert_non_null(strstr(fake_last(w.platform, "1001"), "echo: hello"));
	world_done(&w);
}

/* Case C015: the group has a new id; the answer arrives there, once. */
static void
a_migrated_chat_gets_its_answer_at_the_new_id(void **state)
{
	struct world w;

	(void)state;
	start(&w, 5);
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .outcome = SEND_NO, .error = SEND_ERR_MIGRATED,
	    .new_chat_id = "-1009001" });
	fake_say(w.platform, "1001", "hello");
	assert_true(world_settle(&w, 10000));
	assert_int_equal(fake_count(w.platform, "1001"), 0);
	assert_int_equal(fake_count(w.platform, "-1009001"), 1);
	world_done(&w);
}

/*
 * The clock goes on while the store looks: a row that was not due then and is
 * now was not taken.  Red if it is sent all the same: it is sent again later.
 */
static void
a_row_that_becomes_due_while_it_is_looked_at_is_sent_once(void **state)
{
	struct world w;
	int ms = 0;

	(void)state;
	start(&w, 40);
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .outcome = SEND_NO, .error = SEND_ERR_RATE, .retry_after = 90000 });
	fake_say(w.platform, "1001", "hello");
	world_pass(&w, 50000);
	for (; ms < 20000 && store_health(w.store).depth == 0; ms++) {
		sim_advance(w.loop, 1);
		sim_run_until_idle(w.loop);
	}
	assert_true(ms < 20000);	/* it looks: not due for half a minute */
	sim_set_wall(w.loop, loop_wall(w.loop) + 40000);
	assert_true(world_settle(&w, 200000));
	assert_int_equal(fake_count(w.platform, "1001"), 1);
	assert_string_equal(fake_last(w.platform, "1001"), "echo: hello");
	world_done(&w);
}

/* Case C028: giving up is told to the person and to the next request. */
static void
a_refused_answer_is_told_to_person_and_model(void **state)
{
	struct world w;

	(void)state;
	start(&w, 6);
	fake_platform_trouble(w.platform, &(struct fake_trouble){
	    .outcome = SEND_NO, .error = SEND_ERR_REFUSED });
	fake_say(w.platform, "1001", "hello");
	assert_true(world_settle(&w, 10000));
	assert_true(fake_saw(w.platform, "1001", "could not deliver"));
	fake_say(w.platform, "1001", "and now?");
	assert_true(world_settle(&w, 10000));
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 1);

	assert_non_null(strstr(text, "not delivered"));
	world_done(&w);
}

static void
a_send_that_certainly_failed_is_tried_again(void **state)
{
	struct world w;

	(void)state;
	start(&w, 7);
	for (int i = 0; i < 5; i++)
		fake_platform_trouble(w.platform, &(struct fake_trouble){
		    .outcome = SEND_NO, .error = SEND_ERR_TRANSIENT });
	fake_say(w.platform, "1001", "hello");
	world_pass(&w, 600000);
	assert_int_equal(fake_count(w.platform, "1001"), 1);
	world_done(&w);
}

/* Rules 1.5: what waits is withdrawn, what is out is kept as cut off. */
static void
a_new_message_withdraws_the_chunks_that_wait(void **state)
{
	struct world w;

	(void)state;
	start(&w, 8);
	w.platform->delay = 1000;
	fake_model_script(w.model, &(struct fake_answer){ .text = long_answer() });
	fake_say(w.platform, "1001", "write much");
	world_pass(&w, 1500);		/* one chunk out, one in flight */
	fake_say(w.platform, "1001", "enough, thanks");
	assert_true(world_settle(&w, 60000));
	assert_false(fake_saw(w.platform, "1001", "ccc"));
	CLEANUP_FREE char *text = fake_model_request_text(w.model, 1);

	assert_non_null(strstr(text, "write much"));
	assert_non_null(strstr(text, "enough, thanks"));
	assert_non_null(strstr(text, "aaa"));
	assert_null(strstr(text, "ccc"));
	world_done(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_leave_in_order_whatever_the_platform_does),
		cmocka_unit_test(a_long_flood_wait_survives_a_restart),
		cmocka_unit_test(
		    a_blocked_chat_is_settled_once_and_holds_up_nobody),
		cmocka_unit_test(
		    an_unknown_send_is_not_repeated_but_told_with_a_button),
		cmocka_unit_test(a_migrated_chat_gets_its_answer_at_the_new_id),
		cmocka_unit_test(
		    a_row_that_becomes_due_while_it_is_looked_at_is_sent_once),
		cmocka_unit_test(a_refused_answer_is_told_to_person_and_model),
		cmocka_unit_test(a_send_that_certainly_failed_is_tried_again),
		cmocka_unit_test(a_new_message_withdraws_the_chunks_that_wait),
	};

	return cmocka_run_group_tests_name("scenario send", tests, NULL, NULL);
}
