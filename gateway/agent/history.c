#include "gateway/agent/history.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/agent/history_priv.h"

#define MESSAGES_MAX 400
#define BYTES_MAX 400000

/*
 * The window moves in steps of a quarter, so that the start of the request
 * stays the same for many turns (servers cache by prefix).
 */
static size_t
excess(size_t total, size_t max)
{
	size_t step = max / 4 > 0 ? max / 4 : 1;

	return total > max ? (total - max + step - 1) / step * step : 0;
}

/* The first unit that fits into the window, at most the last one. */
static size_t
window_start(const struct units *u, size_t max_messages, size_t max_bytes)
{
	size_t messages = 0, bytes = 0, i;

	for (i = 0; i < u->n; i++) {
		messages += u->list[i].messages;
		bytes += u->list[i].bytes;
	}
	size_t drop_messages = excess(messages, max_messages);
	size_t drop_bytes = excess(bytes, max_bytes);

	messages = bytes = 0;
	for (i = 0; i + 1 < u->n; i++) {
		if (messages >= drop_messages && bytes >= drop_bytes)
			break;
		messages += u->list[i].messages;
		bytes += u->list[i].bytes;
	}
	return i;
}

static struct json *
message(const char *role, const char *content)
{
	return json_set_str(json_set_str(json_object(), "role", role),
	    "content", content);
}

static void
add_unit(struct json *out, struct unit *unit)
{
	struct json *m;

	switch (unit->kind) {
	case UNIT_USER:
		json_add_take(out, message("user", unit->text.data));
		break;
	case UNIT_ANSWER:
		json_add_take(out, message("assistant", unit->text.data));
		break;
	case UNIT_EXCHANGE:
		m = message("assistant", unit->text.data);
		if (unit->text.len == 0)
			json_set_null(m, "content");
		json_set_take(m, "tool_calls", STEAL(unit->calls));
		json_add_take(out, m);
		for (const struct json *r = json_first(unit->results); r;
		    r = json_next(r))
			json_add_take(out, json_clone(r));
	}
}

/* What is left out is said, in the first message that is kept. */
static void
add_first(struct json *out, struct unit *unit, bool left_out)
{
	CLEANUP_FREE char *text = mem_printf("[Earlier messages are left "
	    "out.]\n\n%s", unit->text.data);

	json_add_take(out, message("user", left_out ? text : unit->text.data));
}

/*
 * Where the window begins inside a turn, the turn's question stays and its
 * oldest exchanges go.
 */
static void
add_window(struct units *u, struct json *out, size_t start)
{
	size_t question = start;

	while (question > 0 && u->n > 0 &&
	    u->list[question].kind != UNIT_USER)
		question--;
	while (question < u->n && u->list[question].kind != UNIT_USER)
		question++;
	if (question < u->n)
		add_first(out, &u->list[question], question > 0 ||
		    start > question + 1);
	else
		json_add_take(out, message("user", "[No message.]"));
	if (question < u->n && start <= question)
		start = question + 1;
	for (; start < u->n; start++)
		add_unit(out, &u->list[start]);
}

/* A request ends with what is to be answered. */
static void
close_units(struct units *u)
{
	struct unit *unit = u->n > 0 ? &u->list[u->n - 1] : NULL;

	if (!unit || unit->kind != UNIT_ANSWER || !unit->cut)
		return;
	buf_done(&unit->text);
	u->n--;
}

struct json *
history_messages(const struct json *entries, const struct history_opts *opts,
	bool *ret_repaired)
{
	size_t max_messages = opts->max_messages ? opts->max_messages :
	    MESSAGES_MAX;
	size_t max_bytes = opts->max_bytes ? opts->max_bytes : BYTES_MAX;
	struct units u = { .opts = opts, .message_max = max_bytes / 4 };
	struct json *out = json_array();
	struct err err;

	units_read(&u, entries);
	close_units(&u);
	json_add_take(out, message("system", opts->system));
	add_window(&u, out, window_start(&u, max_messages, max_bytes));
	if (u.n > 0 && u.list[u.n - 1].kind == UNIT_ANSWER)
		json_add_take(out, message("user", "[Go on.]"));
	*ret_repaired = u.repaired;
	units_free(&u);
	/* a bug of ours: the server's answer will say no more than this */
	if (history_check(out, &err) < 0)
		log_error("history", NULL, "%s", err.text);
	return out;
}
