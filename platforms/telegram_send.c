/*
 * Sends, edits, typing, answers to presses.  A refusal that a plainer request
 * would not meet (markup, topic, reply target) is answered with that request,
 * once each; nothing is repeated that may have been done.
 */
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "platforms/telegram_priv.h"
#include "platforms/text/render.h"
#include "platforms/text/telegram_html.h"

#define SEND_MS 30000
#define FILE_MS 120000
#define HTML_MAX (1u << 20)
#define RATE_DEFAULT_MS 5000
#define PRESS_TEXT_MAX 200

struct send {
	struct op op;
	struct platform_instance *inst;
	struct op *call;
	struct timer *soon;	/* a result known at start */
	enum send_error known;
	const char *method;
	const char *label;
	struct json *params;
	char *plain;		/* what goes if the markup is refused */
	bool edit;
	char *file_name, *file;	/* sendDocument: what it carries */
	send_cb *cb;
	void *arg;
};

static void on_replied(void *arg, struct telegram_reply *reply);

/* ---- the op -------------------------------------------------------------------- */

static void
send_free(struct send *s)
{
	json_free(&s->params);
	mem_free(s->plain);
	mem_free(s->file_name);
	mem_free(s->file);
	mem_free(s);
}

static void
send_cancel(struct op *op)
{
	struct send *s = (struct send *)(void *)op;

	op_cancel(&s->call);
	loop_cancel(&s->soon);
	s->inst->sends--;
	send_free(s);
}

static const struct op_type send_type = { "telegram-send", send_cancel };

static void
send_finish(struct send *s, const struct send_result *res)
{
	s->inst->sends--;
	op_finish(&s->op);
	s->cb(s->arg, res);
	send_free(s);
}

static struct send *
send_new(struct platform_instance *inst, const char *method, const char *label,
	send_cb *cb, void *arg)
{
	struct send *s = mem_alloc(sizeof(*s));

	op_init(&s->op, &send_type);
	inst->sends++;
	s->inst = inst;
	s->method = method;
	s->label = label;
	s->params = json_object();
	s->cb = cb;
	s->arg = arg;
	return s;
}

static void
send_call(struct send *s)
{
	const struct telegram_file file = { "document", s->file_name, s->file,
		s->file ? strlen(s->file) : 0 };

	s->call = telegram_api_start(&s->inst->api,
		&(struct telegram_call){ .method = s->method, .label = s->label,
			.params = s->params, .file = s->file ? &file : NULL,
			.total_ms = s->file ? FILE_MS : SEND_MS,
			.cb = on_replied, .arg = s });
}

static void
on_known(void *arg)
{
	struct send *s = arg;
	struct err err;
	bool empty = s->known == SEND_ERR_REFUSED;

	s->soon = NULL;
	err_set(&err, empty ? ERR_INVALID : ERR_LIMIT, "%s: %s", s->label, empty ?
		"the text is empty" : "the text is longer than 4096");
	send_finish(s, &(struct send_result){ .outcome = SEND_NO,
		.error = s->known, .msg_id = "", .new_chat_id = "", .err = &err });
}

static void
send_known(struct send *s, enum send_error error)
{
	s->known = error;
	s->soon = loop_defer(s->inst->loop, "telegram-send",
		on_known, s);
}

/* ---- what a refusal means -------------------------------------------------------- */

struct meaning { int status; const char *part; enum send_error error; };

/* First match wins; "" matches the rest of its status. */
static const struct meaning meanings[] = {
	{ 400, "can't parse entities", SEND_ERR_FORMAT },
	{ 400, "is too long", SEND_ERR_TOO_LONG },
	{ 400, "MESSAGE_TOO_LONG", SEND_ERR_TOO_LONG },
	{ 400, "message to edit not found", SEND_ERR_MSG_GONE },
	{ 400, "message can't be edited", SEND_ERR_MSG_GONE },
	{ 400, "MESSAGE_ID_INVALID", SEND_ERR_MSG_GONE },
	{ 400, "chat not found", SEND_ERR_TARGET_GONE },
	{ 400, "have no access to the user", SEND_ERR_TARGET_GONE },
	{ 400, "user not found", SEND_ERR_TARGET_GONE },
	{ 400, "PEER_ID_INVALID", SEND_ERR_TARGET_GONE },
	{ 400, "", SEND_ERR_REFUSED },
	{ 401, "", SEND_ERR_CONFIG },
	{ 404, "", SEND_ERR_CONFIG },
	{ 403, "bot was blocked", SEND_ERR_TARGET_GONE },
	{ 403, "user is deactivated", SEND_ERR_TARGET_GONE },
	{ 403, "can't initiate conversation", SEND_ERR_TARGET_GONE },
	{ 403, "bot was kicked", SEND_ERR_TARGET_GONE },
	{ 403, "is not a member", SEND_ERR_TARGET_GONE },
	{ 403, "chat was deleted", SEND_ERR_TARGET_GONE },
	{ 403, "can't send messages to bots", SEND_ERR_TARGET_GONE },
	{ 429, "", SEND_ERR_RATE },
};

