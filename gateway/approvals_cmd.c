#include "gateway/approvals_cmd.h"

#include <stdio.h>

#include "base/mem.h"
#include "gateway/cli.h"
#include "gateway/sessions_ask.h"

#define LIST_MAX 200

static void
print_row(const struct json *row, bool as_json)
{
	if (as_json) {
		CLEANUP_FREE char *text = json_text(row);

		printf("%s\n", text);
		return;
	}
	const struct json *asked = json_get(row, "row");
	const char *outcome = json_get_str(row, "outcome",
	    json_get_str(row, "state", "open"));
	const char *who = json_get_str(row, "who", "");

	printf("%s  %s%s%s  %s\n    %s\n", json_get_str(row, "id", "?"), outcome,
	    who[0] ? " by " : "", who, json_get_str(row, "session_key", ""),
	    json_get_str(asked, "command", ""));
}

int
approvals_list_main(struct cli_ctx *ctx)
{
	struct sessions_ask ask;
	struct err err;
	int status = CLI_OK;

	if (sessions_ask_open(&ask, &ctx->home, true, &err) < 0) {
		if (err.code == ERR_NOT_FOUND)
			return CLI_OK;
		cli_complain("%s", err.text);
		return CLI_FAIL;
	}
	store_approvals(ask.store, LIST_MAX, sessions_on_answer, &ask);
	if (sessions_ask_wait(&ask) < 0) {
		cli_complain("%s", ask.err.text);
		status = CLI_FAIL;
	}
	for (const struct json *r = json_first(ask.res); r; r = json_next(r))
		print_row(r, cli_option(ctx, "json") != NULL);
	sessions_ask_close(&ask);
	return status;
}
