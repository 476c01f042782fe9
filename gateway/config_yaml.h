/*
 * YAML text to a tree that remembers where everything stood; the only door to
 * libyaml.  One document, a map at its root (or nothing).  Refused with line and
 * column: duplicate keys, tabs as indentation, keys that aren't scalars, UTF-16,
 * more than YTREE_DEPTH_MAX levels or YTREE_NODES_MAX nodes (aliases count by what
 * they stand for).  `<<` merges are carried out.  Pure.
 */
#ifndef GATEHOUSE_CONFIG_YAML_H
#define GATEHOUSE_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "gateway/report.h"

#define YTREE_FILE_MAX (1024 * 1024)
#define YTREE_DEPTH_MAX 40
#define YTREE_NODES_MAX 20000

enum ytree_kind { YTREE_TEXT, YTREE_LIST, YTREE_MAP };

struct ytree {
	enum ytree_kind kind;
	char *key;		/* in a map; else NULL */
	char *text;		/* scalars */
	bool quoted;		/* '...', "...", | or >: certainly a string */
	unsigned line, column;	/* of the key where there is one, else of the value */
	unsigned value_line;
	/* In characters from the start (after a byte-order mark): of the key or
	 * value, of the value, and just behind the value. */
	size_t index, value_index, end_index;
	struct ytree *first, *next;
};

/* NULL after errors in rep. Empty text gives an empty map. */
struct ytree *ytree_parse(const char *file, const char *text, size_t len,
	struct report *rep);
void ytree_free(struct ytree **root);
/* What makes a text no YAML at all, "line 3: ..."; nothing if it is some. */
void ytree_fault(struct buf *out, const char *text, size_t len);

const struct ytree *ytree_get(const struct ytree *map, const char *key);
/* Plain null, Null, NULL, ~ or nothing. */
bool ytree_is_null(const struct ytree *node);
const char *ytree_kind_name(enum ytree_kind kind);	/* "a single value", ... */

/*
 * Replaces ${NAME} and ${env:NAME} by what look gives, and $${ by a literal ${;
 * any other $ stays.  NULL with *ret_missing (caller frees) for an unset name.
 */
typedef const char *ytree_look_cb(void *arg, const char *name);
char *ytree_expand(const char *text, ytree_look_cb *look, void *arg,
	char **ret_missing);

#endif
