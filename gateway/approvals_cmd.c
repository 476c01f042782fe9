#include "gateway/approvals_cmd.h"

#include <stdio.h>

#include "base/mem.h"
#include "gateway/cli.h"
#include "gateway/owner_client.h"
#include "gateway/sessions_ask.h"
#include "gateway/sessions_print.h"

#define LIST_MAX 200
#define ANSWER_MS 5000

static void
call(struct sessions_ask *ask)
{
	store_approvals(ask->store, LIST_MAX, sessions_on_answer, ask);
}

static void
print(const struct json *row)
{
	const char *outcome = json_get_str(row, "outcome",
	    json_get_str(row, "state", "open"));
	const char *who = json_get_str(row, "who", "");
	const struct json *req = json_get(row, "row");
	const char *why = json_get_str(req, "why", "");

	printf("%s  %s%s%s  %s\n    ", json_get_str(row, "id", "?"), outcome,
	    who[0] ? " by " : "", who, json_get_str(row, "session_key", ""));
	sessions_print_text(stdout, json_get_str(req, "command", ""), true);
	if (why[0]) {
		printf("\n    because ");
		sessions_print_text(stdout, why, true);
	}
	printf("\n");
}

int
approvals_list_main(struct cli_ctx *ctx)
{
	return sessions_ask_list(ctx, "nothing was asked or decided yet", call,
	    print);
}

/* ---- in the running gateway ------------------------------------------------- */

static struct json *
ask_owner(struct cli_ctx *ctx, const char *action, const char *session,
    struct err *err)
{
	struct json *req = json_object();

	json_set_str(req, "cmd", "approvals");
	json_set_str(req, "action", action);
	if (session)
		json_set_str(req, "session", session);
	struct json *res = owner_request(&ctx->home, req, ANSWER_MS, err);

	if (res && !json_get_bool(res, "ok", false)) {
		err_set(err, ERR_UNAVAILABLE, "%s", json_get_str(res, "error",
		    "the running gatehouse doesn't know this"));
		json_free(&res);
	}
	return res;
}

static void
print_grant(const struct json *g)
{
	int64_t left = json_get_int(g, "left_ms", 0);

	printf("%s  %s  for %s, by %s", json_get_str(g, "session_key", ""),
	    json_get_str(g, "rule", ""), json_get_str(g, "asker", ""),
	    json_get_str(g, "by", ""));
	if (left > 0)
		printf(", %lld min left", (long long)(left / 60000) + 1);
	printf("\n");
}

int
approvals_grants_main(struct cli_ctx *ctx)
{
	struct err err;
	CLEANUP_JSON struct json *res = ask_owner(ctx, "grants", NULL, &err);
	const struct json *list = json_get(res, "grants");

	if (!res && err.code != ERR_NOT_FOUND) {
		cli_complain("%s", err.text);
		return CLI_FAIL;
	}
	for (const struct json *g = json_first(list); g; g = json_next(g)) {
		if (cli_option(ctx, "json")) {
			CLEANUP_FREE char *line = json_text(g);

			printf("%s\n", line);
		} else {
			print_grant(g);
		}
	}
	if (json_len(list) == 0 && !cli_option(ctx, "json"))
		printf("%s\n", res ? "nothing is allowed beyond one command" :
		    "gatehouse does not run: what was allowed for a session "
		    "ended with it");
	return CLI_OK;
}

int
approvals_revoke_main(struct cli_ctx *ctx)
{
	const char *session = ctx->nargs ? ctx->args[0] : NULL;
	struct err err;
	CLEANUP_JSON struct json *res = ask_owner(ctx, "revoke", session, &err);

	if (!res) {
		cli_complain("%s", err.text);
		return CLI_FAIL;
	}
	printf("%lld taken back\n", (long long)json_get_int(res, "revoked", 0));
	return CLI_OK;
}
