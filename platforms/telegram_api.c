#include "platforms/telegram_api.h"

#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"

#define BODY_MAX (16u << 20)

#define DEFAULT_ROOT "https://api.telegram.org"
#define RETRY_AFTER_MAX_S (24 * 3600)

struct api_op {
	struct op op;
	struct op *http;
	char *label;
	telegram_reply_cb *cb;
	void *arg;
};

static bool
token_ok(const char *token)
{
	size_t digits = strspn(token, "0123456789");

	return digits > 0 && token[digits] == ':' && token[digits + 1] &&
		strspn(token + digits + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			"abcdefghijklmnopqrstuvwxyz0123456789_-") ==
		strlen(token + digits + 1);
}

int
telegram_api_init(struct telegram_api *api, struct http *http,
	const char *token, const char *base_url, struct err *err)
{
	const char *base = base_url && base_url[0] ? base_url : DEFAULT_ROOT;
	size_t n = strlen(base);

	memset(api, 0, sizeof(*api));
	if (!token || !token_ok(token))
		return err_set(err, ERR_CONFIG, "the Telegram bot token does not "
			"look like one (digits, a colon, letters): copy it from "
			"@BotFather into TELEGRAM_BOT_TOKEN");
	if (strncmp(base, "http://", 7) && strncmp(base, "https://", 8))
		return err_set(err, ERR_CONFIG, "platforms.telegram.extra.base_url "
			"must start with http:// or https://");
	while (n && base[n - 1] == '/')
		n--;
	if (n > 4 && !memcmp(base + n - 4, "/bot", 4))
		n -= 4;
	api->http = http;
	api->root = mem_printf("%.*s/bot%s", (int)n, base, token);
	return 0;
}

void
telegram_api_done(struct telegram_api *api)
{
	mem_free_secret(&api->root);
}

/* ---- what an answer means ------------------------------------------------------ */

static msec_t
retry_after(const struct json *root, const struct http_result *res)
{
	int64_t s = json_get_int(json_get(root, "parameters"), "retry_after", 0);

	if (s <= 0 && res->retry_after) {
		char *end;
		long v = strtol(res->retry_after, &end, 10);

		s = end != res->retry_after && v > 0 ? v : 0;
	}
	return (s > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : s) * 1000;
}

/*
 * A refusal counts only in Telegram's own words: a proxy's error page says
 * nothing about what happened behind the proxy. 429 is one from anybody.
 */
static enum telegram_verdict
verdict_of(const struct http_result *res, const struct json *root, int code)
{
	bool ours = json_is_bool(json_get(root, "ok"));
	bool ok = ours && json_get_bool(root, "ok", false);

	if (res->outcome == HTTP_NOT_SENT)
		return TELEGRAM_NOT_SENT;
	if (res->status == 429 || (ours && !ok && code == 429))
		return TELEGRAM_REFUSED;
	if (res->status / 100 == 2 && res->outcome == HTTP_CUT)
		return !res->content_type[0] ||
			strstr(res->content_type, "json") ? TELEGRAM_OK :
			TELEGRAM_UNKNOWN;
	if (res->outcome != HTTP_ANSWERED || !ours)
		return TELEGRAM_UNKNOWN;
	if (ok)
		return res->status / 100 == 2 ? TELEGRAM_OK : TELEGRAM_UNKNOWN;
	return code >= 400 && code < 500 ? TELEGRAM_REFUSED : TELEGRAM_UNKNOWN;
}

static void
explain(const struct api_op *a, const struct telegram_reply *r,
	const struct http_result *res, struct err *err)
{
	if (res->outcome != HTTP_ANSWERED && res->err)
		*err = *res->err;
	else if (r->text[0])
		err_set(err, r->verdict == TELEGRAM_UNKNOWN ? ERR_LOST :
			r->status == 429 ? ERR_UNAVAILABLE : ERR_DENIED,
			"%s: %s", a->label, r->text);
	else
		err_set(err, r->verdict == TELEGRAM_UNKNOWN ? ERR_LOST :
			ERR_DENIED, "%s: HTTP %d without an answer of the Bot API",
			a->label, res->status);
}

static void
on_answer(void *arg, const struct http_result *res)
{
	struct api_op *a = arg;
	struct telegram_reply r = { .status = res->status, .text = "",
		.elapsed = res->elapsed };
	struct err err = { .code = ERR_NONE };
	int64_t id;

	a->http = NULL;
	if (res->outcome == HTTP_ANSWERED)
		r.root = json_parse(res->body, res->body_len, NULL);
	r.text = json_get_str(r.root, "description", "");
	if (!json_get_bool(r.root, "ok", true))
		r.status = (int)json_get_int(r.root, "error_code", res->status);
	r.verdict = verdict_of(res, r.root, r.status);
	if (r.verdict == TELEGRAM_OK)
		r.result = json_get(r.root, "result");
	else
		explain(a, &r, res, &err);
	r.err = r.verdict == TELEGRAM_OK ? NULL : &err;
	r.retry_after_ms = retry_after(r.root, res);
	if (json_id(json_path(r.root, "parameters.migrate_to_chat_id"), &id) &&
	    mem_format(r.migrate_to, sizeof(r.migrate_to), "%lld",
		(long long)id) < 0)
		r.migrate_to[0] = '\0';
	op_finish(&a->op);
	a->cb(a->arg, &r);
	json_free(&r.root);
	mem_free(a->label);
	mem_free(a);
}

static void
api_cancel(struct op *op)
{
	struct api_op *a = (struct api_op *)(void *)op;

	op_cancel(&a->http);
	mem_free(a->label);
	mem_free(a);
}

static const struct op_type api_op_type = { "telegram", api_cancel };

struct op *
telegram_api_start(struct telegram_api *api, const struct telegram_call *call)
{
	struct api_op *a = mem_alloc(sizeof(*a));
	char *url = mem_printf("%s/%s", api->root, call->method);
	char boundary[33];
	CLEANUP_BUF struct buf body;

	ids_hex(boundary, 32);
	CLEANUP_FREE char *type = call->file ? mem_printf("Content-Type: "
		"multipart/form-data; boundary=%s", boundary) :
		mem_str("Content-Type: application/json");
	const char *const headers[] = { type, "Accept: application/json", NULL };

	buf_init(&body, BODY_MAX);
	if (call->file) {
		telegram_form(&body, boundary, call->params, call->file);
	} else {
		CLEANUP_FREE char *text = call->params ?
			json_text(call->params) : mem_str("{}");

		buf_add_str(&body, text);
	}
	op_init(&a->op, &api_op_type);
	a->label = mem_str(call->label);
	a->cb = call->cb;
	a->arg = call->arg;
	a->http = http_start(api->http, &(struct http_req){
		.label = call->label, .method = "POST", .url = url,
		.headers = headers, .body = body.data, .body_len = body.len,
		.total_ms = call->total_ms, .fresh = call->fresh },
		on_answer, a);
	mem_free_secret(&url);
	return &a->op;
}
