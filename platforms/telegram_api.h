/*
 * One call of a Bot API method and what its answer means.  Knows the token and
 * that no log may show it; knows nothing of updates or chats.
 */
#ifndef GATEHOUSE_TELEGRAM_API_H
#define GATEHOUSE_TELEGRAM_API_H

#include <stdbool.h>

#include "base/err.h"
#include "base/http.h"
#include "base/json.h"
#include "base/op.h"
#include "platforms/telegram_form.h"

struct telegram_api {
	struct http *http;
	char *root;		/* "https://host/bot<token>": a secret */
};

/* -1: the token can't be one, or base_url is no http(s) URL. */
int telegram_api_init(struct telegram_api *api, struct http *http,
	const char *token, const char *base_url, struct err *err);
void telegram_api_done(struct telegram_api *api);

enum telegram_verdict {
	TELEGRAM_OK,		/* done; result may be NULL (answer cut) */
	TELEGRAM_REFUSED,	/* not done, Telegram says so */
	TELEGRAM_NOT_SENT,	/* not done, it never left */
	TELEGRAM_UNKNOWN,	/* may have been done (rules 2.2) */
};

/* Borrowed during the callback, except root, which it may take. */
struct telegram_reply {
	enum telegram_verdict verdict;
	int status;		/* error_code of a refusal, else HTTP's; 0: none */
	const char *text;	/* Telegram's description, "" if none */
	msec_t retry_after_ms;	/* of a 429, 0: none given */
	char migrate_to[24];	/* chat id, "" if none */
	struct json *root;	/* the answer, NULL if there is none */
	const struct json *result;
	const struct err *err;	/* set unless TELEGRAM_OK */
	msec_t elapsed;
};
typedef void telegram_reply_cb(void *arg, struct telegram_reply *reply);

struct telegram_call {
	const char *method;
	const char *label;	/* "telegram sendMessage" */
	const struct json *params;	/* NULL: none; copied */
	const struct telegram_file *file;	/* goes with them, or NULL; copied */
	msec_t total_ms;
	bool fresh;
	telegram_reply_cb *cb;
	void *arg;
};

struct op *telegram_api_start(struct telegram_api *api,
	const struct telegram_call *call);

#endif
