#include "gateway/sandbox_list.h"

#include <stdio.h>

#include "gateway/sessions_ask.h"
#include "sandbox/ledger.h"

static void
call(struct sessions_ask *ask)
{
	store_ledger_list(ask->store, LEDGER_KIND, sessions_on_answer, ask);
}

static void
print(const struct json *entry)
{
	const struct json *row = json_get(entry, "row");

	printf("%s  %s  %s  (process %lld)\n", json_get_str(entry, "id", "?"),
	    json_get_str(row, "backend", "?"), json_get_str(row, "key", "?"),
	    (long long)json_get_int(row, "pid", 0));
}

int
sandbox_list_main(struct cli_ctx *ctx)
{
	return sessions_ask_list(ctx, "no sandbox is open", call, print);
}
