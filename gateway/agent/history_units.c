/* Entries become units: texts merged, calls repaired and paired with results. */
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/history_priv.h"

#define CALL_NAME_MAX 64	/* what servers allow */

static const char before_answer[] = "[A new message came before my answer.]";

struct reader {
	struct units *u;
	const struct json **entries;
	bool *used;		/* tool entries that found their call */
	size_t n;
};

void
units_free(struct units *u)
{
	for (size_t i = 0; i < u->n; i++) {
		buf_done(&u->list[i].text);
		json_free(&u->list[i].calls);
		json_free(&u->list[i].results);
	}
	mem_free(u->list);
}

static struct unit *
last_unit(struct units *u)
{
	return u->n > 0 ? &u->list[u->n - 1] : NULL;
}

static struct unit *
add_unit(struct units *u, enum unit_kind kind)
{
	u->list = mem_grow(u->list, u->n + 1, sizeof(*u->list));

	struct unit *unit = &u->list[u->n++];

	memset(unit, 0, sizeof(*unit));
	unit->kind = kind;
	buf_init(&unit->text, HISTORY_TEXT_MAX);
	return unit;
}

static void
add_text(struct unit *unit, const char *text)
{
	if (unit->text.len > 0 && *text)
		buf_add_str(&unit->text, "\n\n");
	buf_add_str(&unit->text, text);
}

static bool
role_is(const struct json *entry, const char *role)
{
	return strcmp(json_get_str(entry, "role", ""), role) == 0;
}

static void
take_user(struct units *u, const struct json *entry)
{
	CLEANUP_BUF struct buf text = history_user_text(u, entry);
	struct unit *unit = last_unit(u);

	if (text.len == 0)
		return;
	/* templates that want alternating roles don't count an exchange */
	if (unit && unit->kind == UNIT_EXCHANGE)
		add_text(add_unit(u, UNIT_ANSWER), before_answer);
	unit = last_unit(u);
	if (!unit || unit->kind != UNIT_USER)
		unit = add_unit(u, UNIT_USER);
	if (json_get_bool(entry, "glue", false))	/* goes on a long paste */
		buf_add_str(&unit->text, text.data);
	else
		add_text(unit, text.data);
}

static void
take_answer(struct units *u, const struct json *entry)
{
	CLEANUP_BUF struct buf text = history_answer_text(u, entry);
	struct unit *unit = last_unit(u);
	bool cut = strcmp(json_get_str(entry, "mark", ""), "cut") == 0;

	if (text.len == 0) {
		u->repaired = true;
		return;
	}
	if (!unit || unit->kind != UNIT_ANSWER) {
		unit = add_unit(u, UNIT_ANSWER);
		unit->cut = true;
	}
	unit->cut = unit->cut && cut;
	add_text(unit, text.data);
}

/* ---- exchanges ------------------------------------------------------------ */

static const char *
call_name(const struct json *call)
{
	return json_get_str(json_get(call, "function"), "name", "");
}

static bool
has_call(const struct json *entry, const char *id)
{
	const struct json *calls = json_get(entry, "tool_calls");

	for (const struct json *c = json_first(calls); c; c = json_next(c)) {
		if (strcmp(json_get_str(c, "id", ""), id) == 0)
			return true;
	}
	return false;
}

/*
 * The result for id among the entries after `at`, up to another use of the
 * id.  Of several the first that came to an end.
 */
static const struct json *
find_result(struct reader *r, size_t at, const char *id)
{
	const struct json *best = NULL;

	for (size_t i = at + 1; i < r->n && *id; i++) {
		const struct json *e = r->entries[i];

		if (role_is(e, "assistant") && has_call(e, id))
			break;
		if (r->used[i] || !role_is(e, "tool") ||
		    strcmp(json_get_str(e, "tool_call_id", ""), id) != 0)
			continue;
		r->used[i] = true;
		if (best)
			r->u->repaired = true;
		if (!history_interrupted(e))
			return e;
		if (!best)
			best = e;
	}
	return best;
}

static bool
is_read_only(const struct units *u, const char *name)
{
	for (const char *const *p = u->opts->read_only; p && *p; p++) {
		if (strcmp(*p, name) == 0)
			return true;
	}
	return false;
}

/* Servers allow letters, digits, _ and -. */
static char *
legal_name(struct units *u, const char *name)
{
	char *out = mem_strn(name, strnlen(name, CALL_NAME_MAX));

	for (char *p = out; *p; p++) {
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		    "0123456789_-", *p))
			*p = '_';
	}
	if (strcmp(out, name) != 0)
		u->repaired = true;
	if (*out)
		return out;
	mem_free(out);
	u->repaired = true;
	return mem_str("unnamed");
}

