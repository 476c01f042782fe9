#include "base/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_priv.h"
#include "base/mem.h"
#include "base/utf8.h"

#define EXACT_MAX 9007199254740991.0	/* 2^53 - 1 */

/* struct json is cJSON under another name; these two are the only casts. */
static cJSON *
in(const struct json *node)
{
	return (cJSON *)(uintptr_t)node;
}

static struct json *
out(const cJSON *node)
{
	return (struct json *)(uintptr_t)node;
}

/* cJSON reports running out of memory as NULL. */
static cJSON *
made(cJSON *node)
{
	REQUIRE(node != NULL);
	return node;
}

struct json *
json_parse(const char *text, size_t len, struct err *err)
{
	CLEANUP_BUF struct buf valid, clean;
	const char *end = NULL;

	/* each bad byte grows to 3, each NUL to 6 */
	buf_init(&valid, (size_t)3 * JSON_BYTES_MAX);
	buf_init(&clean, (size_t)6 * JSON_BYTES_MAX);
	if (len > JSON_BYTES_MAX) {
		err_set(err, ERR_LIMIT, "JSON of %zu bytes is over the limit of %d",
		    len, JSON_BYTES_MAX);
		return NULL;
	}
	if (!utf8_valid(text, len)) {
		utf8_repair(&valid, text, len);
		text = valid.data;
		len = valid.len;
	}
	if (json_clean(&clean, text, len, err) < 0)
		return NULL;
	REQUIRE(!valid.over && !clean.over);

	/* with the NUL, or a text that ends in white space is refused */
	cJSON *root = cJSON_ParseWithLengthOpts(clean.data, clean.len + 1, &end, 1);

	if (!root) {
		size_t at = end ? (size_t)(end - clean.data) : 0;

		err_set(err, ERR_INVALID, at >= clean.len ?
		    "JSON ends early, after %zu bytes" :
		    "JSON is invalid near byte %zu", at);
	}
	return out(root);
}

void
json_free(struct json **root)
{
	if (!root || !*root)
		return;
	cJSON_Delete(in(*root));
	*root = NULL;
}

void
json_cleanup(struct json **root)
{
	json_free(root);
}

struct json *
json_clone(const struct json *node)
{
	return out(made(cJSON_Duplicate(in(node), 1)));
}

/* ---- reading -------------------------------------------------------------- */

bool
json_is_object(const struct json *node)
{
	return cJSON_IsObject(in(node));
}

bool
json_is_array(const struct json *node)
{
	return cJSON_IsArray(in(node));
}

bool
json_is_string(const struct json *node)
{
	return cJSON_IsString(in(node));
}

/* Raw nodes are whole numbers that json_set_int wrote digit by digit. */
bool
json_is_number(const struct json *node)
{
	return cJSON_IsNumber(in(node)) || cJSON_IsRaw(in(node));
}

bool
json_is_bool(const struct json *node)
{
	return cJSON_IsBool(in(node));
}

bool
json_is_null(const struct json *node)
{
	return !node || cJSON_IsNull(in(node));
}

const struct json *
json_get(const struct json *obj, const char *key)
{
	if (!json_is_object(obj))
		return NULL;
	return out(cJSON_GetObjectItemCaseSensitive(in(obj), key));
}

/* A member or an element by the name at path, which ends at *len. */
static const struct json *
step_into(const struct json *node, const char *path, size_t len)
{
	char name[128];

	if (len >= sizeof(name))
		return NULL;
	memcpy(name, path, len);
	name[len] = '\0';
	if (json_is_object(node))
		return json_get(node, name);

	char *end;
	unsigned long i = strtoul(name, &end, 10);

	if (name[0] < '0' || name[0] > '9' || *end != '\0')
		return NULL;
	return json_at(node, i);
}

const struct json *
json_path(const struct json *node, const char *path)
{
	for (;;) {
		size_t len = strcspn(path, ".");

		node = step_into(node, path, len);
		if (!node || path[len] == '\0')
			return node;
		path += len + 1;
	}
}

size_t
json_len(const struct json *array)
{
	size_t n = 0;

	for (const struct json *c = json_first(array); c; c = json_next(c))
		n++;
	return n;
}

const struct json *
json_at(const struct json *array, size_t i)
{
	const struct json *c = json_is_array(array) ? json_first(array) : NULL;

	while (c && i-- > 0)
		c = json_next(c);
	return c;
}

const struct json *
json_first(const struct json *node)
{
	if (!json_is_array(node) && !json_is_object(node))
		return NULL;
	return out(in(node)->child);
}

const struct json *
json_next(const struct json *child)
{
	return out(in(child)->next);
}

const char *
json_key(const struct json *child)
{
	return in(child)->string;
}

const char *
json_str(const struct json *node)
{
	return json_is_string(node) ? in(node)->valuestring : NULL;
}

