/* The model's answer from streams of every shape; fixtures in every cut. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "tests/answer.h"

/* "data: JSON\n\n" for each text, then [DONE] if it ends so. */
static void
read_events(struct answer *a, const char *const *chunks, bool done)
{
	CLEANUP_BUF struct buf body;

	buf_init(&body, 1 << 20);
	for (; *chunks; chunks++)
		buf_printf(&body, "data: %s\n\n", *chunks);
	if (done)
		buf_add_str(&body, "data: [DONE]\n\n");
	answer_read_all(a, NULL, body.data, body.len, true);
}
#define READ(a, done, ...) \
	read_events(a, (const char *const []){ __VA_ARGS__, NULL }, done)

static void
read_fixture(struct answer *a, const char *name)
{
	size_t len;
	CLEANUP_FREE char *body = answer_fixture(name, &len);

	answer_read_all(a, NULL, body, len, true);
}

static void
expect_text(struct answer *a, const char *text)
{
	if (a->res.err)
		print_error("error: %s\n", a->res.err->text);
	assert_int_equal(a->res.error, MODEL_ERR_NONE);
	assert_int_equal(a->res.finish, FINISH_STOP);
	assert_string_equal(a->res.text, text);
	assert_int_equal(a->res.ncalls, 0);
	answer_done(a);
}

static void
expect_error(struct answer *a, enum model_error error, const char *word)
{
	assert_int_equal(a->res.error, error);
	assert_non_null(a->res.err);
	if (!strstr(a->res.err->text, word))
		fail_msg("no '%s' in: %s", word, a->res.err->text);
}

/* ---- fixtures ------------------------------------------------------------- */

static void
plain_stream_gives_text_and_usage(void **state)
{
	(void)state;
	struct answer a;

	read_fixture(&a, "chat_basic_usage.sse");
	assert_int_equal(a.res.prompt_tokens, 12);
	assert_int_equal(a.res.completion_tokens, 5);
	assert_true(a.stopped);
	expect_text(&a, "Hello, Ada 👋");
}

static void
bom_crlf_comments_and_joined_data_lines_are_read(void **state)
{
	(void)state;
	struct answer a;

	read_fixture(&a, "chat_crlf_comments_fields.sse");
	expect_text(&a, "ABC");
	const char *body = "\xEF\xBB\xBF" "data: {\"choices\":[{\"delta\":"
	    "{\"content\":\"first\"}}]}\r\rdata: [DONE]\r\r";

	answer_read_all(&a, NULL, body, strlen(body), true);
	expect_text(&a, "first");
}

static void
half_surrogates_of_two_deltas_join(void **state)
{
	(void)state;
	struct answer a;

	read_fixture(&a, "chat_lone_surrogate_split.sse");
	expect_text(&a, " here 😀 ok");
}

static void
half_surrogate_without_its_other_half_is_replaced(void **state)
{
	(void)state;
	struct answer a;

	READ(&a, true, "{\"choices\":[{\"delta\":{\"content\":\"x\\ud83d\"}}]}",
	    "{\"choices\":[{\"delta\":{\"content\":\"y\\ude00\\\\ud83d\"},"
	    "\"finish_reason\":\"stop\"}]}");
	expect_text(&a, "x\xEF\xBF\xBDy\xEF\xBF\xBD\\ud83d");
	READ(&a, true, "{\"choices\":[{\"delta\":{\"content\":\"x\\uD83D\"}}]}");
	expect_text(&a, "x\xEF\xBF\xBD");
}

static void
half_surrogates_in_arguments_and_reasoning_join(void **state)
{
	(void)state;
	struct answer a;

	READ(&a, true, "{\"choices\":[{\"delta\":{\"reasoning\":\"r\\ud83d\","
	    "\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\","
	    "\"arguments\":\"{\\\"a\\\":\\\"\\ud83d\"}}]}}]}",
	    "{\"choices\":[{\"delta\":{\"reasoning\":\"\\ude00\","
	    "\"tool_calls\":[{\"id\":\"a\",\"function\":{"
	    "\"arguments\":\"\\ude00\\\"}\"}}]}}]}");
	assert_string_equal(a.res.reasoning, "r😀");
	assert_string_equal(a.res.calls[0].arguments, "{\"a\":\"😀\"}");
	answer_done(&a);
}

