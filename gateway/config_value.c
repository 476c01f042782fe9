#include "gateway/config_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/mem.h"

static void *
slot(struct config *cfg, const struct config_key *key)
{
	return (char *)cfg + key->offset;
}

static const void *
const_slot(const struct config *cfg, const struct config_key *key)
{
	return (const char *)cfg + key->offset;
}

bool
config_is_list(const struct config_key *key)
{
	return key->type == CONFIG_LIST || key->type == CONFIG_IDS ||
		key->type == CONFIG_MAP;
}

static void
list_free(struct config_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		mem_free(list->items[i]);
	mem_free(STEAL(list->items));
	list->n = 0;
}

void
config_value_done(struct config *cfg, const struct config_key *key)
{
	switch (key->type) {
	case CONFIG_BOOL:
	case CONFIG_INT:
	case CONFIG_SECONDS:
	case CONFIG_SIZE:
		return;
	case CONFIG_LIST:
	case CONFIG_IDS:
	case CONFIG_MAP:
		list_free(slot(cfg, key));
		return;
	case CONFIG_STR:
	case CONFIG_ENUM:
	case CONFIG_PATH:
	case CONFIG_URL:
		mem_free_secret(slot(cfg, key));
		return;
	}
}

static void
add_choices(const char *values, struct buf *out)
{
	buf_add_str(out, "one of ");
	for (const char *p = values; *p; p++) {
		if (*p == '|')
			buf_add_str(out, ", ");
		else
			buf_add_char(out, *p);
	}
}

void
config_value_expected(const struct config_key *key, struct buf *out)
{
	switch (key->type) {
	case CONFIG_STR:
		buf_add_str(out, "a string");
		return;
	case CONFIG_BOOL:
		buf_add_str(out, "true or false");
		return;
	case CONFIG_INT:
		buf_printf(out, "a whole number from %" PRId64 " to %" PRId64,
			key->min, key->max);
		return;
	case CONFIG_SECONDS:
		buf_printf(out, "seconds from %" PRId64 " to %" PRId64, key->min,
			key->max);
		return;
	case CONFIG_SIZE:
		buf_printf(out, "a size from %" PRId64 "M to %" PRId64
			"M (bytes, or with K, M or G)", key->min >> 20,
			key->max >> 20);
		return;
	case CONFIG_ENUM:
		add_choices(key->values, out);
		return;
	case CONFIG_LIST:
		buf_add_str(out, "a list of strings");
		return;
	case CONFIG_IDS:
		buf_add_str(out, "a list of ids");
		return;
	case CONFIG_MAP:
		buf_add_str(out, "names with values");
		return;
	case CONFIG_PATH:
		buf_add_str(out, "an absolute path");
		return;
	case CONFIG_URL:
		buf_add_str(out, "a URL that begins with http:// or https://");
		return;
	}
}

static int
refuse(const struct config_key *key, const char *found, struct err *err)
{
	struct buf want CLEANUP_BUF;

	buf_init(&want, 512);
	config_value_expected(key, &want);
	if (key->flags & CONFIG_SECRET)
		return err_set(err, ERR_CONFIG, "expected %s", want.data);
	return err_set(err, ERR_CONFIG, "expected %s, found '%.60s'", want.data,
		found);
}

/* Digits with an optional sign; nothing else. */
static bool
parse_int(const char *text, int64_t *ret_n)
{
	const char *digits = text + (*text == '-');
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*ret_n = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0';
}

/* Decimal seconds, three digits after the point at most. */
static bool
parse_ms(const char *text, int64_t max_s, int64_t *ret_ms)
{
	size_t whole = strspn(text, "0123456789");
	const char *rest = text + whole;
	int64_t ms = 0;

	if (!whole || whole > 12)
		return false;
	for (const char *p = text; p < rest; p++)
		ms = ms * 10 + (*p - '0');
	ms *= 1000;
	if (*rest == '.') {
		int64_t unit = 100;

		for (rest++; *rest >= '0' && *rest <= '9' && unit; rest++, unit /= 10)
			ms += (*rest - '0') * unit;
	}
	*ret_ms = ms;
	return *rest == '\0' && ms <= max_s * 1000;
}

static bool
parse_size(const char *text, int64_t *ret_n)
{
	static const struct { char c; int shift; } units[] = {
		{ 'k', 10 }, { 'm', 20 }, { 'g', 30 },
	};
	size_t len = strspn(text, "0123456789");
	CLEANUP_FREE char *digits = mem_strn(text, len);
	const char *unit = text + len;
	int shift = 0;

	if (!len || len > 15 || !parse_int(digits, ret_n))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(units) && *unit; i++)
		if ((*unit | 0x20) == units[i].c) {
			shift = units[i].shift;
			unit++;
			if (*unit == 'B')
				unit++;
			break;
		}
	if (*ret_n > (INT64_MAX >> shift))
		return false;
	*ret_n <<= shift;
	return *unit == '\0';
}

