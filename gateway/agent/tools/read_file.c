/*
 * The tool `read_file`: a window of a text file, with line numbers, masked.
 * Some lines before the window are read too, so that a secret of several lines
 * is seen as one wherever the window begins.
 */
#include <string.h>

#include "base/mem.h"
#include "base/redact.h"
#include "gateway/agent/file_look.h"
#include "gateway/agent/file_text.h"
#include "gateway/agent/seen.h"
#include "gateway/agent/tool_call.h"

#define LIMIT_DEFAULT 500
#define LIMIT_MAX 2000
#define BEFORE 80		/* lines of the longest usual key */
#define LARGE (512 * 1024)
#define REPEATS_WARN 3
#define REPEATS_MAX 4

struct read_call {
	struct tool_call c;
	char *path;
	int64_t offset, limit;
	uint64_t from;			/* first line that was asked for */
};

static void
release(void *call)
{
	mem_free(((struct read_call *)call)->path);
}

static const struct op_type call_type = { "read_file", tool_call_cancel };

static struct json *
not_found(const struct file_read_reply *r)
{
	CLEANUP_FREE char *dir = mem_str(r->path);
	CLEANUP_FREE char *text = mem_printf("there is no file %s", r->path);
	char *slash = strrchr(dir, '/');
	struct json *j = file_error(text);

	*slash = '\0';
	struct json *names = file_similar(*dir ? dir : "/", slash + 1, r->data,
	    r->len);

	if (json_len(names) > 0)
		return json_set_take(j, "similar_files", names);
	json_free(&names);
	return j;
}

/* NULL: it is a text file. */
static struct json *
no_text(const struct file_read_reply *r)
{
	const char *what = file_text_binary(r->path);
	CLEANUP_FREE char *text = NULL;

	switch (r->type) {
	case FILE_NONE:
		return not_found(r);
	case FILE_DIRECTORY:
		text = mem_printf("%s is a directory; use search_files with "
		    "target \"files\" to list it", r->path);
		break;
	case FILE_SPECIAL:
		text = mem_printf("%s is a device, FIFO or socket: reading it "
		    "could block or never end", r->path);
		break;
	case FILE_UNREADABLE:
		text = mem_printf("%s may not be read", r->path);
		break;
	case FILE_REGULAR:
		if (!what && !r->binary)
			return NULL;
		text = mem_printf("%s is %s (%llu bytes), not text; use "
		    "terminal with a program that knows its format", r->path,
		    what ? what : "binary", (unsigned long long)r->size);
		break;
	}
	return file_error(text);
}

static void
add_hint(struct read_call *c, struct json *j, const struct file_read_reply *r,
    const struct file_window *w)
{
	uint64_t last = (uint64_t)c->offset + w->shown - 1;
	bool more = r->has_total ? last < r->total : w->shown > 0;

	json_set_bool(j, "truncated", more);
	if (w->shown == 0 && r->has_total && (uint64_t)c->offset > r->total &&
	    r->total > 0) {
		CLEANUP_FREE char *text = mem_printf("the file has only %llu "
		    "lines", (unsigned long long)r->total);

		json_set_str(j, "hint", text);
	} else if (more) {
		CLEANUP_FREE char *text = mem_printf("lines %lld to %llu%s%.0llu; "
		    "use offset=%llu to read on%s", (long long)c->offset,
		    (unsigned long long)last, r->has_total ? " of " : "",
		    (unsigned long long)(r->has_total ? r->total : 0),
		    (unsigned long long)last + 1, r->size > LARGE ?
		    ". The file is large: search_files finds the place" : "");

		json_set_str(j, "hint", text);
	} else if (w->cut > 0) {
		json_set_str(j, "hint", "long lines were cut; use terminal (cut, "
		    "fold) to see all of one");
	}
}

