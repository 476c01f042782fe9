#include "gateway/agent/tool_args.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define LIST_MAX 300	/* bytes of a list of members in a message */

/* An object, also where it was wrapped in a string; NULL: something else. */
static struct json *
parse_object(const char *text, struct err *err)
{
	struct json *value, *inner;

	if (!text[strspn(text, " \t\r\n")] || strcmp(text, "null") == 0)
		return json_object();
	value = json_parse(text, strlen(text), err);
	if (!value) {
		err_wrap(err, "the arguments are no valid JSON and nothing was "
		    "run: send the call again with one complete JSON object");
		return NULL;
	}
	if (json_is_string(value)) {
		inner = json_parse(json_str(value), strlen(json_str(value)), NULL);
		json_free(&value);
		value = inner;
	}
	if (json_is_object(value))
		return value;
	json_free(&value);
	err_set(err, ERR_INVALID, "the arguments must be one JSON object, like "
	    "{\"name\": \"value\"}");
	return NULL;
}

static const char *
type_of(const struct json *node)
{
	int64_t n;

	if (json_is_string(node))
		return "string";
	if (json_is_bool(node))
		return "boolean";
	if (json_is_array(node))
		return "array";
	if (json_is_object(node))
		return "object";
	if (!json_is_number(node))
		return "null";
	return json_id(node, &n) ? "integer" : "number";
}

static bool
fits(const struct json *node, const char *want)
{
	const char *is = type_of(node);

	return strcmp(is, want) == 0 ||
	    (strcmp(want, "number") == 0 && strcmp(is, "integer") == 0);
}

/* The same value in the type that was meant, or NULL. */
static struct json *
convert(const struct json *node, const char *want)
{
	const char *s = json_str(node);
	struct json *value;

	if (s && strcmp(want, "array") != 0) {
		/* a number, true, or an object written as a string */
		value = json_parse(s, strlen(s), NULL);
		if (value && fits(value, want))
			return value;
		json_free(&value);
	}
	if (strcmp(want, "array") == 0 && s) {
		value = json_parse(s, strlen(s), NULL);
		if (json_is_array(value))
			return value;
		json_free(&value);
		return json_add_take(json_array(), json_clone(node));
	}
	return NULL;
}

/* "command (string, required), background (boolean)": what the tool takes. */
static void
list_members(const struct json *schema, struct buf *out)
{
	const struct json *required = json_get(schema, "required");
	const struct json *p = json_first(json_get(schema, "properties"));

	for (; p; p = json_next(p)) {
		bool needed = false;

		for (const struct json *r = json_first(required); r;
		    r = json_next(r))
			needed = needed ||
			    (json_str(r) && strcmp(json_str(r), json_key(p)) == 0);
		buf_printf(out, "%s%s (%s%s)", out->len ? ", " : "", json_key(p),
		    json_get_str(p, "type", "any"), needed ? ", required" : "");
	}
}

static int
refuse(const struct tool *tool, const struct json *schema, struct err *err,
	const char *what)
{
	CLEANUP_BUF struct buf members;

	buf_init(&members, LIST_MAX);
	list_members(schema, &members);
	return err_set(err, ERR_INVALID, "%s: %s. It takes: %s", tool->name, what,
	    members.data);
}

static bool
listed(const struct json *list, const struct json *value)
{
	const char *s = json_str(value);

	for (const struct json *e = json_first(list); e; e = json_next(e)) {
		if (s && json_str(e) && strcmp(json_str(e), s) == 0)
			return true;
	}
	return json_len(list) == 0;
}

static int
check_member(const struct tool *tool, const struct json *schema,
	const struct json *property, struct json *args, struct err *err)
{
	const char *key = json_key(property);
	const char *want = json_get_str(property, "type", "");
	const struct json *value = json_get(args, key);
	CLEANUP_FREE char *what = NULL;

	if (!value)
		return 0;
	if (json_is_null(value)) {	/* models write null for "not given" */
		json_remove(args, key);
		return 0;
	}
	if (*want && !fits(value, want)) {
		struct json *meant = convert(value, want);

		if (!meant) {
			what = mem_printf("'%s' must be of type %s, not %s", key,
			    want, type_of(value));
			return refuse(tool, schema, err, what);
		}
		json_set_take(args, key, meant);
		value = json_get(args, key);
	}
	if (!listed(json_get(property, "enum"), value)) {
		CLEANUP_FREE char *allowed = json_text(json_get(property, "enum"));

		what = mem_printf("'%s' must be one of %.200s", key, allowed);
		return refuse(tool, schema, err, what);
	}
	return 0;
}

static int
check_object(const struct tool *tool, const struct json *schema,
	struct json *args, struct err *err)
{
	const struct json *p = json_first(json_get(schema, "properties"));
	const struct json *r = json_first(json_get(schema, "required"));

	for (; p; p = json_next(p)) {
		if (check_member(tool, schema, p, args, err) < 0)
			return -1;
	}
	for (; r; r = json_next(r)) {
		if (json_str(r) && !json_get(args, json_str(r))) {
			CLEANUP_FREE char *what =
			    mem_printf("'%s' is missing", json_str(r));

			return refuse(tool, schema, err, what);
		}
	}
	return 0;
}

struct json *
tool_args_parse(const struct tool *tool, const char *text, struct err *err)
{
	struct json *args = parse_object(text, err);
	CLEANUP_JSON struct json *schema = json_parse(tool->parameters,
	    strlen(tool->parameters), NULL);

	REQUIRE(json_is_object(schema));
	if (args && check_object(tool, schema, args, err) < 0)
		json_free(&args);
	return args;
}
