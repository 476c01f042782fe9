/* The wire on a hand-moved clock; the test itself plays the server. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/model.h"
#include "tests/loop_sim.h"

/* ---- a server played by hand: stands in for base/http.h ------------------- */

struct request {
	struct op op;
	struct http_req req;
	char *url, *body, *headers;
	http_done_cb *done;
	void *arg;
};

static struct request *live;	/* at most one: the wire waits for one thing */
static int requests, cancelled;

static void
request_free(struct request *r)
{
	mem_free(r->url);
	mem_free(r->body);
	mem_free(r->headers);
	mem_free(r);
	live = NULL;
}

static void
request_cancel(struct op *op)
{
	cancelled++;
	request_free((struct request *)op);
}

static const struct op_type request_type = {
	.name = "request", .cancel = request_cancel,
};

struct op *
http_start(struct http *http, const struct http_req *req, http_done_cb *done,
	void *arg)
{
	struct request *r = mem_alloc(sizeof(*r));
	struct buf headers;

	(void)http;
	assert_null(live);
	op_init(&r->op, &request_type);
	buf_init(&headers, 4096);
	for (const char *const *h = req->headers; *h; h++)
		buf_printf(&headers, "%s\n", *h);
	r->req = *req;
	r->url = mem_str(req->url);
	r->body = mem_strn(req->body, req->body_len);
	r->headers = buf_take(&headers);
	r->done = done;
	r->arg = arg;
	live = r;
	requests++;
	return &r->op;
}

/* Body bytes. False: the client wants no more; the request has then ended. */
static bool
say(const char *text)
{
	struct request *r = live;
	struct err err = { ERR_IO, "left" };

	if (r->req.on_data(r->req.data_arg, text, strlen(text)))
		return true;
	if (live != r)		/* cancelled from inside */
		return false;
	op_finish(&r->op);
	r->done(r->arg, &(struct http_result){ .outcome = HTTP_CUT,
	    .status = 200, .body = "", .content_type = "", .err = &err });
	request_free(r);
	return false;
}

static void
answer(const struct http_result *given)
{
	struct request *r = live;
	struct http_result res = *given;

	op_finish(&r->op);
	if (!res.body)
		res.body = "";
	res.body_len = strlen(res.body);
	res.content_type = "application/json";
	live = NULL;
	r->done(r->arg, &res);
	struct request *newer = live;

	request_free(r);
	live = newer;
}
#define ANSWER(...) answer(&(struct http_result){ __VA_ARGS__ })

/* ---- the caller ----------------------------------------------------------- */

struct world {
	struct loop *loop;
	struct model *model;
	struct op *op;
	struct json *messages, *tools;
	struct buf text;
	bool cancel_in_text;
	int done;
	enum model_error error;
	enum model_finish finish;
	char *result_text, *err_text;
	enum err_code err_code;
	msec_t retry_after;
	bool before_text;
	size_t ncalls;
	int64_t tokens;
	bool cold;		/* of the next call */
};

static void
on_text(void *arg, const char *text, size_t len)
{
	struct world *w = arg;

	assert_int_equal(w->done, 0);
	buf_add(&w->text, text, len);
	if (w->cancel_in_text)
		op_cancel(&w->op);
}

static void
on_done(void *arg, const struct model_result *res)
{
	struct world *w = arg;

	w->op = NULL;
	w->done++;
	w->error = res->error;
	w->finish = res->finish;
	mem_free(w->result_text);
	mem_free(w->err_text);
	w->result_text = mem_str(res->text);
	w->err_text = res->err ? mem_str(res->err->text) : NULL;
	w->err_code = res->err ? res->err->code : ERR_NONE;
	w->retry_after = res->retry_after_ms;
	w->before_text = res->retryable_before_text;
	w->ncalls = res->ncalls;
	w->tokens = res->completion_tokens;
}

static int
setup(void **state)
{
	struct world *w = mem_alloc(sizeof(*w));

	requests = cancelled = 0;
	w->loop = loop_new();
	w->model = openai_new(w->loop, NULL, &(struct openai_opts){
		.base_url = "https://user:pw@api.example.org/v1/",
		.api_key = "local-key-123", .model = "gpt-x" });
	w->messages = json_array();
	json_add_take(w->messages, json_set_str(json_set_str(json_object(),
	    "role", "user"), "content", "hé"));
	w->tools = json_array();
	json_add_take(w->tools, json_set_str(json_object(), "type", "function"));
	buf_init(&w->text, 1 << 20);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	op_cancel(&w->op);
	model_free(&w->model);
	json_free(&w->messages);
	json_free(&w->tools);
	buf_done(&w->text);
	mem_free(w->result_text);
	mem_free(w->err_text);
	assert_null(live);
	assert_int_equal(op_live(), 0);
	loop_free(&w->loop);
	mem_free(w);
	return 0;
}

