/*
 * What reading the configuration has to say: errors (the start stops, exit
 * 78), warnings and notes, each with file, line and column where known.
 * Bounded: after REPORT_MAX messages only the counters move.
 */
#ifndef GATEHOUSE_REPORT_H
#define GATEHOUSE_REPORT_H

#include <stddef.h>

#include "base/buf.h"

enum report_level { REPORT_ERROR, REPORT_WARN, REPORT_NOTE };
const char *report_level_name(enum report_level level);

#define REPORT_MAX 200

struct report_item {
	enum report_level level;
	char *file;		/* NULL: not about a file */
	unsigned line, column;	/* from 1; 0 unknown */
	char *text;		/* never holds a secret's value */
};

struct report {
	struct report_item *items;
	size_t n;
	size_t errors, warnings;
};

void report_init(struct report *rep);
void report_done(struct report *rep);
void report_add(struct report *rep, enum report_level level, const char *file,
	unsigned line, unsigned column, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* "FILE:LINE:COLUMN: error: TEXT" */
void report_item_text(const struct report_item *item, struct buf *out);

#endif