static void
error_inside_a_200_stream_ends_it_and_keeps_the_partial_text(void **state)
{
	(void)state;
	struct answer a;

	read_fixture(&a, "chat_midstream_error.sse");
	expect_error(&a, MODEL_ERR_RETRY, "The server is overloaded");
	assert_string_equal(a.res.text, "Partial ans");
	answer_done(&a);
	read_fixture(&a, "chat_midstream_error_with_choices.sse");
	expect_error(&a, MODEL_ERR_RETRY, "Provider returned error");
	assert_string_equal(a.res.text, "Partial ans");
	answer_done(&a);
}

static void
end_of_body_after_finish_is_an_end(void **state)
{
	(void)state;
	struct answer a;
	size_t len;
	CLEANUP_FREE char *body =
	    answer_fixture("chat_no_done_eof_after_finish.sse", &len);

	answer_read_all(&a, NULL, body, len, true);
	expect_text(&a, "ok");
	answer_read_all(&a, NULL, body, len, false);
	expect_text(&a, "ok");
	/* the last event without its blank line */
	answer_read_all(&a, NULL, body, len - 2, true);
	expect_text(&a, "ok");
}

static void
end_of_body_before_finish_is_a_broken_stream(void **state)
{
	(void)state;
	struct answer a;

	read_fixture(&a, "chat_truncated_eof.sse");
	expect_error(&a, MODEL_ERR_RETRY, "cut");
	assert_string_equal(a.res.text, "cut he");
	answer_done(&a);
	READ(&a, false, "{\"choices\":[{\"delta\":{\"content\":\"x\"}}]}");
	expect_error(&a, MODEL_ERR_RETRY, "broke off");
	answer_done(&a);
}

static void
parallel_calls_come_interleaved(void **state)
{
	(void)state;
	struct answer a;

	read_fixture(&a, "chat_parallel_tools_interleaved.sse");
	assert_int_equal(a.res.finish, FINISH_TOOLS);
	assert_int_equal(a.res.ncalls, 3);
	assert_string_equal(a.res.text, "Checking both.");
	assert_string_equal(a.res.calls[0].id, "call_A");
	assert_string_equal(a.res.calls[0].arguments, "{\"city\":\"Kyïv\"}");
	assert_string_equal(a.res.calls[1].arguments, "{\"tz\":\"UTC\"}");
	assert_string_equal(a.res.calls[2].name, "noargs");
	assert_string_equal(a.res.calls[2].arguments, "{}");
	answer_done(&a);
}

static void
arguments_come_in_arbitrary_cuts(void **state)
{
	(void)state;
	struct answer a;

	read_fixture(&a, "chat_tool_args_split.sse");
	assert_int_equal(a.res.ncalls, 1);
	assert_string_equal(a.res.calls[0].arguments,
	    "{\"path\":\"/tmp/naïve \\\"q\\\" \\ud83d\\ude00.txt\",\"n\":-1.5e3}");
	answer_done(&a);
}

static void
missing_indices_null_deltas_and_filter_chunks_are_taken(void **state)
{
	(void)state;
	struct answer a;

	read_fixture(&a, "chat_quirks_missing_index.sse");
	assert_int_equal(a.res.finish, FINISH_TOOLS);
	assert_int_equal(a.res.ncalls, 2);
	assert_string_equal(a.res.calls[0].arguments, "{\"a\":1}");
	assert_string_equal(a.res.calls[1].id, "call_q2");
	assert_string_equal(a.res.calls[1].arguments, "{\"b\":2}");
	assert_int_equal(a.res.prompt_tokens, 1);
	answer_done(&a);
}

static void
reasoning_of_every_field_is_kept_apart(void **state)
{
	(void)state;
	struct answer a;

	read_fixture(&a, "chat_reasoning_variants.sse");
	assert_string_equal(a.res.reasoning, "First I think. Other field.inline");
	expect_text(&a, "Answer: 42");
}

/* C073 */
static void
characters_cut_between_reads_stay_whole(void **state)
{
	(void)state;
	struct answer a;
	size_t len;
	CLEANUP_FREE char *body = answer_fixture("chat_utf8_split.sse", &len);

	answer_read_all(&a, NULL, body, len, true);
	expect_text(&a, "a😀é漢");
	/* one cut, at every place */
	for (size_t cut = 0; cut <= len; cut++) {
		a.assembly = assembly_new(NULL, "m");
		assembly_feed(a.assembly, body, cut);
		assembly_feed(a.assembly, body + cut, len - cut);
		assembly_end(a.assembly, NULL);
		assembly_result(a.assembly, &a.res);
		expect_text(&a, "a😀é漢");
	}
}

