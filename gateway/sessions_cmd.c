/* The commands that only look.  Those that change are in sessions_change.c. */
#include "gateway/sessions_cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/cli.h"
#include "gateway/sessions_ask.h"
#include "gateway/sessions_print.h"

#define LIST_DEFAULT 20
#define LIST_MAX 100000
#define PAGE 200

/* -1: the option is no number; complained. */
static int
limit_option(struct cli_ctx *ctx, size_t *ret)
{
	const char *text = cli_option(ctx, "limit");
	char *end;

	*ret = LIST_DEFAULT;
	if (!text)
		return 0;
	errno = 0;
	unsigned long n = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end || n == 0 || n > LIST_MAX ||
	    text[0] == '-') {
		cli_complain("--limit: expected a number from 1 to %d", LIST_MAX);
		return -1;
	}
	*ret = n;
	return 0;
}

/* -1: open; else the exit status. No database: nothing to look at, no error. */
static int
look_open(struct sessions_ask *ask, struct cli_ctx *ctx, bool absent_is_ok)
{
	struct err err;

	if (sessions_ask_open(ask, &ctx->home, true, &err) == 0)
		return -1;
	if (err.code == ERR_NOT_FOUND && absent_is_ok)
		return CLI_OK;
	cli_complain("%s", err.text);
	return CLI_FAIL;
}

static int
look_close(struct sessions_ask *ask)
{
	int status = ask->failed ? CLI_FAIL : CLI_OK;

	if (ask->failed)
		cli_complain("%s", ask->err.text);
	sessions_ask_close(ask);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		cli_complain("writing the output failed: %s", strerror(errno));
		return CLI_FAIL;
	}
	return status;
}

static void
print_json_row(const struct json *row)
{
	CLEANUP_JSON struct json *copy = json_clone(row);

	json_remove(copy, "id");
	CLEANUP_FREE char *text = json_text(copy);
	printf("%s\n", text);
}

int
sessions_list_main(struct cli_ctx *ctx)
{
	bool json = cli_option(ctx, "json");
	struct sessions_ask ask;
	int64_t before = 0;
	size_t left;

	if (limit_option(ctx, &left) < 0)
		return CLI_USAGE;
	int status = look_open(&ask, ctx, true);
	if (status >= 0)
		return status;
	do {
		store_conversations(ask.store, before, left < PAGE ? left : PAGE,
			sessions_on_answer, &ask);
		if (sessions_ask_wait(&ask) < 0)
			break;
		const struct json *list = json_get(ask.res, "list");
		for (const struct json *r = json_first(list); r;
		    r = json_next(r), left--)
			json ? print_json_row(r) : sessions_print_row(stdout, r);
		before = json_get_int(ask.res, "next", 0);
	} while (before != 0 && left > 0);
	return look_close(&ask);
}

/* Page by page: a transcript may be larger than memory should be. */
static int
print_entries(struct sessions_ask *ask, FILE *out, enum sessions_form form,
	const char *session_id)
{
	char from[64] = "";

	do {
		store_conversation_read(ask->store, session_id, from, PAGE,
			sessions_on_answer, ask);
		if (sessions_ask_wait(ask) < 0)
			return -1;
		const struct json *list = json_get(ask->res, "entries");
		for (const struct json *e = json_first(list); e; e = json_next(e))
			sessions_print_entry(out, form, session_id, e);
		if (mem_copy_str(from, sizeof(from),
		    json_get_str(ask->res, "next", "")) < 0)
			return -1;
	} while (from[0] && !ferror(out));
	return 0;
}

static int
print_one(struct sessions_ask *ask, FILE *out, enum sessions_form form,
	const char *ref)
{
	store_conversation(ask->store, ref, sessions_on_answer, ask);
	if (sessions_ask_wait(ask) < 0)
		return -1;
	sessions_print_head(out, form, ask->res);
	CLEANUP_FREE char *id = mem_str(json_get_str(ask->res, "session_id", ""));
	return print_entries(ask, out, form, id);
}

int
sessions_show_main(struct cli_ctx *ctx)
{
	struct sessions_ask ask;
	int status = look_open(&ask, ctx, false);

	if (status >= 0)
		return status;
	print_one(&ask, stdout, cli_option(ctx, "json") ? SESSIONS_JSONL :
		SESSIONS_TEXT, ctx->args[0]);
	return look_close(&ask);
}

/* A new file that only its owner reads; one that is there is not overwritten. */
static FILE *
export_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out)
		cli_complain("cannot create %s: %s", path, strerror(errno));
	return out;
}

static int
export_form(struct cli_ctx *ctx, enum sessions_form *ret)
{
	const char *name = cli_option(ctx, "format");

	*ret = SESSIONS_JSONL;
	if (!name || strcmp(name, "jsonl") == 0)
		return 0;
	*ret = SESSIONS_MARKDOWN;
	if (strcmp(name, "md") == 0)
		return 0;
	cli_complain("--format: expected jsonl or md");
	return -1;
}

int
sessions_export_main(struct cli_ctx *ctx)
{
	const char *path = cli_option(ctx, "output");
	struct sessions_ask ask;
	enum sessions_form form;

	if (export_form(ctx, &form) < 0)
		return CLI_USAGE;
	int status = look_open(&ask, ctx, false);
	if (status >= 0)
		return status;
	FILE *out = path ? export_open(path) : stdout;
	if (!out) {
		sessions_ask_close(&ask);
		return CLI_FAIL;
	}
	bool failed = print_one(&ask, out, form, ctx->args[0]) < 0;
	if (path && (ferror(out) | fclose(out)) != 0 && !failed) {
		failed = true;
		cli_complain("writing %s failed: %s", path, strerror(errno));
		unlink(path);
		sessions_ask_close(&ask);
		return CLI_FAIL;
	}
	if (path && failed)
		unlink(path);
	return look_close(&ask);
}

static size_t
print_matches(const struct json *res, bool json, size_t left)
{
	const struct json *list = json_get(res, "matches");

	for (const struct json *m = json_first(list); m && left > 0;
	    m = json_next(m), left--)
		json ? print_json_row(m) : sessions_print_match(stdout, m);
	return left;
}

int
sessions_search_main(struct cli_ctx *ctx)
{
	bool json = cli_option(ctx, "json");
	struct sessions_ask ask;
	int64_t before = 0;
	size_t left;
	struct buf words;

	if (limit_option(ctx, &left) < 0)
		return CLI_USAGE;
	int status = look_open(&ask, ctx, true);
	if (status >= 0)
		return status;
	buf_init(&words, 4096);
	for (size_t i = 0; i < ctx->nargs; i++)
		buf_printf(&words, "%s%s", i ? " " : "", ctx->args[i]);
	do {
		store_search(ask.store, words.data, before, sessions_on_answer,
			&ask);
		if (sessions_ask_wait(&ask) < 0)
			break;
		left = print_matches(ask.res, json, left);
		before = json_get_int(ask.res, "next", 0);
	} while (before != 0 && left > 0);
	buf_done(&words);
	return look_close(&ask);
}

int
backup_main(struct cli_ctx *ctx)
{
	struct sessions_ask ask;
	int status = look_open(&ask, ctx, false);

	if (status >= 0)
		return status;
	store_backup(ask.store, ctx->args[0], sessions_on_done, &ask);
	if (sessions_ask_wait(&ask) == 0)
		printf("%s holds a copy; to use it, stop gatehouse and put it in "
			"the place of %s/state.db\n", ctx->args[0], ctx->home.dir);
	return look_close(&ask);
}
