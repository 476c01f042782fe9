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

void
sessions_print_text(FILE *out, const char *text, bool one_line)
{
	struct buf clean CLEANUP_BUF;
	size_t len = strlen(text);

	buf_init(&clean, len + 1);
	utf8_for_terminal(&clean, text, len, one_line);
	fwrite(clean.data, 1, clean.len, out);
}

/* Content is a text, or parts as models take them. */
static void
put_content(FILE *out, const struct json *entry)
{
	const struct json *content = json_get(entry, "content");

	if (json_str(content))
		sessions_print_text(out, json_str(content), false);
	for (const struct json *p = json_is_array(content) ?
	    json_first(content) : NULL; p; p = json_next(p))
		sessions_print_text(out, json_get_str(p, "text", "[not text]"), false);
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
	sessions_print_text(out, title[0] ? title : json_get_str(row, "session_key", ""),
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
	sessions_print_text(out, title[0] ? title : id, true);
	fprintf(out, "\n\nSession %s, ", id);
	sessions_print_text(out, json_get_str(row, "session_key", ""), true);
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
	sessions_print_text(out, json_get_str(entry, "role", "?"), true);
	fputs(", ", out);
	put_time(out, json_get_int(entry, "at", 0));
	if (strcmp(json_get_str(entry, "mark", ""), "cut") == 0)
		fputs(" (cut off)", out);
	fputs(form == SESSIONS_MARKDOWN ? "\n\n" : "\n", out);
	put_content(out, entry);
	putc('\n', out);
	for (const struct json *c = json_first(calls); c; c = json_next(c)) {
		fputs(form == SESSIONS_MARKDOWN ? "\n    " : "> ", out);
		sessions_print_text(out, call_text(c, "name"), true);
		putc(' ', out);
		sessions_print_text(out, call_text(c, "arguments"), true);
		putc('\n', out);
	}
}

void
sessions_print_match(FILE *out, const struct json *match)
{
	fprintf(out, "%s  ", json_get_str(match, "session_id", ""));
	put_time(out, json_get_int(match, "at", 0));
	fputs("  ", out);
	sessions_print_text(out, json_get_str(match, "role", "?"), true);
	fputs(": ", out);
	sessions_print_text(out, json_get_str(match, "text", ""), true);
	putc('\n', out);
}
