#include "gateway/chat_client.h"

#include <string.h>

#include "base/loop.h"
#include "base/mem.h"
#include "gateway/chat_ui.h"
#include "gateway/cli.h"
#include "gateway/owner_client.h"

struct visit {
	struct loop *loop;
	struct owner_client *client;
	struct watch *watch;
	struct chat_ui *ui;
	const char *text;
	bool idle;
	int exit_code;
};

static void on_frame(void *arg, unsigned events);

static void
visit_fail(struct visit *v, const char *why)
{
	cli_complain("%s", why);
	v->exit_code = CLI_FAIL;
	loop_stop(v->loop);
}

static void
peer_say(void *arg, const char *text)
{
	struct visit *v = arg;
	struct json *frame = json_object();
	struct err err;

	v->idle = false;
	json_set_str(frame, "say", text);
	if (owner_client_send(v->client, frame, &err) < 0)
		visit_fail(v, err.text);
}

static bool
peer_idle(void *arg)
{
	struct visit *v = arg;

	return v->idle;
}

static void
on_ui_done(void *arg, int exit_code)
{
	struct visit *v = arg;

	v->exit_code = exit_code;
	loop_stop(v->loop);
}

static void
take_frame(struct visit *v, const struct json *frame)
{
	const char *event = json_get_str(frame, "event", "");
	const char *text = json_get_str(frame, "text", "");

	if (strcmp(event, "ready") == 0 && !v->ui) {
		struct chat_ui_opts opts = {
			.text = v->text, .greeting = text,
			.peer = { v, peer_say, peer_idle },
			.arg = v, .done = on_ui_done,
		};

		v->idle = true;
		v->ui = chat_ui_start(v->loop, &opts);
	} else if (strcmp(event, "done") == 0) {
		visit_fail(v, json_get_str(frame, "error",
		    "the owner has ended this chat"));
	} else if (!v->ui) {
		return;
	} else if (strcmp(event, "show") == 0) {
		chat_ui_show(v->ui, text, json_get_bool(frame, "question", false));
	} else if (strcmp(event, "text") == 0) {
		chat_ui_text(v->ui, text, strlen(text));
	} else if (strcmp(event, "activity") == 0) {
		chat_ui_activity(v->ui, text);
	} else if (strcmp(event, "answered") == 0) {
		chat_ui_answered(v->ui, json_get_bool(frame, "ok", false));
	} else if (strcmp(event, "idle") == 0) {
		v->idle = true;
	}
}

static void
on_frame(void *arg, unsigned events)
{
	struct visit *v = arg;
	struct err err;
	int n;

	(void)events;
	do {
		CLEANUP_JSON struct json *frame = NULL;

		n = owner_client_receive(v->client, 0, &frame, &err);
		if (n > 0)
			take_frame(v, frame);
	} while (n > 0);
	if (n < 0)
		visit_fail(v, err.text);
}

int
chat_client_run(struct owner_client *client, const char *session,
    const char *text)
{
	struct visit v = { .client = client, .text = text };
	struct json *hello = json_object();
	struct err err;

	v.loop = loop_new();
	json_set_str(hello, "cmd", "chat");
	json_set_str(hello, "session", session);
	if (owner_client_send(client, hello, &err) < 0) {
		cli_complain("%s", err.text);
		v.exit_code = CLI_FAIL;
	} else {
		v.watch = loop_watch(v.loop, owner_client_fd(client), LOOP_READ,
		    "owner", on_frame, &v);
		loop_run(v.loop);
	}
	chat_ui_free(&v.ui);
	loop_unwatch(&v.watch);
	owner_disconnect(&v.client);
	loop_free(&v.loop);
	return v.exit_code;
}
