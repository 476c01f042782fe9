/* The Telegram platform: one bot's life. What it does is in telegram_*.c. */
#include "platforms/telegram.h"

#include "base/mem.h"
#include "base/redact.h"
#include "platforms/telegram_priv.h"
#include "platforms/text/telegram_html.h"

#define POLL_MS 30000
#define POLL_MAX_MS 50000	/* the server's own bound */

static struct platform_instance *
telegram_start(const struct platform_env *env, const void *opts, struct err *err)
{
	const struct telegram_opts *o = opts;
	struct telegram_api api;

	if (telegram_api_init(&api, env->http, o->token, o->base_url, err) < 0)
		return NULL;
	struct platform_instance *t = mem_alloc(sizeof(*t));
	redact_add_secret(o->token);
	t->loop = env->loop;
	t->host = env->host;
	t->api = api;
	t->cursor = mem_str(env->cursor ? env->cursor : "");
	t->cursor_account = mem_str(env->cursor_account ?
		env->cursor_account : "");
	t->poll_ms = o->poll_ms ? o->poll_ms : POLL_MS;
	if (t->poll_ms > POLL_MAX_MS)
		t->poll_ms = POLL_MAX_MS;
	telegram_poll_start(t);
	return t;
}

static void
telegram_stop(struct platform_instance **tp)
{
	struct platform_instance *t = STEAL(*tp);

	if (!t)
		return;
	REQUIRE(t->sends == 0);
	telegram_poll_done(t);
	telegram_api_done(&t->api);
	mem_free(t->cursor);
	mem_free(t->cursor_account);
	mem_free(t);
}

const struct platform platform_telegram = {
	.name = "telegram",
	.flags = PLATFORM_CAN_EDIT | PLATFORM_CAN_TYPING | PLATFORM_CAN_BUTTONS |
		PLATFORM_CAN_FILES,
	.text_limit = TELEGRAM_TEXT_MAX,
	.text_len = telegram_text_len,
	.start = telegram_start,
	.stop = telegram_stop,
	.committed = telegram_poll_committed,
	.pause = telegram_poll_pause,
	.send = telegram_send,
	.edit = telegram_edit,
	.typing = telegram_typing,
	.answer_press = telegram_answer_press,
};