const char *
json_get_str(const struct json *obj, const char *key, const char *fallback)
{
	const char *s = json_str(json_get(obj, key));

	return s ? s : fallback;
}

/* Whole and exact: what a double may have rounded is not taken. */
static bool
whole(const struct json *node, int64_t *ret)
{
	if (cJSON_IsRaw(in(node))) {
		*ret = strtoll(in(node)->valuestring, NULL, 10);
		return true;
	}
	if (!cJSON_IsNumber(in(node)))
		return false;
	double d = in(node)->valuedouble;

	if (!(fabs(d) <= EXACT_MAX) || d != floor(d))
		return false;
	*ret = (int64_t)d;
	return true;
}

int64_t
json_get_int(const struct json *obj, const char *key, int64_t fallback)
{
	int64_t n;

	return whole(json_get(obj, key), &n) ? n : fallback;
}

double
json_get_num(const struct json *obj, const char *key, double fallback)
{
	const struct json *node = json_get(obj, key);
	int64_t n;

	if (cJSON_IsNumber(in(node)) && isfinite(in(node)->valuedouble))
		return in(node)->valuedouble;
	return whole(node, &n) ? (double)n : fallback;
}

bool
json_get_bool(const struct json *obj, const char *key, bool fallback)
{
	const struct json *node = json_get(obj, key);

	return json_is_bool(node) ? cJSON_IsTrue(in(node)) : fallback;
}

bool
json_id(const struct json *node, int64_t *ret_id)
{
	const char *s = json_str(node);

	if (!s)
		return whole(node, ret_id);

	const char *digits = *s == '-' ? s + 1 : s;
	size_t n = strlen(digits);
	char *end;

	if (n == 0 || n > 19 || strspn(digits, "0123456789") != n)
		return false;
	errno = 0;
	long long id = strtoll(s, &end, 10);

	if (errno != 0 || *end != '\0')
		return false;
	*ret_id = id;
	return true;
}

/* ---- building ------------------------------------------------------------- */

struct json *
json_object(void)
{
	return out(made(cJSON_CreateObject()));
}

struct json *
json_array(void)
{
	return out(made(cJSON_CreateArray()));
}

struct json *
json_string(const char *s)
{
	size_t len;

	if (!s)
		return out(made(cJSON_CreateNull()));
	len = strlen(s);
	if (utf8_valid(s, len))
		return out(made(cJSON_CreateString(s)));
	CLEANUP_BUF struct buf clean;

	buf_init(&clean, 3 * len);
	utf8_repair(&clean, s, len);
	return out(made(cJSON_CreateString(clean.data)));
}

struct json *
json_set_take(struct json *obj, const char *key, struct json *child)
{
	CLEANUP_BUF struct buf clean;
	size_t len = strlen(key);

	REQUIRE(json_is_object(obj) && child);
	buf_init(&clean, 3 * len);
	if (!utf8_valid(key, len)) {
		utf8_repair(&clean, key, len);
		key = clean.data;
	}
	if (json_get(obj, key))
		REQUIRE(cJSON_ReplaceItemInObjectCaseSensitive(in(obj), key,
		    in(child)));
	else
		REQUIRE(cJSON_AddItemToObject(in(obj), key, in(child)));
	return obj;
}

struct json *
json_set_str(struct json *obj, const char *key, const char *s)
{
	return json_set_take(obj, key, json_string(s));
}

struct json *
json_set_int(struct json *obj, const char *key, int64_t n)
{
	/* cJSON prints 15 digits of a double; more go in as they are */
	if (n > -1000000000000000 && n < 1000000000000000)
		return json_set_take(obj, key,
		    out(made(cJSON_CreateNumber((double)n))));

	char digits[24];

	REQUIRE(mem_format(digits, sizeof(digits), "%lld", (long long)n) == 0);
	return json_set_take(obj, key, out(made(cJSON_CreateRaw(digits))));
}

struct json *
json_set_bool(struct json *obj, const char *key, bool b)
{
	return json_set_take(obj, key, out(made(cJSON_CreateBool(b))));
}

struct json *
json_set_null(struct json *obj, const char *key)
{
	return json_set_take(obj, key, out(made(cJSON_CreateNull())));
}

struct json *
json_add_take(struct json *array, struct json *child)
{
	REQUIRE(json_is_array(array) && child);
	REQUIRE(cJSON_AddItemToArray(in(array), in(child)));
	return array;
}

void
json_remove(struct json *obj, const char *key)
{
	while (json_get(obj, key))
		cJSON_DeleteItemFromObjectCaseSensitive(in(obj), key);
}

char *
json_text(const struct json *node)
{
	char *s = cJSON_PrintUnformatted(in(node));

	REQUIRE(s != NULL);
	return s;
}

char *
json_text_pretty(const struct json *node)
{
	char *s = cJSON_Print(in(node));

	REQUIRE(s != NULL);
	return s;
}
