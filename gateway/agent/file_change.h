/*
 * Files changed by a tool: all of the edits or none, after the gate has judged
 * the shell text that would do the same and a person, where one must decide,
 * has seen the change itself.
 */
#ifndef GATEHOUSE_FILE_CHANGE_H
#define GATEHOUSE_FILE_CHANGE_H

#include "gateway/agent/tool.h"
#include "sandbox/file_act.h"

struct file_change_req {
	const char *call_id, *tool;
	const struct json *args;
	const struct file_act *act;	/* FILE_CHANGE */
	const char *shown;		/* paths and what changes in them */
};

/* Borrowed. refusal: the result for the model; nothing was changed, or it says
 * what was. Else reply is of a change that is done. */
struct file_changed {
	const struct json *refusal;
	struct file_change_reply reply;
	bool lost;
};
typedef void file_change_cb(void *arg, const struct file_changed *res);

/* The op contract. The session's memory of the files is brought up to date. */
struct op *file_change_start(const struct tool_env *env,
	const struct file_change_req *req, file_change_cb *cb, void *arg);

#endif
