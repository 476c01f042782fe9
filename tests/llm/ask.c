/*
 * Asks a model server one thing through openai.c and prints what came:
 *
 *	ask BASE_URL TEXT [MAX_TOKENS [CANCEL_AFTER_BYTES]]
 *
 * stdout: the text as it comes.  stderr: "finish=... error=... bytes=...".
 * Status 0 if there was an answer, 1 if not, 3 if it was cancelled as asked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/http.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/agent/model.h"

struct ask {
	struct loop *loop;
	struct op *op;
	size_t bytes;
	size_t cancel_after;	/* 0: never */
	int status;
};

static void
on_text(void *arg, const char *text, size_t len)
{
	struct ask *a = arg;

	REQUIRE(utf8_valid(text, len));
	fwrite(text, 1, len, stdout);
	a->bytes += len;
	if (a->cancel_after == 0 || a->bytes < a->cancel_after)
		return;
	op_cancel(&a->op);
	a->status = 3;
	loop_stop(a->loop);
}

static void
on_done(void *arg, const struct model_result *res)
{
	static const char *const finishes[] = { "stop", "tools", "length", "filter" };
	struct ask *a = arg;

	a->op = NULL;
	a->status = res->error == MODEL_ERR_NONE ? 0 : 1;
	fprintf(stderr, "finish=%s error=%s bytes=%zu %s\n",
	    finishes[res->finish], model_error_name(res->error), a->bytes,
	    res->err ? res->err->text : "");
	loop_stop(a->loop);
}

int
main(int argc, char **argv)
{
	struct ask a = { .loop = loop_new() };

	if (argc < 3)
		return 2;
	a.cancel_after = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
	struct http *http = http_new(a.loop, &(struct http_opts){
		.user_agent = "gatehouse-test" });
	struct model *model = openai_new(a.loop, http, &(struct openai_opts){
		.base_url = argv[1], .model = "tiny" });
	struct json *messages = json_add_take(json_array(), json_set_str(
	    json_set_str(json_object(), "role", "user"), "content", argv[2]));

	a.op = model_call(model, &(struct model_req){ .messages = messages,
		.max_tokens = argc > 3 ? strtol(argv[3], NULL, 10) : 0,
		.on_text = on_text }, on_done, &a);
	loop_run(a.loop);
	json_free(&messages);
	model_free(&model);
	http_free(&http);
	loop_free(&a.loop);
	return a.status;
}