static bool
parse_bool(const char *text, enum config_form form, bool *ret_b)
{
	static const char *const yes[] = { "true", "yes", "on", "1" };
	static const char *const no[] = { "false", "no", "off", "0" };
	/* 1 and 0 are numbers in YAML and booleans in a variable. */
	size_t n = form == CONFIG_WORD ? 4 : 3;

	for (size_t i = 0; i < n && form != CONFIG_QUOTED; i++) {
		*ret_b = strcasecmp(text, yes[i]) == 0;
		if (*ret_b || strcasecmp(text, no[i]) == 0)
			return true;
	}
	return false;
}

/* The value's spelling in the table, or NULL. */
static char *
find_choice(const char *values, const char *text, enum config_form form)
{
	size_t len = strlen(text);
	bool b;

	for (const char *p = values; *p; ) {
		size_t n = strcspn(p, "|");

		if (n == len && strncasecmp(p, text, n) == 0)
			return mem_strn(p, n);
		p += n;
		p += *p == '|';
	}
	/* `off` without quotes reads as false in YAML 1.1. */
	if (form == CONFIG_PLAIN && parse_bool(text, form, &b) && !b &&
	    strcasecmp(text, "off") != 0)
		return find_choice(values, "off", CONFIG_QUOTED);
	/* Python's spelling of a level. */
	if (strcasecmp(text, "warning") == 0)
		return find_choice(values, "warn", CONFIG_QUOTED);
	return NULL;
}

static void
set_str(struct config *cfg, const struct config_key *key, char *value)
{
	char **p = slot(cfg, key);

	mem_free_secret(p);
	*p = value;
}

static int
set_number(struct config *cfg, const struct config_key *key, const char *text,
	enum config_form form, struct err *err)
{
	int64_t n;
	bool ok = form != CONFIG_QUOTED;

	if (key->type == CONFIG_SECONDS)
		ok = ok && parse_ms(text, key->max, &n) && n >= key->min * 1000;
	else if (key->type == CONFIG_SIZE)
		ok = parse_size(text, &n) && n >= key->min && n <= key->max;
	else
		ok = ok && parse_int(text, &n) && n >= key->min && n <= key->max;
	if (!ok)
		return refuse(key, text, err);
	*(int64_t *)slot(cfg, key) = n;
	return 0;
}

static int
set_path(struct config *cfg, const struct config_key *key, const char *text,
	const char *home, struct err *err)
{
	if (strncmp(text, "~/", 2) == 0 && home)
		set_str(cfg, key, mem_printf("%s%s", home, text + 1));
	else if (*text && *text != '/')
		return refuse(key, text, err);
	else
		set_str(cfg, key, mem_str(text));
	return 0;
}

static int
set_url(struct config *cfg, const struct config_key *key, const char *text,
	struct err *err)
{
	const char *host = strncmp(text, "http://", 7) == 0 ? text + 7 :
		strncmp(text, "https://", 8) == 0 ? text + 8 : NULL;

	if (*text && (!host || !*host || *host == '/' || strpbrk(text, " \t\r\n\"<>")))
		return refuse(key, text, err);
	set_str(cfg, key, mem_str(text));
	return 0;
}

/* One string with commas. */
static int
set_split(struct config *cfg, const struct config_key *key, const char *text,
	struct err *err)
{
	char **items = NULL;
	size_t n = 0;
	int r;

	for (const char *p = text; *p && n <= CONFIG_LIST_MAX; ) {
		size_t len = strcspn(p, ",");
		size_t lead = strspn(p, " \t");
		size_t end = len;

		while (end > lead && (p[end - 1] == ' ' || p[end - 1] == '\t'))
			end--;
		if (end > lead) {
			items = mem_grow(items, n + 1, sizeof(*items));
			items[n++] = mem_strn(p + lead, end - lead);
		}
		p += len;
		p += *p == ',';
	}
	r = config_value_set_list(cfg, key, (const char *const *)items, n, err);
	for (size_t i = 0; i < n; i++)
		mem_free(items[i]);
	mem_free(items);
	return r;
}

/* Lists in variables of Hermes are JSON: ["a", "b"] or {"NAME": "value"}. */
static int
set_json(struct config *cfg, const struct config_key *key, const char *text,
	struct err *err)
{
	CLEANUP_JSON struct json *root = json_parse(text, strlen(text), NULL);
	char **items = NULL;
	size_t n = 0;
	int r = root ? 0 : refuse(key, text, err);

