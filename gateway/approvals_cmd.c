#include "gateway/approvals_cmd.h"

#include <stdio.h>

#include "gateway/sessions_ask.h"
#include "gateway/sessions_print.h"

#define LIST_MAX 200

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

	printf("%s  %s%s%s  %s\n    ", json_get_str(row, "id", "?"), outcome,
	    who[0] ? " by " : "", who, json_get_str(row, "session_key", ""));
	sessions_print_text(stdout, json_get_str(json_get(row, "row"), "command",
	    ""), true);
	printf("\n");
}

int
approvals_list_main(struct cli_ctx *ctx)
{
	return sessions_ask_list(ctx, "nobody was asked yet", call, print);
}