static void
call(struct world *w, int64_t max_tokens)
{
	w->done = 0;
	w->op = model_call(w->model, &(struct model_req){
		.messages = w->messages, .tools = w->tools,
		.max_tokens = max_tokens, .on_text = on_text,
		.cold = w->cold }, on_done, w);
	assert_int_equal(w->done, 0);
	assert_non_null(live);
}

#define SAY(s) "data: {\"choices\":[{\"delta\":{\"content\":\"" s "\"}}]}\n\n"
#define STOP "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define END "data: [DONE]\n\n"

static void
assert_has(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("no '%s' in: %s", part, text ? text : "(null)");
}

/* ---- the request ---------------------------------------------------------- */

static void
the_request_holds_what_servers_expect(void **state)
{
	struct world *w = *state;

	call(w, 77);
	assert_string_equal(live->url,
	    "https://user:pw@api.example.org/v1/chat/completions");
	assert_string_equal(live->body, "{\"model\":\"gpt-x\",\"messages\":"
	    "[{\"role\":\"user\",\"content\":\"hé\"}],"
	    "\"tools\":[{\"type\":\"function\"}],\"max_tokens\":77,"
	    "\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
	assert_has(live->headers, "Authorization: Bearer local-key-123\n");
	assert_null(strstr(live->headers, "ncoding"));
	assert_int_equal(live->req.connect_ms, 15000);
	assert_int_equal(live->req.total_ms, 1800000);
	assert_string_equal(w->model->label, "gpt-x at api.example.org");
}

static void
without_a_key_there_is_no_authorization(void **state)
{
	struct world *w = *state;

	model_free(&w->model);
	w->model = openai_new(w->loop, NULL, &(struct openai_opts){
		.base_url = "http://127.0.0.1:8080/v1/chat/completions",
		.api_key = "", .model = "m\"x" });
	json_free(&w->tools);
	call(w, 0);
	assert_string_equal(live->url,
	    "http://127.0.0.1:8080/v1/chat/completions");
	assert_null(strstr(live->headers, "Authorization"));
	assert_has(live->body, "{\"model\":\"m\\\"x\",");
	assert_null(strstr(live->body, "tools"));
	assert_null(strstr(live->body, "max_"));
}

/* ---- answers -------------------------------------------------------------- */

static void
text_is_given_as_it_comes_and_once(void **state)
{
	struct world *w = *state;

	call(w, 0);
	say("da");
	say("ta: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n" SAY("lo"));
	assert_string_equal(w->text.data, "Hello");
	say(SAY(" <think>"));
	say(STOP "data: {\"usage\":{\"completion_tokens\":5}}\n\n" END);
	assert_int_equal(w->done, 0);
	ANSWER(.outcome = HTTP_ANSWERED, .status = 200);
	assert_int_equal(w->done, 1);
	assert_int_equal(w->error, MODEL_ERR_NONE);
	assert_string_equal(w->result_text, "Hello <think>");
	assert_string_equal(w->text.data, "Hello <think>");
	assert_int_equal(w->tokens, 5);
	assert_false(w->before_text);
	assert_int_equal(cancelled, 0);	/* the connection can be used again */
}

static void
text_held_back_to_the_end_is_given_too(void **state)
{
	struct world *w = *state;

	call(w, 0);
	say(SAY("<th") STOP);
	assert_string_equal(w->text.data, "");
	ANSWER(.outcome = HTTP_CUT, .status = 200,
	    .err = &(struct err){ ERR_IO, "reset" });
	assert_int_equal(w->error, MODEL_ERR_NONE);
	assert_string_equal(w->text.data, "<th");
}

static void
a_server_that_keeps_the_body_open_is_not_waited_for(void **state)
{
	struct world *w = *state;

	call(w, 0);
	say(SAY("x") STOP END);
	assert_true(say(": more\n\n"));
	sim_advance(w->loop, 249);
	assert_int_equal(w->done, 0);
	sim_advance(w->loop, 1);
	assert_int_equal(w->done, 1);
	assert_int_equal(w->error, MODEL_ERR_NONE);
	assert_int_equal(cancelled, 1);

	call(w, 0);
	say(SAY("x") STOP);
	sim_advance(w->loop, 2999);
	assert_int_equal(w->done, 0);
	sim_advance(w->loop, 1);
	assert_int_equal(w->done, 1);
	assert_int_equal(w->error, MODEL_ERR_NONE);
	assert_string_equal(w->result_text, "x");
}

static void
an_error_in_the_stream_ends_the_request(void **state)
{
	struct world *w = *state;

	call(w, 0);
	say(SAY("Let me"));
	assert_false(say("data: {\"error\":{\"message\":\"queue full of "
	    "local-key-123\",\"code\":503}}\n\n"));
	assert_int_equal(w->done, 1);
	assert_int_equal(w->error, MODEL_ERR_RETRY);
	assert_has(w->err_text, "gpt-x at api.example.org");
	assert_has(w->err_text, "queue full of ****");
	assert_false(w->before_text);
	assert_string_equal(w->result_text, "Let me");
}

static void
a_cut_stream_says_why(void **state)
{
	struct world *w = *state;

	call(w, 0);
	ANSWER(.outcome = HTTP_CUT, .status = 200,
	    .err = &(struct err){ ERR_IO, "the peer reset" });
	assert_int_equal(w->error, MODEL_ERR_RETRY);
	assert_true(w->before_text);
	call(w, 0);
	say(SAY("x"));
	ANSWER(.outcome = HTTP_CUT, .status = 200,
	    .err = &(struct err){ ERR_IO, "the peer reset" });
	assert_int_equal(w->error, MODEL_ERR_RETRY);
	assert_has(w->err_text, "the peer reset");
	assert_false(w->before_text);
}

/* ---- limits (C094) -------------------------------------------------------- */

static void
silence_before_the_first_event_is_a_timeout(void **state)
{
	struct world *w = *state;

	call(w, 0);
	for (int i = 0; i < 179; i++) {
		sim_advance(w->loop, 1000);
		assert_true(say(": keep-alive\n\nevent: ping\ndata: {}\n\n"));
	}
	sim_advance(w->loop, 999);
	assert_int_equal(w->done, 0);
	sim_advance(w->loop, 1);
	assert_int_equal(w->done, 1);
	assert_int_equal(w->error, MODEL_ERR_RETRY);
	assert_int_equal(w->err_code, ERR_TIMEOUT);
	assert_true(w->before_text);
	assert_int_equal(cancelled, 1);
}

static void
silence_between_events_is_a_timeout(void **state)
{
	struct world *w = *state;

	call(w, 0);
	for (int i = 0; i < 10; i++) {
		sim_advance(w->loop, 100000);
		assert_true(say(SAY("x")));
	}
	for (int i = 0; i < 7; i++) {
		sim_advance(w->loop, 15000);
		assert_true(say(": ping\n\n"));
	}
	sim_advance(w->loop, 14999);
	assert_int_equal(w->done, 0);
	sim_advance(w->loop, 1);
	assert_int_equal(w->done, 1);
	assert_int_equal(w->err_code, ERR_TIMEOUT);
	assert_has(w->err_text, "120 s");
	assert_string_equal(w->result_text, "xxxxxxxxxx");
}

/* ---- refusals that are learnt --------------------------------------------- */

static void
refused_stream_options_are_left_out_and_remembered(void **state)
{
	struct world *w = *state;

	call(w, 0);
	ANSWER(.outcome = HTTP_ANSWERED, .status = 400,
	    .body = "{\"error\":{\"message\":\"unknown field stream_options\"}}");
	assert_int_equal(w->done, 0);
	assert_int_equal(requests, 2);
	assert_null(strstr(live->body, "stream_options"));
	ANSWER(.outcome = HTTP_ANSWERED, .status = 400,
	    .body = "{\"error\":{\"message\":\"stream_options again\"}}");
	assert_int_equal(w->done, 1);
	assert_int_equal(w->error, MODEL_ERR_REQUEST);
	call(w, 9);
	assert_null(strstr(live->body, "stream_options"));
	ANSWER(.outcome = HTTP_ANSWERED, .status = 400, .body = "{\"error\":"
	    "{\"message\":\"use 'max_completion_tokens' instead\"}}");
	assert_has(live->body, "\"max_completion_tokens\":9");
	say(SAY("x") STOP);
	ANSWER(.outcome = HTTP_ANSWERED, .status = 200);
	assert_int_equal(w->error, MODEL_ERR_NONE);
	assert_int_equal(requests, 4);
	assert_null(strstr(live ? live->body : "", "temperature"));
	w->cold = true;
	call(w, 9);
	assert_has(live->body, "\"temperature\":0");
	ANSWER(.outcome = HTTP_ANSWERED, .status = 400, .body = "{\"error\":"
	    "{\"message\":\"temperature is not supported\"}}");
	assert_null(strstr(live->body, "temperature"));
	say(SAY("x") STOP);
	ANSWER(.outcome = HTTP_ANSWERED, .status = 200);
	assert_int_equal(w->error, MODEL_ERR_NONE);
}

/* ---- failures ------------------------------------------------------------- */

static void
failures_are_classed_and_name_the_model(void **state)
{
	struct world *w = *state;

	call(w, 0);
	ANSWER(.outcome = HTTP_NOT_SENT,
	    .err = &(struct err){ ERR_UNAVAILABLE, "connection refused" });
	assert_int_equal(w->error, MODEL_ERR_RETRY);
	assert_has(w->err_text, "gpt-x at api.example.org: connection refused");
	call(w, 0);
	ANSWER(.outcome = HTTP_ANSWERED, .status = 401, .body = "{\"error\":"
	    "{\"message\":\"Incorrect API key provided: local-key-123.\"}}");
	assert_int_equal(w->error, MODEL_ERR_AUTH);
	assert_has(w->err_text, "model.api_key");
	assert_null(strstr(w->err_text, "local-key"));
	call(w, 0);
	ANSWER(.outcome = HTTP_ANSWERED, .status = 429, .retry_after = "2",
	    .retry_after_ms = "1500", .body = "{}");
	assert_int_equal(w->error, MODEL_ERR_RETRY);
	assert_int_equal(w->retry_after, 1500);
	assert_true(w->before_text);
}

/* ---- cancel (C105) -------------------------------------------------------- */

static void
cancel_closes_the_request_in_every_phase(void **state)
{
	struct world *w = *state;

	for (int phase = 0; phase < 5; phase++) {
		buf_clear(&w->text);
		call(w, 0);
		if (phase >= 1)
			say(": hello\n\n");
		if (phase >= 2)
			say(SAY("x"));
		if (phase >= 3)
			say(STOP);
		if (phase >= 4)
			say(END);
		op_cancel(&w->op);
		assert_null(live);
		assert_int_equal(cancelled, phase + 1);
		sim_advance(w->loop, 3600000);
		assert_int_equal(w->done, 0);
		assert_int_equal(sim_timers(w->loop), 0);
	}
}

static void
cancel_from_inside_the_text_callback_ends_all(void **state)
{
	struct world *w = *state;

	w->cancel_in_text = true;
	call(w, 0);
	assert_false(say(SAY("a") SAY("b")));
	assert_string_equal(w->text.data, "ab");
	assert_null(live);
	assert_null(w->op);
	/* in the last text of all */
	call(w, 0);
	say(SAY("<t") STOP);
	ANSWER(.outcome = HTTP_ANSWERED, .status = 200);
	assert_int_equal(w->done, 0);
	assert_null(w->op);
	assert_int_equal(op_live(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(the_request_holds_what_servers_expect),
		TEST(without_a_key_there_is_no_authorization),
		TEST(text_is_given_as_it_comes_and_once),
		TEST(text_held_back_to_the_end_is_given_too),
		TEST(a_server_that_keeps_the_body_open_is_not_waited_for),
		TEST(an_error_in_the_stream_ends_the_request),
		TEST(a_cut_stream_says_why),
		TEST(silence_before_the_first_event_is_a_timeout),
		TEST(silence_between_events_is_a_timeout),
		TEST(refused_stream_options_are_left_out_and_remembered),
		TEST(failures_are_classed_and_name_the_model),
		TEST(cancel_closes_the_request_in_every_phase),
		TEST(cancel_from_inside_the_text_callback_ends_all),
	};

	return cmocka_run_group_tests_name("openai", tests, NULL, NULL);
}