static bool
says(const struct telegram_reply *r, const char *part)
{
	return strcasestr(r->text, part) != NULL;
}

static enum send_error
error_of(const struct telegram_reply *r)
{
	if (r->verdict == TELEGRAM_NOT_SENT)
		return SEND_ERR_TRANSIENT;
	if (r->migrate_to[0])
		return SEND_ERR_MIGRATED;
	for (size_t i = 0; i < ARRAY_LEN(meanings); i++)
		if (meanings[i].status == r->status && says(r, meanings[i].part))
			return meanings[i].error;
	return SEND_ERR_REFUSED;
}

static bool
drop_param(struct send *s, const char *key)
{
	bool had = json_get(s->params, key) != NULL;

	json_remove(s->params, key);
	return had;
}

/* Makes the request plainer; false if it can't help against this refusal. */
static bool
make_plainer(struct send *s, const struct telegram_reply *r)
{
	if (says(r, "can't parse entities") && s->plain) {
		log_warn("telegram", NULL, "markup refused, sending plain: %s",
			r->text);
		json_set_str(s->params, "text", s->plain);
		mem_free(STEAL(s->plain));
		return drop_param(s, "parse_mode");
	}
	if (says(r, "message thread not found"))
		return drop_param(s, "message_thread_id");
	if (says(r, "message to be replied not found") ||
	    says(r, "replied message not found"))
		return drop_param(s, "reply_parameters");
	return false;
}

static void
on_replied(void *arg, struct telegram_reply *r)
{
	struct send *s = arg;
	char msg_id[24] = "";
	int64_t id;

	s->call = NULL;
	if (r->verdict == TELEGRAM_REFUSED && r->status == 400 &&
	    make_plainer(s, r)) {
		send_call(s);
		return;
	}
	if (json_id(json_get(r->result, "message_id"), &id) &&
	    mem_format(msg_id, sizeof(msg_id), "%lld", (long long)id) < 0)
		msg_id[0] = '\0';
	struct send_result res = { .outcome = SEND_YES, .msg_id = msg_id,
		.new_chat_id = r->migrate_to };
	if (r->verdict == TELEGRAM_UNKNOWN) {
		res.outcome = SEND_UNKNOWN;
		res.err = r->err;
	} else if (r->verdict != TELEGRAM_OK &&
	    !(s->edit && says(r, "message is not modified"))) {
		res.outcome = SEND_NO;
		res.error = error_of(r);
		res.err = r->err;
	}
	if (res.error == SEND_ERR_RATE)
		res.retry_after_ms = r->retry_after_ms ? r->retry_after_ms :
			RATE_DEFAULT_MS;
	send_finish(s, &res);
}

/* ---- requests ---------------------------------------------------------------------- */

/* Ids are numbers on the wire; what isn't one goes as it is ("@name"). */
static void
set_id(struct json *obj, const char *key, const char *id)
{
	CLEANUP_JSON struct json *s = json_string(id);
	int64_t n;

	if (json_id(s, &n))
		json_set_int(obj, key, n);
	else
		json_set_str(obj, key, id);
}

static void
set_place(struct send *s, const struct chat_ref *to)
{
	set_id(s->params, "chat_id", to->chat_id);
	if (to->thread_id && to->thread_id[0])
		set_id(s->params, "message_thread_id", to->thread_id);
}

