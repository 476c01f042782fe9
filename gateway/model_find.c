#include "gateway/model_find.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"

#define PROBE_MS 1500
#define PROBE_BODY_MAX (1024 * 1024)

/* Where local model servers usually listen (Ollama; llama.cpp, vLLM, ...). */
static const char *const roots[] = {
	"http://127.0.0.1:11434/v1", "http://127.0.0.1:8080/v1",
};

struct find {
	struct op op;
	struct loop *loop;
	struct http *http;
	struct config_model wanted;
	size_t at;		/* root under way */
	struct op *waiting;
	struct timer *timer;
	model_find_cb *cb;
	void *arg;
};

static void find_next(struct find *f);
static void on_list(void *arg, const struct http_result *res);

static void
find_free(struct find *f)
{
	op_cancel(&f->waiting);
	loop_cancel(&f->timer);
	mem_free(f);
}

static void
find_cancel(struct op *op)
{
	find_free((struct find *)op);
}

static const struct op_type find_type = { "find a model", find_cancel };

static void
find_finish(struct find *f, struct model *model)
{
	model_find_cb *cb = f->cb;
	void *arg = f->arg;

	op_finish(&f->op);
	find_free(f);
	cb(arg, model);
}

static struct model *
server_model(struct find *f, const char *root, const char *name)
{
	struct openai_opts opts = {
		.base_url = root, .api_key = f->wanted.api_key, .model = name,
	};

	return openai_new(f->loop, f->http, &opts);
}

static void
on_begin(void *arg)
{
	struct find *f = arg;

	f->timer = NULL;
	switch (f->wanted.choice) {
	case MODEL_SERVER:
		find_finish(f, server_model(f, f->wanted.base_url,
		    f->wanted.name));
		return;
	case MODEL_DEMO:
		find_finish(f, demo_new(f->loop));
		return;
	case MODEL_PROBE_LOCAL:
		find_next(f);
		return;
	}
}

struct op *
model_find(struct loop *loop, struct http *http,
    const struct config_model *wanted, model_find_cb *cb, void *arg)
{
	struct find *f = mem_alloc(sizeof(*f));

	op_init(&f->op, &find_type);
	f->loop = loop;
	f->http = http;
	f->wanted = *wanted;
	f->cb = cb;
	f->arg = arg;
	f->timer = loop_defer(loop, "find a model", on_begin, f);
	return &f->op;
}

static void
find_next(struct find *f)
{
	if (f->at >= ARRAY_LEN(roots)) {
		find_finish(f, demo_new(f->loop));
		return;
	}
	CLEANUP_FREE char *url = mem_printf("%s/models", roots[f->at]);
	struct http_req req = {
		.label = "local model list", .url = url,
		.connect_ms = PROBE_MS, .total_ms = PROBE_MS,
		.max_body = PROBE_BODY_MAX,
	};

	f->waiting = http_start(f->http, &req, on_list, f);
}

/* Only a server that answers with a list of models is one. */
static void
on_list(void *arg, const struct http_result *res)
{
	struct find *f = arg;
	CLEANUP_JSON struct json *body = NULL;
	const char *name = NULL;

	f->waiting = NULL;
	if (res->outcome == HTTP_ANSWERED && res->status == 200)
		body = json_parse(res->body, res->body_len, NULL);
	if (json_is_array(json_get(body, "data")))
		name = json_get_str(json_at(json_get(body, "data"), 0), "id",
		    NULL);
	if (name) {
		find_finish(f, server_model(f, roots[f->at], name));
		return;
	}
	f->at++;
	find_next(f);
}
