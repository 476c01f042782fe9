/*
 * Reader of .env files: one NAME=value a line, `export ` allowed, values taken
 * literally ($ means nothing).  Unquoted values end at white space followed by
 * '#'; 'single' and "double" quotes may span lines, a backslash escapes the
 * quote and itself ("double" also \n \r \t).  A byte-order mark and CR before a
 * line end are skipped.
 */
#ifndef GATEHOUSE_DOTENV_H
#define GATEHOUSE_DOTENV_H

#include <stddef.h>

#include "gateway/report.h"

#define DOTENV_FILE_MAX (256 * 1024)

struct dotenv_var {
	char *name;
	char *value;
	unsigned line;
};

struct dotenv {
	struct dotenv_var *vars;
	size_t n;
};

void dotenv_init(struct dotenv *env);
void dotenv_done(struct dotenv *env);	/* wipes the values */
/* Adds to env; what can't be read is an error in rep. file: for messages. */
void dotenv_parse(struct dotenv *env, const char *file, const char *text,
	size_t len, struct report *rep);
/* NULL if absent. Of two lines the later one counts. */
const struct dotenv_var *dotenv_find(const struct dotenv *env, const char *name);

#endif