/* ---- inline reasoning ----------------------------------------------------- */

static void
think_tags_open_only_before_the_answer(void **state)
{
	(void)state;
	struct answer a;

#define SAY(s) "{\"choices\":[{\"delta\":{\"content\":\"" s "\"}}]}"
	READ(&a, true, SAY("\\n<thi"), SAY("nk>a < b</th"), SAY("ink>\\n\\nHi"),
	    SAY(" <think>x</think>"));
	assert_string_equal(a.res.reasoning, "a < b");
	expect_text(&a, "Hi <think>x</think>");
	READ(&a, true, SAY("<thinking>a</think></thinking><think>b"),
	    SAY("</think> c"));
	assert_string_equal(a.res.reasoning, "a</think>b");
	expect_text(&a, "c");
	READ(&a, true, SAY("  <thin"), SAY("gs> stay"));
	expect_text(&a, "  <things> stay");
	READ(&a, true, SAY("<th"));
	expect_text(&a, "<th");
	READ(&a, true, SAY("<think>never ends </th"));
	assert_string_equal(a.res.reasoning, "never ends </th");
	expect_text(&a, "");
}

static void
reasoning_that_only_closes_is_taken_out_at_the_end(void **state)
{
	(void)state;
	struct answer a;

	READ(&a, true, SAY("hm, 2 and 2\\n</thi"), SAY("nk> \\n\\nIt is 4."));
	assert_string_equal(a.res.reasoning, "hm, 2 and 2\n");
	expect_text(&a, "It is 4.");
	READ(&a, true, SAY("\\n</think>\\n\\nHi"));
	expect_text(&a, "Hi");
	/* answers that speak about the tag */
	READ(&a, true, SAY("End it with </think>\\nlike so"));
	expect_text(&a, "End it with </think>\nlike so");
	READ(&a, true, SAY("So:\\n</think> ends it"));
	expect_text(&a, "So:\n</think> ends it");
	READ(&a, true, SAY("Write\\n<think>\\nx\\n</think>\\ny"));
	expect_text(&a, "Write\n<think>\nx\n</think>\ny");
}

/* ---- cases ---------------------------------------------------------------- */

/* C068 */
static void
errors_of_every_shape_are_found_in_the_stream(void **state)
{
	(void)state;
	struct answer a;

	READ(&a, true, SAY("Let me"),
	    "{\"error\":{\"message\":\"queue full\",\"type\":\"server_error\","
	    "\"code\":503}}");
	expect_error(&a, MODEL_ERR_RETRY, "queue full");
	assert_string_equal(a.res.text, "Let me");
	answer_done(&a);
	READ(&a, false, SAY("Let me"),
	    "{\"error\":{\"message\":\"queue full\",\"code\":503}}");
	expect_error(&a, MODEL_ERR_RETRY, "queue full");
	answer_done(&a);
	READ(&a, true, "{\"choices\":null,\"error_type\":\"BadRequestError\","
	    "\"error_message\":\"maximum context length is 8192 tokens\"}");
	expect_error(&a, MODEL_ERR_CONTEXT, "8192");
	answer_done(&a);
	READ(&a, true, "{\"error\":\"engine died\"}");
	expect_error(&a, MODEL_ERR_RETRY, "engine died");
	answer_done(&a);
	READ(&a, true, "{\"object\":\"error\",\"message\":\"no such model\","
	    "\"type\":\"NotFoundError\",\"code\":404}");
	expect_error(&a, MODEL_ERR_REQUEST, "no such model");
	answer_done(&a);
	READ(&a, true, "{\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}");
	expect_error(&a, MODEL_ERR_RETRY, "no reason given");
	answer_done(&a);
	const char *named = "event: error\ndata: gone wrong\n\n";

	answer_read_all(&a, NULL, named, strlen(named), true);
	expect_error(&a, MODEL_ERR_RETRY, "gone wrong");
	answer_done(&a);
}

static void
an_error_member_of_null_is_no_error(void **state)
{
	(void)state;
	struct answer a;

	READ(&a, true, "{\"error\":null,\"choices\":[{\"delta\":{\"content\":"
	    "\"fine\"},\"finish_reason\":\"stop\"}]}");
	expect_text(&a, "fine");
}

