/*
 * Slash commands: one table, one parser.  What a command does is in
 * command_do.c; whether it acts before or after its commit is in the table
 * (rules 1.1: what only stops acts at once).  Pure.
 */
#ifndef GATEHOUSE_COMMAND_H
#define GATEHOUSE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum command_id {
	COMMAND_NONE,		/* no command: words for the model */
	COMMAND_UNKNOWN,	/* "/word": answered, never sent to the model */
	COMMAND_START,
	COMMAND_HELP,
	COMMAND_STATUS,
	COMMAND_STOP,
	COMMAND_NEW,
	COMMAND_APPROVE,
	COMMAND_DENY,
	COMMAND_APPROVALS,
	COMMAND_YOLO,
	COMMAND_VERSION,
	COMMAND_WHOAMI,
	COMMAND_SESSIONS,
	COMMAND_RESUME,
	COMMAND_TITLE,
	COMMAND_UNDO,
	COMMAND_RETRY,
	COMMAND_MODEL,
	COMMAND_RESTART,
};

struct command_def {
	enum command_id id;
	const char *name;
	const char *alias;	/* or NULL */
	const char *args;	/* for the help text */
	const char *help;
	bool at_once;		/* only stops or refuses: acts before its commit */
};

struct command {
	enum command_id id;
	char word[33];		/* as written, lower-cased, without the slash */
	const char *args;	/* into the text; leading blanks skipped */
};

/* The platform has stripped its own @name from the first word already. */
struct command command_parse(const char *text);
const struct command_def *command_def(enum command_id id);
/* Lines of "/name args - help"; caller frees. */
char *command_help(void);
/* The nearest known name to an unknown word, or NULL. */
const char *command_nearest(const char *word);

#endif
