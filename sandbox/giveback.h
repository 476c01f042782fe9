/*
 * What a command hands back through its descriptor of ours: its directory and
 * its exported variables.  Foreign bytes: parsed as data, never sourced.
 *
 * Records end with NUL and begin with a letter: D the tracked directory was
 * gone, X the directory could not be entered (the command was not run), S the
 * shell is not bash, P the directory and a newline, E the output of
 * `export -p`, F functions, A aliases, "." the end.
 */
#ifndef GATEHOUSE_GIVEBACK_H
#define GATEHOUSE_GIVEBACK_H

#include <stdbool.h>
#include <stddef.h>

#include "sandbox/vars.h"

struct giveback {
	bool whole;		/* the end was seen */
	bool dir_gone, dir_refused, not_bash;
	char *dir;		/* NULL: none */
	bool has_exports;	/* false: keep the earlier ones */
	struct vars exports;	/* only names that may persist */
	char *functions, *aliases;	/* of the snapshot; NULL: none */
	const char *note;	/* why the exports were not kept; NULL */
};

/*
 * Parses what was read. Whatever is malformed is left out, with a note for
 * the exports; never fails. snapshot: F and A count, and PATH may come along.
 */
void giveback_parse(struct giveback *gb, const char *data, size_t len,
	bool snapshot);
void giveback_done(struct giveback *gb);

#endif
