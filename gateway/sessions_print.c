#include "gateway/sessions_print.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/utf8.h"

/* Local time, as people read it. */
static void
put_time(FILE *out, int64_t unix_ms)
{
	time_t t = (time_t)(unix_ms / 1000);
	char text[32];
	struct tm tm;

	if (localtime_r(&t, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm) > 0)
		fputs(text, out);
	else
		fputs("(no time)", out);
}

/* C0, DEL and C1 would be orders to a terminal. */
static bool
is_control(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0);
}

static void
put_text(FILE *out, const char *text, bool one_line)
{
	size_t left = strlen(text);

	while (left > 0) {
		uint32_t cp = 0;
		size_t n = utf8_next(text, left, &cp);

		if (n == 0)
			n = 1;	/* what the store holds is valid: never */
		if (cp == '\n' || cp == '\t')
			putc(one_line ? ' ' : (int)cp, out);
		else if (!is_control(cp))
			fwrite(text, 1, n, out);
		text += n;
		left -= n;
	}
}

/* Content is a text, or parts as models take them. */
static void
put_content(FILE *out, const struct json *entry)
{
	const struct json *content = json_get(entry, "content");

	if (json_str(content))
		put_text(out, json_str(content), false);
	for (const struct json *p = json_is_array(content) ?
	    json_first(content) : NULL; p; p = json_next(p))
		put_text(out, json_get_str(p, "text", "[not text]"), false);
}

static const char *
call_text(const struct json *call, const char *key)
{
	return json_get_str(json_get(call, "function"), key, "");
}

void
sessions_print_row(FILE *out, const struct json *row)
{
	const char *title = json_get_str(row, "title", "");

	fprintf(out, "%s  ", json_get_str(row, "session_id", ""));
	put_time(out, json_get_int(row, "updated_at", 0));
	fprintf(out, "  %5lld  ", (long long)json_get_int(row, "messages", 0));
	put_text(out, title[0] ? title : json_get_str(row, "session_key", ""),
		true);
	putc('\n', out);
}

void
sessions_print_head(FILE *out, enum sessions_form form, const struct json *row)
{
	const char *title = json_get_str(row, "title", "");
	const char *id = json_get_str(row, "session_id", "");

	if (form == SESSIONS_JSONL)
		return;
	fputs(form == SESSIONS_MARKDOWN ? "# " : "", out);
	put_text(out, title[0] ? title : id, true);
	fprintf(out, "\n\nSession %s, ", id);
	put_text(out, json_get_str(row, "session_key", ""), true);
	fputs(", started ", out);
	put_time(out, json_get_int(row, "created_at", 0));
	fprintf(out, ", %lld messages\n",
		(long long)json_get_int(row, "messages", 0));
}

static void
print_jsonl(FILE *out, const char *session_id, const struct json *entry)
{
	CLEANUP_JSON struct json *copy = json_clone(entry);

	json_set_str(copy, "session_id", session_id);
	CLEANUP_FREE char *text = json_text(copy);
	fprintf(out, "%s\n", text);
}

void
sessions_print_entry(FILE *out, enum sessions_form form,
	const char *session_id, const struct json *entry)
{
	const struct json *calls = json_get(entry, "tool_calls");

	if (form == SESSIONS_JSONL) {
		print_jsonl(out, session_id, entry);
		return;
	}
	fputs(form == SESSIONS_MARKDOWN ? "\n## " : "\n-- ", out);
	put_text(out, json_get_str(entry, "role", "?"), true);
	fputs(", ", out);
	put_time(out, json_get_int(entry, "at", 0));
	if (strcmp(json_get_str(entry, "mark", ""), "cut") == 0)
		fputs(" (cut off)", out);
	fputs(form == SESSIONS_MARKDOWN ? "\n\n" : "\n", out);
	put_content(out, entry);
	putc('\n', out);
	for (const struct json *c = json_first(calls); c; c = json_next(c)) {
		fputs(form == SESSIONS_MARKDOWN ? "\n    " : "> ", out);
		put_text(out, call_text(c, "name"), true);
		putc(' ', out);
		put_text(out, call_text(c, "arguments"), true);
		putc('\n', out);
	}
}

void
sessions_print_match(FILE *out, const struct json *match)
{
	fprintf(out, "%s  ", json_get_str(match, "session_id", ""));
	put_time(out, json_get_int(match, "at", 0));
	fputs("  ", out);
	put_text(out, json_get_str(match, "role", "?"), true);
	fputs(": ", out);
	put_text(out, json_get_str(match, "text", ""), true);
	putc('\n', out);
}
