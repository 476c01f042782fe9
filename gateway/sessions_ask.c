#include "gateway/sessions_ask.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/cli.h"

int
sessions_ask_open(struct sessions_ask *ask, const struct home *home,
	bool read_only, struct err *err)
{
	CLEANUP_FREE char *path = home_path(home, "state.db");
	struct store_opts opts = {
		.path = path, .profile = HOME_PROFILE, .read_only = read_only,
	};

	*ask = (struct sessions_ask){ .loop = NULL };
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND, "there are no sessions yet: "
			"%s does not exist", path);
	ask->loop = loop_new();
	ask->store = store_open(ask->loop, &opts, err);
	if (ask->store)
		return 0;
	loop_free(&ask->loop);
	return -1;
}

void
sessions_ask_close(struct sessions_ask *ask)
{
	json_free(&ask->res);
	if (ask->store)
		store_close(&ask->store);
	if (ask->loop)
		loop_free(&ask->loop);
}

void
sessions_on_answer(void *arg, const struct json *res, const struct err *err)
{
	struct sessions_ask *ask = arg;

	json_free(&ask->res);
	ask->res = res ? json_clone(res) : NULL;
	ask->failed = err != NULL;
	if (err)
		ask->err = *err;
	loop_stop(ask->loop);
}

void
sessions_on_done(void *arg, const struct err *err)
{
	sessions_on_answer(arg, NULL, err);
}

int
sessions_ask_wait(struct sessions_ask *ask)
{
	if (loop_run(ask->loop) < 0) {
		ask->failed = true;
		err_set(&ask->err, ERR_IO, "waiting for the database failed");
	}
	return ask->failed ? -1 : 0;
}

int
sessions_ask_list(struct cli_ctx *ctx, const char *none,
	void (*call)(struct sessions_ask *ask), void (*print)(const struct json *row))
{
	bool as_json = cli_option(ctx, "json") != NULL;
	struct sessions_ask ask;
	struct err err;
	int status = CLI_OK;

	if (sessions_ask_open(&ask, &ctx->home, true, &err) < 0) {
		if (err.code != ERR_NOT_FOUND) {
			cli_complain("%s", err.text);
			return CLI_FAIL;
		}
		if (!as_json)
			printf("%s\n", none);
		return CLI_OK;
	}
	call(&ask);
	if (sessions_ask_wait(&ask) < 0) {
		cli_complain("%s", ask.err.text);
		status = CLI_FAIL;
	} else if (json_len(ask.res) == 0 && !as_json) {
		printf("%s\n", none);
	}
	for (const struct json *row = json_first(ask.res); row; row = json_next(row)) {
		CLEANUP_FREE char *text = json_text(row);

		if (as_json)
			printf("%s\n", text);
		else
			print(row);
	}
	sessions_ask_close(&ask);
	return status;
}
