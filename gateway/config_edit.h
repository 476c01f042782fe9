/*
 * Changes one key in YAML or .env text and leaves every other byte as it was:
 * comments, order, unknown keys.  Pure.  The result is parsed again and
 * compared; if anything else would have changed, nothing is changed.
 */
#ifndef GATEHOUSE_CONFIG_EDIT_H
#define GATEHOUSE_CONFIG_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A value to be written: one scalar, or a list. */
struct config_edit {
	const char *path;	/* a row's path */
	const char *const *items;
	size_t n;
	bool list;
	bool plain;		/* numbers, booleans, words of a choice: no quotes */
};

/* The new text (caller frees), or NULL. */
char *config_edit_yaml(const char *text, size_t len,
	const struct config_edit *edit, struct err *err);
char *config_edit_dotenv(const char *text, size_t len, const char *name,
	const char *value, struct err *err);

#endif