static struct json *
show(struct read_call *c, const struct file_read_reply *r)
{
	CLEANUP_BUF struct buf masked, lines;
	struct json *j = json_object();

	buf_init(&masked, 4 * FILE_WINDOW_MAX);
	buf_init(&lines, 4 * FILE_WINDOW_MAX);
	redact_sentinels(&masked, r->data, r->len);
	struct file_window w = file_text_number(&lines, masked.data, masked.len,
	    c->from, (uint64_t)c->offset, (uint64_t)c->limit);

	if (lines.len > FILE_RESULT_MAX || masked.over) {
		CLEANUP_FREE char *text = mem_printf("these %llu lines have %zu "
		    "bytes, more than the %d of one result: use a smaller limit",
		    (unsigned long long)w.shown, lines.len, FILE_RESULT_MAX);

		json_set_str(j, "error", text);
		return json_set_int(j, "file_size", (int64_t)r->size);
	}
	json_set_str(j, "content", lines.data);
	if (r->has_total)
		json_set_int(j, "total_lines", (int64_t)r->total);
	json_set_int(j, "file_size", (int64_t)r->size);
	add_hint(c, j, r, &w);
	return j;
}

/* The same window of an unchanged file, again and again in one run. */
static struct json *
repeated(struct read_call *c, const struct file_read_reply *r, unsigned times)
{
	struct json *j;

	(void)r;
	if (times < 2 || times >= REPEATS_MAX) {
		if (times < REPEATS_MAX)
			return NULL;
		return file_error("BLOCKED: you have read exactly this several "
		    "times in a row and it has not changed. Use what you have, "
		    "or do something else");
	}
	j = json_object();
	json_set_str(j, "status", "unchanged");
	json_set_str(j, "content", "File unchanged since you read it: the "
	    "earlier result of this conversation is still right.");
	if (times == REPEATS_WARN)
		json_set_str(j, "_warning", "The next identical read is refused.");
	return json_set_str(j, "path", c->path);
}

static void
on_look(void *arg, const struct file_look *look)
{
	struct read_call *c = arg;
	const struct file_read_reply *r = &look->reply;

	c->c.waiting = NULL;
	if (look->refusal) {
		tool_call_finish(&c->c, json_clone(look->refusal), false);
		return;
	}
	struct json *j = no_text(r);

	if (j) {
		tool_call_finish(&c->c, j, false);
		return;
	}
	unsigned times = seen_read(c->c.env.seen, r->path, r->version,
	    c->c.env.run.generation, c->offset, c->limit);

	seen_note(c->c.env.seen, r->path, r->version);
	/* A script wants the content each time it asks. */
	j = c->c.env.nested ? NULL : repeated(c, r, times);
	tool_call_finish(&c->c, j ? j : show(c, r), false);
}

static struct op *
read_file_call(const struct tool_env *env, const char *call_id,
    const struct json *args, tool_done_cb *done, void *arg)
{
	struct read_call *c = mem_alloc(sizeof(*c));
	const char *fault;

	tool_call_init(&c->c, &call_type, env, call_id, args, done, arg);
	c->c.release = release;
	c->offset = json_get_int(args, "offset", 1);
	c->limit = json_get_int(args, "limit", LIMIT_DEFAULT);
	if (c->offset < 1)
		c->offset = 1;
	if (c->limit < 1)
		c->limit = LIMIT_DEFAULT;
	if (c->limit > LIMIT_MAX)
		c->limit = LIMIT_MAX;
	c->from = c->offset > BEFORE ? (uint64_t)c->offset - BEFORE : 1;
	c->path = file_tool_path(env, json_get_str(args, "path", ""), &fault);
	if (!c->path)
		return tool_call_refuse(&c->c, true, file_error(fault));
	c->c.waiting = file_look_start(env, &(struct file_look_req){
		.call_id = call_id, .path = c->path, .from = c->from,
		.lines = (uint64_t)(c->offset + c->limit) - c->from,
	}, on_look, c);
	return &c->c.op;
}

const struct tool tool_read_file = {
	.name = "read_file",
	.description = "Read a text file of this conversation's sandbox with line "
	    "numbers (LINE|CONTENT). Use this instead of cat, head or tail. "
	    "Pages with offset and limit; suggests similar names when the file "
	    "is missing. Secrets are shown as «redacted:...» and cannot be "
	    "written back. No pictures and no binary files.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
	    "\"path\":{\"type\":\"string\",\"description\":\"Absolute, relative "
	    "to the current directory, or ~/...\"},"
	    "\"offset\":{\"type\":\"integer\",\"minimum\":1,\"description\":"
	    "\"First line, from 1 (1).\"},"
	    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"description\":"
	    "\"How many lines (500, at most 2000).\"}},"
	    "\"required\":[\"path\"]}",
	.needs = SANDBOX_COMMANDS,
	.read_only = true,
	.call = read_file_call,
};
