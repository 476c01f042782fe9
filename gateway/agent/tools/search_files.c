/*
 * The tool `search_files`: text in files, or files by name, in the session's
 * sandbox; by rg where the sandbox has it, else by grep and find.  It changes
 * nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "gateway/agent/errand.h"
#include "gateway/agent/file_look.h"
#include "gateway/agent/seen.h"
#include "gateway/agent/tool_call.h"
#include "sandbox/exec.h"

#define LIMIT_DEFAULT 50
#define LIMIT_MAX 1000
#define TEXT_SHOWN 500		/* bytes of a matching line */
#define SEARCH_MS 60000
#define OUTPUT_MAX (2u << 20)
#define REPEATS_MAX 4

struct search_call {
	struct tool_call c;
	char *path;
	int64_t limit, offset;
};

static void
release(void *call)
{
	mem_free(((struct search_call *)call)->path);
}

static const struct op_type call_type = { "search_files", tool_call_cancel };

static void
finish(struct search_call *c, struct json *answer)
{
	tool_call_finish(&c->c, answer, false);
}

static struct op *
refuse(struct search_call *c, const char *why, bool bad_input)
{
	return tool_call_refuse(&c->c, bad_input, file_error(why));
}

static bool
is(const struct search_call *c, const char *key, const char *fallback,
    const char *want)
{
	return strcmp(json_get_str(c->c.args, key, fallback), want) == 0;
}

static bool
for_files(const struct search_call *c)
{
	return is(c, "target", "content", "files") ||
	    is(c, "target", "content", "find");
}

/* ---- the command ------------------------------------------------------------------------ */

static void
word(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "%s=", name);
	exec_quote(out, value, strlen(value));
	buf_add_char(out, '\n');
}

/* Newest first. The time is for sorting and cut off again. */
#define FILES_TEXT \
	"t=-name; q=$p; case $p in */*) t=-path; q=${d%/}/$p ;; esac\n" \
	"find \"$d\" -mindepth 1 -name '.*' -prune -o -type f \"$t\" \"$q\" " \
	"-exec stat -c '%Y %n' {} + 2>/dev/null | sort -rn | cut -d' ' -f2- | " \
	"head -n \"$n\"\n"

/* What the program itself says of the pattern: its exit code, on stderr. */
#define CONTENT_TEXT \
	"if command -v rg >/dev/null 2>&1; then\n" \
	"set -- rg --no-heading --with-filename --color never --sort path \"$@\"\n" \
	"[ -z \"$g\" ] || set -- \"$@\" --glob \"$g\"\n" \
	"else\n" \
	"[ -z \"$g\" ] || set -- --include=\"$g\" \"$@\"\n" \
	"set -- grep -rIHE \"$@\" --exclude-dir='.?*' --exclude='.?*'\n" \
	"fi\n" \
	"{ \"$@\" -e \"$p\" -- \"$d\"; echo $? >&2; } | head -n \"$n\"\n"

static void
make_command(const struct search_call *c, struct buf *out)
{
	int64_t context = json_get_int(c->c.args, "context", 0);

	/* An image may lack it, and bash says so. */
	buf_add_str(out, "{ LC_ALL=C.UTF-8; export LC_ALL; } 2>/dev/null\n");
	word(out, "p", json_get_str(c->c.args, "pattern", ""));
	word(out, "d", c->path);
	word(out, "g", json_get_str(c->c.args, "file_glob", ""));
	buf_printf(out, "n=%lld\n", (long long)(c->offset + c->limit + 1));
	buf_add_str(out, "[ -e \"$d\" ] || { echo 'there is no such file or "
	    "directory' >&2; exit 4; }\n");
	if (for_files(c)) {
		buf_add_str(out, FILES_TEXT);
		return;
	}
	if (is(c, "output_mode", "content", "files_only"))
		buf_add_str(out, "set -- -l\n");
	else if (is(c, "output_mode", "content", "count"))
		buf_add_str(out, "set -- -c\n");
	else if (context > 0)
		buf_printf(out, "set -- -n -C %lld\n",
		    (long long)(context > 20 ? 20 : context));
	else
		buf_add_str(out, "set -- -n\n");
	buf_add_str(out, CONTENT_TEXT);
}

