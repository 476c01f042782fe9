/*
 * One look at a file in the session's sandbox, for the file tools: where a path
 * leads, what is there, its text.  And the paths that these tools leave alone.
 */
#ifndef GATEHOUSE_FILE_LOOK_H
#define GATEHOUSE_FILE_LOOK_H

#include "gateway/agent/tool.h"
#include "sandbox/file_act.h"

#define FILE_EDIT_MAX (4u << 20)	/* bytes of a file that can be edited */

struct file_look_req {
	const char *call_id;
	const char *path;	/* absolute */
	uint64_t from, lines;	/* lines 0: all of it, at most FILE_EDIT_MAX + 1 bytes */
	bool to_write;		/* which paths are left alone */
};

/* Borrowed. refusal: the result for the model, and nothing else is set. */
struct file_look {
	const struct json *refusal;
	struct file_read_reply reply;
};
typedef void file_look_cb(void *arg, const struct file_look *look);

struct op *file_look_start(const struct tool_env *env,
	const struct file_look_req *req, file_look_cb *cb, void *arg);

/* What a path given by the model means; NULL with the fault. Caller frees. */
char *file_tool_path(const struct tool_env *env, const char *text,
	const char **ret_fault);

/* Why a tool leaves this real path alone where files are the host's, or NULL. */
const char *file_denied(const struct sandbox_props *props, const char *path,
	bool to_write);

/* {"error": text} */
struct json *file_error(const char *text);

#endif
