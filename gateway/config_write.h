/*
 * The only code that writes config.yaml and .env (rules 3.12): the old content
 * is kept in FILE.bak, the new one replaces it whole; mode, owner, links,
 * comments and unknown keys stay.  Two writers wait for each other.  A file that
 * can't be parsed is never overwritten.
 */
#ifndef GATEHOUSE_CONFIG_WRITE_H
#define GATEHOUSE_CONFIG_WRITE_H

#include <stddef.h>

#include "base/err.h"
#include "gateway/config.h"
#include "gateway/config_table.h"

/*
 * Sets a row in the file (made, 0600, if absent).  One item for a scalar, any
 * number for a list; they are checked as the row's type first.
 */
int config_write_set(const char *file, const struct config_key *key,
	const char *const *items, size_t n, struct err *err);
/*
 * Adds an item to a list at the top of the file, unless it is there: what the
 * file says now counts, a single value is the list's one entry (or several,
 * between commas).  On any thread; blocks.
 */
int config_write_add(const char *file, const struct config_key *key,
	const char *item, struct err *err);
/* The same as config_write_set() for a variable of .env. */
int config_write_env(const char *file, const char *name, const char *value,
	struct err *err);

/*
 * Writes out what config_load() kept of older versions' defaults, and a file
 * with the version alone where there is none, so that a later version knows
 * what this installation began with.  For the owner, before it works.
 */
int config_migrate(const struct config *cfg, struct err *err);

#endif
