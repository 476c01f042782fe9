/*
 * `gatehouse chat`.  Without an owner process it becomes one: the gateway's
 * core with the console as its only platform.  Beside a living owner it is a
 * client (chat_client.c).
 */
#include "gateway/chat.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/chat_client.h"
#include "gateway/chat_ui.h"
#include "gateway/desk.h"
#include "gateway/owner.h"
#include "gateway/owner_client.h"
#include "gateway/parts.h"

struct chat {
	struct parts parts;
	struct hub hub;
	struct hub_client client;
	struct desk *desk;
	const char *text;	/* -m */
	struct chat_ui *ui;
	int exit_code;
};

static void on_ready(void *arg);
static void on_up(void *arg);
static void on_ui_done(void *arg, int exit_code);
static void on_stopped(void *arg);

/* ---- between the hub and the user interface -------------------------------------- */

static void
peer_say(void *arg, const char *text)
{
	struct chat *chat = arg;

	hub_say(&chat->hub, &chat->client, text);
}

static bool
peer_idle(void *arg)
{
	struct chat *chat = arg;

	return hub_idle(&chat->hub, &chat->client);
}

static void
on_show(void *arg, const struct outgoing *out)
{
	struct chat *chat = arg;

	chat_ui_show(chat->ui, out->text, out->nbuttons > 0);
}

static void
on_text(void *arg, const char *text, size_t len)
{
	struct chat *chat = arg;

	chat_ui_text(chat->ui, text, len);
}

static void
on_activity(void *arg, const char *what)
{
	struct chat *chat = arg;

	chat_ui_activity(chat->ui, what);
}

static void
on_answered(void *arg, bool ok)
{
	struct chat *chat = arg;

	chat_ui_answered(chat->ui, ok);
}

/* ---- the story ---------------------------------------------------------------------- */

static void
on_dead(void *arg, const char *why)
{
	struct chat *chat = arg;

	cli_complain("%s", why);
	chat->exit_code = CLI_FAIL;
	loop_stop(chat->parts.loop);
}

static void
on_ready(void *arg)
{
	struct chat *chat = arg;
	struct gateway_opts opts;

	parts_gateway_opts(&chat->parts, &opts);
	hub_gateway_opts(&chat->hub, &opts);
	opts.arg = chat;
	opts.one_shot = chat->text != NULL;
	opts.on_dead = on_dead;
	opts.on_up = on_up;
	chat->parts.gateway = gateway_start(&opts);
	chat->hub.gateway = chat->parts.gateway;
}

static void
on_up(void *arg)
{
	struct chat *chat = arg;
	CLEANUP_FREE char *greeting = gateway_greeting(chat->parts.gateway);
	struct chat_ui_opts opts = {
		.text = chat->text,
		.greeting = greeting,
		.peer = { chat, peer_say, peer_idle },
		.arg = chat,
		.done = on_ui_done,
	};

	chat->ui = chat_ui_start(chat->parts.loop, &opts);
	hub_add(&chat->hub, &chat->client);
}

static void
on_ui_done(void *arg, int exit_code)
{
	struct chat *chat = arg;

	chat->exit_code = exit_code;
	gateway_stop(chat->parts.gateway, on_stopped, chat);
}

static void
on_stopped(void *arg)
{
	struct chat *chat = arg;

	loop_stop(chat->parts.loop);
}

static int
chat_own(struct chat *chat, struct cli_ctx *ctx)
{
	struct err err = { ERR_NONE, "" };
	int status = parts_open(&chat->parts, ctx, PARTS_CHAT);

	if (status >= 0)
		return status;
	chat->desk = desk_open(chat->parts.loop, &ctx->home, &chat->hub,
	    chat->parts.store, &err);
	if (!chat->desk)
		cli_complain("other commands can't reach this chat: %s", err.text);
	chat->parts.console = hub_console_opts(&chat->hub);
	parts_prepare(&chat->parts, on_ready, chat);
	loop_run(chat->parts.loop);
	desk_close(&chat->desk);
	chat_ui_free(&chat->ui);
	parts_close(&chat->parts);
	return chat->exit_code;
}

int
chat_main(struct cli_ctx *ctx)
{
	struct err err = { ERR_NONE, "" };
	struct owner_client *client = NULL;
	struct chat chat = { .text = cli_option(ctx, "message") };
	const char *session = cli_option(ctx, "session");

	hub_init(&chat.hub);
	chat.client = (struct hub_client){
		.chat_id = session ? session : "main", .arg = &chat,
		.show = on_show, .text = on_text, .activity = on_activity,
		.answered = on_answered,
	};
	if (chat.text && !chat.text[strspn(chat.text, " \t\r\n")]) {
		cli_complain("-m: the message is empty");
		return CLI_USAGE;
	}
	if (!cli_option(ctx, "log-level") && !cli_option(ctx, "verbose"))
		log_open(STDERR_FILENO, LOG_WARN);	/* progress has its own line */
	int lock = owner_claim(&ctx->home, &client, &err);

	if (lock == -2)
		return chat_client_run(client, chat.client.chat_id, chat.text);
	if (lock < 0) {
		cli_complain("%s", err.text);
		return CLI_FAIL;
	}
	int status = chat_own(&chat, ctx);

	close(lock);
	return status;
}
