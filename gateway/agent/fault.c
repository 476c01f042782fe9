#include "gateway/agent/fault.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"

#define SAID_MAX 240		/* bytes of a server's words that are shown */
#define WAIT_TOLD 60000		/* ms; a longer wait is said to the person */
#define RETRY_AFTER_MAX ((msec_t)24 * 3600 * 1000)

/* Words by which servers name a kind of fault, in code, type or message. */
struct sign {
	enum model_error error;
	const char *word;	/* substring, any case */
	bool in_message;	/* seen in free text, not only in code and type */
};

/* The first hit decides. Collected from servers' sources and bug reports. */
static const struct sign signs[] = {
	{ MODEL_ERR_CONTEXT, "context_length", true },
	{ MODEL_ERR_CONTEXT, "maximum context", true },
	{ MODEL_ERR_CONTEXT, "context length", true },
	{ MODEL_ERR_CONTEXT, "context window", true },
	{ MODEL_ERR_CONTEXT, "context size", true },	/* llama.cpp */
	{ MODEL_ERR_CONTEXT, "exceed_context", false },
	{ MODEL_ERR_CONTEXT, "prompt is too long", true },
	{ MODEL_ERR_CONTEXT, "input is too long", true },
	{ MODEL_ERR_CONTEXT, "too many input tokens", true },
	{ MODEL_ERR_QUOTA, "insufficient_quota", true },
	{ MODEL_ERR_QUOTA, "insufficient credit", true },
	{ MODEL_ERR_QUOTA, "insufficient balance", true },
	{ MODEL_ERR_QUOTA, "billing", false },
	{ MODEL_ERR_QUOTA, "exceeded your current quota", true },
	{ MODEL_ERR_POLICY, "content_policy", true },
	{ MODEL_ERR_POLICY, "content_filter", true },
	{ MODEL_ERR_POLICY, "content management policy", true },	/* Azure */
	{ MODEL_ERR_AUTH, "invalid_api_key", true },
	{ MODEL_ERR_AUTH, "authentication", false },
	{ MODEL_ERR_AUTH, "permission", false },
	{ MODEL_ERR_AUTH, "unauthorized", false },
	{ MODEL_ERR_RETRY, "rate_limit", false },
	{ MODEL_ERR_RETRY, "overloaded", false },
	{ MODEL_ERR_RETRY, "server_error", false },
	{ MODEL_ERR_RETRY, "timeout", false },
	{ MODEL_ERR_REQUEST, "invalid_request", false },
	{ MODEL_ERR_REQUEST, "badrequest", false },
	{ MODEL_ERR_REQUEST, "not_found", false },
};

const char *
model_error_name(enum model_error error)
{
	switch (error) {
	case MODEL_ERR_NONE: return "none";
	case MODEL_ERR_RETRY: return "retry";
	case MODEL_ERR_AUTH: return "auth";
	case MODEL_ERR_QUOTA: return "quota";
	case MODEL_ERR_CONTEXT: return "context";
	case MODEL_ERR_REQUEST: return "request";
	case MODEL_ERR_POLICY: return "policy";
	}
	return "unknown";
}

/* ---- reading an error body ------------------------------------------------ */

struct said {
	const char *message;	/* "" if none */
	const char *code;
	const char *type;
	int status;		/* named in the body; 0 */
};

static int
status_of(const struct json *node)
{
	int64_t n;

	return json_id(node, &n) && n >= 100 && n <= 599 ? (int)n : 0;
}

/* FastAPI: detail is a text or a list of {loc, msg}. */
static const char *
detail_message(const struct json *detail)
{
	const char *s = json_str(detail);

	return s ? s : json_get_str(json_at(detail, 0), "msg", "");
}

static const char *
first_filled(const char *a, const char *b)
{
	return *a ? a : b;
}

