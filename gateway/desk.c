#include "gateway/desk.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/owner.h"
#include "gateway/sandbox_prune.h"
#include "gateway/session_edit.h"

#define LOOK_MS 20
#define NAME_MAX_BYTES 64

struct desk {
	struct loop *loop;
	struct hub *hub;
	struct store *store;
	struct owner *owner;
};

/* A console client behind the socket; the call's data. */
struct visitor {
	struct desk *desk;
	struct owner_call *call;
	struct hub_client client;
	char *chat_id;
	struct timer *look;	/* while something of it is under way */
};

static void on_look(void *arg);

static struct json *
event(const char *name)
{
	struct json *frame = json_object();

	json_set_str(frame, "event", name);
	return frame;
}

static void
on_show(void *arg, const struct outgoing *out)
{
	struct visitor *v = arg;
	struct json *frame = event("show");

	json_set_str(frame, "text", out->text);
	json_set_bool(frame, "question", out->nbuttons > 0);
	owner_call_send(v->call, frame);
}

static void
on_text(void *arg, const char *text, size_t len)
{
	struct visitor *v = arg;
	struct json *frame = event("text");
	CLEANUP_FREE char *copy = mem_strn(text, len);

	json_set_str(frame, "text", copy);
	owner_call_send(v->call, frame);
}

static void
on_activity(void *arg, const char *what)
{
	struct visitor *v = arg;
	struct json *frame = event("activity");

	json_set_str(frame, "text", what);
	owner_call_send(v->call, frame);
}

static void
on_answered(void *arg, bool ok)
{
	struct visitor *v = arg;
	struct json *frame = event("answered");

	json_set_bool(frame, "ok", ok);
	owner_call_send(v->call, frame);
}

/* Tells the client, once, when all it asked for is done and shown. */
static void
on_look(void *arg)
{
	struct visitor *v = arg;

	v->look = NULL;
	if (hub_idle(v->desk->hub, &v->client))
		owner_call_send(v->call, event("idle"));
	else
		v->look = loop_after(v->desk->loop, LOOK_MS, "desk look",
		    on_look, v);
}

static bool
is_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

	return n > 0 && n <= NAME_MAX_BYTES && s[n] == '\0';
}

static void
chat_start(void *arg, struct owner_call *call, const struct json *req)
{
	struct desk *desk = arg;
	const char *name = json_get_str(req, "session", "main");

	if (!desk->hub->gateway || !is_name(name)) {
		struct json *frame = json_object();

		json_set_str(frame, "error", desk->hub->gateway ?
		    "a session name has letters, digits, '_', '-' and '.'" :
		    "the gateway is still starting");
		owner_call_end(call, frame, false);
		return;
	}
	struct visitor *v = mem_alloc(sizeof(*v));

	v->desk = desk;
	v->call = call;
	v->chat_id = mem_str(name);
	v->client = (struct hub_client){
		.chat_id = v->chat_id, .arg = v, .show = on_show,
		.text = on_text, .activity = on_activity,
		.answered = on_answered,
	};
	hub_add(desk->hub, &v->client);
	owner_call_set_data(call, v);
	struct json *frame = event("ready");
	CLEANUP_FREE char *greeting = gateway_greeting(desk->hub->gateway);

	json_set_str(frame, "text", greeting);
	owner_call_send(call, frame);
}

static void
chat_input(void *arg, struct owner_call *call, const struct json *frame)
{
	struct visitor *v = owner_call_data(call);
	const char *text = json_get_str(frame, "say", NULL);

	(void)arg;
	if (!text)
		return;
	hub_say(v->desk->hub, &v->client, text);
	if (!v->look)
		v->look = loop_after(v->desk->loop, LOOK_MS, "desk look",
		    on_look, v);
}

/* The client hung up; what it asked for goes on, answers wait in the store. */
static void
chat_gone(void *arg, struct owner_call *call)
{
	struct visitor *v = owner_call_data(call);

	(void)arg;
	if (!v)
		return;
	hub_remove(v->desk->hub, &v->client);
	loop_cancel(&v->look);
	mem_free(v->chat_id);
	mem_free(v);
}

static void
status_start(void *arg, struct owner_call *call, const struct json *req)
{
	struct gateway *gw = ((struct desk *)arg)->hub->gateway;
	struct json *status = gw ? gateway_status(gw) : NULL;

	(void)req;
	if (status)
		json_set_bool(status, "idle", gateway_idle(gw));
	owner_call_end(call, status, true);
}

/* {action: "grants"} or {action: "revoke", session (absent: all)}. */
static void
approvals_start(void *arg, struct owner_call *call, const struct json *req)
{
	struct gateway *gw = ((struct desk *)arg)->hub->gateway;
	const char *action = json_get_str(req, "action", "");
	struct json *res = json_object();
	bool ok = gw != NULL;

	if (!gw)
		json_set_str(res, "error", "the gateway is still starting");
	else if (strcmp(action, "grants") == 0)
		json_set_take(res, "grants", gateway_grants(gw));
	else if (strcmp(action, "revoke") == 0)
		json_set_int(res, "revoked", gateway_revoke(gw,
		    json_get_str(req, "session", NULL)));
	else
		ok = false;
	owner_call_end(call, res, ok);
}

static void
sessions_start(void *arg, struct owner_call *call, const struct json *req)
{
	struct desk *desk = arg;

	session_edit_call(desk->loop, desk->store, call, req);
}

static void
sessions_gone(void *arg, struct owner_call *call)
{
	(void)arg;
	session_edit_gone(call);
}

static void
prune_start(void *arg, struct owner_call *call, const struct json *req)
{
	struct gateway *gw = ((struct desk *)arg)->hub->gateway;

	if (gw) {
		sandbox_prune_call(gateway_sandboxes(gw), call, req);
		return;
	}
	owner_call_end(call, json_set_str(json_object(), "error",
	    "the gateway is still starting"), false);
}

static void
prune_gone(void *arg, struct owner_call *call)
{
	(void)arg;
	sandbox_prune_gone(call);
}

static const struct owner_handler handlers[] = {
	{ "approvals", approvals_start, NULL, NULL },
	{ "chat", chat_start, chat_input, chat_gone },
	{ "prune", prune_start, NULL, prune_gone },
	{ "sessions", sessions_start, NULL, sessions_gone },
	{ "status", status_start, NULL, NULL },
};

struct desk *
desk_open(struct loop *loop, const struct home *home, struct hub *hub,
    struct store *store, struct err *err)
{
	struct desk *desk = mem_alloc(sizeof(*desk));

	desk->loop = loop;
	desk->hub = hub;
	desk->store = store;
	desk->owner = owner_listen(loop, home, handlers, ARRAY_LEN(handlers),
	    desk, err);
	if (!desk->owner)
		desk_close(&desk);
	return desk;
}

void
desk_close(struct desk **deskp)
{
	if (!*deskp)
		return;
	struct desk *desk = STEAL(*deskp);

	owner_free(&desk->owner);
	mem_free(desk);
}
