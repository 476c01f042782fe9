/* Tool calls put together: the matrix of rhythms that servers really use. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "tests/answer.h"

/* ' stands for " in these tests, or nobody could read them. */
static char *
quoted(const char *s)
{
	char *out = mem_str(s);

	for (char *p = out; *p; p++) {
		if (*p == '\'')
			*p = '"';
	}
	return out;
}

static struct json *
tools(void)
{
	static const char *const names[] = {
		"read_file", "write_file", "now", "uptime", "exec", "roll_die",
		"list_jobs",
	};
	struct json *list = json_array();

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		json_add_take(list, json_set_take(json_object(), "function",
		    json_set_str(json_object(), "name", names[i])));
	return list;
}

/*
 * deltas: the inside of each delta's tool_calls array.  want: "name(args)
 * name(args)"; ids: the ids in order, "" for a generated one.
 */
static void
check(const char *const *deltas, const char *want, const char *const *ids)
{
	CLEANUP_BUF struct buf body, got;
	CLEANUP_JSON struct json *list = tools();
	struct answer a;

	buf_init(&body, 1 << 20);
	buf_init(&got, 1 << 20);
	for (; *deltas; deltas++) {
		CLEANUP_FREE char *calls = quoted(*deltas);

		buf_printf(&body, "data: {\"choices\":[{\"delta\":"
		    "{\"tool_calls\":[%s]}}]}\n\n", calls);
	}
	buf_add_str(&body, "data: {\"choices\":[{\"delta\":{},"
	    "\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n");
	answer_read_all(&a, list, body.data, body.len, true);
	for (size_t i = 0; i < a.res.ncalls; i++)
		buf_printf(&got, "%s%s(%s)", i ? " " : "", a.res.calls[i].name,
		    a.res.calls[i].arguments);
	CLEANUP_FREE char *expected = quoted(want);

	assert_string_equal(got.data, expected);
	assert_int_equal(a.res.finish, a.res.ncalls ? FINISH_TOOLS : FINISH_STOP);
	for (size_t i = 0; i < a.res.ncalls; i++) {
		if (*ids[i])
			assert_string_equal(a.res.calls[i].id, ids[i]);
		else
			assert_int_equal(strlen(a.res.calls[i].id), 29);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(a.res.calls[i].id,
			    a.res.calls[k].id);
	}
	answer_done(&a);
}
#define LIST(...) (const char *const []){ __VA_ARGS__, NULL }
#define CHECK(want, ids, ...) check(LIST(__VA_ARGS__), want, ids)

static void
c063_a_new_id_begins_a_call_even_at_an_index_in_use(void **state)
{
	(void)state;
	CHECK("write_file({'path':'a.txt'}) write_file({'path':'b.txt'})",
	    LIST("c1", "c2"),
	    "{'index':0,'id':'c1','type':'function','function':{'name':"
	    "'write_file','arguments':'{\\'path\\':\\'a.txt\\'}'}}",
	    "{'index':0,'id':'c2','type':'function','function':{'name':"
	    "'write_file','arguments':'{\\'path\\':'}}",
	    "{'index':0,'function':{'arguments':'\\'b.txt\\'}'}}");
}

static void
c064_a_known_id_goes_on_whatever_the_index_says(void **state)
{
	(void)state;
	CHECK("exec({'cmd':'date'})", LIST("X"),
	    "{'index':0,'id':'X','function':{'name':'exec','arguments':''}}",
	    "{'index':1,'id':'X','function':{'arguments':'{\\'cmd\\':'}}",
	    "{'index':2,'id':'X','function':{'arguments':'\\'date\\'}'}}");
}

static void
c066_two_equal_calls_are_two_calls(void **state)
{
	(void)state;
	CHECK("roll_die({}) roll_die({})", LIST("c1", "c2"),
	    "{'index':0,'id':'c1','function':{'name':'roll_die','arguments':'{}'}}",
	    "{'index':1,'id':'c2','function':{'name':'roll_die','arguments':'{}'}}");
	CHECK("roll_die({}) roll_die({})", LIST("", ""),
	    "{'index':0,'function':{'name':'roll_die','arguments':'{}'}}",
	    "{'index':1,'function':{'name':'roll_die','arguments':'{}'}}");
	/* neither id nor index, each whole */
	CHECK("roll_die({}) roll_die({})", LIST("", ""),
	    "{'function':{'name':'roll_die','arguments':'{}'}}",
	    "{'function':{'name':'roll_die','arguments':'{}'}}");
	/* the same index for all */
	CHECK("roll_die({}) roll_die({})", LIST("", ""),
	    "{'index':0,'function':{'name':'roll_die','arguments':'{}'}}",
	    "{'index':0,'function':{'name':'roll_die','arguments':'{}'}}");
}