/* ---- the answer --------------------------------------------------------------------------- */

/* "path:12:text" or, around a match, "path-13-text". */
static struct json *
match_of(const char *line, size_t len, bool with_context)
{
	CLEANUP_FREE char *s = mem_strn(line, len);
	struct json *j;
	char *p = s;

	while ((p = strpbrk(p, with_context ? ":-" : ":"))) {
		char sep = *p, *end;
		long n = strtol(p + 1, &end, 10);

		if (end > p + 1 && *end == sep && n > 0) {
			*p = '\0';
			j = json_object();
			json_set_str(j, "path", s);
			json_set_int(j, "line", n);
			end[1 + utf8_cut(end + 1, strlen(end + 1), TEXT_SHOWN)] =
			    '\0';
			json_set_str(j, "content", end + 1);
			return with_context && sep == '-' ?
			    json_set_bool(j, "context", true) : j;
		}
		p++;
	}
	return NULL;
}

static struct json *
entry_of(const struct search_call *c, const char *line, size_t len)
{
	bool context = json_get_int(c->c.args, "context", 0) > 0;

	if (for_files(c) || is(c, "output_mode", "content", "files_only")) {
		CLEANUP_FREE char *s = mem_strn(line, len);
		return json_string(s);
	}
	if (!is(c, "output_mode", "content", "count"))
		return match_of(line, len, context);
	const char *colon = memrchr(line, ':', len);

	if (!colon || strtol(colon + 1, NULL, 10) == 0)
		return NULL;
	CLEANUP_FREE char *path = mem_strn(line, (size_t)(colon - line));
	return json_set_int(json_set_str(json_object(), "path", path), "count",
	    strtol(colon + 1, NULL, 10));
}

static struct json *
result_of(struct search_call *c, const char *text, size_t len)
{
	CLEANUP_BUF struct buf masked;
	struct json *j = json_object(), *list = json_array();
	bool more = false, files = for_files(c) ||
	    is(c, "output_mode", "content", "files_only");
	int64_t at = 0;

	buf_init(&masked, 2 * OUTPUT_MAX);
	redact_sentinels(&masked, text, len);
	for (const char *p = masked.data; *p;) {
		size_t n = strcspn(p, "\n");
		struct json *e = n ? entry_of(c, p, n) : NULL;

		p += n + (p[n] == '\n');
		if (!e)
			continue;
		more |= at >= c->offset + c->limit;
		if (at >= c->offset && at < c->offset + c->limit)
			json_add_take(list, STEAL(e));
		json_free(&e);
		at++;
	}
	json_set_int(j, "total_count", (int64_t)json_len(list));
	json_set_take(j, files ? "files" : is(c, "output_mode", "content",
	    "count") ? "counts" : "matches", list);
	json_set_bool(j, "truncated", more);
	if (more) {
		CLEANUP_FREE char *hint = mem_printf("there is more: use "
		    "offset=%lld to go on, or a narrower pattern",
		    (long long)(c->offset + c->limit));

		json_set_str(j, "hint", hint);
	}
	return j;
}

static void
on_ran(void *arg, const struct errand_result *res)
{
	struct search_call *c = arg;
	/* Of the search itself, on the last line; 2: its pattern is wrong. */
	size_t n = strlen(res->err);
	bool failed = n >= 2 && (n == 2 || res->err[n - 3] == '\n') &&
	    res->err[n - 2] == '2';

	c->c.waiting = NULL;
	if (res->refused) {
		finish(c, errand_refusal(res));
		return;
	}
	if (res->exit_code == SANDBOX_EXIT_TIMEOUT) {
		finish(c, file_error("the search took more than 60 s: search in "
		    "a smaller directory"));
		return;
	}
	if (res->exit_code == 4 || (failed && res->len == 0)) {
		CLEANUP_BUF struct buf text;

		buf_init(&text, 4096);
		buf_add_str(&text, c->path);
		buf_add_str(&text, ": ");
		utf8_repair(&text, res->err, utf8_cut(res->err,
		    strcspn(res->err, "\n"), 500));
		finish(c, file_error(text.data));
		return;
	}
	finish(c, result_of(c, res->out, res->len));
}

