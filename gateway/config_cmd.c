#include "gateway/config_cmd.h"

#include <stdio.h>

#include "base/mem.h"
#include "gateway/cli.h"
#include "gateway/config_docs.h"

static struct json *
report_json(const struct report *rep)
{
	struct json *list = json_array();

	for (size_t i = 0; i < rep->n; i++) {
		const struct report_item *item = &rep->items[i];
		struct json *row = json_object();

		json_set_str(row, "level", report_level_name(item->level));
		if (item->file)
			json_set_str(row, "file", item->file);
		if (item->line)
			json_set_int(row, "line", item->line);
		if (item->column)
			json_set_int(row, "column", item->column);
		json_set_str(row, "text", item->text);
		json_add_take(list, row);
	}
	return list;
}

static void
print_effective(const struct config *cfg)
{
	struct json *all CLEANUP_JSON = config_effective(cfg);

	for (const struct json *row = json_first(all); row; row = json_next(row))
		printf("%s = %s  (%s)\n", json_key(row),
			json_get_str(row, "value", ""), json_get_str(row, "from", ""));
}

static void
print_json(const struct config *cfg, const struct report *rep)
{
	struct json *out CLEANUP_JSON = json_object();

	json_set_bool(out, "ok", cfg != NULL);
	json_set_take(out, "messages", report_json(rep));
	if (cfg)
		json_set_take(out, "effective", config_effective(cfg));
	CLEANUP_FREE char *text = json_text_pretty(out);
	printf("%s\n", text);
}

int
config_check_main(struct cli_ctx *ctx)
{
	struct report rep;
	struct config *cfg;
	int status;

	report_init(&rep);
	cfg = cli_load_config(ctx, ctx->nargs ? ctx->args[0] : NULL, &rep);
	status = cfg ? CLI_OK : CLI_CONFIG;
	if (cli_option(ctx, "json")) {
		print_json(cfg, &rep);
	} else {
		cli_print_report(&rep, true);
		if (cfg && cli_option(ctx, "effective"))
			print_effective(cfg);
		else if (cfg)
			printf("%s: %s\n", cfg->path, !cfg->file_exists ?
				"absent, defaults are used" :
				rep.warnings ? "can be used, with warnings" : "ok");
	}
	config_free(&cfg);
	report_done(&rep);
	return status;
}

int
config_path_main(struct cli_ctx *ctx)
{
	const char *named = cli_option(ctx, "config");
	CLEANUP_FREE char *own = home_path(&ctx->home, "config.yaml");

	printf("%s\n", named ? named : own);
	return CLI_OK;
}

int
config_dump_docs_main(struct cli_ctx *ctx)
{
	if (config_docs_print(stdout, ctx->args[0]))
		return CLI_OK;
	cli_complain("expected one of %s", ctx->command->args);
	return CLI_USAGE;
}
