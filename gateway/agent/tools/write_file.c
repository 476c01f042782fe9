/*
 * The tool `write_file`: the whole of a text file, in one step that is seen
 * whole or not at all.  Mode, line ends and byte-order mark of a file that is
 * there already stay.  LOOK (what is there?) > PUT > LINT.
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/agent/file_change.h"
#include "gateway/agent/file_look.h"
#include "gateway/agent/file_text.h"
#include "gateway/agent/lint.h"
#include "gateway/agent/seen.h"
#include "gateway/agent/tool_call.h"

enum write_step { WRITE_LOOK, WRITE_PUT, WRITE_LINT };

struct write_call {
	struct tool_call c;
	enum write_step step;
	char *path, *real;
	char *before;			/* what was there, for the check; NULL */
	size_t before_len;
	size_t len;			/* bytes as written */
	const char *warning;
	struct json *result;		/* until it is checked */
};

static void on_look(void *arg, const struct file_look *look);
static void on_changed(void *arg, const struct file_changed *res);
static void on_linted(void *arg, const struct json *lint);

static void
write_enter(struct write_call *c, enum write_step step)
{
	static const char *const names[] = { "look", "put", "lint" };

	log_debug("write_file", NULL, "call=%s step=%s was=%s", c->c.call_id,
	    names[step], names[c->step]);
	c->step = step;
}

static void
release(void *call)
{
	struct write_call *c = call;

	json_free(&c->result);
	mem_free(c->path);
	mem_free(c->real);
	mem_free(c->before);
}

static const struct op_type call_type = { "write_file", tool_call_cancel };

static struct op *
write_file_call(const struct tool_env *env, const char *call_id,
    const struct json *args, tool_done_cb *done, void *arg)
{
	struct write_call *c = mem_alloc(sizeof(*c));
	const char *content = json_get_str(args, "content", "");
	const char *fault = NULL;

	tool_call_init(&c->c, &call_type, env, call_id, args, done, arg);
	c->c.release = release;
	c->path = file_tool_path(env, json_get_str(args, "path", ""), &fault);
	if (!fault && strlen(content) > FILE_EDIT_MAX)
		fault = "content is too large for one call: write it in pieces";
	if (!fault)
		fault = file_text_fault(content, strlen(content));
	if (fault)
		return tool_call_refuse(&c->c, true, file_error(fault));
	c->c.waiting = file_look_start(env, &(struct file_look_req){
		.call_id = call_id, .path = c->path, .to_write = true,
	}, on_look, c);
	return &c->c.op;
}

/* NULL: it can be written. */
static const char *
no_target(const struct file_read_reply *r)
{
	switch (r->type) {
	case FILE_NONE:
	case FILE_REGULAR:
		return NULL;
	case FILE_DIRECTORY:
		return "it is a directory";
	case FILE_SPECIAL:
		return "it is a device, FIFO or socket";
	case FILE_UNREADABLE:
		return "it may not be read, so what is there could not be kept";
	}
	return NULL;
}

static void
start_write(struct write_call *c, const struct file_read_reply *r)
{
	const char *content = json_get_str(c->c.args, "content", "");
	bool exists = r->type == FILE_REGULAR;
	struct file_style style = exists ? file_style_of(r->data, r->len) :
	    (struct file_style){ false, false };
	CLEANUP_BUF struct buf data;
	struct file_act act = { .kind = FILE_CHANGE };
	struct file_edit *e = file_act_edit(&act, FILE_PUT, r->path);

	buf_init(&data, FILE_DATA_MAX);
	file_style_apply(&data, content, strlen(content), style);
	c->len = e->len = data.len;
	e->data = mem_dup(data.data, data.len + 1);
	e->version = exists ? mem_str(r->version) : NULL;
	e->mode = r->mode;
	c->real = mem_str(r->path);
	if (exists && lint_knows(r->path)) {
		c->before = mem_strn(r->data, r->len);
		c->before_len = r->len;
	}
	if (exists && seen_changed(c->c.env.seen, r->path, r->version))
		c->warning = "the file had changed since you last read or wrote "
		    "it; what was written by others is replaced now";
	CLEANUP_FREE char *shown = mem_printf("%s %s (%zu bytes):\n%s",
	    exists ? "replace" : "create", r->path, data.len, content);

	write_enter(c, WRITE_PUT);
	c->c.waiting = file_change_start(&c->c.env, &(struct file_change_req){
		.call_id = c->c.call_id, .tool = "write_file", .args = c->c.args,
		.act = &act, .shown = shown,
	}, on_changed, c);
	file_act_done(&act);
}

static void
on_look(void *arg, const struct file_look *look)
{
	struct write_call *c = arg;

	c->c.waiting = NULL;
	if (look->refusal) {
		tool_call_finish(&c->c, json_clone(look->refusal), false);
		return;
	}
	const char *why = no_target(&look->reply);

	if (why) {
		CLEANUP_FREE char *text = mem_printf("%s: %s", look->reply.path,
		    why);

		tool_call_finish(&c->c, file_error(text), false);
		return;
	}
	start_write(c, &look->reply);
}

static void
on_changed(void *arg, const struct file_changed *res)
{
	struct write_call *c = arg;

	c->c.waiting = NULL;
	if (res->refusal) {
		tool_call_finish(&c->c, json_clone(res->refusal), res->lost);
		return;
	}
	struct json *j = c->result = json_object(), *files = json_array();
	const char *content = json_get_str(c->c.args, "content", "");

	json_set_int(j, "bytes_written", (int64_t)c->len);
	json_set_bool(j, "dirs_created", res->reply.made_dirs);
	json_set_str(j, "resolved_path", c->real);
	json_add_take(files, json_string(c->real));
	json_set_take(j, "files_modified", files);
	if (c->warning)
		json_set_str(j, "_warning", c->warning);
	write_enter(c, WRITE_LINT);
	c->c.waiting = lint_start(&c->c.env, &(struct lint_req){
		.call_id = c->c.call_id, .path = c->real,
		.before = c->before, .before_len = c->before_len,
		.after = content, .after_len = strlen(content),
	}, on_linted, c);
}

static void
on_linted(void *arg, const struct json *lint)
{
	struct write_call *c = arg;

	c->c.waiting = NULL;
	if (lint)
		json_set_take(c->result, "lint", json_clone(lint));
	tool_call_finish(&c->c, STEAL(c->result), false);
}

const struct tool tool_write_file = {
	.name = "write_file",
	.description = "Write a whole text file in this conversation's sandbox, "
	    "replacing what was there; directories are made as needed. The "
	    "file is replaced in one step and keeps its mode and line ends; lint "
	    "says what is newly wrong in its syntax. "
	    "For a change of some lines use patch.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
	    "\"path\":{\"type\":\"string\",\"description\":\"Absolute, relative "
	    "to the current directory, or ~/...\"},"
	    "\"content\":{\"type\":\"string\",\"description\":\"All of the new "
	    "content.\"}},"
	    "\"required\":[\"path\",\"content\"]}",
	.needs = SANDBOX_COMMANDS,
	.read_only = false,
	.call = write_file_call,
};
