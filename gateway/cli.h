/*
 * The command line: one table of commands (cli_table.c), one parser.  Options
 * may stand before or after the command's words; `--` ends them.  Nothing is
 * read but argv until a command has been chosen.
 */
#ifndef GATEHOUSE_CLI_H
#define GATEHOUSE_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "gateway/config.h"
#include "gateway/home.h"

struct launcher;

enum cli_exit {
	CLI_OK = 0,
	CLI_FAIL = 1,
	CLI_USAGE = 2,
	CLI_TEMPFAIL = 75,	/* the supervisor should start us again */
	CLI_CONFIG = 78,	/* it should not: a person must change something */
};

enum cli_need {
	CLI_NEEDS_LAUNCHER = 1,	/* started before a secret is read */
	CLI_NEEDS_CONFIG = 2,	/* read and without errors, else exit 78 */
	CLI_NEEDS_HOME = 4,	/* the state directory is made if absent */
	CLI_HIDDEN = 8,		/* not in the list of commands */
	CLI_STANDALONE = 16,	/* works without a state directory to look at */
	CLI_TRIES_LAUNCHER = 32,	/* as NEEDS, but it is told if there is none */
};

struct cli_option {
	const char *name;	/* without the dashes */
	char letter;		/* 0: none */
	const char *arg;	/* what the value is called; NULL: a flag */
	const char *help;
};

struct cli_ctx;

struct cli_command {
	const char *words;	/* "config check" */
	const char *args;	/* "[FILE]", for the usage line */
	size_t min_args, max_args;
	const char *help;	/* one line */
	const struct cli_option *options;	/* ends with name NULL; or NULL */
	unsigned needs;
	int (*main)(struct cli_ctx *ctx);	/* gives the exit status */
};

extern const struct cli_command cli_commands[];
extern const size_t cli_ncommands;
extern const struct cli_option cli_global_options[];

#define CLI_VALUES_MAX 16

struct cli_value {
	const char *name;
	const char *text;	/* "" for flags */
};

struct cli_ctx {
	const struct cli_command *command;
	const char *const *args;	/* what is left after words and options */
	size_t nargs;
	struct cli_value values[CLI_VALUES_MAX];
	size_t nvalues;
	const char *const *environ;
	struct home home;
	struct config *config;		/* with CLI_NEEDS_CONFIG */
	struct launcher *launcher;	/* with CLI_NEEDS_LAUNCHER */
	struct err launcher_err;	/* with CLI_TRIES_LAUNCHER: why there is none */
};

/* Value of an option that was given, else NULL. "" for a flag. */
/* Else the value is complained about, with the names and the nearest. */
bool cli_one_of(const char *option, const char *value, const char *const *names,
	size_t n);
const char *cli_option(const struct cli_ctx *ctx, const char *name);

/*
 * Fills ctx from argv; -1: go on with ctx->command; else the exit status
 * (help printed, or a message on stderr).  argv is rearranged.
 */
int cli_parse(struct cli_ctx *ctx, int argc, char **argv);

/* "gatehouse: ..." on stderr, masked. */
void cli_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The report's lines on stderr, notes only if asked. */
/* What can't be undone, unless --yes: -1 go on, else the exit status. */
int cli_confirm(struct cli_ctx *ctx, const char *what);
void cli_print_report(const struct report *rep, bool notes);
/* config.yaml and .env as the options and the state directory say. */
struct config *cli_load_config(struct cli_ctx *ctx, const char *file,
	struct report *rep);

#endif
