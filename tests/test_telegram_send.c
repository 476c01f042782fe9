/* What a send came to, and what is tried instead. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/telegram_world.h"

#define SENT "{\"ok\":true,\"result\":{\"message_id\":77,\"chat\":{\"id\":5}}}"

/* Answers to the test's sends, one after the other; polls hang. */
struct script { const struct fake_answer *answers; size_t n; size_t at; };

static void
scripted(struct world *w, const struct world_call *c, struct fake_answer *ret)
{
	struct script *s = w->arg;

	if (!strcmp(c->method, "getMe"))
		return;
	if (!strcmp(c->method, "getUpdates")) {
		ret->hang = true;
		return;
	}
	assert_true(s->at < s->n);
	*ret = s->answers[s->at++];
	ret->latency = 5;
}

static struct world world;
static struct script script;

static void
begin(const struct fake_answer *answers, size_t n)
{
	script = (struct script){ answers, n, 0 };
	world_init(&world, scripted, &script);
	world_start(&world);
	world_run(&world, 20);
}

static void
finish(struct op *op)
{
	assert_non_null(op);
	assert_int_equal(world.sent, 0);
	world_run(&world, 31000);
	assert_int_equal(world.sent, 1);
}

static void
send_one(const struct fake_answer *answers, size_t n, const struct outgoing *out)
{
	begin(answers, n);
	finish(platform_telegram.send(world.inst, out, world_sent, &world));
}

static void
end(void)
{
	assert_int_equal(script.at, script.n);
	world_done(&world);
}

static const struct outgoing hello = { .to = { "1001", "" },
	.text = "**hello** a<b", .reply_to = "" };

static void
a_text_goes_as_html_and_its_id_comes_back(void **state)
{
	static const struct fake_answer ok[] = { { .body = SENT } };
	static const struct button buttons[] = { { "Yes", "ap:1:y" },
		{ "No", "ap:1:n" } };
	struct outgoing out = hello;

	(void)state;
	out.to.thread_id = "40";
	out.reply_to = "12";
	out.silent = true;
	out.buttons = buttons;
	out.nbuttons = 2;
	send_one(ok, 1, &out);
	assert_int_equal(world.outcome, SEND_YES);
	assert_string_equal(world.msg_id, "77");
	CLEANUP_FREE char *text = json_text(world_call(&world, "sendMessage",
		0)->params);
	assert_string_equal(text, "{\"chat_id\":1001,\"message_thread_id\":40,"
		"\"reply_parameters\":{\"message_id\":12,"
		"\"allow_sending_without_reply\":true},"
		"\"disable_notification\":true,\"reply_markup\":{"
		"\"inline_keyboard\":[[{\"text\":\"Yes\",\"callback_data\":"
		"\"ap:1:y\"}],[{\"text\":\"No\",\"callback_data\":\"ap:1:n\"}]]},"
		"\"text\":\"<b>hello</b> a&lt;b\",\"parse_mode\":\"HTML\"}");
	end();
}

static void
plain_means_plain(void **state)
{
	static const struct fake_answer ok[] = { { .body = SENT } };
	struct outgoing out = hello;

	(void)state;
	out.plain = true;
	send_one(ok, 1, &out);
	const struct json *p = world_call(&world, "sendMessage", 0)->params;
	assert_string_equal(json_get_str(p, "text", ""), "**hello** a<b");
	assert_null(json_get(p, "parse_mode"));
	end();
}

struct refusal { const char *text; int code; enum send_outcome outcome;
	enum send_error error; };

static const struct refusal refusals[] = {
	{ "retry after 7", 429, SEND_NO, SEND_ERR_RATE },
	{ "upgraded to a supergroup", 400, SEND_NO, SEND_ERR_MIGRATED },
	{ "message is too long", 400, SEND_NO, SEND_ERR_TOO_LONG },
	{ "chat not found", 400, SEND_NO, SEND_ERR_TARGET_GONE },
	{ "message to edit not found", 400, SEND_NO, SEND_ERR_MSG_GONE },
	{ "query is too old", 400, SEND_NO, SEND_ERR_REFUSED },
	{ "file is too big", 400, SEND_NO, SEND_ERR_REFUSED },
	{ "bot was blocked", 403, SEND_NO, SEND_ERR_TARGET_GONE },
	{ "bot was kicked", 403, SEND_NO, SEND_ERR_TARGET_GONE },
	{ "Unauthorized", 401, SEND_NO, SEND_ERR_CONFIG },
	{ "Not Found", 404, SEND_NO, SEND_ERR_CONFIG },
	{ "<html>", 502, SEND_UNKNOWN, SEND_ERR_NONE },
	{ "can't parse entities", 400, SEND_NO, SEND_ERR_FORMAT },
	{ "message thread not found", 400, SEND_NO, SEND_ERR_REFUSED },
	{ "terminated by other", 409, SEND_NO, SEND_ERR_REFUSED },
	{ "webhook is active", 409, SEND_NO, SEND_ERR_REFUSED },
	{ "message is not modified", 400, SEND_NO, SEND_ERR_REFUSED },
};