static char *
legal_arguments(struct units *u, const struct json *function)
{
	const char *s = json_get_str(function, "arguments", "");
	CLEANUP_JSON struct json *value = json_parse(s, strlen(s), NULL);

	if (json_is_object(value))
		return mem_str(s);
	u->repaired = true;
	if (json_is_object(json_get(function, "arguments")))
		return json_text(json_get(function, "arguments"));
	return mem_str("{}");
}

static struct json *
legal_call(struct units *u, const struct json *call, const char *id)
{
	const struct json *function = json_get(call, "function");
	CLEANUP_FREE char *name = legal_name(u, call_name(call));
	CLEANUP_FREE char *arguments = legal_arguments(u, function);
	struct json *out = json_object(), *f = json_object();

	json_set_str(out, "id", id);
	json_set_str(out, "type", "function");
	json_set_str(f, "name", name);
	json_set_str(f, "arguments", arguments);
	return json_set_take(out, "function", f);
}

static bool
id_used(const struct json *calls, const char *id)
{
	for (const struct json *c = json_first(calls); c; c = json_next(c)) {
		if (strcmp(json_get_str(c, "id", ""), id) == 0)
			return true;
	}
	return false;
}

/* The call's own id, or one made from its place. */
static char *
legal_id(struct units *u, const struct json *calls, const char *given,
	size_t at)
{
	if (*given && !id_used(calls, given))
		return mem_str(given);
	u->repaired = true;
	for (size_t i = json_len(calls);; i++) {
		char *id = mem_printf("call_%zu_%zu", at, i);

		if (!id_used(calls, id))
			return id;
		mem_free(id);
	}
}

/* One call and its result into the unit. Returns whether it came to an end. */
static bool
take_call(struct reader *r, size_t at, const struct json *call,
	struct unit *unit)
{
	const char *given = json_get_str(call, "id", "");
	const struct json *result = find_result(r, at, given);
	CLEANUP_BUF struct buf text = history_result_text(r->u, result);
	CLEANUP_FREE char *id = legal_id(r->u, unit->calls, given, at);

	if (!result)
		r->u->repaired = true;
	json_add_take(unit->calls, legal_call(r->u, call, id));

	struct json *message = json_set_str(json_object(), "role", "tool");

	json_set_str(message, "tool_call_id", id);
	json_set_str(message, "content", text.data);
	json_add_take(unit->results, message);
	return !history_interrupted(result);
}

static void
take_exchange(struct reader *r, size_t at)
{
	struct units *u = r->u;
	const struct json *entry = r->entries[at];
	const struct json *calls = json_get(entry, "tool_calls");
	CLEANUP_BUF struct buf text = history_answer_text(u, entry);
	struct unit *unit = last_unit(u);
	bool read_only = true, ended = true;

	/* text directly before belongs to the same turn of the assistant */
	if (!unit || unit->kind != UNIT_ANSWER)
		unit = add_unit(u, UNIT_EXCHANGE);
	add_text(unit, text.data);
	unit->kind = UNIT_EXCHANGE;
	unit->calls = json_array();
	unit->results = json_array();
	for (const struct json *c = json_first(calls); c; c = json_next(c)) {
		ended = take_call(r, at, c, unit) && ended;
		read_only = read_only && is_read_only(u, call_name(c));
	}
	if (ended || !read_only)
		return;
	json_free(&unit->calls);
	json_free(&unit->results);
	unit->kind = UNIT_ANSWER;
	if (unit->text.len == 0) {
		buf_done(&unit->text);
		u->n--;
	}
}

static void
count_bytes(struct unit *unit)
{
	unit->bytes = unit->text.len;
	unit->messages = 1 + json_len(unit->results);
	for (const struct json *c = json_first(unit->calls); c; c = json_next(c))
		unit->bytes += strlen(json_get_str(json_get(c, "function"),
		    "arguments", ""));
	for (const struct json *m = json_first(unit->results); m;
	    m = json_next(m))
		unit->bytes += strlen(json_get_str(m, "content", ""));
}

void
units_read(struct units *u, const struct json *entries)
{
	struct reader r = { .u = u, .n = json_len(entries) };

	r.entries = mem_array(r.n + 1, sizeof(*r.entries));
	r.used = mem_array(r.n + 1, sizeof(*r.used));
	size_t i = 0;

	for (const struct json *e = json_first(entries); e; e = json_next(e))
		r.entries[i++] = e;
	for (i = 0; i < r.n; i++) {
		const struct json *e = r.entries[i];

		if (role_is(e, "user"))
			take_user(u, e);
		else if (role_is(e, "assistant") &&
		    json_is_array(json_get(e, "tool_calls")) &&
		    json_len(json_get(e, "tool_calls")) > 0)
			take_exchange(&r, i);
		else if (role_is(e, "assistant"))
			take_answer(u, e);
		else if (!role_is(e, "tool") || !r.used[i])
			u->repaired = true;	/* an orphan, or no role of ours */
	}
	for (i = 0; i < u->n; i++)
		count_bytes(&u->list[i]);
	mem_free(r.entries);
	mem_free(r.used);
}
