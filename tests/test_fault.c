/* Error answers of all known shapes: class, wait, words. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/fault.h"
#include "tests/answer.h"
#include "tests/loop_sim.h"

static struct fault
fault_of(int status, const char *body)
{
	struct fault f;

	fault_from_http(&f, "m at h", &(struct http_result){
		.outcome = HTTP_ANSWERED, .status = status, .body = body,
		.body_len = strlen(body), .content_type = "" }, 0);
	return f;
}

static void
every_recorded_error_answer_has_its_class(void **state)
{
	(void)state;
	static const struct {
		enum model_error error;
		msec_t wait;
		const char *word;
	} want[] = {
		{ MODEL_ERR_AUTH, 0, "answered 401" },
		{ MODEL_ERR_RETRY, 1500, "Rate limit reached" },
		{ MODEL_ERR_QUOTA, 0, "quota" },
		{ MODEL_ERR_CONTEXT, 0, "8192 tokens" },
		{ MODEL_ERR_RETRY, 0, "upstream failed" },
		{ MODEL_ERR_RETRY, 0, "model not loaded" },
		{ MODEL_ERR_REQUEST, 0, "Field required" },
		{ MODEL_ERR_RETRY, 0, "web page" },
		{ MODEL_ERR_RETRY, 0, "Overloaded" },
		{ MODEL_ERR_RETRY, 3000, "slow down" },
	};
	size_t len, i = 0;
	CLEANUP_FREE char *text = answer_fixture("http_errors.json", &len);
	CLEANUP_JSON struct json *list = json_parse(text, len, NULL);

	assert_int_equal(json_len(list), ARRAY_LEN(want));
	for (const struct json *c = json_first(list); c; c = json_next(c), i++) {
		const struct json *headers = json_get(c, "headers");
		CLEANUP_FREE char *body = json_get(c, "body") ?
		    json_text(json_get(c, "body")) :
		    mem_str(json_get_str(c, "raw", ""));
		struct fault f;

		fault_from_http(&f, "m at h", &(struct http_result){
			.outcome = HTTP_ANSWERED,
			.status = (int)json_get_int(c, "status", 0),
			.body = body, .body_len = strlen(body),
			.content_type = "",
			.retry_after = json_get_str(headers, "retry-after", NULL),
			.retry_after_ms = json_get_str(headers,
			    "retry-after-ms", NULL) }, 0);
		if (f.error != want[i].error || !strstr(f.err.text, want[i].word))
			fail_msg("%zu: %s %s", i, model_error_name(f.error),
			    f.err.text);
		assert_int_equal(f.retry_after_ms, want[i].wait);
	}
}

static void
classes_hide_behind_other_statuses(void **state)
{
	(void)state;
	static const struct {
		int status;
		const char *body;
		enum model_error error;
	} t[] = {
		{ 500, "{\"error\":{\"message\":\"the request exceeds the available"
		    " context size\",\"type\":\"exceed_context_size_error\"}}",
		    MODEL_ERR_CONTEXT },
		{ 413, "{\"error\":\"prompt is too long: 9 tokens > 8\"}",
		    MODEL_ERR_CONTEXT },
		{ 402, "{}", MODEL_ERR_QUOTA },
		{ 403, "<html>", MODEL_ERR_AUTH },
		{ 400, "{\"error\":{\"code\":\"content_policy_violation\"}}",
		    MODEL_ERR_POLICY },
		{ 400, "{\"error\":{\"message\":\"messages with role 'tool' must"
		    " follow\",\"type\":\"invalid_request_error\"}}",
		    MODEL_ERR_REQUEST },
		{ 404, "{\"error\":{\"code\":\"model_not_found\"}}",
		    MODEL_ERR_REQUEST },
		{ 408, "", MODEL_ERR_RETRY }, { 409, "", MODEL_ERR_RETRY },
		{ 503, "x", MODEL_ERR_RETRY }, { 529, "", MODEL_ERR_RETRY },
		{ 302, "<html>", MODEL_ERR_REQUEST },
		{ 422, "{\"detail\":\"nope\"}", MODEL_ERR_REQUEST },
		{ 413, "too large", MODEL_ERR_REQUEST },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct fault f = fault_of(t[i].status, t[i].body);

		if (f.error != t[i].error)
			fail_msg("%d %s: %s", t[i].status, t[i].body,
			    model_error_name(f.error));
	}
}

static void
waits_come_from_every_header(void **state)
{
	(void)state;
	static const struct {
		const char *after, *after_ms, *should;
		int status;
		msec_t wait;
		enum model_error error;
	} t[] = {
		{ "2", NULL, NULL, 429, 2000, MODEL_ERR_RETRY },
		{ "0.5", NULL, NULL, 429, 500, MODEL_ERR_RETRY },
		{ "9", "120.7", NULL, 429, 120, MODEL_ERR_RETRY },
		{ "9", "soon", NULL, 429, 9000, MODEL_ERR_RETRY },
		{ "-3", NULL, NULL, 429, 0, MODEL_ERR_RETRY },
		{ "nan", NULL, NULL, 429, 0, MODEL_ERR_RETRY },
		{ "1e300", NULL, NULL, 429, 86400000, MODEL_ERR_RETRY },
		{ "Mon, 21 Sep 2026 14:13:30 GMT", NULL, NULL, 503, 10000,
		    MODEL_ERR_RETRY },
		{ "Mon, 21 Sep 2020 14:13:30 GMT", NULL, NULL, 503, 0,
		    MODEL_ERR_RETRY },
		{ "tomorrow", NULL, NULL, 503, 0, MODEL_ERR_RETRY },
		{ NULL, NULL, "false", 503, -1, MODEL_ERR_RETRY },
		{ "2", NULL, "false", 503, -1, MODEL_ERR_RETRY },
		{ NULL, NULL, "true", 400, 0, MODEL_ERR_RETRY },
		{ NULL, NULL, "true", 401, 0, MODEL_ERR_AUTH },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct fault f;

		fault_from_http(&f, "m", &(struct http_result){
			.outcome = HTTP_ANSWERED, .status = t[i].status,
			.body = "", .content_type = "",
			.retry_after = t[i].after,
			.retry_after_ms = t[i].after_ms,
			.should_retry = t[i].should }, SIM_WALL_START);
		assert_int_equal(strstr(f.err.text, "asked to wait") != NULL,
		    t[i].wait >= 60000);
		if (f.retry_after_ms != t[i].wait || f.error != t[i].error)
			fail_msg("%zu: %lld %s", i, (long long)f.retry_after_ms,
			    model_error_name(f.error));
	}
}

static void
what_servers_say_is_masked_and_short(void **state)
{
	(void)state;
	CLEANUP_FREE char *longer = mem_printf("{\"error\":{\"message\":\"a\\n"
	    "\\u001b[31mkey sk-proj-abcdefghijklmnopqrstuvwxyz0123456789 %0500d\"}}",
	    7);
	struct fault f = fault_of(400, longer);

	assert_null(strstr(f.err.text, "sk-proj-abc"));
	assert_null(strchr(f.err.text, '\n'));
	assert_null(strchr(f.err.text, '\033'));
	assert_true(strlen(f.err.text) < 320);
	assert_non_null(strstr(f.err.text, "..."));
}

static void
what_is_no_error_is_not_taken_for_one(void **state)
{
	(void)state;
	static const struct { const char *body; bool fault; } t[] = {
		{ "{\"error\":null}", false }, { "{\"error\":\"\"}", false },
		{ "{\"error\":{}}", false }, { "{\"error\":false}", false },
		{ "{\"choices\":[{\"delta\":{}}],\"message\":\"hi\"}", false },
		{ "{\"usage\":{},\"object\":\"error\"}", false },
		{ "{\"type\":\"ping\"}", false }, { "{}", false },
		{ "{\"error\":\"x\"}", true }, { "{\"error\":{\"code\":1}}", true },
		{ "{\"message\":\"x\"}", true }, { "{\"detail\":[]}", true },
		{ "{\"object\":\"error\"}", true },
		{ "{\"choices\":null,\"error_type\":\"x\"}", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP_JSON struct json *j = json_parse(t[i].body,
		    strlen(t[i].body), NULL);

		if (fault_in(j) != t[i].fault)
			fail_msg("%s", t[i].body);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_recorded_error_answer_has_its_class),
		cmocka_unit_test(classes_hide_behind_other_statuses),
		cmocka_unit_test(waits_come_from_every_header),
		cmocka_unit_test(what_servers_say_is_masked_and_short),
		cmocka_unit_test(what_is_no_error_is_not_taken_for_one),
	};

	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
