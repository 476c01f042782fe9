/*
 * The Telegram platform over the real HTTP client against the Bot API server
 * that grammY and telegraf have proven.  Needs node and fake-telegram.mjs
 * ($FAKE_TELEGRAM, which tests/peers/run sets), else skips itself.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "platforms/telegram.h"
#include "platforms/text/split.h"
#include "tests/peers/node_server.h"

#define TOKEN "7000001:AAtestTESTtestTESTtestTESTtest12345"

struct live {
	struct node_server node;
	struct loop *loop;
	struct http *http;
	struct platform_host host;
	struct platform_instance *inst;
	struct buf texts;	/* "text|" of what arrived */
	const char *wait_text;	/* stops the loop once texts is this */
	enum platform_state state;
	char *answer;		/* of the last control request */
	bool sent;
	enum send_outcome outcome;
	enum send_error error;
	char msg_id[32];
	msec_t retry_after;
};

static void
on_batch(void *arg, const char *platform, const struct msg *msgs, size_t n,
	uint64_t batch_id, const char *cursor)
{
	struct live *l = arg;

	(void)platform;
	(void)cursor;
	for (size_t i = 0; i < n; i++)
		buf_printf(&l->texts, "%s|", msgs[i].kind == MSG_PRESS ?
			msgs[i].press_data : msgs[i].text);
	platform_telegram.committed(l->inst, batch_id, true);
	if (l->wait_text && !strcmp(l->texts.data, l->wait_text))
		loop_stop(l->loop);
}

static void
on_state(void *arg, const char *platform, enum platform_state state,
	const char *why)
{
	struct live *l = arg;

	(void)platform;
	(void)why;
	l->state = state;
	if (!l->wait_text && state != PLATFORM_STARTING)
		loop_stop(l->loop);
}

static void
on_control(void *arg, const struct http_result *res)
{
	struct live *l = arg;

	if (res->outcome != HTTP_ANSWERED || res->status != 200)
		fail_msg("control: %d %s", res->status, res->body);
	l->answer = mem_str(res->body);
	loop_stop(l->loop);
}

/* The answer is valid until the next one. */
static const char *
control(struct live *l, const char *path, const char *body)
{
	CLEANUP_FREE char *url = mem_printf("http://127.0.0.1:%d/control/%s",
		l->node.port, path);

	mem_free(STEAL(l->answer));
	http_start(l->http, &(struct http_req){ .label = "control", .url = url,
		.body = body, .body_len = body ? strlen(body) : 0,
		.total_ms = 10000 }, on_control, l);
	while (!l->answer)
		loop_run(l->loop);
	return l->answer;
}

static void
wait_for(struct live *l, const char *texts)
{
	l->wait_text = texts;
	while (strcmp(l->texts.data, texts))
		loop_run(l->loop);
	l->wait_text = NULL;
}

static void
on_sent(void *arg, const struct send_result *res)
{
	struct live *l = arg;

	l->sent = true;
	l->outcome = res->outcome;
	l->error = res->error;
	l->retry_after = res->retry_after_ms;
	assert_int_equal(mem_copy_str(l->msg_id, sizeof(l->msg_id),
		res->msg_id), 0);
	loop_stop(l->loop);
}

static void
send_text(struct live *l, const char *text, bool edit)
{
	struct outgoing out = { .to = { "1001", "" }, .text = text,
		.reply_to = "" };
	CLEANUP_FREE char *id = mem_str(l->msg_id);

	l->sent = false;
	if (edit)
		platform_telegram.edit(l->inst, id, &out, on_sent, l);
	else
		platform_telegram.send(l->inst, &out, on_sent, l);
	while (!l->sent)
		loop_run(l->loop);
}

static int
live_start(void **state)
{
	struct live *l = mem_alloc(sizeof(*l));
	const char *args[] = { getenv("FAKE_TELEGRAM"), "--until-eof", NULL };
	struct http_opts opts = { .user_agent = "gatehouse-test" };
	struct err err;

	alarm(60);
	node_server_start(&l->node, args);
	l->loop = loop_new();
	l->http = http_new(l->loop, &opts);
	buf_init(&l->texts, 1u << 20);
	l->host = (struct platform_host){ l, on_batch, on_state };
	/* this one waits before the bot has ever started */
	control(l, "message", "{\"chat_id\":1001,\"text\":\"early\"}");
	CLEANUP_FREE char *url = mem_printf("http://127.0.0.1:%d", l->node.port);
	struct platform_env env = { .loop = l->loop, .http = l->http,
		.host = &l->host, .cursor = "", .cursor_account = "" };
	struct telegram_opts topts = { .token = TOKEN, .base_url = url,
		.poll_ms = 10000 };
	l->inst = platform_telegram.start(&env, &topts, &err);
	assert_non_null(l->inst);
	wait_for(l, "early|");
	*state = l;
	return 0;
}

static int
live_end(void **state)
{
	struct live *l = *state;

	platform_telegram.stop(&l->inst);
	http_free(&l->http);
	loop_free(&l->loop);
	node_server_stop(&l->node);
	buf_done(&l->texts);
	mem_free(l->answer);
	mem_free(l);
	return op_live() == 0 ? 0 : -1;
}