/* Every body of the fixture, by status and words. */
static void
each_known_error_body_has_its_meaning(void **state)
{
	const char *top = getenv("TOP_SRCDIR");
	CLEANUP_FREE char *path = mem_printf(
		"%s/tests/data/telegram/error_responses.json", top ? top : ".");
	CLEANUP_FREE char *text = mem_alloc(65536);
	struct err err;
	FILE *f = fopen(path, "r");
	size_t seen = 0;

	(void)state;
	assert_non_null(f);
	size_t len = fread(text, 1, 65535, f);
	fclose(f);
	CLEANUP_JSON struct json *all = json_parse(text, len, &err);
	for (const struct json *e = json_first(all); e; e = json_next(e)) {
		const struct json *body = json_get(e, "body");
		CLEANUP_FREE char *raw = body ? json_text(body) :
			mem_str(json_get_str(e, "raw", ""));
		int status = (int)json_get_int(e, "status", 0);
		struct fake_answer a[2] = { { .status = status, .body = raw,
			.content_type = body ? NULL : "text/html" } };
		struct outgoing out = hello;

		out.plain = true;
		a[1] = a[0];
		for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
			if (refusals[i].code != status || !strstr(raw, refusals[i].text))
				continue;
			seen++;
			send_one(a, 1, &out);
			if (world.outcome != refusals[i].outcome ||
			    world.error != refusals[i].error)
				fail_msg("%s: outcome %d error %d", raw,
					world.outcome, world.error);
			if (status == 429)
				assert_true(world.retry_after == 7000);
			if (world.error == SEND_ERR_MIGRATED)
				assert_string_equal(world.new_chat,
					"-1004000000001");
			end();
		}
	}
	assert_int_equal(seen, json_len(all));
}

/* C004: other 403s are a person's mistake that a person can mend. */
static void
a_missing_right_is_not_a_dead_target(void **state)
{
	static const struct fake_answer a[] = { { .status = 403, .body =
		"{\"ok\":false,\"error_code\":403,\"description\":\"Forbidden: "
		"CHAT_SEND_PLAIN_FORBIDDEN\"}" } };

	(void)state;
	send_one(a, 1, &hello);
	assert_int_equal(world.error, SEND_ERR_REFUSED);
	assert_non_null(strstr(world.err, "CHAT_SEND_PLAIN_FORBIDDEN"));
	end();
}

#define NO_PARSE "{\"ok\":false,\"error_code\":400,\"description\":\"Bad " \
	"Request: can't parse entities: Unsupported start tag\"}"
#define NO_THREAD "{\"ok\":false,\"error_code\":400,\"description\":\"Bad " \
	"Request: message thread not found\"}"

static void
refused_markup_goes_plain_once(void **state)	/* C187 */
{
	static const struct fake_answer then_ok[] = {
		{ .status = 400, .body = NO_PARSE }, { .body = SENT } };
	static const struct fake_answer twice[] = {
		{ .status = 400, .body = NO_PARSE },
		{ .status = 400, .body = NO_PARSE } };

	(void)state;
	send_one(then_ok, 2, &hello);
	assert_int_equal(world.outcome, SEND_YES);
	const struct json *p = world_call(&world, "sendMessage", 1)->params;
	assert_string_equal(json_get_str(p, "text", ""), "hello a<b");
	assert_null(json_get(p, "parse_mode"));
	end();
	send_one(twice, 2, &hello);
	assert_int_equal(world.outcome, SEND_NO);
	assert_int_equal(world.error, SEND_ERR_FORMAT);
	end();
}

