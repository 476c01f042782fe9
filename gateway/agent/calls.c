#include "gateway/agent/calls.h"

#include <string.h>

#include "base/ids.h"
#include "base/mem.h"

#define CALL_NO_INDEX INT64_MIN
#define GENERATED_ID_HEX 24

/* One entry of a tool_calls array, whatever of it is there. */
struct piece {
	const char *id;			/* NULL: missing or empty */
	int64_t index;
	const char *name;		/* NULL: missing or empty */
	const struct json *arguments;
	size_t place, places;		/* in its array */
};

void
calls_init(struct calls *c, const struct json *tools)
{
	memset(c, 0, sizeof(*c));
	c->tools = tools;
}

void
calls_done(struct calls *c)
{
	for (size_t i = 0; i < c->n; i++) {
		mem_free(c->list[i].id);
		buf_done(&c->list[i].name);
		buf_done(&c->list[i].arguments);
	}
	mem_free(c->list);
	mem_free(c->out);
	memset(c, 0, sizeof(*c));
}

/* ---- reading a delta ------------------------------------------------------ */

static const char *
filled(const struct json *obj, const char *key)
{
	const char *s = json_get_str(obj, key, "");

	return *s ? s : NULL;
}

static struct piece
read_piece(const struct json *entry, size_t place, size_t places)
{
	const struct json *function = json_get(entry, "function");
	struct piece p = { .place = place, .places = places };

	if (!json_is_object(function))
		function = entry;	/* name and arguments one level up */
	p.id = filled(entry, "id");
	if (!json_id(json_get(entry, "index"), &p.index))
		p.index = CALL_NO_INDEX;
	p.name = filled(function, "name");
	p.arguments = json_get(function, "arguments");
	return p;
}

/* 1: a tool has this name; 0: a tool's name begins so; -1: neither. */
static int
name_known(const struct calls *c, const char *name, size_t len)
{
	int best = -1;

	for (const struct json *t = json_first(c->tools); t; t = json_next(t)) {
		const char *known = json_get_str(json_get(t, "function"),
		    "name", "");

		if (strncmp(known, name, len) != 0)
			continue;
		if (known[len] == '\0')
			return 1;
		best = 0;
	}
	return best;
}

static bool
blank(const char *s)
{
	return s[strspn(s, " \t\r\n")] == '\0';
}

static bool
arguments_whole(const struct call *call)
{
	struct json *value;

	if (blank(call->arguments.data))
		return false;
	value = json_parse(call->arguments.data, call->arguments.len, NULL);
	bool whole = value != NULL;

	json_free(&value);
	return whole;
}

/* Could the piece's arguments be the whole of, or begin, another call's? */
static bool
begins_arguments(const struct piece *p)
{
	const char *s = json_str(p->arguments);

	return s ? s[strspn(s, " \t\r\n")] == '{' : json_is_object(p->arguments);
}

/* ---- which call a piece belongs to ---------------------------------------- */

static struct call *
call_by_id(struct calls *c, const char *id)
{
	for (size_t i = c->n; i-- > 0;) {
		if (c->list[i].id && strcmp(c->list[i].id, id) == 0)
			return &c->list[i];
	}
	return NULL;
}

/* The newest: a server may use one index for all its calls. */
static struct call *
call_by_index(struct calls *c, int64_t index)
{
	for (size_t i = c->n; index != CALL_NO_INDEX && i-- > 0;) {
		if (c->list[i].index == index)
			return &c->list[i];
	}
	return NULL;
}

static struct call *
call_by_place(struct calls *c, const struct piece *p)
{
	if (c->n == 0)
		return NULL;
	if (p->places > 1 && c->n >= p->places)
		return &c->list[c->n - p->places + p->place];
	return &c->list[c->n - 1];
}

/*
 * A piece with a name and without a known id, at `call`: does it go on with
 * that call, or begin another one?
 */
static bool
name_goes_on(const struct calls *c, const struct call *call,
	const struct piece *p)
{
	const struct buf *held = &call->name;
	size_t len = strlen(p->name);

	if (held->len == 0)
		return true;
	if (strcmp(held->data, p->name) == 0)	/* repeated with each piece */
		return !begins_arguments(p) || !arguments_whole(call);
	if (call->arguments.len > 0)
		return false;

	/* a name in pieces, if that leads to a tool's name */
	CLEANUP_FREE char *joined = mem_printf("%s%s", held->data, p->name);

	if (name_known(c, joined, held->len + len) >= 0)
		return true;
	return name_known(c, p->name, len) != 1 &&
	    name_known(c, held->data, held->len) != 1;
}