static void
messages_presses_and_offsets(void **state)
{
	struct live *l = *state;

	control(l, "message", "{\"chat_id\":1001,\"text\":\"\U0001f389 now\","
		"\"entities\":[{\"type\":\"bold\",\"offset\":3,\"length\":3}]}");
	wait_for(l, "early|\U0001f389 **now**|");
	control(l, "press", "{\"chat_id\":1001,\"message_id\":1,\"data\":\"ap:1\"}");
	wait_for(l, "early|\U0001f389 **now**|ap:1|");
	/* the poll that is open now has confirmed all of it */
	while (!strstr(control(l, "state", NULL), "\"pending\":0,"))
		;
	assert_non_null(strstr(l->answer, "\"polls_open_max\":1,"));
}

static void
texts_and_edits_arrive_as_meant(void **state)
{
	struct live *l = *state;

	send_text(l, "**a** <b> & [l](https://x.example/?a=1&b=2)", false);
	assert_int_equal(l->outcome, SEND_YES);
	send_text(l, "`c`", true);
	assert_int_equal(l->outcome, SEND_YES);
	send_text(l, "`c`", true);		/* not modified */
	assert_int_equal(l->outcome, SEND_YES);
	const char *seen = control(l, "messages?chat_id=1001", NULL);
	assert_non_null(strstr(seen, "\"text\":\"c\",\"entities\":[{\"type\":"
		"\"code\",\"offset\":0,\"length\":1}]"));
	assert_non_null(strstr(seen, "\"edits\":1"));
}

static void
on_chunk(void *arg, const struct text_chunk *chunk)
{
	struct live *l = arg;

	send_text(l, chunk->text, false);
	assert_int_equal(l->outcome, SEND_YES);
}

/* C184, C185: under both ways of counting, and the bound on the payload. */
static void
long_texts_are_accepted_in_chunks(void **state)
{
	static const char *const counts[] = { "points", "units" };
	static const char *const units[] = { "> **x**\n\n", "\U0001f600",
		"| a | b |\n|---|---|\n| 1 | 2 |\n", "`&<>` **[l](http://x.y)** " };
	struct live *l = *state;

	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		CLEANUP_FREE char *opt = mem_printf("{\"count\":\"%s\"}", counts[c]);

		control(l, "options", opt);
		for (size_t i = 0; i < ARRAY_LEN(units); i++) {
			CLEANUP_BUF struct buf b;

			buf_init(&b, 1u << 20);
			while (b.len < 12000)
				buf_add_str(&b, units[i]);
			text_split(b.data, b.len, false,
				platform_telegram.text_limit,
				platform_telegram.text_len, on_chunk, l);
		}
	}
}

struct trouble { const char *fail; enum send_outcome outcome; enum send_error error;
	bool seen; };

static void
trouble_on_the_wire_has_its_meaning(void **state)
{
	static const struct trouble t[] = {
		{ "\"status\":429,\"retry_after\":7", SEND_NO, SEND_ERR_RATE, false },
		{ "\"reset\":true,\"after\":true", SEND_UNKNOWN, 0, true },
		{ "\"cut\":10,\"after\":true", SEND_YES, 0, true },
		{ "\"status\":502,\"body\":\"<html>\"", SEND_UNKNOWN, 0, false },
		{ "\"status\":403,\"description\":\"Forbidden: bot was blocked by "
			"the user\"", SEND_NO, SEND_ERR_TARGET_GONE, false },
	};
	struct live *l = *state;

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP_FREE char *fail = mem_printf("{\"method\":\"sendMessage\",%s}",
			t[i].fail);
		CLEANUP_FREE char *text = mem_printf("trouble %zu", i);

		control(l, "fail", fail);
		send_text(l, text, false);
		if (l->outcome != t[i].outcome || l->error != t[i].error)
			fail_msg("%s: %d %d", t[i].fail, l->outcome, l->error);
		assert_int_equal(strstr(control(l, "messages", NULL), text) != NULL,
			t[i].seen);
		if (t[i].error == SEND_ERR_RATE)
			assert_true(l->retry_after == 7000);
	}
}

/* C005, and a poll that is cut: what comes meanwhile is not lost. */
static void
polling_survives_conflicts_and_cuts(void **state)
{
	struct live *l = *state;

	buf_clear(&l->texts);
	control(l, "fail", "{\"method\":\"getUpdates\",\"status\":409,"
		"\"description\":\"Conflict: terminated by other getUpdates\"}");
	control(l, "message", "{\"chat_id\":1001,\"text\":\"one\"}");
	wait_for(l, "one|");
	control(l, "fail", "{\"method\":\"getUpdates\",\"reset\":true}");
	control(l, "message", "{\"chat_id\":1001,\"text\":\"two\"}");
	wait_for(l, "one|two|");
	control(l, "message", "{\"chat_id\":1001,\"text\":\"three\"}");
	wait_for(l, "one|two|three|");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_presses_and_offsets),
		cmocka_unit_test(texts_and_edits_arrive_as_meant),
		cmocka_unit_test(long_texts_are_accepted_in_chunks),
		cmocka_unit_test(trouble_on_the_wire_has_its_meaning),
		cmocka_unit_test(polling_survives_conflicts_and_cuts),
	};

	if (!getenv("FAKE_TELEGRAM")) {
		printf("1..0 # SKIP FAKE_TELEGRAM is not set: tests/peers/run sets it\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, live_start, live_end);
}
