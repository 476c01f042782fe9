/* Text to a row's typed value and back. Pure. */
#ifndef GATEHOUSE_CONFIG_VALUE_H
#define GATEHOUSE_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "gateway/config.h"
#include "gateway/config_table.h"

#define CONFIG_TEXT_MAX 65536
#define CONFIG_LIST_MAX 1000

enum config_form {
	CONFIG_PLAIN,		/* unquoted in YAML */
	CONFIG_QUOTED,		/* quoted in YAML: certainly a string */
	CONFIG_WORD,		/* from a variable or the table */
};

/*
 * Sets the row in cfg; -1 with "expected ..., found ..." and cfg unchanged. home: for
 * ~/, may be NULL.  The value of a secret is never part of the message.
 */
int config_value_set(struct config *cfg, const struct config_key *key,
	const char *text, enum config_form form, const char *home,
	struct err *err);
/* For lists; each item a scalar. */
int config_value_set_list(struct config *cfg, const struct config_key *key,
	const char *const *items, size_t n, struct err *err);
/* "a whole number from 1 to 1000" */
void config_value_expected(const struct config_key *key, struct buf *out);
/* As it would be written in one line of YAML, without quotes. */
void config_value_text(const struct config *cfg, const struct config_key *key,
	struct buf *out);
bool config_is_list(const struct config_key *key);
const struct config_list *config_value_list(const struct config *cfg,
	const struct config_key *key);
void config_value_done(struct config *cfg, const struct config_key *key);

#endif