/* C069 */
static void
chunks_without_choices_are_taken(void **state)
{
	(void)state;
	struct answer a;
	const char *body =
	    ": keep-alive\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"
	    "event: ping\ndata: now\n\n"
	    "data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"yes\"}}]}\r\n\r\n"
	    "data: {\"choices\":[{\"index\":0,\"delta\":null}]}\n\n"
	    "data: {\"choices\":[{\"index\":0}]}\n\n"
	    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	    "data: {\"id\":\"1\",\"usage\":{\"prompt_tokens\":10,"
	    "\"completion_tokens\":5,\"total_tokens\":15}}\n\n"
	    "data: {\"id\":\"1\",\"choices\":[],\"usage\":null}\n\n"
	    "data: [DONE]\n\n";

	answer_read_all(&a, NULL, body, strlen(body), true);
	assert_int_equal(a.res.prompt_tokens + a.res.completion_tokens, 15);
	expect_text(&a, "yes");
	READ(&a, true, SAY("yes"));
	assert_int_equal(a.res.prompt_tokens, -1);	/* unknown, never 0 */
	expect_text(&a, "yes");
}

/* C094: what counts as life */
static void
comments_pings_and_empty_deltas_are_no_life(void **state)
{
	(void)state;
	struct assembly *a = assembly_new(NULL, "m");
	const char *dead = ": ping\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"
	    "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n"
	    "data: {\"choices\":[{\"delta\":{}}]}\n\n"
	    "data: {\"choices\":[]}\n\n";
	const char *const alive[] = {
	    SAY("x"), "{\"choices\":[{\"delta\":{\"reasoning\":\"x\"}}]}",
	    "{\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}",
	    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"x\"}]}}]}",
	    "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}",
	};

	assert_true(assembly_feed(a, dead, strlen(dead)));
	assert_int_equal(assembly_useful(a), 0);
	for (size_t i = 0; i < ARRAY_LEN(alive); i++) {
		CLEANUP_FREE char *event = mem_printf("data: %s\n\n", alive[i]);

		assert_true(assembly_feed(a, event, strlen(event)));
		assert_int_equal(assembly_useful(a), i + 1);
	}
	assembly_free(&a);
}

/* C070 */
static void
length_finish_beats_calls_that_parse(void **state)
{
	(void)state;
	struct answer a;

	READ(&a, true, "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,"
	    "\"id\":\"c\",\"function\":{\"name\":\"write_file\",\"arguments\":"
	    "\"{\\\"path\\\":\\\"a\\\",\\\"content\\\":\\\"line1\"}}]},"
	    "\"finish_reason\":\"length\"}]}");
	assert_int_equal(a.res.error, MODEL_ERR_NONE);
	assert_int_equal(a.res.finish, FINISH_LENGTH);
	assert_int_equal(a.res.ncalls, 1);
	/* no lenient repair */
	assert_string_equal(a.res.calls[0].arguments,
	    "{\"path\":\"a\",\"content\":\"line1");
	answer_done(&a);
}

/* C081 */
static void
an_empty_answer_is_no_error_of_the_wire(void **state)
{
	(void)state;
	struct answer a;

	READ(&a, true, "{\"choices\":[{\"delta\":{\"role\":\"assistant\","
	    "\"content\":\"\"}}]}",
	    "{\"choices\":[{\"delta\":{\"content\":null},\"finish_reason\":"
	    "\"stop\"}],\"usage\":{\"prompt_tokens\":3500,"
	    "\"completion_tokens\":0}}");
	assert_int_equal(a.res.completion_tokens, 0);
	expect_text(&a, "");
	READ(&a, true, "{\"choices\":[{\"delta\":{\"reasoning\":\"hm\"},"
	    "\"finish_reason\":\"tool_calls\"}]}");
	expect_text(&a, "");
}

/* C087 */
static void
the_last_piece_may_come_with_or_after_the_finish(void **state)
{
	(void)state;
	struct answer a;
	const char *usage = "{\"choices\":[],\"usage\":{\"prompt_tokens\":1,"
	    "\"completion_tokens\":2}}";

	for (int done = 0; done < 2; done++) {
		READ(&a, done, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":"
		    "\" done.\"},\"finish_reason\":\"stop\"}]}");
		expect_text(&a, " done.");
		READ(&a, done, "{\"choices\":[{\"delta\":{},\"finish_reason\":"
		    "\"stop\"}]}", SAY("late"), usage);
		assert_int_equal(a.res.completion_tokens, 2);
		expect_text(&a, "late");
		READ(&a, done, "{\"choices\":[{\"delta\":{\"tool_calls\":[{"
		    "\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\","
		    "\"arguments\":\"{\\\"a\\\":1\"}}]}}]}",
		    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,"
		    "\"function\":{\"arguments\":\"}\"}}]},\"finish_reason\":"
		    "\"tool_calls\"}]}");
		assert_string_equal(a.res.calls[0].arguments, "{\"a\":1}");
		answer_done(&a);
	}
}

