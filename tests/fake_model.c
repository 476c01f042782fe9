#include "tests/fake_model.h"

#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"
#include "gateway/agent/history.h"

#define REQUESTS_MAX 512

struct step {
	TAILQ_ENTRY(step) link;
	struct fake_answer answer;
};

struct fake_model {
	struct model model;
	struct loop *loop;
	TAILQ_HEAD(, step) steps;
	struct json *requests[REQUESTS_MAX];
	size_t ncalls, live, live_max, serial;
	fake_model_think *think;
	void *think_arg;
	char tools[512];
	char asked[64];
};

struct call {
	struct op op;
	struct fake_model *fm;
	struct fake_answer answer;
	char *echo;
	struct timer *timer;
	unsigned chunk;
	size_t serial;
	model_text_cb *on_text;
	model_done_cb *done;
	void *arg;
};

static void
call_free(struct call *c)
{
	loop_cancel(&c->timer);
	c->fm->live--;
	mem_free(c->echo);
	mem_free(c);
}

static void
call_cancel(struct op *op)
{
	call_free((struct call *)op);
}

static const struct op_type call_type = { "fake model call", call_cancel };

static void
on_end(void *arg)
{
	struct call *c = arg;
	const struct fake_answer *a = &c->answer;
	CLEANUP_FREE char *args1 = NULL;
	CLEANUP_FREE char *args2 = NULL;
	CLEANUP_FREE char *id1 = mem_printf("call_%zu_1", c->serial);
	CLEANUP_FREE char *id2 = mem_printf("call_%zu_2", c->serial);
	CLEANUP_JSON struct json *obj = json_object();
	CLEANUP_FREE char *text = mem_printf("%s%s", a->partial ? a->partial : "",
	    a->text ? a->text : "");
	struct model_call calls[2];
	struct err err = { ERR_UNAVAILABLE, "the scripted model failed" };
	struct model_result res = {
		.error = a->error,
		.err = a->error ? &err : NULL,
		.text = a->error ? "" : text,
		.reasoning = "",
		.finish = a->finish,
		.retryable_before_text = !a->partial,
		.calls = calls,
		.prompt_tokens = -1, .completion_tokens = -1,
	};

	c->timer = NULL;
	if (!a->error && a->text && c->on_text)
		c->on_text(c->arg, a->text, strlen(a->text));
	json_set_str(obj, "command", a->call ? a->call : "");
	args1 = a->tool ? mem_str(a->call) : json_text(obj);
	json_set_str(obj, "command", a->call2 ? a->call2 : "");
	args2 = json_text(obj);
	calls[0] = (struct model_call){ id1, a->tool ? a->tool : "terminal", args1 };
	calls[1] = (struct model_call){ id2, "terminal", args2 };
	res.ncalls = a->error ? 0 : (size_t)(a->call != NULL) + (a->call2 != NULL);
	op_finish(&c->op);
	c->done(c->arg, &res);
	call_free(c);
}

static void
on_begin(void *arg)
{
	struct call *c = arg;

	bool more = c->answer.chunks > 0 && ++c->chunk < c->answer.chunks;
	msec_t wait = c->answer.chunks > 0 ?
	    c->answer.delay / (msec_t)c->answer.chunks : c->answer.delay;

	c->timer = loop_after(c->fm->loop, wait, "fake model",
	    more ? on_begin : on_end, c);
	if (c->answer.partial && c->on_text)
		c->on_text(c->arg, c->answer.partial, strlen(c->answer.partial));
}

static char *
last_user_text(const struct json *messages)
{
	const char *text = "";

	for (const struct json *m = json_first(messages); m; m = json_next(m))
		if (strcmp(json_get_str(m, "role", ""), "user") == 0)
			text = json_get_str(m, "content", "");
	return mem_printf("echo: %s", text);
}

