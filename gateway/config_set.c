/* `gatehouse config set KEY VALUE...` */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "gateway/cli.h"
#include "gateway/config_cmd.h"
#include "gateway/config_table.h"
#include "gateway/config_value.h"
#include "gateway/config_write.h"
#include "gateway/env.h"
#include "gateway/owner_path.h"

#define NAMES_MAX 256

struct name_match {
	const char *name;
	bool found;
};

static void
match_name(void *arg, const char *name)
{
	struct name_match *m = arg;

	m->found = m->found || strcmp(m->name, name) == 0;
}

/* By path or by the name of a variable. */
static const struct config_key *
find_key(const char *word)
{
	CLEANUP_FREE char *path = config_canonical(word);
	const struct config_key *key = config_key_find(path);

	for (size_t i = 0; i < config_nkeys && !key; i++) {
		struct name_match m = { word, false };

		config_each_env(&config_keys[i], match_name, &m);
		if (m.found)
			key = &config_keys[i];
	}
	return key;
}

static int
unknown_key(const char *word)
{
	const char *names[NAMES_MAX];
	const char *near;
	size_t n = 0;

	for (size_t i = 0; i < config_nkeys && n + 1 < NAMES_MAX; i++) {
		names[n++] = config_key_name(&config_keys[i]);
		if (config_keys[i].alias)
			names[n++] = config_keys[i].alias;
	}
	near = nearest_name(word, names, n);
	cli_complain("%s is no known key%s%s%s", word, near ? ": did you mean " : "",
		near ? near : "", near ? "?" : "");
	return CLI_USAGE;
}

/* A secret is read, never given as an argument: others can see those. */
static char *
read_secret(void)
{
	char *line = mem_alloc(CONFIG_TEXT_MAX);
	size_t len;

	if (isatty(STDIN_FILENO))
		fprintf(stderr, "gatehouse: the value, then Enter: ");
	if (!fgets(line, CONFIG_TEXT_MAX, stdin)) {
		mem_free(line);
		return NULL;
	}
	len = strlen(line);
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		line[--len] = '\0';
	return line;
}

static int
set_secret(struct cli_ctx *ctx, const struct config_key *key, struct err *err)
{
	CLEANUP_FREE char *dotenv = home_path(&ctx->home, ".env");
	CLEANUP_FREE char *file = home_path(&ctx->home, "config.yaml");
	const char *named = cli_option(ctx, "config");
	char *value = NULL;
	int r;

	if (ctx->nargs != 2 || strcmp(ctx->args[1], "-") != 0)
		return err_set(err, ERR_INVALID, "%s is a secret and arguments can be "
			"seen by others: give - and the value on standard input",
			ctx->args[0]);
	value = read_secret();
	if (!value)
		return err_set(err, ERR_INVALID, "no value on standard input");
	if (key->env) {
		CLEANUP_FREE char *name = mem_strn(key->env, strcspn(key->env, " "));

		r = config_write_env(dotenv, name, value, err);
	} else {
		r = config_write_set(named ? named : file, key,
			(const char *const *)&value, 1, err);
	}
	mem_free_secret(&value);
	return r;
}

static int
set_plain(struct cli_ctx *ctx, const struct config_key *key, struct err *err)
{
	CLEANUP_FREE char *file = home_path(&ctx->home, "config.yaml");
	const char *named = cli_option(ctx, "config");

	if (!key->path)
		return err_set(err, ERR_INVALID, "%s can be set in the environment only",
			ctx->args[0]);
	if (!config_is_list(key) && ctx->nargs != 2)
		return err_set(err, ERR_INVALID, "%s takes one value", ctx->args[0]);
	return config_write_set(named ? named : file, key, ctx->args + 1,
		ctx->nargs - 1, err);
}

/* What was saved may not be what counts. */
static int
report_after(struct cli_ctx *ctx, const struct config_key *key)
{
	struct report rep;
	struct config *cfg;
	const struct config_origin *at;
	int status = CLI_CONFIG;

	report_init(&rep);
	cfg = cli_load_config(ctx, NULL, &rep);
	cli_print_report(&rep, false);
	if (cfg) {
		at = &cfg->origins[key - config_keys];
		if (at->env && !(key->flags & CONFIG_SECRET))
			cli_complain("saved, but the variable %.*s still wins",
				(int)strcspn(at->env, " "), at->env);
		status = CLI_OK;
	}
	if (owner_path_holder(&ctx->home))
		cli_complain("saved; the running gatehouse uses it after a restart");
	config_free(&cfg);
	report_done(&rep);
	return status;
}

int
config_set_main(struct cli_ctx *ctx)
{
	const struct config_key *key = find_key(ctx->args[0]);
	struct err err;
	int r;

	if (!key)
		return unknown_key(ctx->args[0]);
	r = key->flags & CONFIG_SECRET ? set_secret(ctx, key, &err) :
		set_plain(ctx, key, &err);
	if (r) {
		cli_complain("%s", err.text);
		return err.code == ERR_INVALID ? CLI_USAGE : CLI_CONFIG;
	}
	return report_after(ctx, key);
}