static void
c085_no_arguments_in_every_spelling_is_an_empty_object(void **state)
{
	(void)state;
	static const char *const spellings[] = {
		",'arguments':''", "", ",'arguments':null", ",'arguments':' \\n'",
		",'arguments':{}", ",'arguments':'null'",
	};

	for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
		CLEANUP_FREE char *delta = mem_printf("{'index':0,'id':'call_a',"
		    "'function':{'name':'list_jobs'%s}}", spellings[i]);

		CHECK("list_jobs({})", LIST("call_a"), delta);
	}
}

static void
c086_header_fields_come_in_unusual_rhythms(void **state)
{
	(void)state;
	const char *want = "read_file({'path':'a'})";

	/* A: the name again with every piece */
	CHECK(want, LIST("c"),
	    "{'index':0,'id':'c','function':{'name':'read_file','arguments':''}}",
	    "{'index':0,'function':{'name':'read_file','arguments':'{\\'pa'}}",
	    "{'index':0,'function':{'name':'read_file','arguments':'th\\':\\'a\\'}'}}",
	    "{'index':0,'function':{'name':'read_file','arguments':''}}");
	CHECK(want, LIST(""),
	    "{'function':{'name':'read_file','arguments':'{\\'pa'}}",
	    "{'function':{'name':'read_file','arguments':'th\\':\\'a\\'}'}}");
	/* B: the first byte of the arguments with the header */
	CHECK(want, LIST("c"),
	    "{'index':0,'id':'c','function':{'name':'read_file','arguments':'{'}}",
	    "{'index':0,'function':{'arguments':'\\'path\\':\\'a\\'}'}}");
	/* C: the name in pieces; also without ids */
	CHECK(want, LIST("c"),
	    "{'index':0,'id':'c','function':{'name':'read_'}}",
	    "{'index':0,'function':{'name':'file'}}",
	    "{'index':0,'function':{'arguments':'{\\'path\\':\\'a\\'}'}}");
	CHECK("no_such_tool({})", LIST(""),
	    "{'index':0,'function':{'name':'no_such'}}",
	    "{'index':0,'function':{'name':'_tool'}}");
	/* D: an object instead of its text */
	CHECK(want, LIST("c"),
	    "{'index':0,'id':'c','function':{'name':'read_file','arguments':"
	    "{'path':'a'}}}");
	/* the header first, each field alone, the id last */
	CHECK(want, LIST("c"),
	    "{'index':0,'type':'function'}",
	    "{'index':0,'function':{'name':'read_file'}}",
	    "{'index':0,'id':'c'}",
	    "{'index':0,'function':{'arguments':'{\\'path\\':\\'a\\'}'}}");
}

static void
c088_calls_without_any_index(void **state)
{
	(void)state;
	CHECK("now({}) uptime({})", LIST("c1", "c2"),
	    "{'id':'c1','type':'function','function':{'name':'now','arguments':'{}'}}",
	    "{'id':'c2','type':'function','function':{'name':'uptime','arguments':'{}'}}");
	/* two in one delta, no id */
	CHECK("now({}) now({})", LIST("", ""),
	    "{'function':{'name':'now','arguments':'{}'}},"
	    "{'function':{'name':'now','arguments':'{}'}}");
	CHECK("now({}) uptime({'a':1})", LIST("", ""),
	    "{'function':{'name':'now'}},{'function':{'name':'uptime'}}",
	    "{'function':{'arguments':'{'}},{'function':{'arguments':'{'}}",
	    "{'function':{'arguments':'}'}},{'function':{'arguments':'\\'a\\':1}'}}");
	CHECK("now({}) now({})", LIST("", ""),
	    "{'function':{'name':'now'}},{'function':{'name':'now'}}");
	/* pieces with neither */
	CHECK("exec({'cmd':1})", LIST(""),
	    "{'function':{'name':'exec','arguments':'{'}}",
	    "{'function':{'arguments':'\\'cmd\\':'}}", "{'function':{'arguments':'1}'}}");
	/* two tools without arguments, one after the other */
	CHECK("now({}) uptime({})", LIST("", ""),
	    "{'function':{'name':'now'}}", "{'function':{'name':'uptime'}}");
}

static void
a_new_id_with_each_piece_does_not_split_a_call(void **state)
{
	(void)state;
	CHECK("exec({'cmd':1})", LIST("i1"),
	    "{'index':0,'id':'i1','function':{'name':'exec','arguments':''}}",
	    "{'index':0,'id':'i2','function':{'name':null,'arguments':'{\\'cmd\\':'}}",
	    "{'index':0,'id':'i3','function':{'arguments':'1}'}}");
}