	for (const struct json *j = json_first(root); j && !r; j = json_next(j)) {
		const char *word = json_str(j), *name = json_key(j);

		if (!word || n > CONFIG_LIST_MAX) {
			r = refuse(key, text, err);
			break;
		}
		items = mem_grow(items, n + 1, sizeof(*items));
		items[n++] = name ? mem_printf("%s=%s", name, word) : mem_str(word);
	}
	if (!r)
		r = config_value_set_list(cfg, key, (const char *const *)items, n,
			err);
	for (size_t i = 0; i < n; i++)
		mem_free(items[i]);
	mem_free(items);
	return r;
}

int
config_value_set(struct config *cfg, const struct config_key *key,
	const char *text, enum config_form form, const char *home,
	struct err *err)
{
	char *choice;
	bool b;

	switch (key->type) {
	case CONFIG_STR:
		if (strlen(text) > CONFIG_TEXT_MAX)
			return err_set(err, ERR_CONFIG, "longer than %d bytes",
				CONFIG_TEXT_MAX);
		set_str(cfg, key, mem_str(text));
		return 0;
	case CONFIG_BOOL:
		if (!parse_bool(text, form, &b))
			return refuse(key, text, err);
		*(bool *)slot(cfg, key) = b;
		return 0;
	case CONFIG_INT:
	case CONFIG_SECONDS:
	case CONFIG_SIZE:
		return set_number(cfg, key, text, form, err);
	case CONFIG_ENUM:
		choice = find_choice(key->values, text, form);
		if (!choice)
			return refuse(key, text, err);
		set_str(cfg, key, choice);
		return 0;
	case CONFIG_LIST:
	case CONFIG_IDS:
	case CONFIG_MAP:
		return *text == '[' || *text == '{' ?
			set_json(cfg, key, text, err) :
			set_split(cfg, key, text, err);
	case CONFIG_PATH:
		return set_path(cfg, key, text, home, err);
	case CONFIG_URL:
		return set_url(cfg, key, text, err);
	}
	return -1;
}

/* Ids of any platform: digits, names with @ or :, "*" for everybody. */
static bool
id_valid(const char *id)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:@+!#/=";

	return strcmp(id, "*") == 0 ||
		(*id && strlen(id) < 256 && id[strspn(id, allowed)] == '\0');
}

int
config_value_set_list(struct config *cfg, const struct config_key *key,
	const char *const *items, size_t n, struct err *err)
{
	struct config_list *list = slot(cfg, key);

	REQUIRE(config_is_list(key));
	if (n > CONFIG_LIST_MAX)
		return err_set(err, ERR_CONFIG, "more than %d entries",
			CONFIG_LIST_MAX);
	for (size_t i = 0; i < n; i++)
		if ((key->type == CONFIG_IDS && !id_valid(items[i])) ||
		    (key->type == CONFIG_MAP && !strchr(items[i], '=')))
			return refuse(key, items[i], err);
	list_free(list);
	list->items = mem_array(n + 1, sizeof(*list->items));
	for (size_t i = 0; i < n; i++)
		list->items[i] = mem_str(items[i]);
	list->n = n;
	return 0;
}

const struct config_list *
config_value_list(const struct config *cfg, const struct config_key *key)
{
	REQUIRE(config_is_list(key));
	return const_slot(cfg, key);
}

static void
add_seconds(int64_t ms, struct buf *out)
{
	buf_printf(out, "%" PRId64, ms / 1000);
	if (ms % 1000)
		buf_printf(out, ".%03" PRId64, ms % 1000);
	while (ms % 1000 && out->data[out->len - 1] == '0') {
		out->data[--out->len] = '\0';
	}
}

void
config_value_text(const struct config *cfg, const struct config_key *key,
	struct buf *out)
{
	const void *p = const_slot(cfg, key);
	const struct config_list *list = p;

	switch (key->type) {
	case CONFIG_BOOL:
		buf_add_str(out, *(const bool *)p ? "true" : "false");
		return;
	case CONFIG_INT:
	case CONFIG_SIZE:
		buf_printf(out, "%" PRId64, *(const int64_t *)p);
		return;
	case CONFIG_SECONDS:
		add_seconds(*(const int64_t *)p, out);
		return;
	case CONFIG_LIST:
	case CONFIG_IDS:
	case CONFIG_MAP:
		buf_add_char(out, '[');
		for (size_t i = 0; i < list->n; i++)
			buf_printf(out, "%s%s", i ? ", " : "", list->items[i]);
		buf_add_char(out, ']');
		return;
	case CONFIG_STR:
	case CONFIG_ENUM:
	case CONFIG_PATH:
	case CONFIG_URL:
		if (key->flags & CONFIG_SECRET)
			buf_add_str(out, **(char *const *)p ? "(set)" : "");
		else
			buf_add_str(out, *(char *const *)p);
		return;
	}
}
