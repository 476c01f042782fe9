/* The words of single messages: marks, stale confirmations, over-long text. */
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/agent/history_priv.h"
#include "gateway/gate/confirm.h"

static const struct { const char *mark, *words; } result_marks[] = {
	{ "unknown", "outcome unknown: it was under way when the gateway lost "
	    "sight of it. It may have had effects: look before you repeat it." },
	{ "cancelled", "cancelled, may have had effects: look before you repeat "
	    "it." },
	{ "not_started", "not started: the turn was cancelled before." },
};
static const char no_result[] = "outcome unknown: interrupted before a result "
    "was recorded. It may have had effects: look before you repeat it.";

/* A message's text; of parts only the text, images are not replayed yet. */
static void
add_content(struct buf *out, const struct json *entry)
{
	const struct json *content = json_get(entry, "content");
	const char *s = json_str(content);

	if (s)
		buf_add_str(out, s);
	if (!json_is_array(content))
		return;
	for (const struct json *p = json_first(content); p; p = json_next(p))
		buf_add_str(out, json_get_str(p, "text", ""));
}

/* Keeps the first 40 % and the last 60 % of what is too long. */
static void
shorten(const struct units *u, struct buf *text)
{
	struct buf out;
	size_t head = u->message_max * 2 / 5, tail = u->message_max - head;

	if (text->len <= u->message_max)
		return;
	buf_init(&out, HISTORY_TEXT_MAX);
	head = utf8_cut(text->data, text->len, head);
	tail = text->len - tail;
	while (tail < text->len && (text->data[tail] & 0xC0) == 0x80)
		tail++;
	buf_add(&out, text->data, head);
	buf_printf(&out, "\n[... %zu bytes left out ...]\n", tail - head);
	buf_add(&out, text->data + tail, text->len - tail);
	buf_done(text);
	*text = out;
}

static bool
blank(const struct buf *text)
{
	return text->data[strspn(text->data, " \t\r\n")] == '\0';
}

/* Without a time nobody knows. */
static bool
is_stale(const struct units *u, const struct json *entry)
{
	return json_get(entry, "at") && confirm_is_stale(
	    json_get_int(entry, "at", -1), u->opts->now_wall);
}

struct buf
history_user_text(const struct units *u, const struct json *entry)
{
	struct buf text;

	buf_init(&text, HISTORY_TEXT_MAX);
	add_content(&text, entry);
	if (confirm_is_danger(text.data) && is_stale(u, entry)) {
		buf_clear(&text);
		buf_add_str(&text, "[A confirmation stood here. It has expired: "
		    "ask again before you act on it.]");
	}
	shorten(u, &text);
	if (blank(&text))
		buf_clear(&text);
	return text;
}

struct buf
history_answer_text(const struct units *u, const struct json *entry)
{
	const char *mark = json_get_str(entry, "mark", "");
	bool cut = strcmp(mark, "cut") == 0;
	struct buf text;

	buf_init(&text, HISTORY_TEXT_MAX);
	add_content(&text, entry);
	if (strcmp(mark, "undelivered") == 0)
		buf_add_str(&text, "[the answer above was not delivered: the "
		    "person has not read it]");
	shorten(u, &text);
	if (blank(&text))
		buf_clear(&text);
	else if (cut)
		buf_add_str(&text, "\n\n[cut off here: the turn was cancelled]");
	return text;
}

/*
 * Our own marker of an interrupted command: the last line of the output of a
 * result that failed.  The same words inside an output that ended well, or
 * further up, are just quoted.
 */
static bool
has_marker(const char *content)
{
	CLEANUP_JSON struct json *result = NULL;
	const char *output, *line;

	if (!strstr(content, "nterrupted"))
		return false;
	result = json_parse(content, strlen(content), NULL);
	output = json_get_str(result, "output", "");

	size_t len = strlen(output);

	while (len > 0 && strchr(" \r\n", output[len - 1]))
		len--;
	line = memrchr(output, '\n', len);
	line = line ? line + 1 : output;
	return json_get_int(result, "exit_code", 0) != 0 && len > 0 &&
	    output[len - 1] == ']' &&
	    (strncasecmp(line, "[command interrupted", 20) == 0 ||
	    strncasecmp(line, "[execution interrupted", 22) == 0);
}

/* Index into result_marks, or -1. */
static int
mark_of(const struct json *entry)
{
	const char *mark = json_get_str(entry, "mark", "");

	for (size_t i = 0; i < ARRAY_LEN(result_marks); i++) {
		if (strcmp(mark, result_marks[i].mark) == 0)
			return (int)i;
	}
	return has_marker(json_get_str(entry, "content", "")) ? 1 : -1;
}

bool
history_interrupted(const struct json *entry)
{
	return !entry || mark_of(entry) >= 0;
}

struct buf
history_result_text(const struct units *u, const struct json *entry)
{
	int mark = entry ? mark_of(entry) : -1;
	struct buf text;

	buf_init(&text, HISTORY_TEXT_MAX);
	add_content(&text, entry);
	shorten(u, &text);
	if (!entry) {
		buf_add_str(&text, no_result);
	} else if (mark >= 0) {
		CLEANUP_BUF struct buf known = text;

		buf_init(&text, HISTORY_TEXT_MAX);
		buf_add_str(&text, result_marks[mark].words);
		if (!blank(&known))
			buf_printf(&text, "\nWhat is known: %s", known.data);
	} else if (blank(&text)) {
		buf_clear(&text);
		buf_add_str(&text, "(no output)");
	}
	return text;
}
