/*
 * JSON: the only door to cJSON.  Trees are bounded at parse time (bytes and
 * depth) and always hold valid UTF-8: bad bytes, halves of surrogate pairs and
 * NUL in foreign JSON become U+FFFD.  Getters never fail loudly: a missing or
 * mistyped member gives the fallback, so parsers of foreign JSON stay short.
 * Numbers are doubles: ids are strings, or checked by json_id().
 */
#ifndef GATEHOUSE_JSON_H
#define GATEHOUSE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct json;		/* a node; children are owned by their root */

#define JSON_DEPTH_MAX 64
#define JSON_BYTES_MAX (32 << 20)
#define JSON_NODES_MAX 1000000	/* a node takes 64 bytes */

/* Trailing bytes other than white space are an error. NULL on failure. Any thread. */
struct json *json_parse(const char *text, size_t len, struct err *err);
void json_free(struct json **root);
struct json *json_clone(const struct json *node);

bool json_is_object(const struct json *node);
bool json_is_array(const struct json *node);
bool json_is_string(const struct json *node);
bool json_is_number(const struct json *node);
bool json_is_bool(const struct json *node);
bool json_is_null(const struct json *node);	/* also for node == NULL */

/* Case counts. Of members with the same name the first wins, everywhere. */
const struct json *json_get(const struct json *obj, const char *key);
/* Dotted path, e.g. "message.chat.id"; array index as number. */
const struct json *json_path(const struct json *node, const char *path);
size_t json_len(const struct json *array);	/* 0 if no array or object */
const struct json *json_at(const struct json *array, size_t i);	/* O(i) */
/* Iteration in O(1) a step: for (c = json_first(a); c; c = json_next(c)) */
const struct json *json_first(const struct json *node);
const struct json *json_next(const struct json *child);
const char *json_key(const struct json *child);		/* NULL in arrays */

const char *json_str(const struct json *node);		/* NULL if no string */
const char *json_get_str(const struct json *obj, const char *key,
	const char *fallback);
/* Only whole numbers within +-2^53; the fallback for all else. */
int64_t json_get_int(const struct json *obj, const char *key, int64_t fallback);
double json_get_num(const struct json *obj, const char *key, double fallback);
bool json_get_bool(const struct json *obj, const char *key, bool fallback);
/* Whole number within +-2^53, or a string of digits; false otherwise. */
bool json_id(const struct json *node, int64_t *ret_id);

struct json *json_object(void);
struct json *json_array(void);
struct json *json_string(const char *s);	/* invalid UTF-8 is replaced */
/* A string NULL becomes null. Setters replace; _take hands the child over. All return the container. */
struct json *json_set_str(struct json *obj, const char *key, const char *s);
struct json *json_set_int(struct json *obj, const char *key, int64_t n);
struct json *json_set_bool(struct json *obj, const char *key, bool b);
struct json *json_set_null(struct json *obj, const char *key);
struct json *json_set_take(struct json *obj, const char *key, struct json *child);
struct json *json_add_take(struct json *array, struct json *child);
void json_remove(struct json *obj, const char *key);

char *json_text(const struct json *node);		/* compact; caller frees */
char *json_text_pretty(const struct json *node);

void json_cleanup(struct json **root);
#define CLEANUP_JSON __attribute__((cleanup(json_cleanup)))

#endif