static struct op *
fake_call(struct model *model, const struct model_req *req, model_done_cb *done,
    void *arg)
{
	struct fake_model *fm = (struct fake_model *)model;
	struct call *c = mem_alloc(sizeof(*c));
	struct step *step = TAILQ_FIRST(&fm->steps);
	struct err err;

	if (history_check(req->messages, &err) < 0) {
		CLEANUP_FREE char *text = json_text_pretty(req->messages);

		fprintf(stderr, "illegal request: %s\n%s\n", err.text, text);
		mem_require_failed("request obeys strict servers", __FILE__,
		    __LINE__);
	}
	REQUIRE(fm->ncalls < REQUESTS_MAX);
	REQUIRE(mem_copy_str(fm->asked, sizeof(fm->asked), req->model ?
	    req->model : "") == 0);
	fm->tools[0] = '\0';
	for (const struct json *t = json_first(req->tools); t; t = json_next(t))
		REQUIRE(mem_format(fm->tools + strlen(fm->tools),
		    sizeof(fm->tools) - strlen(fm->tools), "%s ", json_get_str(
		    json_get(t, "function"), "name", "")) == 0);
	fm->requests[fm->ncalls++] = json_clone(req->messages);
	if (++fm->live > fm->live_max)
		fm->live_max = fm->live;
	op_init(&c->op, &call_type);
	c->fm = fm;
	c->serial = ++fm->serial;
	c->on_text = req->on_text;
	c->done = done;
	c->arg = arg;
	c->echo = last_user_text(req->messages);
	if (fm->think) {
		fm->think(fm->think_arg, req->messages, &c->answer);
	} else if (step) {
		TAILQ_REMOVE(&fm->steps, step, link);
		c->answer = step->answer;
		mem_free(step);
	} else {
		c->answer = (struct fake_answer){ .text = c->echo };
	}
	c->timer = loop_defer(fm->loop, "fake model begin", on_begin, c);
	return &c->op;
}

static void
fake_free(struct model *model)
{
	(void)model;		/* the test owns it */
}

static const struct model_type fake_type = { "fake", fake_call, fake_free };

struct fake_model *
fake_model_new(struct loop *loop)
{
	struct fake_model *fm = mem_alloc(sizeof(*fm));

	fm->model.type = &fake_type;
	fm->model.label = "fake model";
	fm->loop = loop;
	TAILQ_INIT(&fm->steps);
	return fm;
}

struct model *
fake_model_as_model(struct fake_model *fm)
{
	return &fm->model;
}

void
fake_model_script(struct fake_model *fm, const struct fake_answer *answer)
{
	struct step *step = mem_alloc(sizeof(*step));

	step->answer = *answer;
	TAILQ_INSERT_TAIL(&fm->steps, step, link);
}

void
fake_model_on_request(struct fake_model *fm, fake_model_think *think, void *arg)
{
	fm->think = think;
	fm->think_arg = arg;
}

const char *
fake_model_tools(const struct fake_model *fm)
{
	return fm->tools;
}

const char *
fake_model_asked(const struct fake_model *fm)
{
	return fm->asked;
}

size_t
fake_model_calls(const struct fake_model *fm)
{
	return fm->ncalls;
}

size_t
fake_model_live(const struct fake_model *fm)
{
	return fm->live;
}

size_t
fake_model_live_max(const struct fake_model *fm)
{
	return fm->live_max;
}

const struct json *
fake_model_request(const struct fake_model *fm, size_t i)
{
	return i < fm->ncalls ? fm->requests[i] : NULL;
}

char *
fake_model_request_text(const struct fake_model *fm, size_t i)
{
	struct buf b;

	buf_init(&b, 1024 * 1024);
	for (const struct json *m = json_first(fake_model_request(fm, i)); m;
	    m = json_next(m))
		buf_printf(&b, "%s: %s\n", json_get_str(m, "role", "?"),
		    json_get_str(m, "content", ""));
	return buf_take(&b);
}

void
fake_model_forget(struct fake_model *fm)
{
	for (size_t i = 0; i < fm->ncalls; i++)
		json_free(&fm->requests[i]);
	fm->ncalls = 0;
}

void
fake_model_free(struct fake_model **fmp)
{
	struct fake_model *fm = STEAL(*fmp);
	struct step *step;

	REQUIRE(fm->live == 0);
	while ((step = TAILQ_FIRST(&fm->steps))) {
		TAILQ_REMOVE(&fm->steps, step, link);
		mem_free(step);
	}
	for (size_t i = 0; i < fm->ncalls; i++)
		json_free(&fm->requests[i]);
	mem_free(fm);
}
