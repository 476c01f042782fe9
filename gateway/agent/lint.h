/*
 * What a checker of its kind says of the text that a tool has put into a file,
 * as far as it did not say so of the text before: JSON and YAML are checked
 * here, the rest by a program of the sandbox, if it has one.  Nothing is run
 * of the text and no file of the session is touched.
 */
#ifndef GATEHOUSE_LINT_H
#define GATEHOUSE_LINT_H

#include "gateway/agent/tool.h"

#define LINT_MAX (1u << 20)	/* bytes of both texts; more is not checked */

struct lint_req {
	const char *call_id, *path;
	const char *before, *after;	/* copied; before NULL: there was none */
	size_t before_len, after_len;
};

/* Whether there is a checker for such a name. */
bool lint_knows(const char *path);
/*
 * {"status": "ok" | "error" | "skipped", "output" or "message"}, borrowed;
 * NULL: there is no checker for this kind.
 */
typedef void lint_cb(void *arg, const struct json *lint);
/* The op contract. */
struct op *lint_start(const struct tool_env *env, const struct lint_req *req,
	lint_cb *cb, void *arg);

/* The lines of after that are not in before but for their numbers. Pure. */
void lint_new(struct buf *out, const char *before, const char *after);
/* What makes it no JSON, "line 3: ..."; nothing if it is some. Pure. */
void lint_json(struct buf *out, const char *text, size_t len);

#endif