static void
a_missing_topic_goes_without_once(void **state)	/* C017 */
{
	static const struct fake_answer a[] = {
		{ .status = 400, .body = NO_THREAD }, { .body = SENT } };
	struct outgoing out = hello;

	(void)state;
	out.to.thread_id = "55";
	send_one(a, 2, &out);
	assert_int_equal(world.outcome, SEND_YES);
	assert_non_null(json_get(world_call(&world, "sendMessage", 0)->params,
		"message_thread_id"));
	const struct json *p = world_call(&world, "sendMessage", 1)->params;
	assert_null(json_get(p, "message_thread_id"));
	assert_string_equal(json_get_str(p, "parse_mode", ""), "HTML");
	assert_int_equal(json_get_int(p, "chat_id", 0), 1001);
	end();
	/* no topic in the request: it was something else */
	static const struct fake_answer one[] = { { .status = 400,
		.body = NO_THREAD } };
	send_one(one, 1, &hello);
	assert_int_equal(world.error, SEND_ERR_REFUSED);
	end();
}

/* C021: a wait or a breakdown is no reason to strip the formatting. */
/* core.telegram.org/bots/api#senddocument: a form; nothing ends its parts. */
static void
a_file_goes_as_a_document(void **state)
{
	static const struct fake_answer ok = { .status = 200, .body = SENT };
	const struct outgoing out = {
		.to = { "5", "7" }, .text = "rm -r x\r\n--b\n\xc3\xa4",
		.file_name = "a\"\r\nb.txt", .reply_to = "",
	};

	(void)state;
	send_one(&ok, 1, &out);
	assert_int_equal(world.outcome, SEND_YES);
	const char *body = json_str(world_call(&world, "sendDocument", 0)->params);

	assert_non_null(body);
	assert_non_null(strstr(body, "name=\"chat_id\"\r\n\r\n5\r\n"));
	assert_non_null(strstr(body, "name=\"message_thread_id\"\r\n\r\n7\r\n"));
	assert_non_null(strstr(body, "name=\"document\"; "
		"filename=\"a___b.txt\"\r\n"));
	assert_non_null(strstr(body, "\r\n\r\nrm -r x\r\n--b\n\xc3\xa4\r\n--"));
	end();
}

static void
only_refused_markup_strips_it(void **state)
{
	static const struct fake_answer answers[] = {
		{ .status = 429, .body = "{\"ok\":false,\"error_code\":429,"
			"\"description\":\"Too Many Requests: retry after 3\","
			"\"parameters\":{\"retry_after\":3}}" },
		{ .status = 500, .body = "{\"ok\":false,\"error_code\":500,"
			"\"description\":\"Internal Server Error: can't parse "
			"entities\"}" },
		{ .outcome = HTTP_NOT_SENT }, { .outcome = HTTP_UNKNOWN } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		send_one(&answers[i], 1, &hello);
		assert_int_equal(world_count(&world, "sendMessage"), 1);
		end();
	}
}

struct known { struct fake_answer answer; enum send_outcome outcome;
	enum send_error error; msec_t wait; };

