#include "gateway/sandbox_list.h"

#include <stdio.h>

#include "base/mem.h"
#include "gateway/cli.h"
#include "gateway/sessions_ask.h"
#include "sandbox/ledger.h"

int
sandbox_list_main(struct cli_ctx *ctx)
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
	store_ledger_list(ask.store, LEDGER_KIND, sessions_on_answer, &ask);
	if (sessions_ask_wait(&ask) < 0) {
		cli_complain("%s", ask.err.text);
		status = CLI_FAIL;
	}
	for (const struct json *r = json_first(ask.res); r; r = json_next(r)) {
		const struct json *row = json_get(r, "row");
		CLEANUP_FREE char *text = json_text(row);

		if (cli_option(ctx, "json"))
			printf("%s\n", text);
		else
			printf("%s  %s  %s  (process %lld)\n",
			    json_get_str(r, "id", "?"),
			    json_get_str(row, "backend", "?"),
			    json_get_str(row, "key", "?"),
			    (long long)json_get_int(row, "pid", 0));
	}
	sessions_ask_close(&ask);
	return status;
}