static void
empty_ids_and_odd_members_are_ignored(void **state)
{
	(void)state;
	CHECK("exec({'cmd':1})", LIST("c"),
	    "null,3,'x',[],{'index':'0','id':'c','function':{'name':'exec'}}",
	    "{'index':0,'id':'','function':{'name':'','arguments':'{\\'cmd\\':1}'}}",
	    "{'index':0,'function':null}");
	CHECK("exec({'cmd':1})", LIST("c"),
	    "{'id':'c','name':'exec','arguments':'{\\'cmd\\':1}'}");
}

static void
the_old_function_call_is_one_call(void **state)
{
	(void)state;
	struct answer a;
	CLEANUP_FREE char *body = quoted(
	    "data: {'choices':[{'delta':{'function_call':{'name':'exec',"
	    "'arguments':''}}}]}\n\n"
	    "data: {'choices':[{'delta':{'function_call':{'arguments':'{}'}},"
	    "'finish_reason':'function_call'}]}\n\n");

	answer_read_all(&a, NULL, body, strlen(body), true);
	assert_int_equal(a.res.finish, FINISH_TOOLS);
	assert_int_equal(a.res.ncalls, 1);
	assert_string_equal(a.res.calls[0].name, "exec");
	assert_string_equal(a.res.calls[0].arguments, "{}");
	answer_done(&a);
}

static void
c067_calls_count_whatever_the_finish_says(void **state)
{
	(void)state;
	static const struct {
		const char *arguments, *tail;
		enum model_error error;
		enum model_finish finish;
		size_t n;
	} t[] = {
		{ "{}", "data: {'choices':[{'delta':{},'finish_reason':'stop'}]}\n\n"
		    "data: [DONE]\n\n", MODEL_ERR_NONE, FINISH_TOOLS, 1 },
		{ "{}", "data: {'choices':[{'delta':{},'finish_reason':null}]}\n\n"
		    "data: [DONE]\n\n", MODEL_ERR_NONE, FINISH_TOOLS, 1 },
		{ "{", "data: [DONE]\n\n", MODEL_ERR_RETRY, FINISH_TOOLS, 1 },
		{ "{}", "", MODEL_ERR_RETRY, FINISH_TOOLS, 1 },
		{ NULL, "data: {'choices':[{'delta':{},'finish_reason':"
		    "'tool_calls'}]}\n\ndata: [DONE]\n\n", MODEL_ERR_NONE,
		    FINISH_STOP, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP_FREE char *head = t[i].arguments ? mem_printf(
		    "data: {'choices':[{'delta':{'tool_calls':[{'index':0,'id':"
		    "'c','function':{'name':'f','arguments':'%s'}}]}}]}\n\n",
		    t[i].arguments) : mem_str("");
		CLEANUP_FREE char *all = mem_printf("%s%s", head, t[i].tail);
		CLEANUP_FREE char *body = quoted(all);
		struct answer a;

		answer_read_all(&a, NULL, body, strlen(body), true);
		assert_int_equal(a.res.error, t[i].error);
		assert_int_equal(a.res.finish, t[i].finish);
		assert_int_equal(a.res.ncalls, t[i].n);
		answer_done(&a);
	}
}

static void
too_many_calls_reach_a_bound(void **state)
{
	(void)state;
	CLEANUP_BUF struct buf body;
	struct answer a;

	buf_init(&body, 1 << 20);
	for (int i = 0; i < 200; i++)
		buf_printf(&body, "data: {\"choices\":[{\"delta\":{\"tool_calls\":"
		    "[{\"id\":\"c%d\",\"function\":{\"name\":\"f\"}}]}}]}\n\n", i);
	answer_read_all(&a, NULL, body.data, body.len, true);
	assert_int_equal(a.res.error, MODEL_ERR_REQUEST);
	assert_int_equal(a.res.ncalls, 128);
	answer_done(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c063_a_new_id_begins_a_call_even_at_an_index_in_use),
		cmocka_unit_test(c064_a_known_id_goes_on_whatever_the_index_says),
		cmocka_unit_test(c066_two_equal_calls_are_two_calls),
		cmocka_unit_test(c067_calls_count_whatever_the_finish_says),
		cmocka_unit_test(c085_no_arguments_in_every_spelling_is_an_empty_object),
		cmocka_unit_test(c086_header_fields_come_in_unusual_rhythms),
		cmocka_unit_test(c088_calls_without_any_index),
		cmocka_unit_test(a_new_id_with_each_piece_does_not_split_a_call),
		cmocka_unit_test(empty_ids_and_odd_members_are_ignored),
		cmocka_unit_test(the_old_function_call_is_one_call),
		cmocka_unit_test(too_many_calls_reach_a_bound),
	};

	return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