static struct said
read_body(const struct json *body)
{
	const struct json *e = json_get(body, "error");
	struct said s = { "", "", "", 0 };

	if (!json_is_object(e))
		e = body;
	s.message = json_get_str(e, "message", "");
	s.message = first_filled(s.message, json_get_str(e, "error_message", ""));
	s.message = first_filled(s.message, json_get_str(body, "error", ""));
	s.message = first_filled(s.message,
	    detail_message(json_get(body, "detail")));
	s.code = json_get_str(e, "code", "");
	s.type = json_get_str(e, "type", "");
	s.type = first_filled(s.type, json_get_str(e, "error_type", ""));
	s.status = status_of(json_get(e, "code"));
	if (!s.status)
		s.status = status_of(json_get(e, "status"));
	if (!s.status)
		s.status = status_of(json_get(e, "status_code"));
	return s;
}

bool
fault_in(const struct json *body)
{
	const struct json *e = json_get(body, "error");
	const char *text = json_str(e);

	if (text ? *text : json_is_object(e) && json_len(e) > 0)
		return true;
	if (json_get_str(body, "error_message", NULL) ||
	    json_get_str(body, "error_type", NULL))
		return true;
	if (json_len(json_get(body, "choices")) > 0 || json_get(body, "usage"))
		return false;
	return json_get_str(body, "message", NULL) || json_get(body, "detail") ||
	    strcmp(json_get_str(body, "object", ""), "error") == 0;
}

/* ---- classes -------------------------------------------------------------- */

static enum model_error
class_by_words(const struct said *s)
{
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		const char *word = signs[i].word;

		if (strcasestr(s->code, word) || strcasestr(s->type, word) ||
		    (signs[i].in_message && strcasestr(s->message, word)))
			return signs[i].error;
	}
	return MODEL_ERR_NONE;
}

static enum model_error
class_by_status(int status)
{
	switch (status) {
	case 401:
	case 403:
		return MODEL_ERR_AUTH;
	case 402:
		return MODEL_ERR_QUOTA;
	case 408:
	case 409:
	case 425:
	case 429:
		return MODEL_ERR_RETRY;
	default:
		return status >= 500 ? MODEL_ERR_RETRY : MODEL_ERR_REQUEST;
	}
}

/*
 * A status says more than the words, except that some classes hide behind 400
 * and 429, and that local servers answer 500 for a prompt that is too long.
 */
static enum model_error
classify(const struct said *s, int status)
{
	enum model_error words = class_by_words(s);

	if (words == MODEL_ERR_CONTEXT || words == MODEL_ERR_POLICY ||
	    words == MODEL_ERR_QUOTA)
		return words;
	if (status > 0 && status / 100 != 2)
		return class_by_status(status);
	return words != MODEL_ERR_NONE ? words : MODEL_ERR_RETRY;
}

static const char *
advice(enum model_error error, int status)
{
	switch (error) {
	case MODEL_ERR_AUTH:
		return ". Check the key (model.api_key or model.key_env) and "
		    "model.base_url";
	case MODEL_ERR_QUOTA:
		return ". The account has no credit left: top it up or choose "
		    "another model";
	case MODEL_ERR_CONTEXT:
		return ". The conversation is too long for this model: /new "
		    "begins a fresh one";
	case MODEL_ERR_REQUEST:
		return status == 404 ? ". Check model.default and "
		    "model.base_url" : "";
	case MODEL_ERR_POLICY:
		return ". The provider's filter refused it";
	case MODEL_ERR_RETRY:
	case MODEL_ERR_NONE:
		break;
	}
	return "";
}

static enum err_code
code_of(enum model_error error)
{
	switch (error) {
	case MODEL_ERR_AUTH:
	case MODEL_ERR_QUOTA:
		return ERR_CONFIG;
	case MODEL_ERR_CONTEXT:
		return ERR_LIMIT;
	case MODEL_ERR_POLICY:
		return ERR_DENIED;
	case MODEL_ERR_REQUEST:
		return ERR_INVALID;
	case MODEL_ERR_RETRY:
	case MODEL_ERR_NONE:
		break;
	}
	return ERR_UNAVAILABLE;
}

/* ---- words ---------------------------------------------------------------- */

/* One line of what a server said: masked, without control bytes, shortened. */
static void
add_said(struct buf *out, const char *text)
{
	CLEANUP_BUF struct buf masked;
	size_t n;

	buf_init(&masked, (size_t)64 << 10);
	redact_text(&masked, text, utf8_cut(text, strlen(text), 16 << 10));
	for (char *p = masked.data; p < masked.data + masked.len; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	}
	n = utf8_cut(masked.data, masked.len, SAID_MAX);
	buf_add(out, masked.data, n);
	if (n < masked.len)
		buf_add_str(out, "...");
}