static struct op *
search_files_call(const struct tool_env *env, const char *call_id,
    const struct json *args, tool_done_cb *done, void *arg)
{
	struct search_call *c = mem_alloc(sizeof(*c));
	CLEANUP_BUF struct buf command, judged;
	CLEANUP_FREE char *text = json_text(args);
	const char *fault;

	buf_init(&command, 64 * 1024);
	buf_init(&judged, 64 * 1024);
	tool_call_init(&c->c, &call_type, env, call_id, args, done, arg);
	c->c.release = release;
	c->limit = json_get_int(args, "limit", LIMIT_DEFAULT);
	c->offset = json_get_int(args, "offset", 0);
	if (c->limit < 1 || c->limit > LIMIT_MAX)
		c->limit = c->limit < 1 ? LIMIT_DEFAULT : LIMIT_MAX;
	if (c->offset < 0 || c->offset > 100000)
		return refuse(c, "offset must be 0 to 100000", true);
	if (!json_get_str(args, "pattern", "")[0])
		return refuse(c, "pattern is empty", true);
	c->path = file_tool_path(env, json_get_str(args, "path", "."), &fault);
	if (!c->path)
		return refuse(c, fault, true);
	if (!env->nested && seen_again(env->seen, env->run.generation, text) >=
	    REPEATS_MAX)
		return refuse(c, "BLOCKED: you have made exactly this search "
		    "several times in a row. Use what you have, or change it",
		    false);
	make_command(c, &command);
	if (command.over)
		return refuse(c, "the pattern is too long", true);
	buf_add_str(&judged, for_files(c) ? "find " : "grep -r x ");
	exec_quote(&judged, c->path, strlen(c->path));
	c->c.waiting = errand_start(env, &(struct errand_req){
		.call_id = call_id, .command = command.data,
		.judged = judged.data, .shown = judged.data,
		.what = "this search", .timeout_ms = SEARCH_MS,
		.output_max = OUTPUT_MAX,
	}, on_ran, c);
	return &c->c.op;
}

const struct tool tool_search_files = {
	.name = "search_files",
	.description = "Search in this conversation's sandbox: target content "
	    "(a regular expression in text files) or target files (names by "
	    "glob, newest first). Use this instead of grep, rg, find or ls. "
	    "Hidden files and directories are left out.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
	    "\"pattern\":{\"type\":\"string\",\"description\":\"Regular "
	    "expression; for files a glob such as *.py.\"},"
	    "\"target\":{\"type\":\"string\",\"enum\":[\"content\",\"files\","
	    "\"grep\",\"find\"],\"description\":\"content (default) or files.\"},"
	    "\"path\":{\"type\":\"string\",\"description\":\"Where; the current "
	    "directory.\"},"
	    "\"file_glob\":{\"type\":\"string\",\"description\":\"content: only "
	    "files with such names.\"},"
	    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"How "
	    "many (50).\"},"
	    "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"description\":"
	    "\"Leave out so many (0).\"},"
	    "\"output_mode\":{\"type\":\"string\",\"enum\":[\"content\","
	    "\"files_only\",\"count\"],\"description\":\"content: lines "
	    "(default), names, or counts.\"},"
	    "\"context\":{\"type\":\"integer\",\"minimum\":0,\"description\":"
	    "\"Lines around each match (0).\"}},"
	    "\"required\":[\"pattern\"]}",
	.needs = SANDBOX_COMMANDS,
	.read_only = true,
	.call = search_files_call,
};