/* NULL: the piece begins a new call. */
static struct call *
find_call(struct calls *c, const struct piece *p)
{
	struct call *call = p->id ? call_by_id(c, p->id) : NULL;

	if (call)
		return call;
	call = call_by_index(c, p->index);
	if (p->id) {
		/*
		 * A new id begins a call even at an index in use.  But a piece
		 * without a name can't begin one there, and an id may come
		 * after the name.
		 */
		if (call && !p->name)
			return call;
		if (call && !call->id && name_goes_on(c, call, p))
			return call;
		return NULL;
	}
	if (call)
		return !p->name || name_goes_on(c, call, p) ? call : NULL;
	if (!p->name)
		return call_by_place(c, p);
	if (p->index != CALL_NO_INDEX || c->n == 0)
		return NULL;
	call = &c->list[c->n - 1];
	return p->places == 1 && name_goes_on(c, call, p) ? call : NULL;
}

/* ---- applying it ---------------------------------------------------------- */

static struct call *
add_call(struct calls *c)
{
	struct call *call;

	if (c->n == CALLS_MAX)
		return NULL;
	c->list = mem_grow(c->list, c->n + 1, sizeof(*c->list));
	call = &c->list[c->n++];
	memset(call, 0, sizeof(*call));
	call->index = CALL_NO_INDEX;
	buf_init(&call->name, CALL_NAME_MAX);
	buf_init(&call->arguments, CALL_ARGUMENTS_MAX);
	return call;
}

static void
take_name(struct calls *c, struct call *call, const char *name)
{
	if (strcmp(call->name.data, name) == 0)
		return;
	/* a name grows only before the arguments, and not beyond a tool's */
	if (call->name.len > 0 && (call->arguments.len > 0 ||
	    name_known(c, call->name.data, call->name.len) == 1))
		return;
	buf_add_str(&call->name, name);
}

static void
take_arguments(struct call *call, const struct json *arguments)
{
	const char *s = json_str(arguments);

	if (s) {
		surrogate_join(&call->half, s, strlen(s), &call->arguments);
	} else if (!json_is_null(arguments)) {
		/* given as a value, not as its text; repeated: the newer one */
		CLEANUP_FREE char *text = json_text(arguments);

		buf_clear(&call->arguments);
		buf_add_str(&call->arguments, text);
	}
}

static int
take_piece(struct calls *c, struct call *call, const struct piece *p)
{
	if (!call)
		call = add_call(c);
	if (!call || (p->id && strlen(p->id) > CALL_ID_MAX))
		return -1;
	if (!call->id && p->id)
		call->id = mem_str(p->id);
	if (call->index == CALL_NO_INDEX)
		call->index = p->index;
	if (p->name)
		take_name(c, call, p->name);
	take_arguments(call, p->arguments);
	return call->name.over || call->arguments.over ? -1 : 0;
}

int
calls_delta(struct calls *c, const struct json *tool_calls)
{
	size_t place = 0, places = json_len(tool_calls);

	if (!json_is_array(tool_calls))
		return 0;
	for (const struct json *e = json_first(tool_calls); e; e = json_next(e)) {
		struct piece p = read_piece(e, place++, places);

		if (json_is_object(e) && take_piece(c, find_call(c, &p), &p) < 0)
			return -1;
	}
	return 0;
}

int
calls_whole(struct calls *c, const struct json *tool_calls)
{
	if (!json_is_array(tool_calls))
		return 0;
	for (const struct json *e = json_first(tool_calls); e; e = json_next(e)) {
		struct piece p = read_piece(e, 0, 1);

		if (p.id && call_by_id(c, p.id))
			p.id = NULL;	/* used twice: this one gets its own */
		if (json_is_object(e) && take_piece(c, NULL, &p) < 0)
			return -1;
	}
	return 0;
}

int
calls_function(struct calls *c, const struct json *function_call)
{
	struct piece p;

	if (!json_is_object(function_call))
		return 0;
	p = read_piece(function_call, 0, 1);
	return take_piece(c, c->n > 0 ? &c->list[c->n - 1] : NULL, &p);
}

/* ---- the end -------------------------------------------------------------- */

bool
calls_complete(const struct calls *c)
{
	for (size_t i = 0; i < c->n; i++) {
		if (!blank(c->list[i].arguments.data) &&
		    !arguments_whole(&c->list[i]))
			return false;
	}
	return true;
}

const struct model_call *
calls_finish(struct calls *c)
{
	mem_free(c->out);
	c->out = mem_array(c->n + 1, sizeof(*c->out));
	for (size_t i = 0; i < c->n; i++) {
		struct call *call = &c->list[i];
		char hex[GENERATED_ID_HEX + 1];

		surrogate_end(&call->half, &call->arguments);
		if (blank(call->arguments.data) ||
		    strcmp(call->arguments.data, "null") == 0) {
			buf_clear(&call->arguments);
			buf_add_str(&call->arguments, "{}");
		}
		if (!call->id) {
			ids_hex(hex, GENERATED_ID_HEX);
			call->id = mem_printf("call_%s", hex);
		}
		c->out[i] = (struct model_call){
			.id = call->id,
			.name = call->name.data,
			.arguments = call->arguments.data,
		};
	}
	return c->out;
}
