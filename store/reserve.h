/*
 * Private to store/: files beside the database.  The reserve holds space for
 * closing marks when the disk is full (rules 3.5); the mark says that a check
 * found damage, so that the next start sets the file aside (rules 3.7).
 */
#ifndef GATEHOUSE_STORE_RESERVE_H
#define GATEHOUSE_STORE_RESERVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

bool reserve_exists(const char *path);
int reserve_make(const char *path, off_t size, struct err *err);
bool reserve_spend(const char *path);		/* false: there was none */

bool damage_marked(const char *path);
void damage_mark(const char *path);
void damage_unmark(const char *path);
/* Renames database and log to "<path>.damaged-<stamp>". */
int damage_set_aside(const char *path, const char *stamp, struct err *err);

#endif