static void
rules_2_2_decide_yes_no_unknown(void **state)
{
	static const struct known t[] = {
		{ { .outcome = HTTP_NOT_SENT }, SEND_NO, SEND_ERR_TRANSIENT, 0 },
		{ { .outcome = HTTP_UNKNOWN }, SEND_UNKNOWN, 0, 0 },
		{ { .outcome = HTTP_CUT, .status = 200 }, SEND_YES, 0, 0 },
		{ { .outcome = HTTP_CUT, .status = 200, .content_type =
			"text/html" }, SEND_UNKNOWN, 0, 0 },
		{ { .outcome = HTTP_CUT, .status = 400 }, SEND_UNKNOWN, 0, 0 },
		{ { .outcome = HTTP_CUT, .status = 502 }, SEND_UNKNOWN, 0, 0 },
		{ { .status = 200, .body = "<html>sign in", .content_type =
			"text/html" }, SEND_UNKNOWN, 0, 0 },
		{ { .status = 403, .body = "<html>proxy", .content_type =
			"text/html" }, SEND_UNKNOWN, 0, 0 },
		{ { .status = 429, .body = "slow down", .retry_after = "11" },
			SEND_NO, SEND_ERR_RATE, 11000 },
		{ { .status = 429, .body = "slow down" },
			SEND_NO, SEND_ERR_RATE, 5000 },
		{ { .status = 200, .body = "{\"ok\":false,\"error_code\":400,"
			"\"description\":\"Bad Request: x\"}" },
			SEND_NO, SEND_ERR_REFUSED, 0 },
		{ { .hang = true }, SEND_UNKNOWN, 0, 0 },
		{ { .status = 504, .body = "" }, SEND_UNKNOWN, 0, 0 },
		{ { .body = "{\"ok\":true,\"result\":true}" }, SEND_YES, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		send_one(&t[i].answer, 1, &hello);
		if (world.outcome != t[i].outcome || world.error != t[i].error ||
		    world.retry_after != t[i].wait)
			fail_msg("row %zu: outcome %d error %d wait %lld: %s", i,
				world.outcome, world.error,
				(long long)world.retry_after, world.err);
		end();
	}
}

static void
an_unchanged_edit_is_done(void **state)
{
	static const struct fake_answer a[] = { { .status = 400, .body =
		"{\"ok\":false,\"error_code\":400,\"description\":\"Bad Request: "
		"message is not modified: specified new message content\"}" } };

	(void)state;
	begin(a, 1);
	finish(platform_telegram.edit(world.inst, "77", &hello, world_sent,
		&world));
	assert_int_equal(world.outcome, SEND_YES);
	const struct json *p = world_call(&world, "editMessageText", 0)->params;
	assert_int_equal(json_get_int(p, "message_id", 0), 77);
	assert_null(json_get(p, "message_thread_id"));
	end();
}

static void
typing_and_press_answers(void **state)
{
	static const struct fake_answer ok[] = {
		{ .body = "{\"ok\":true,\"result\":true}" } };
	struct chat_ref to = { "-100", "40" };

	(void)state;
	begin(ok, 1);
	finish(platform_telegram.typing(world.inst, &to, world_sent, &world));
	assert_int_equal(world.outcome, SEND_YES);
	assert_string_equal(json_get_str(world_call(&world, "sendChatAction",
		0)->params, "action", ""), "typing");
	end();
	begin(ok, 1);
	finish(platform_telegram.answer_press(world.inst, "438", "done",
		world_sent, &world));
	assert_string_equal(json_get_str(world_call(&world,
		"answerCallbackQuery", 0)->params, "callback_query_id", ""), "438");
	end();
}

static void
what_cannot_be_sent_is_a_no_later(void **state)
{
	struct outgoing out = hello;
	char *big = mem_alloc(5000);

	(void)state;
	out.text = " \n";
	send_one(NULL, 0, &out);
	assert_int_equal(world.error, SEND_ERR_REFUSED);
	end();
	memset(big, 'x', 4097);
	out.text = big;
	send_one(NULL, 0, &out);
	assert_int_equal(world.error, SEND_ERR_TOO_LONG);
	end();
	mem_free(big);
	/* nothing visible once rendered: as it is */
	static const struct fake_answer ok[] = { { .body = SENT } };
	out.text = "```\n```";
	send_one(ok, 1, &out);
	assert_int_equal(world.outcome, SEND_YES);
	end();
}

static void
cancel_at_every_moment_is_silent(void **state)
{
	static const struct fake_answer a[] = {
		{ .status = 400, .body = NO_PARSE }, { .body = SENT } };

	(void)state;
	for (msec_t at = 0; at < 12; at++) {
		begin(a, 2);
		struct op *op = platform_telegram.send(world.inst, &hello,
			world_sent, &world);
		world_run(&world, at);
		if (world.sent)
			op = NULL;
		op_cancel(&op);
		world_run(&world, 1000);
		assert_int_equal(world.sent, at < 10 ? 0 : 1);
		world_done(&world);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_goes_as_html_and_its_id_comes_back),
		cmocka_unit_test(plain_means_plain),
		cmocka_unit_test(each_known_error_body_has_its_meaning),
		cmocka_unit_test(a_missing_right_is_not_a_dead_target),
		cmocka_unit_test(refused_markup_goes_plain_once),
		cmocka_unit_test(a_missing_topic_goes_without_once),
		cmocka_unit_test(a_file_goes_as_a_document),
		cmocka_unit_test(only_refused_markup_strips_it),
		cmocka_unit_test(rules_2_2_decide_yes_no_unknown),
		cmocka_unit_test(an_unchanged_edit_is_done),
		cmocka_unit_test(typing_and_press_answers),
		cmocka_unit_test(what_cannot_be_sent_is_a_no_later),
		cmocka_unit_test(cancel_at_every_moment_is_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
