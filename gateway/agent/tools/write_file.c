/*
 * The tool `write_file`: the whole of a text file, in one step that is seen
 * whole or not at all.  Mode, line ends and byte-order mark of a file that is
 * there already stay.  LOOK (what is there?) > WRITE.
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/agent/file_change.h"
#include "gateway/agent/file_look.h"
#include "gateway/agent/file_text.h"
#include "gateway/agent/seen.h"

enum write_step { WRITE_LOOK, WRITE_PUT };

struct write_call {
	struct op op;
	struct tool_env env;
	enum write_step step;
	struct op *waiting;
	struct timer *timer;
	char *call_id, *path, *real;
	struct json *args;
	size_t len;			/* bytes as written */
	const char *warning;
	struct json *answer;
	bool bad_input;
	tool_done_cb *done;
	void *arg;
};

static void on_look(void *arg, const struct file_look *look);
static void on_changed(void *arg, const struct file_changed *res);

static void
write_enter(struct write_call *c, enum write_step step)
{
	static const char *const names[] = { "look", "put" };

	log_debug("write_file", NULL, "call=%s step=%s was=%s", c->call_id,
	    names[step], names[c->step]);
	c->step = step;
}

static void
call_free(struct write_call *c)
{
	op_cancel(&c->waiting);
	loop_cancel(&c->timer);
	json_free(&c->answer);
	json_free(&c->args);
	mem_free(c->call_id);
	mem_free(c->path);
	mem_free(c->real);
	mem_free(c);
}

static void
call_cancel(struct op *op)
{
	call_free((struct write_call *)(void *)op);
}

static const struct op_type call_type = { "write_file", call_cancel };

/* The only exit of a call that was not cancelled. Takes answer. */
static void
finish(struct write_call *c, struct json *answer, bool unknown)
{
	CLEANUP_JSON struct json *taken = answer;
	CLEANUP_FREE char *text = json_text(answer);
	struct tool_result res = { .result = text, .bad_input = c->bad_input,
		.unknown = unknown };

	op_finish(&c->op);
	c->done(c->arg, &res);
	call_free(c);
}

static void
on_bad_input(void *arg)
{
	struct write_call *c = arg;

	c->timer = NULL;
	finish(c, STEAL(c->answer), false);
}

static struct op *
refuse(struct write_call *c, const char *fault)
{
	c->bad_input = true;
	c->answer = file_error(fault);
	c->timer = loop_defer(c->env.loop, "write_file refusal", on_bad_input, c);
	return &c->op;
}

static struct op *
write_file_call(const struct tool_env *env, const char *call_id,
    const struct json *args, tool_done_cb *done, void *arg)
{
	struct write_call *c = mem_alloc(sizeof(*c));
	const char *content = json_get_str(args, "content", "");
	const char *fault = NULL;

	op_init(&c->op, &call_type);
	c->env = *env;
	c->call_id = mem_str(call_id);
	c->args = json_clone(args);
	c->done = done;
	c->arg = arg;
	c->path = file_tool_path(env, json_get_str(args, "path", ""), &fault);
	if (!fault && strlen(content) > FILE_EDIT_MAX)
		fault = "content is too large for one call: write it in pieces";
	if (!fault)
		fault = file_text_fault(content, strlen(content));
	if (fault)
		return refuse(c, fault);
	c->waiting = file_look_start(env, &(struct file_look_req){
		.call_id = call_id, .path = c->path, .to_write = true,
	}, on_look, c);
	return &c->op;
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
	const char *content = json_get_str(c->args, "content", "");
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
	if (exists && seen_changed(c->env.seen, r->path, r->version))
		c->warning = "the file had changed since you last read or wrote "
		    "it; what was written by others is replaced now";
	CLEANUP_FREE char *shown = mem_printf("%s %s (%zu bytes):\n%s",
	    exists ? "replace" : "create", r->path, data.len, content);

	write_enter(c, WRITE_PUT);
	c->waiting = file_change_start(&c->env, &(struct file_change_req){
		.call_id = c->call_id, .tool = "write_file", .args = c->args,
		.act = &act, .shown = shown,
	}, on_changed, c);
	file_act_done(&act);
}

static void
on_look(void *arg, const struct file_look *look)
{
	struct write_call *c = arg;

	c->waiting = NULL;
	if (look->refusal) {
		finish(c, json_clone(look->refusal), false);
		return;
	}
	const char *why = no_target(&look->reply);

	if (why) {
		CLEANUP_FREE char *text = mem_printf("%s: %s", look->reply.path,
		    why);

		finish(c, file_error(text), false);
		return;
	}
	start_write(c, &look->reply);
}

static void
on_changed(void *arg, const struct file_changed *res)
{
	struct write_call *c = arg;

	c->waiting = NULL;
	if (res->refusal) {
		finish(c, json_clone(res->refusal), res->lost);
		return;
	}
	struct json *j = json_object(), *files = json_array();

	json_set_int(j, "bytes_written", (int64_t)c->len);
	json_set_bool(j, "dirs_created", res->reply.made_dirs);
	json_set_str(j, "resolved_path", c->real);
	json_add_take(files, json_string(c->real));
	json_set_take(j, "files_modified", files);
	if (c->warning)
		json_set_str(j, "_warning", c->warning);
	finish(c, j, false);
}

const struct tool tool_write_file = {
	.name = "write_file",
	.description = "Write a whole text file in this conversation's sandbox, "
	    "replacing what was there; directories are made as needed. The "
	    "file is replaced in one step and keeps its mode and line ends. "
	    "For a change of some lines use patch.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
	    "\"path\":{\"type\":\"string\",\"description\":\"Absolute, relative "
	    "to the current directory, or ~/...\"},"
	    "\"content\":{\"type\":\"string\",\"description\":\"All of the new "
	    "content.\"}},"
	    "\"required\":[\"path\",\"content\"]}",
	.read_only = false,
	.call = write_file_call,
};
