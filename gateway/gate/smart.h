/*
 * approvals.mode smart: a model looks at a command that would be asked about,
 * and may only say allow, ask or deny.  It sees the command as quoted data;
 * whatever fails, is late or is no such word means that a person is asked.
 */
#ifndef GATEHOUSE_GATE_SMART_H
#define GATEHOUSE_GATE_SMART_H

#include "gateway/gate/gate.h"

#define SMART_MAX (32 * 1024)	/* bytes of what is shown; more: ask */

struct scene;

enum smart_choice { SMART_ASK, SMART_ALLOW, SMART_DENY };

/* The messages of the review (caller frees); NULL: it can't be shown. */
struct json *smart_messages(const struct gate_req *req,
	const struct scene *scene, const char *why, const char *policy);
/* What a whole answer means. */
enum smart_choice smart_answer(const char *text);

typedef void smart_cb(void *arg, enum smart_choice choice);
/* scene may be NULL. The op contract holds; nothing is kept of req. */
struct op *smart_review(struct loop *loop, const struct gate_opts *opts,
	const struct gate_req *req, const struct scene *scene, const char *why,
	smart_cb *cb, void *arg);

#endif
