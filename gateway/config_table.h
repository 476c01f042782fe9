/*
 * The one table of everything that can be configured: reading, messages, help,
 * the example file and the manual page come from it.  A row's value must be
 * read somewhere (house rule); names of Hermes that mean nothing here are in
 * config_known.h.
 */
#ifndef GATEHOUSE_CONFIG_TABLE_H
#define GATEHOUSE_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_type {
	CONFIG_STR,
	CONFIG_BOOL,
	CONFIG_INT,
	CONFIG_SECONDS,		/* decimal seconds -> msec_t */
	CONFIG_SIZE,		/* bytes, or with K, M, G (1024) */
	CONFIG_ENUM,		/* one of `values` */
	CONFIG_LIST,		/* list of strings, or one string with commas */
	CONFIG_IDS,		/* the same, of ids or "*" */
	CONFIG_MAP,		/* NAME: value; becomes a list of NAME=value */
	CONFIG_PATH,		/* absolute; ~/ is expanded */
	CONFIG_URL,		/* http:// or https:// */
};

enum config_flag {
	CONFIG_SECRET = 1,	/* never printed */
	CONFIG_SAFETY = 2,	/* a bad neighbour key stops the start */
	CONFIG_FILE_WINS = 4,	/* config.yaml before the environment */
};

struct config_key {
	const char *path;	/* canonical; NULL: environment only */
	const char *alias;	/* another path that means the same, or NULL */
	enum config_type type;
	size_t offset;		/* in struct config */
	const char *def;	/* as it would be written */
	int64_t min, max;	/* of the unit as written (CONFIG_SECONDS: seconds) */
	const char *values;	/* "a|b|c" */
	const char *env;	/* variables, first set one counts: "A B" */
	unsigned flags;
	const char *help;	/* one sentence, without the name */
};

/*
 * Files of Hermes carry versions below 100; ours begin there.  A default that
 * changes needs a new version and a row in config_changes (tests/data holds
 * each version's defaults).
 */
#define CONFIG_VERSION_FIRST 100
#define CONFIG_VERSION 100

/*
 * A default that changed: files older than `version` that don't set the key
 * keep the old one, and it is written out before anything else is.
 */
struct config_change {
	int version;
	const char *path;
	const char *old;
};
extern const struct config_change config_changes[];	/* ends with path NULL */

extern const struct config_key config_keys[];
extern const size_t config_nkeys;

/* Names of the platforms that are built in. */
extern const char *const config_platforms[];
extern const size_t config_nplatforms;

/* By canonical path or alias; NULL if there is none. */
const struct config_key *config_key_find(const char *path);
/* The row's name in messages: its path, or its variable. */
const char *config_key_name(const struct config_key *key);
/*
 * `telegram.x`, `gateway.platforms.telegram.x` and `...telegram.extra.x` all
 * become `platforms.telegram.x`; other paths stay. Caller frees.
 */
char *config_canonical(const char *path);
/* Some row lies below path. */
bool config_is_section(const char *path);
/* path or its section concerns safety: unknown keys there stop the start. */
bool config_is_safety(const char *path);
/* Calls cb for each variable name of the row. */
void config_each_env(const struct config_key *key,
	void (*cb)(void *arg, const char *name), void *arg);

#endif