static void
set_buttons(struct send *s, const struct outgoing *out)
{
	struct json *rows = json_array();

	for (size_t i = 0; i < out->nbuttons; i++) {
		struct json *button = json_object();

		json_set_str(button, "text", out->buttons[i].label);
		json_set_str(button, "callback_data", out->buttons[i].data);
		json_add_take(rows, json_add_take(json_array(), button));
	}
	struct json *markup = json_object();
	json_set_take(markup, "inline_keyboard", rows);
	json_set_take(s->params, "reply_markup", markup);
}

/* The text as HTML, with what goes instead if that is refused. */
static bool
set_text(struct send *s, const struct outgoing *out)
{
	size_t len = strlen(out->text);
	CLEANUP_BUF struct buf html, plain;

	buf_init(&html, HTML_MAX);
	buf_init(&plain, HTML_MAX);
	if (out->plain || !telegram_html(&html, out->text, len)) {
		json_set_str(s->params, "text", out->text);
		return out->text[strspn(out->text, " \t\r\n")] != '\0';
	}
	json_set_str(s->params, "text", html.data);
	json_set_str(s->params, "parse_mode", "HTML");
	text_plain(&plain, out->text, len);
	s->plain = buf_take(&plain);
	return true;
}

static struct op *
start_text(struct send *s, const struct outgoing *out)
{
	if (!set_text(s, out))
		send_known(s, SEND_ERR_REFUSED);
	else if (telegram_text_len(out->text, strlen(out->text)) >
	    TELEGRAM_TEXT_MAX)
		send_known(s, SEND_ERR_TOO_LONG);
	else
		send_call(s);
	return &s->op;
}

/* core.telegram.org/bots/api#senddocument */
static struct op *
send_file(struct platform_instance *inst, const struct outgoing *out,
	send_cb *cb, void *arg)
{
	struct send *s = send_new(inst, "sendDocument", "telegram sendDocument",
		cb, arg);

	set_place(s, &out->to);
	if (out->silent)
		json_set_bool(s->params, "disable_notification", true);
	s->file_name = mem_str(out->file_name);
	s->file = mem_str(out->text);
	send_call(s);
	return &s->op;
}

struct op *
telegram_send(struct platform_instance *inst, const struct outgoing *out,
	send_cb *cb, void *arg)
{
	if (out->file_name)
		return send_file(inst, out, cb, arg);
	struct send *s = send_new(inst, "sendMessage", "telegram sendMessage",
		cb, arg);

	set_place(s, &out->to);
	if (out->reply_to && out->reply_to[0]) {
		struct json *reply = json_object();

		set_id(reply, "message_id", out->reply_to);
		json_set_bool(reply, "allow_sending_without_reply", true);
		json_set_take(s->params, "reply_parameters", reply);
	}
	if (out->silent)
		json_set_bool(s->params, "disable_notification", true);
	if (out->nbuttons)
		set_buttons(s, out);
	return start_text(s, out);
}

struct op *
telegram_edit(struct platform_instance *inst, const char *msg_id,
	const struct outgoing *out, send_cb *cb, void *arg)
{
	struct send *s = send_new(inst, "editMessageText",
		"telegram editMessageText", cb, arg);

	s->edit = true;
	set_id(s->params, "chat_id", out->to.chat_id);
	set_id(s->params, "message_id", msg_id);
	if (out->nbuttons)
		set_buttons(s, out);
	return start_text(s, out);
}

struct op *
telegram_typing(struct platform_instance *inst, const struct chat_ref *to,
	send_cb *cb, void *arg)
{
	struct send *s = send_new(inst, "sendChatAction",
		"telegram sendChatAction", cb, arg);

	set_place(s, to);
	json_set_str(s->params, "action", "typing");
	send_call(s);
	return &s->op;
}

struct op *
telegram_answer_press(struct platform_instance *inst, const char *press_id,
	const char *text, send_cb *cb, void *arg)
{
	struct send *s = send_new(inst, "answerCallbackQuery",
		"telegram answerCallbackQuery", cb, arg);

	json_set_str(s->params, "callback_query_id", press_id);
	if (text && text[0]) {
		char *shown = mem_strn(text, strlen(text));

		shown[utf8_cut(shown, strlen(shown), PRESS_TEXT_MAX)] = '\0';
		json_set_str(s->params, "text", shown);
		mem_free(shown);
	}
	send_call(s);
	return &s->op;
}
