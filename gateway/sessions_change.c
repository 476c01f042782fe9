/* sessions rename, delete, prune: through the owner, or with its lock. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/cli.h"
#include "gateway/owner.h"
#include "gateway/owner_client.h"
#include "gateway/session_edit.h"
#include "gateway/sessions_ask.h"
#include "gateway/sessions_cmd.h"

#define PRUNE_DAYS 90
#define DAY_MS ((msec_t)24 * 60 * 60 * 1000)
#define OWNER_ANSWER_MS (10 * 60 * 1000)	/* a long prune is many slices */

/* The owner's last frame says ok, or carries the error's text. */
static struct json *
change_by_owner(struct owner_client *client, struct json *req, struct err *err)
{
	struct json *frame = NULL;

	json_set_str(req, "cmd", "sessions");
	if (owner_client_send(client, req, err) < 0)
		return NULL;
	int n = owner_client_receive(client, OWNER_ANSWER_MS, &frame, err);
	if (n == 0)
		err_set(err, ERR_TIMEOUT, "the running gateway did not answer");
	if (n <= 0)
		return NULL;
	if (!json_get_bool(frame, "ok", false)) {
		err_set(err, ERR_UNAVAILABLE, "%s", json_get_str(frame, "error",
			"the running gateway refused"));
		json_free(&frame);
	}
	return frame;
}

static struct json *
change_here(struct cli_ctx *ctx, const struct json *req, struct err *err)
{
	struct sessions_ask ask;
	struct json *res = NULL;

	if (sessions_ask_open(&ask, &ctx->home, false, err) < 0)
		return NULL;
	session_edit_start(ask.loop, ask.store, req, true, sessions_on_answer,
		&ask);
	if (sessions_ask_wait(&ask) == 0)
		res = STEAL(ask.res);
	else
		*err = ask.err;
	sessions_ask_close(&ask);
	return res;
}

/* Takes req. NULL: complained. */
static struct json *
change(struct cli_ctx *ctx, struct json *req)
{
	struct err err = { ERR_NONE, "" };
	struct owner_client *client = NULL;
	int lock = owner_claim(&ctx->home, &client, &err);
	struct json *res = NULL;

	if (client) {
		res = change_by_owner(client, STEAL(req), &err);
		owner_disconnect(&client);
	} else if (lock >= 0) {
		res = change_here(ctx, req, &err);
		close(lock);
	}
	json_free(&req);
	if (!res)
		cli_complain("%s", err.text);
	return res;
}

static struct json *
request(const char *action, const char *ref)
{
	struct json *req = json_set_str(json_object(), "action", action);

	return ref ? json_set_str(req, "ref", ref) : req;
}

static bool
has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

int
sessions_rename_main(struct cli_ctx *ctx)
{
	struct buf title;

	buf_init(&title, 200);
	for (size_t i = 1; i < ctx->nargs; i++)
		buf_printf(&title, "%s%s", i > 1 ? " " : "", ctx->args[i]);
	if (title.over || has_control(title.data)) {
		buf_done(&title);
		cli_complain("a title has at most 200 bytes and one line");
		return CLI_USAGE;
	}
	CLEANUP_JSON struct json *res = change(ctx, json_set_str(
		request("rename", ctx->args[0]), "title", title.data));
	buf_done(&title);
	return res ? CLI_OK : CLI_FAIL;
}

int
sessions_delete_main(struct cli_ctx *ctx)
{
	int status = cli_confirm(ctx, "deleting sessions");

	for (size_t i = 0; status < 0 && i < ctx->nargs; i++) {
		CLEANUP_JSON struct json *res = change(ctx, request("delete",
			ctx->args[i]));

		if (!res)
			status = CLI_FAIL;
		else
			printf("deleted %s\n", json_get_str(res, "session_id", ""));
	}
	return status < 0 ? CLI_OK : status;
}

int
sessions_prune_main(struct cli_ctx *ctx)
{
	const char *text = cli_option(ctx, "older-than");
	char *end = NULL;
	long days = text ? strtol(text, &end, 10) : PRUNE_DAYS;
	struct loop *loop;

	if ((text && (end == text || *end)) || days < 1 || days > 36500) {
		cli_complain("--older-than: expected a number of days, from 1 on");
		return CLI_USAGE;
	}
	CLEANUP_FREE char *what = mem_printf("deleting all sessions without a "
		"message in the last %ld days", days);
	int status = cli_confirm(ctx, what);
	if (status >= 0)
		return status;
	loop = loop_new();		/* the one source of the time */
	msec_t before = loop_wall(loop) - days * DAY_MS;
	loop_free(&loop);
	CLEANUP_JSON struct json *res = change(ctx, json_set_int(
		request("prune", NULL), "before", before > 0 ? before : 1));
	if (!res)
		return CLI_FAIL;
	printf("deleted %lld sessions\n",
		(long long)json_get_int(res, "erased", 0));
	return CLI_OK;
}