void
fault_set(struct fault *f, enum model_error error, enum err_code code,
	const char *whom, const char *fmt, ...)
{
	CLEANUP_BUF struct buf text;
	va_list ap;

	buf_init(&text, ERR_TEXT_MAX);
	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	f->error = error;
	f->retry_after_ms = 0;
	err_set(&f->err, code, "%s: %s", whom, text.data);
}

static void
set_said(struct fault *f, const char *whom, int status, const struct said *s)
{
	CLEANUP_BUF struct buf text;

	buf_init(&text, ERR_TEXT_MAX);
	add_said(&text, s->message);
	if (text.len == 0)
		add_said(&text, first_filled(s->code, s->type));
	if (text.len == 0)
		buf_add_str(&text, "no reason given");
	f->error = classify(s, status);
	f->retry_after_ms = 0;
	if (status)
		err_set(&f->err, code_of(f->error), "%s answered %d: %s%s", whom,
		    status, text.data, advice(f->error, status));
	else
		err_set(&f->err, code_of(f->error), "%s failed: %s%s", whom,
		    text.data, advice(f->error, 0));
}

void
fault_from_json(struct fault *f, const char *whom, int status,
	const struct json *body)
{
	struct said s = read_body(body);

	if (status / 100 == 2)
		status = 0;
	set_said(f, whom, status ? status : s.status, &s);
}

/* ---- HTTP ----------------------------------------------------------------- */

/* Seconds with a fraction, or an HTTP date; 0 if neither. */
static msec_t
wait_of(const char *value, double unit_ms, msec_t now_wall)
{
	char *end;
	double n = strtod(value, &end);
	struct tm tm = { 0 };

	if (end != value && *end == '\0') {
		if (!(n > 0))
			return 0;
		return n * unit_ms > (double)RETRY_AFTER_MAX ?
		    RETRY_AFTER_MAX : (msec_t)(n * unit_ms);
	}
	end = strptime(value, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	if (!end || *end != '\0')
		return 0;
	msec_t wait = (msec_t)timegm(&tm) * 1000 - now_wall;

	return wait < 0 ? 0 : wait > RETRY_AFTER_MAX ? RETRY_AFTER_MAX : wait;
}

/* What the server itself says about a second try beats the class. */
static void
apply_headers(struct fault *f, const struct http_result *res, msec_t now_wall)
{
	if (res->retry_after_ms)
		f->retry_after_ms = wait_of(res->retry_after_ms, 1, now_wall);
	if (f->retry_after_ms == 0 && res->retry_after)
		f->retry_after_ms = wait_of(res->retry_after, 1000, now_wall);
	if (f->retry_after_ms >= WAIT_TOLD)
		err_wrap(&f->err, "asked to wait %lld s",
		    (long long)(f->retry_after_ms / 1000));
	if (!res->should_retry)
		return;
	if (strcmp(res->should_retry, "false") == 0)
		f->retry_after_ms = -1;
	else if (strcmp(res->should_retry, "true") == 0 &&
	    f->error == MODEL_ERR_REQUEST)
		f->error = MODEL_ERR_RETRY;
}

void
fault_from_http(struct fault *f, const char *whom,
	const struct http_result *res, msec_t now_wall)
{
	struct json *body;

	if (res->status == 0) {
		fault_set(f, MODEL_ERR_RETRY, res->err->code, whom, "%s",
		    res->err->text);
		return;
	}
	body = json_parse(res->body, res->body_len, NULL);
	if (json_is_object(body)) {
		fault_from_json(f, whom, res->status, body);
	} else {
		struct said s = { "no reason given", "", "", 0 };

		if (res->body_len > 0)
			s.message = strcasestr(res->body, "<html") ?
			    "a web page instead of an answer (a proxy, or a "
			    "wrong model.base_url?)" : res->body;
		set_said(f, whom, res->status, &s);
	}
	json_free(&body);
	apply_headers(f, res, now_wall);
}
