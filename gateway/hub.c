#include "gateway/hub.h"

#include <string.h>

#define OPERATOR "operator"

void
hub_init(struct hub *hub)
{
	memset(hub, 0, sizeof(*hub));
	TAILQ_INIT(&hub->clients);
}

static bool
on_show(void *arg, const struct outgoing *out)
{
	struct hub *hub = arg;
	struct hub_client *c, *next;
	bool shown = false;

	for (c = TAILQ_FIRST(&hub->clients); c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (strcmp(c->chat_id, out->to.chat_id) != 0)
			continue;
		c->show(c->arg, out);
		shown = true;
	}
	return shown;
}

struct console_opts
hub_console_opts(struct hub *hub)
{
	return (struct console_opts){ hub, on_show };
}

static void
on_text(void *arg, const struct origin *to, const char *text, size_t len)
{
	struct hub *hub = arg;
	struct hub_client *c;

	if (strcmp(to->platform, "console") != 0)
		return;
	TAILQ_FOREACH(c, &hub->clients, link)
		if (strcmp(c->chat_id, to->chat_id) == 0)
			c->text(c->arg, text, len);
}

static void
on_activity(void *arg, const struct origin *to, const char *what)
{
	struct hub *hub = arg;
	struct hub_client *c;

	if (strcmp(to->platform, "console") != 0)
		return;
	TAILQ_FOREACH(c, &hub->clients, link)
		if (strcmp(c->chat_id, to->chat_id) == 0)
			c->activity(c->arg, what);
}

static void
on_answered(void *arg, const struct origin *to, bool ok)
{
	struct hub *hub = arg;
	struct hub_client *c;

	if (strcmp(to->platform, "console") != 0)
		return;
	TAILQ_FOREACH(c, &hub->clients, link)
		if (strcmp(c->chat_id, to->chat_id) == 0)
			c->answered(c->arg, ok);
}

void
hub_gateway_opts(struct hub *hub, struct gateway_opts *opts)
{
	opts->console_arg = hub;
	opts->on_text = on_text;
	opts->on_activity = on_activity;
	opts->on_answered = on_answered;
}

void
hub_add(struct hub *hub, struct hub_client *client)
{
	TAILQ_INSERT_TAIL(&hub->clients, client, link);
}

void
hub_remove(struct hub *hub, struct hub_client *client)
{
	TAILQ_REMOVE(&hub->clients, client, link);
}

void
hub_say(struct hub *hub, const struct hub_client *client, const char *text)
{
	console_input(gateway_console(hub->gateway), client->chat_id, OPERATOR,
	    text);
}

bool
hub_idle(struct hub *hub, const struct hub_client *client)
{
	struct msg msg = {
		.kind = MSG_TEXT, .platform = "console", .account = "local",
		.event_id = "", .chat_id = client->chat_id,
		.chat_type = CHAT_DM, .thread_id = "", .user_id = OPERATOR,
	};

	return console_pending(gateway_console(hub->gateway)) == 0 &&
	    gateway_chat_idle(hub->gateway, &msg);
}
