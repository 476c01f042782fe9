#include "gateway/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "gateway/cli_help.h"

#define NAMES_MAX 64
#define LINE_MAX_BYTES 8192

void
cli_complain(const char *fmt, ...)
{
	struct buf text CLEANUP_BUF, line CLEANUP_BUF;
	va_list ap;

	buf_init(&text, LINE_MAX_BYTES);
	buf_init(&line, 2 * LINE_MAX_BYTES);
	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	redact_text(&line, text.data, text.len);
	buf_clear(&text);	/* names that a sandbox made may steer a terminal */
	utf8_for_terminal(&text, line.data, line.len, false);
	fprintf(stderr, "gatehouse: %s\n", text.data);
}

const char *
cli_option(const struct cli_ctx *ctx, const char *name)
{
	for (size_t i = 0; i < ctx->nvalues; i++)
		if (strcmp(ctx->values[i].name, name) == 0)
			return ctx->values[i].text;
	return NULL;
}

int
cli_confirm(struct cli_ctx *ctx, const char *what)
{
	char answer[8] = "";

	if (cli_option(ctx, "yes"))
		return -1;
	if (!isatty(STDIN_FILENO)) {
		cli_complain("%s can't be undone: say --yes", what);
		return CLI_USAGE;
	}
	fprintf(stderr, "%s can't be undone. Go on? [y/N] ", what);
	if (fgets(answer, sizeof(answer), stdin) &&
	    (answer[0] == 'y' || answer[0] == 'Y'))
		return -1;
	return CLI_FAIL;
}

void
cli_print_report(const struct report *rep, bool notes)
{
	for (size_t i = 0; i < rep->n; i++) {
		if (rep->items[i].level == REPORT_NOTE && !notes)
			continue;
		struct buf line CLEANUP_BUF;

		buf_init(&line, LINE_MAX_BYTES);
		report_item_text(&rep->items[i], &line);
		cli_complain("%s", line.data);
	}
}

struct config *
cli_load_config(struct cli_ctx *ctx, const char *file, struct report *rep)
{
	CLEANUP_FREE char *own = home_path(&ctx->home, "config.yaml");
	CLEANUP_FREE char *dotenv = home_path(&ctx->home, ".env");
	const char *named = file ? file : cli_option(ctx, "config");
	struct config_input in = {
		.file = named ? named : own,
		.file_required = named != NULL,
		.dotenv_file = dotenv,
		.environ = ctx->environ,
	};

	return config_load(&in, rep);
}

/* ---- options -------------------------------------------------------------- */

static const struct cli_option *
find_in(const struct cli_option *options, const char *name, size_t len,
	char letter)
{
	for (; options && options->name; options++)
		if (letter ? options->letter == letter :
		    strlen(options->name) == len &&
		    memcmp(options->name, name, len) == 0)
			return options;
	return NULL;
}

/* Before the command is known, any command's option may be meant. */
static const struct cli_option *
find_option(const struct cli_command *command, const char *name, size_t len,
	char letter)
{
	const struct cli_option *o = find_in(cli_global_options, name, len, letter);

	if (!o && command)
		o = find_in(command->options, name, len, letter);
	for (size_t i = 0; i < cli_ncommands && !o && !command; i++)
		o = find_in(cli_commands[i].options, name, len, letter);
	return o;
}

static int
unknown_option(const struct cli_command *command, const char *word)
{
	const char *names[NAMES_MAX];
	size_t n = 0;
	size_t len = strcspn(word, "=");
	CLEANUP_FREE char *name = mem_strn(word, len);
	const char *near;

	for (const struct cli_option *o = cli_global_options; o->name; o++)
		names[n++] = o->name;
	for (const struct cli_option *o = command ? command->options : NULL;
	    o && o->name && n < NAMES_MAX; o++)
		names[n++] = o->name;
	near = nearest_name(name + strspn(name, "-"), names, n);
	if (near)
		cli_complain("unknown option %s: did you mean --%s?", name, near);
	else
		cli_complain("unknown option %s: see `gatehouse%s%s --help`", name,
			command ? " " : "", command ? command->words : "");
	return CLI_USAGE;
}

static int
add_value(struct cli_ctx *ctx, const struct cli_option *o, const char *text)
{
	if (cli_option(ctx, o->name) || ctx->nvalues == CLI_VALUES_MAX) {
		cli_complain("--%s is given twice", o->name);
		return CLI_USAGE;
	}
	ctx->values[ctx->nvalues++] = (struct cli_value){ o->name, text };
	return -1;
}

/*
 * One word that begins with '-'. *used: it took the next word as its value.
 */
static int
take_option(struct cli_ctx *ctx, const char *word, const char *next, bool *used)
{
	bool is_long = word[1] == '-';
	const char *name = word + (is_long ? 2 : 1);
	size_t len = is_long ? strcspn(name, "=") : 1;
	const char *value = is_long ? (name[len] ? name + len + 1 : NULL) :
		(name[1] ? name + 1 : NULL);
	const struct cli_option *o = find_option(ctx->command, name, len,
		is_long ? 0 : *name);

	if (!o)
		return unknown_option(ctx->command, word);
	if (!o->arg && value) {
		cli_complain("--%s takes no value", o->name);
		return CLI_USAGE;
	}
	if (o->arg && !value) {
		*used = true;
		value = next;
	}
	if (o->arg && !value) {
		cli_complain("--%s needs a value: %s", o->name, o->arg);
		return CLI_USAGE;
	}
	return add_value(ctx, o, value ? value : "");
}

