/* Getting updates through whatever the other side does, in no time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tests/telegram_world.h"

#define S 1000
#define CONFLICT "{\"ok\":false,\"error_code\":409,\"description\":\"Conflict: " \
	"terminated by other getUpdates request; make sure that only one bot " \
	"instance is running\"}"
#define WEBHOOK "{\"ok\":false,\"error_code\":409,\"description\":\"Conflict: " \
	"can't use getUpdates method while webhook is active; use deleteWebhook " \
	"to delete the webhook first\"}"

static void
what_waited_while_the_bot_was_off_is_handled(void **state)	/* C001 */
{
	struct world w;

	(void)state;
	world_init(&w, world_six, NULL);
	world_start(&w);
	world_run(&w, 1 * S);
	assert_string_equal(w.texts.data, "t501|t502|t503|t504|t505|t506|");
	assert_int_equal(w.batches, 1);
	assert_int_equal(w.state, PLATFORM_UP);
	assert_string_equal(w.cursor, "507");
	assert_int_equal(world_offset(world_call(&w, "getUpdates", 0)), -1);
	assert_int_equal(world_offset(world_call(&w, "getUpdates", 1)), 507);
	assert_int_equal(world_asked(world_call(&w, "getUpdates", 1)), 30 * S);
	const struct json *kinds = json_get(w.calls[1].params, "allowed_updates");
	assert_int_equal(json_len(kinds), 4);
	world_done(&w);
}

static void
a_stored_cursor_counts_for_the_same_bot_only(void **state)
{
	static const struct { const char *account, *cursor; int64_t want; } t[] = {
		{ "7000001", "504", 504 }, { "7000002", "504", -1 },
		{ "7000001", "", -1 }, { "7000001", "nonsense", -1 },
		{ "", "504", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct world w;

		world_init(&w, world_six, NULL);
		w.env.cursor = t[i].cursor;
		w.env.cursor_account = t[i].account;
		world_start(&w);
		world_run(&w, 1 * S);
		assert_int_equal(world_offset(world_call(&w, "getUpdates", 0)), t[i].want);
		world_done(&w);
	}
}

static void
nothing_is_confirmed_before_it_is_committed(void **state)	/* C002 */
{
	struct world w;

	(void)state;
	world_init(&w, world_six, NULL);
	w.refuse_commits = 4;
	world_start(&w);
	world_run(&w, 500);
	assert_int_equal(w.batches, 1);
	world_run(&w, 60 * S);
	assert_int_equal(w.batches, 5);
	assert_string_equal(w.texts.data, "t501|t502|t503|t504|t505|t506|");
	assert_int_equal(world_offset(world_call(&w, "getUpdates", 1)), 507);
	world_done(&w);
}

static void
a_commit_that_takes_long_holds_the_next_poll(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_six, NULL);
	w.hold_commits = true;
	world_start(&w);
	world_run(&w, 300 * S);
	assert_int_equal(w.polls, 1);
	platform_telegram.committed(w.inst, w.batch_id + 1, true);	/* stale */
	world_run(&w, 1 * S);
	assert_int_equal(w.polls, 1);
	platform_telegram.committed(w.inst, w.batch_id, true);
	world_run(&w, 1 * S);
	assert_int_equal(w.polls, 2);
	world_done(&w);
}

static void
one_conflict(struct world *w, const struct world_call *c, struct fake_answer *ret)
{
	if (!world_is_poll(c))
		return;
	if (w->polls == 2) {
		ret->status = 409;
		ret->body = CONFLICT;
	} else {
		world_serve(w, c, ret, w->polls >= 3 ? 10 : 0, w->polls >= 3 ? 10 : -1);
	}
}

static void
a_single_conflict_is_retried_soon(void **state)	/* C005 */
{
	struct world w;

	(void)state;
	world_init(&w, one_conflict, NULL);
	world_start(&w);
	world_run(&w, 20 * S);
	msec_t second = world_call(&w, "getUpdates", 1)->at;
	msec_t third = world_call(&w, "getUpdates", 2)->at;
	assert_in_range(third - second, 3 * S, 15 * S);
	assert_string_equal(w.texts.data, "t10|");
	assert_int_equal(w.state, PLATFORM_UP);
	assert_int_equal(w.states, 2);		/* starting, up: nobody was alarmed */
	world_done(&w);
}

static void
five_minutes_of_conflict(struct world *w, const struct world_call *c,
	struct fake_answer *ret)
{
	if (!world_is_poll(c))
		return;
	if (c->at < *(msec_t *)w->arg) {
		ret->status = 409;
		ret->body = CONFLICT;
	} else {
		world_serve(w, c, ret, 10, 10);
	}
}

