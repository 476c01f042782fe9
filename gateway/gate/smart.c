#include "gateway/gate/smart.h"

#include "base/log.h"
#include "base/mem.h"
#include "gateway/agent/model.h"

#define TIMEOUT_MS 30000
#define ANSWER_TOKENS 1024	/* one word, and room for who thinks first */

struct review {
	struct op op;
	struct op *call;	/* NULL: only the timer is left */
	struct timer *timer;
	smart_cb *cb;
	void *arg;
};

static void
review_free(struct review *r)
{
	op_cancel(&r->call);
	loop_cancel(&r->timer);
	mem_free(r);
}

static void
review_cancel(struct op *op)
{
	review_free((struct review *)op);
}

static const struct op_type review_type = { "gate review", review_cancel };

static void
review_finish(struct review *r, enum smart_choice choice)
{
	smart_cb *cb = r->cb;
	void *arg = r->arg;

	op_finish(&r->op);
	review_free(r);
	cb(arg, choice);
}

static void
on_answer(void *arg, const struct model_result *res)
{
	struct review *r = arg;
	bool whole = res->error == MODEL_ERR_NONE &&
	    res->finish == FINISH_STOP && res->ncalls == 0;

	r->call = NULL;
	if (res->error != MODEL_ERR_NONE)
		log_warn("gate", NULL, "the reviewing model failed, a person is "
		    "asked: %s", res->err ? res->err->text : "");
	review_finish(r, whole ? smart_answer(res->text) : SMART_ASK);
}

static void
on_late(void *arg)
{
	struct review *r = arg;

	r->timer = NULL;
	if (r->call)
		log_warn("gate", NULL, "the reviewing model took over %d s, a "
		    "person is asked", TIMEOUT_MS / 1000);
	review_finish(r, SMART_ASK);
}

struct op *
smart_review(struct loop *loop, const struct gate_opts *opts,
    const struct gate_req *req, const struct scene *scene, const char *why,
    smart_cb *cb, void *arg)
{
	struct review *r = mem_alloc(sizeof(*r));
	CLEANUP_JSON struct json *messages = smart_messages(req, scene, why,
	    opts->smart_policy);
	bool can = messages && opts->reviewer && !opts->reviewer->is_demo;
	const struct model_req call = {
		.messages = messages, .max_tokens = ANSWER_TOKENS,
		.model = opts->reviewer_model, .cold = true,
	};

	op_init(&r->op, &review_type);
	r->cb = cb;
	r->arg = arg;
	r->timer = loop_after(loop, can ? TIMEOUT_MS : 0, "gate review", on_late,
	    r);
	if (can)
		r->call = model_call(opts->reviewer, &call, on_answer, r);
	return &r->op;
}