/* C089, as far as this wire has it */
static void
a_closing_message_does_not_repeat_the_text(void **state)
{
	(void)state;
	struct answer a;

	READ(&a, true, SAY("Hello"), "{\"choices\":[{\"message\":{\"content\":"
	    "\"Hello\"},\"finish_reason\":\"stop\"}]}");
	expect_text(&a, "Hello");
	READ(&a, true, "{\"choices\":[{\"message\":{\"content\":\"Hello\"},"
	    "\"finish_reason\":\"stop\"}]}");
	expect_text(&a, "Hello");
	READ(&a, true, SAY("Hello"), "{\"choices\":[{\"message\":{\"content\":"
	    "\"\"},\"finish_reason\":\"stop\"}]}");
	expect_text(&a, "Hello");
}

static void
other_choices_are_not_mixed_in(void **state)
{
	(void)state;
	struct answer a;

	READ(&a, true, "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"B\"}},"
	    "{\"index\":0,\"delta\":{\"content\":\"A\"}}]}");
	expect_text(&a, "A");
}

static void
refusals_and_content_parts_are_text(void **state)
{
	(void)state;
	struct answer a;

	READ(&a, true, "{\"choices\":[{\"delta\":{\"content\":[{\"type\":"
	    "\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"hm\"}]},"
	    "{\"type\":\"text\",\"text\":\"ok\"}]}}]}",
	    "{\"choices\":[{\"delta\":{\"refusal\":\" no\"}}]}");
	assert_string_equal(a.res.reasoning, "hm");
	expect_text(&a, "ok no");
}

static void
a_filter_that_held_everything_back_is_a_policy_error(void **state)
{
	(void)state;
	struct answer a;

	READ(&a, true, "{\"choices\":[{\"delta\":{},\"finish_reason\":"
	    "\"content_filter\"}]}");
	expect_error(&a, MODEL_ERR_POLICY, "filter");
	answer_done(&a);
	READ(&a, true, SAY("half"), "{\"choices\":[{\"delta\":{},"
	    "\"finish_reason\":\"content_filter\"}]}");
	assert_int_equal(a.res.error, MODEL_ERR_NONE);
	assert_int_equal(a.res.finish, FINISH_FILTER);
	answer_done(&a);
}

/* ---- bodies that are no stream -------------------------------------------- */

static void
read_body(struct answer *a, const char *body, bool whole)
{
	answer_read_all(a, NULL, body, strlen(body), whole);
}

static void
plain_json_answers_a_stream_request(void **state)
{
	(void)state;
	struct answer a;

	read_body(&a, "\n {\"choices\":[{\"index\":0,\"message\":{\"role\":"
	    "\"assistant\",\"content\":\"<think>t</think>Hi\"},"
	    "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":4,"
	    "\"completion_tokens\":2}}", true);
	assert_string_equal(a.res.reasoning, "t");
	assert_int_equal(a.res.prompt_tokens, 4);
	expect_text(&a, "Hi");
	read_body(&a, "{\"choices\":[{\"message\":{\"content\":null,"
	    "\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\","
	    "\"arguments\":{\"path\":\"a\"}}},{\"id\":\"a\",\"function\":{"
	    "\"name\":\"f\"}}]},\"finish_reason\":\"tool_calls\"}]}", true);
	assert_int_equal(a.res.ncalls, 2);
	assert_string_equal(a.res.calls[0].arguments, "{\"path\":\"a\"}");
	assert_string_equal(a.res.calls[1].arguments, "{}");
	assert_string_not_equal(a.res.calls[0].id, a.res.calls[1].id);
	answer_done(&a);
}

