#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tests/telegram_world.h"

static void
on_call(void *arg, const struct fake_call *call, struct fake_answer *ret)
{
	struct world *w = arg;
	struct world_call *c = &w->calls[w->ncalls++];
	const char *method = strrchr(call->url, '/') + 1;
	struct err err;

	assert_true(w->ncalls < WORLD_CALLS_MAX);
	/* the one place where the token may be */
	assert_non_null(strstr(call->url, "/bot" WORLD_TOKEN "/"));
	assert_null(strstr(call->label, WORLD_TOKEN));
	assert_string_equal(call->method, "POST");
	assert_int_equal(mem_copy_str(c->method, sizeof(c->method), method), 0);
	/* a form with a file is kept as it is */
	c->params = call->body[0] == '-' ? json_string(call->body) :
		json_parse(call->body, strlen(call->body), &err);
	assert_non_null(c->params);
	c->at = call->at;
	c->fresh = call->fresh;
	if (!strcmp(method, "getUpdates")) {
		assert_int_equal(call->same, 0);	/* C008 */
		w->polls++;
		assert_null(json_get(c->params, "drop_pending_updates"));
		for (size_t i = 0; i + 1 < w->ncalls; i++)
			assert_true(strcmp(w->calls[i].method, "deleteWebhook"));
	}
	ret->latency = 5;
	w->script(w, c, ret);
	if (!strcmp(method, "getMe") && !ret->body && !ret->hang &&
	    ret->outcome == HTTP_ANSWERED && !ret->status)
		ret->body = "{\"ok\":true,\"result\":{\"id\":7000001,"
			"\"is_bot\":true,\"username\":\"gate_demo_bot\"}}";
}

static void
on_batch(void *arg, const char *platform, const struct msg *msgs, size_t n,
	uint64_t batch_id, const char *cursor)
{
	struct world *w = arg;

	assert_string_equal(platform, "telegram");
	w->batches++;
	w->batch_id = batch_id;
	assert_int_equal(mem_copy_str(w->cursor, sizeof(w->cursor), cursor), 0);
	if (w->hold_commits)
		return;
	if (w->refuse_commits) {
		w->refuse_commits--;
		platform_telegram.committed(w->inst, batch_id, false);
		return;
	}
	for (size_t i = 0; i < n; i++)
		buf_printf(&w->texts, "%s|", msgs[i].text);
	platform_telegram.committed(w->inst, batch_id, true);
}

static void
on_state(void *arg, const char *platform, enum platform_state state,
	const char *why)
{
	struct world *w = arg;

	assert_string_equal(platform, "telegram");
	assert_null(strstr(why, WORLD_TOKEN));
	w->state = state;
	w->states++;
	assert_int_equal(mem_copy_str(w->why, sizeof(w->why), why), 0);
}

void
world_init(struct world *w, world_script *script, void *arg)
{
	struct http_opts opts = { .user_agent = "t" };

	memset(w, 0, sizeof(*w));
	w->loop = loop_sim_new(1);
	w->http = http_new(w->loop, &opts);
	w->script = script;
	w->arg = arg;
	fake_http_script(w->http, on_call, w);
	w->host = (struct platform_host){ w, on_batch, on_state };
	w->env = (struct platform_env){ .loop = w->loop, .http = w->http,
		.host = &w->host, .cursor = "", .cursor_account = "" };
	w->opts = (struct telegram_opts){ .token = WORLD_TOKEN,
		.base_url = "http://127.0.0.1:1" };
	buf_init(&w->texts, 1u << 20);
}

void
world_start(struct world *w)
{
	struct err err;

	w->inst = platform_telegram.start(&w->env, &w->opts, &err);
	assert_non_null(w->inst);
}

void
world_done(struct world *w)
{
	platform_telegram.stop(&w->inst);
	http_free(&w->http);
	loop_free(&w->loop);
	for (size_t i = 0; i < w->ncalls; i++)
		json_free(&w->calls[i].params);
	mem_free(w->answer);
	buf_done(&w->texts);
	assert_int_equal(op_live(), 0);
}

void
world_run(struct world *w, msec_t ms)
{
	sim_advance(w->loop, ms);
}

const struct world_call *
world_call(const struct world *w, const char *method, size_t n)
{
	for (size_t i = 0; i < w->ncalls; i++)
		if (!strcmp(w->calls[i].method, method) && n-- == 0)
			return &w->calls[i];
	return NULL;
}

size_t
world_count(const struct world *w, const char *method)
{
	size_t n = 0;

	while (world_call(w, method, n))
		n++;
	return n;
}

const char *
world_updates(struct world *w, int first, int last)
{
	struct buf b;

	buf_init(&b, 1u << 20);
	buf_add_str(&b, "{\"ok\":true,\"result\":[");
	for (int i = first; i <= last; i++)
		buf_printf(&b, "%s{\"update_id\":%d,\"message\":{\"message_id\":%d,"
			"\"date\":1790000000,\"from\":{\"id\":1001},\"chat\":"
			"{\"id\":1001,\"type\":\"private\"},\"text\":\"t%d\"}}",
			i > first ? "," : "", i, i, i);
	buf_add_str(&b, "]}");
	mem_free(w->answer);
	w->answer = buf_take(&b);
	return w->answer;
}

void
world_sent(void *arg, const struct send_result *res)
{
	struct world *w = arg;

	w->sent++;
	w->outcome = res->outcome;
	w->error = res->error;
	w->retry_after = res->retry_after_ms;
	assert_int_equal(mem_copy_str(w->msg_id, sizeof(w->msg_id),
		res->msg_id), 0);
	assert_int_equal(mem_copy_str(w->new_chat, sizeof(w->new_chat),
		res->new_chat_id), 0);
	if (res->outcome == SEND_YES) {
		assert_null(res->err);
		assert_int_equal(res->error, SEND_ERR_NONE);
		w->err[0] = '\0';
		return;
	}
	assert_non_null(res->err);
	assert_null(strstr(res->err->text, WORLD_TOKEN));
	assert_int_equal(mem_copy_str(w->err, sizeof(w->err), res->err->text), 0);
}

/* ---- scripts ---------------------------------------------------------------- */

bool
world_is_poll(const struct world_call *c)
{
	return !strcmp(c->method, "getUpdates");
}

msec_t
world_asked(const struct world_call *c)
{
	return json_get_int(c->params, "timeout", 0) * 1000;
}

int64_t
world_offset(const struct world_call *c)
{
	return json_get_int(c->params, "offset", -1);
}

/* Like Telegram: answers at once if something waits, else after the timeout. */
void
world_serve(struct world *w, const struct world_call *c, struct fake_answer *ret,
	int first, int last)
{
	int64_t from = world_offset(c) > first ? world_offset(c) : first;

	if (from <= last) {
		ret->body = world_updates(w, (int)from, last);
	} else {
		ret->body = WORLD_EMPTY;
		ret->latency = world_asked(c) + 5;
	}
}

void
world_quiet(struct world *w, const struct world_call *c, struct fake_answer *ret)
{
	if (world_is_poll(c))
		world_serve(w, c, ret, 0, -1);
}

void
world_six(struct world *w, const struct world_call *c, struct fake_answer *ret)
{
	if (world_is_poll(c))
		world_serve(w, c, ret, 501, 506);
}