bool
cli_one_of(const char *option, const char *value, const char *const *names, size_t n)
{
	const char *near = nearest_name(value, names, n);

	if (near && strcmp(near, value) == 0)
		return true;
	struct buf list CLEANUP_BUF;
	buf_init(&list, 256);
	for (size_t i = 0; i < n; i++)
		buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
	cli_complain("--%s: \"%s\" is none of %s%s%s", option, value, list.data,
	    near ? "; did you mean " : "", near ? near : "");
	return false;
}

/* ---- commands ------------------------------------------------------------- */

/* Number of words of `words` that the arguments begin with, if all; else 0. */
static size_t
match_words(const char *words, const char *const *args, size_t nargs)
{
	size_t n = 0;

	for (const char *p = words; *p; n++) {
		size_t len = strcspn(p, " ");

		if (n == nargs || strlen(args[n]) != len ||
		    memcmp(args[n], p, len) != 0)
			return 0;
		p += len;
		p += *p == ' ';
	}
	return n;
}

static const struct cli_command *
find_command(const char *const *args, size_t nargs, size_t *ret_words)
{
	const struct cli_command *best = NULL;

	*ret_words = 0;
	for (size_t i = 0; i < cli_ncommands; i++) {
		size_t n = match_words(cli_commands[i].words, args, nargs);

		if (n > *ret_words) {
			best = &cli_commands[i];
			*ret_words = n;
		}
	}
	return best;
}

/* Says what was wrong with the words; group: "config" of "config chek". */
static int
unknown_command(const char *const *args, size_t nargs)
{
	char *names[NAMES_MAX];
	size_t n = 0;
	size_t group = nargs && cli_help_is_group(args[0]) ? 1 : 0;
	CLEANUP_FREE char *given = nargs > group ? mem_str(args[group]) : NULL;
	const char *near;

	if (!given) {
		cli_help_list(stderr, group ? args[0] : NULL);
		return CLI_USAGE;
	}
	for (size_t i = 0; i < cli_ncommands && n < NAMES_MAX; i++) {
		const char *words = cli_commands[i].words;
		size_t len = strcspn(words, " ");

		if (cli_commands[i].needs & CLI_HIDDEN)
			continue;
		if (!group)
			names[n++] = mem_strn(words, len);
		else if (words[len] && strncmp(words, args[0], len) == 0)
			names[n++] = mem_str(words + len + 1);
	}
	near = nearest_name(given, (const char *const *)names, n);
	CLEANUP_FREE char *before = group ? mem_printf("%s ", args[0]) :
		mem_str("");
	if (near)
		cli_complain("unknown command '%s%s': did you mean `gatehouse %s%s`?",
			before, given, before, near);
	else
		cli_complain("unknown command '%s%s': see `gatehouse --help`",
			before, given);
	for (size_t i = 0; i < n; i++)
		mem_free(names[i]);
	return CLI_USAGE;
}

static int
check_args(const struct cli_ctx *ctx)
{
	const struct cli_command *c = ctx->command;

	if (ctx->nargs >= c->min_args && ctx->nargs <= c->max_args)
		return -1;
	if (ctx->nargs > c->max_args)
		cli_complain("too many arguments: '%s'", ctx->args[c->max_args]);
	else
		cli_complain("arguments are missing");
	cli_help_usage(stderr, c);
	return CLI_USAGE;
}

/* An option of another command was given before the command's words. */
static int
check_options(const struct cli_ctx *ctx)
{
	for (size_t i = 0; i < ctx->nvalues; i++) {
		const char *name = ctx->values[i].name;

		if (!find_option(ctx->command, name, strlen(name), 0)) {
			CLEANUP_FREE char *word = mem_printf("--%s", name);

			return unknown_option(ctx->command, word);
		}
	}
	return -1;
}

/* Sorts argv into options (ctx->values) and words (front of argv). */
static int
split(struct cli_ctx *ctx, int argc, char **argv, size_t *ret_n, size_t *ret_dash)
{
	size_t n = 0, words;
	int status = -1;

	*ret_dash = (size_t)-1;
	for (int i = 1; i < argc && status < 0; i++) {
		bool used = false;

		if (strcmp(argv[i], "--") == 0) {
			*ret_dash = n;
			for (i++; i < argc; i++)
				argv[n++] = argv[i];
			break;
		}
		if (argv[i][0] != '-' || !argv[i][1]) {
			argv[n++] = argv[i];
			ctx->command = find_command((const char *const *)argv, n, &words);
			continue;
		}
		if (n == 0 && (strcmp(argv[i], "--version") == 0 ||
		    strcmp(argv[i], "-V") == 0)) {	/* as everybody tries it */
			argv[n++] = (char *)(uintptr_t)"version";
			continue;
		}
		status = take_option(ctx, argv[i], i + 1 < argc ? argv[i + 1] : NULL,
			&used);
		i += used;
	}
	*ret_n = n;
	return status;
}

int
cli_parse(struct cli_ctx *ctx, int argc, char **argv)
{
	const char *const *args = (const char *const *)argv;
	size_t n, dash, words = 0;
	int status = split(ctx, argc, argv, &n, &dash);

	if (status >= 0)
		return status;
	ctx->command = find_command(args, n < dash ? n : dash, &words);
	if (cli_option(ctx, "help"))
		return cli_help(ctx->command, n ? args[0] : NULL);
	if (!ctx->command)
		return unknown_command(args, n);
	ctx->args = args + words;
	ctx->nargs = n - words;
	status = check_options(ctx);
	return status >= 0 ? status : check_args(ctx);
}