static void
a_lasting_conflict_is_told_and_outlived(void **state)	/* C005 */
{
	struct world w;
	msec_t end;

	(void)state;
	world_init(&w, five_minutes_of_conflict, &end);
	end = loop_now(w.loop) + 300 * S;
	world_start(&w);
	world_run(&w, 299 * S);
	assert_int_equal(w.state, PLATFORM_BACKOFF);
	assert_non_null(strstr(w.why, "another program polls"));
	assert_in_range(w.polls, 5, 40);
	world_run(&w, 70 * S);
	assert_string_equal(w.texts.data, "t10|");
	assert_int_equal(w.state, PLATFORM_UP);
	world_done(&w);
}

static void
webhook_then_none(struct world *w, const struct world_call *c,
	struct fake_answer *ret)
{
	if (!world_is_poll(c))
		return;
	if (w->polls <= 3) {
		ret->status = 409;
		ret->body = WEBHOOK;
	} else {
		world_serve(w, c, ret, 10, 10);
	}
}

static void
a_webhook_is_named_and_left_alone(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, webhook_then_none, NULL);
	world_start(&w);
	world_run(&w, 1 * S);
	assert_int_equal(w.state, PLATFORM_BACKOFF);
	assert_non_null(strstr(w.why, "deleteWebhook"));
	world_run(&w, 200 * S);
	assert_int_equal(w.state, PLATFORM_UP);
	assert_int_equal(world_count(&w, "deleteWebhook"), 0);
	world_done(&w);
}

static void
third_is_deaf(struct world *w, const struct world_call *c, struct fake_answer *ret)
{
	if (!world_is_poll(c))
		return;
	if (w->polls == 3)
		ret->hang = true;
	else
		world_serve(w, c, ret, w->polls > 3 ? 20 : 0, w->polls > 3 ? 21 : -1);
}

static void
a_deaf_poll_is_noticed_and_replaced(void **state)	/* C006 */
{
	struct world w;

	(void)state;
	world_init(&w, third_is_deaf, NULL);
	world_start(&w);
	world_run(&w, 100 * S);
	msec_t deaf = world_call(&w, "getUpdates", 2)->at;
	const struct world_call *next = world_call(&w, "getUpdates", 3);
	assert_non_null(next);
	assert_in_range(next->at - deaf, 45 * S, 60 * S);
	assert_true(next->fresh);
	assert_string_equal(w.texts.data, "t20|t21|");
	assert_int_equal(w.state, PLATFORM_UP);
	/* proven again: kept-alive connections and long polls */
	assert_false(world_call(&w, "getUpdates", 4)->fresh);
	assert_int_equal(world_asked(world_call(&w, "getUpdates", 4)), 30 * S);
	world_done(&w);
}

static void
network_is_gone(struct world *w, const struct world_call *c,
	struct fake_answer *ret)
{
	if (c->at < *(msec_t *)w->arg)
		ret->outcome = HTTP_NOT_SENT;
	else if (world_is_poll(c))
		world_serve(w, c, ret, 10, 10);
}

static void
an_hour_without_network_is_waited_out_politely(void **state)
{
	struct world w;
	msec_t end;

	(void)state;
	world_init(&w, network_is_gone, &end);
	end = loop_now(w.loop) + 3600 * S;
	world_start(&w);
	world_run(&w, 3600 * S);
	assert_int_equal(w.state, PLATFORM_BACKOFF);
	assert_in_range(w.ncalls, 50, 150);
	world_run(&w, 61 * S);
	assert_string_equal(w.texts.data, "t10|");
	/* a poll's trouble is not told again and again */
	assert_int_equal(w.states, 3);
	world_done(&w);
}

static void
server_trouble(struct world *w, const struct world_call *c,
	struct fake_answer *ret)
{
	static const struct fake_answer answers[] = {
		{ .status = 502, .content_type = "text/html",
			.body = "<html><h1>502</h1></html>" },
		{ .status = 200, .content_type = "text/html", .body = "login" },
		{ .status = 200, .body = "{\"ok\":true}" },
		{ .status = 500, .body = "{\"ok\":false,\"error_code\":500,"
			"\"description\":\"Internal Server Error\"}" },
		{ .outcome = HTTP_CUT, .status = 200, .body = "{\"ok\":tr" },
		{ .status = 404, .content_type = "text/html", .body = "nginx" },
		{ .outcome = HTTP_UNKNOWN },
	};