static void
other_bodies_are_named_for_what_they_are(void **state)
{
	(void)state;
	struct answer a;
	const struct {
		const char *body, *word;
		enum model_error error;
		bool whole;
	} t[] = {
		{ "{\"error\":{\"message\":\"upstream failed\",\"code\":502}}",
		    "upstream failed", MODEL_ERR_RETRY, true },
		{ "{\"error\":{\"message\":\"bad key\",\"code\":401}}",
		    "bad key", MODEL_ERR_AUTH, true },
		{ "{\"choices\":[]}", "no message", MODEL_ERR_RETRY, true },
		{ "{\"choices\":[{\"mess", "no valid JSON", MODEL_ERR_RETRY, true },
		{ "{\"choices\":[{\"mess", "closed", MODEL_ERR_RETRY, false },
		{ "<html>login</html>", "web page", MODEL_ERR_REQUEST, true },
		{ "\x1f\x8b\x08", "compressed", MODEL_ERR_REQUEST, true },
		{ "", "empty", MODEL_ERR_RETRY, true },
		{ "\xEF\xBB\xBF\n\n", "empty", MODEL_ERR_RETRY, true },
		{ "data: {\"choices\"\n\n", "damaged", MODEL_ERR_RETRY, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		read_body(&a, t[i].body, t[i].whole);
		expect_error(&a, t[i].error, t[i].word);
		answer_done(&a);
	}
}

static void
endless_text_reaches_a_bound(void **state)
{
	(void)state;
	struct assembly *a = assembly_new(NULL, "m");
	struct model_result res;
	CLEANUP_BUF struct buf event;
	size_t len, fed = 0;

	buf_init(&event, 1 << 20);
	buf_add_str(&event, "data: {\"choices\":[{\"delta\":{\"content\":\"");
	for (int i = 0; i < 100000; i++)
		buf_add_char(&event, 'x');
	buf_add_str(&event, "\"}}]}\n\n");
	while (assembly_feed(a, event.data, event.len))
		fed += event.len;
	assembly_end(a, NULL);
	assembly_result(a, &res);
	assembly_text(a, &len);
	assert_int_equal(res.error, MODEL_ERR_REQUEST);
	assert_int_equal(res.err->code, ERR_LIMIT);
	assert_true(len <= (4 << 20) && fed >= (3 << 20));
	assembly_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_stream_gives_text_and_usage),
		cmocka_unit_test(bom_crlf_comments_and_joined_data_lines_are_read),
		cmocka_unit_test(half_surrogates_of_two_deltas_join),
		cmocka_unit_test(half_surrogate_without_its_other_half_is_replaced),
		cmocka_unit_test(half_surrogates_in_arguments_and_reasoning_join),
		cmocka_unit_test(error_inside_a_200_stream_ends_it_and_keeps_the_partial_text),
		cmocka_unit_test(end_of_body_after_finish_is_an_end),
		cmocka_unit_test(end_of_body_before_finish_is_a_broken_stream),
		cmocka_unit_test(parallel_calls_come_interleaved),
		cmocka_unit_test(arguments_come_in_arbitrary_cuts),
		cmocka_unit_test(missing_indices_null_deltas_and_filter_chunks_are_taken),
		cmocka_unit_test(reasoning_of_every_field_is_kept_apart),
		cmocka_unit_test(characters_cut_between_reads_stay_whole),
		cmocka_unit_test(think_tags_open_only_before_the_answer),
		cmocka_unit_test(reasoning_that_only_closes_is_taken_out_at_the_end),
		cmocka_unit_test(errors_of_every_shape_are_found_in_the_stream),
		cmocka_unit_test(an_error_member_of_null_is_no_error),
		cmocka_unit_test(chunks_without_choices_are_taken),
		cmocka_unit_test(comments_pings_and_empty_deltas_are_no_life),
		cmocka_unit_test(length_finish_beats_calls_that_parse),
		cmocka_unit_test(an_empty_answer_is_no_error_of_the_wire),
		cmocka_unit_test(the_last_piece_may_come_with_or_after_the_finish),
		cmocka_unit_test(a_closing_message_does_not_repeat_the_text),
		cmocka_unit_test(other_choices_are_not_mixed_in),
		cmocka_unit_test(refusals_and_content_parts_are_text),
		cmocka_unit_test(a_filter_that_held_everything_back_is_a_policy_error),
		cmocka_unit_test(plain_json_answers_a_stream_request),
		cmocka_unit_test(other_bodies_are_named_for_what_they_are),
		cmocka_unit_test(endless_text_reaches_a_bound),
	};

	return cmocka_run_group_tests_name("assembly", tests, NULL, NULL);
}
