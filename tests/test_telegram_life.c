/* Start, pause, stop, and what ends the platform for good. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tests/telegram_world.h"

#define S 1000

static void
refused_token(struct world *w, const struct world_call *c,
	struct fake_answer *ret)
{
	bool late = *(bool *)w->arg;

	if (late && (!world_is_poll(c) || w->polls < 3)) {
		world_quiet(w, c, ret);
		return;
	}
	ret->status = 401;
	ret->body = "{\"ok\":false,\"error_code\":401,\"description\":\"Unauthorized\"}";
}

static void
a_refused_token_is_final_and_said_clearly(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct world w;
		bool is_late = late;

		world_init(&w, refused_token, &is_late);
		world_start(&w);
		world_run(&w, 3600 * S);
		assert_int_equal(w.state, PLATFORM_FAILED);
		assert_non_null(strstr(w.why, "TELEGRAM_BOT_TOKEN"));
		assert_non_null(strstr(w.why, "401"));
		assert_int_equal(w.ncalls, late ? 4 : 1);
		world_done(&w);
	}
}

static void
pause_stops_asking_and_loses_nothing(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, world_quiet, NULL);
	world_start(&w);
	world_run(&w, 40 * S);
	size_t polls = w.polls;
	assert_int_equal(fake_http_open(w.http), 1);
	platform_telegram.pause(w.inst);
	assert_int_equal(fake_http_open(w.http), 0);
	world_run(&w, 300 * S);
	assert_int_equal(w.polls, polls);
	world_done(&w);

	world_init(&w, world_six, NULL);
	w.hold_commits = true;
	world_start(&w);
	world_run(&w, 1 * S);
	platform_telegram.pause(w.inst);
	platform_telegram.committed(w.inst, w.batch_id, true);
	world_run(&w, 300 * S);
	assert_int_equal(w.polls, 1);
	world_done(&w);
}

/* A different trouble each time. */
static void
unlucky(struct world *w, const struct world_call *c, struct fake_answer *ret)
{
	switch (w->ncalls % 5) {
	case 0:
		ret->hang = true;
		break;
	case 1:
		ret->outcome = HTTP_NOT_SENT;
		break;
	case 2:
		ret->status = 409;
		ret->body = "{\"ok\":false,\"error_code\":409}";
		break;
	case 3:
		ret->status = 502;
		break;
	default:
		if (world_is_poll(c))
			world_serve(w, c, ret, 1, 3);
	}
}

/* Stop at any moment leaves nothing behind (world_done checks). */
static void
stop_at_every_moment(void **state)
{
	static world_script *const scripts[] = { world_six, world_quiet,
		unlucky };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		for (msec_t at = 0; at < 40; at++) {
			struct world w;

			world_init(&w, scripts[i], NULL);
			w.refuse_commits = 1;
			world_start(&w);
			world_run(&w, at < 30 ? at : (at - 29) * 9 * S);
			world_done(&w);
		}
}

static void
bad_options_are_refused_with_the_cure(void **state)
{
	static const struct telegram_opts bad[] = {
		{ .token = "" }, { .token = "no colon" }, { .token = "123:" },
		{ .token = "12:a/../b" }, { .token = NULL },
		{ .token = WORLD_TOKEN, .base_url = "ftp://x" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct world w;
		struct err err = { .code = ERR_NONE };

		world_init(&w, world_quiet, NULL);
		w.opts = bad[i];
		assert_null(platform_telegram.start(&w.env, &w.opts, &err));
		assert_int_equal(err.code, ERR_CONFIG);
		world_done(&w);
	}
}

static void
check_url(void *arg, const struct fake_call *call, struct fake_answer *ret)
{
	assert_string_equal(call->url,
		"http://127.0.0.1:1/api/bot" WORLD_TOKEN "/getMe");
	ret->hang = true;
	*(int *)arg += 1;
}

static void
the_base_url_may_end_in_bot_and_slashes(void **state)
{
	static const char *const urls[] = { "http://127.0.0.1:1/api",
		"http://127.0.0.1:1/api/", "http://127.0.0.1:1/api/bot",
		"http://127.0.0.1:1/api/bot/" };
	int seen = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		struct world w;

		world_init(&w, world_quiet, NULL);
		fake_http_script(w.http, check_url, &seen);
		w.opts.base_url = urls[i];
		world_start(&w);
		world_run(&w, 1);
		world_done(&w);
	}
	assert_int_equal(seen, 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_token_is_final_and_said_clearly),
		cmocka_unit_test(pause_stops_asking_and_loses_nothing),
		cmocka_unit_test(stop_at_every_moment),
		cmocka_unit_test(bad_options_are_refused_with_the_cure),
		cmocka_unit_test(the_base_url_may_end_in_bot_and_slashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