	if (!world_is_poll(c))
		return;
	if (w->polls <= ARRAY_LEN(answers))
		*ret = answers[w->polls - 1];
	else
		world_serve(w, c, ret, 10, 10);
}

static void
nonsense_from_a_proxy_is_trouble_not_the_end(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, server_trouble, NULL);
	world_start(&w);
	world_run(&w, 400 * S);
	assert_string_equal(w.texts.data, "t10|");
	assert_int_equal(w.state, PLATFORM_UP);
	world_done(&w);
}

static void
flood(struct world *w, const struct world_call *c, struct fake_answer *ret)
{
	if (!world_is_poll(c))
		return;
	if (w->polls == 1) {
		ret->status = 429;
		ret->body = "{\"ok\":false,\"error_code\":429,\"description\":\"Too "
			"Many Requests: retry after 149\",\"parameters\":"
			"{\"retry_after\":149}}";
	} else {
		world_serve(w, c, ret, 10, 10);
	}
}

static void
a_flood_wait_is_obeyed(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, flood, NULL);
	world_start(&w);
	world_run(&w, 148 * S);
	assert_int_equal(w.polls, 1);
	world_run(&w, 2 * S);
	assert_string_equal(w.texts.data, "t10|");
	world_done(&w);
}

/* As telegram-test-api: no long poll, no offsets. */
static void
foreign_server(struct world *w, const struct world_call *c,
	struct fake_answer *ret)
{
	if (world_is_poll(c))
		ret->body = *(bool *)w->arg ? world_updates(w, 1, 2) : WORLD_EMPTY;
}

static void
a_server_that_answers_at_once_does_not_make_us_spin(void **state)
{
	(void)state;
	for (int repeats = 0; repeats < 2; repeats++) {
		struct world w;
		bool again = repeats;

		world_init(&w, foreign_server, &again);
		world_start(&w);
		world_run(&w, 60 * S);
		assert_in_range(w.polls, 30, 65);
		assert_int_equal(w.state, PLATFORM_UP);
		world_done(&w);
	}
}

static void
skipped_updates_are_confirmed(struct world *w, const struct world_call *c,
	struct fake_answer *ret)
{
	if (!world_is_poll(c))
		return;
	if (world_offset(c) < 8) {
		ret->body = "{\"ok\":true,\"result\":[{\"update_id\":7,"
			"\"message_reaction\":{}}]}";
		return;
	}
	world_serve(w, c, ret, 8, 8);
}

static void
unknown_kinds_move_the_offset(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, skipped_updates_are_confirmed, NULL);
	world_start(&w);
	world_run(&w, 5 * S);
	assert_string_equal(w.texts.data, "t8|");
	assert_int_equal(w.batches, 1);
	world_done(&w);
}

static void
lower_ids(struct world *w, const struct world_call *c, struct fake_answer *ret)
{
	if (!world_is_poll(c))
		return;
	if (w->polls == 1)
		ret->body = world_updates(w, 900000, 900000);
	else if (w->polls == 2)
		ret->body = world_updates(w, 17, 17);	/* after a quiet week */
	else
		world_serve(w, c, ret, 0, -1);
}

static void
a_lower_update_id_is_not_old(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, lower_ids, NULL);
	world_start(&w);
	world_run(&w, 5 * S);
	assert_string_equal(w.texts.data, "t900000|t17|");
	assert_int_equal(world_offset(world_call(&w, "getUpdates", 2)), 18);
	world_done(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waited_while_the_bot_was_off_is_handled),
		cmocka_unit_test(a_stored_cursor_counts_for_the_same_bot_only),
		cmocka_unit_test(nothing_is_confirmed_before_it_is_committed),
		cmocka_unit_test(a_commit_that_takes_long_holds_the_next_poll),
		cmocka_unit_test(a_single_conflict_is_retried_soon),
		cmocka_unit_test(a_lasting_conflict_is_told_and_outlived),
		cmocka_unit_test(a_webhook_is_named_and_left_alone),
		cmocka_unit_test(a_deaf_poll_is_noticed_and_replaced),
		cmocka_unit_test(an_hour_without_network_is_waited_out_politely),
		cmocka_unit_test(nonsense_from_a_proxy_is_trouble_not_the_end),
		cmocka_unit_test(a_flood_wait_is_obeyed),
		cmocka_unit_test(a_server_that_answers_at_once_does_not_make_us_spin),
		cmocka_unit_test(unknown_kinds_move_the_offset),
		cmocka_unit_test(a_lower_update_id_is_not_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
