/* Stored entries become requests that the strictest server accepts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/history.h"

#define NOW 1790000000000

/* ' stands for " in these tests. */
static struct json *
parse(const char *text)
{
	CLEANUP_FREE char *s = mem_str(text);
	struct err err = { .text = "" };

	for (char *p = s; *p; p++) {
		if (*p == '\'')
			*p = '"';
	}
	struct json *j = json_parse(s, strlen(s), &err);

	if (!j)
		fail_msg("%s: %s", err.text, s);
	return j;
}

static struct json *
messages_of(const struct json *entries, struct history_opts opts,
	bool *ret_repaired)
{
	struct err err;
	bool repaired;

	opts.system = "S";
	opts.now_wall = NOW;
	struct json *m = history_messages(entries, &opts, &repaired);

	if (history_check(m, &err) < 0) {
		CLEANUP_FREE char *in = json_text(entries);
		CLEANUP_FREE char *out = json_text(m);

		fail_msg("%s\nin: %s\nout: %s", err.text, in, out);
	}
	if (ret_repaired)
		*ret_repaired = repaired;
	return m;
}

/* Each message as one line: role, content, [id name(arguments)], <result id>. */
static char *
lines(const struct json *messages)
{
	struct buf out;

	buf_init(&out, 16 << 20);
	for (const struct json *m = json_first(messages); m; m = json_next(m)) {
		const struct json *calls = json_get(m, "tool_calls");
		const char *id = json_get_str(m, "tool_call_id", NULL);

		buf_printf(&out, "%.1s:", json_get_str(m, "role", "?"));
		if (id)
			buf_printf(&out, "<%s>", id);
		buf_add_str(&out, json_get_str(m, "content", ""));
		for (const struct json *c = json_first(calls); c; c = json_next(c))
			buf_printf(&out, "[%s %s(%s)]", json_get_str(c, "id", ""),
			    json_get_str(json_get(c, "function"), "name", ""),
			    json_get_str(json_get(c, "function"), "arguments",
			    ""));
		buf_add_char(&out, '\n');
	}
	return buf_take(&out);
}

static void
check(const char *entries, bool repaired, const char *want)
{
	static const char *const read_only[] = { "look", NULL };
	CLEANUP_JSON struct json *in = parse(entries);
	bool was;
	CLEANUP_JSON struct json *m = messages_of(in,
	    (struct history_opts){ .read_only = read_only }, &was);
	CLEANUP_FREE char *got = lines(m);
	CLEANUP_FREE char *full = mem_printf("s:S\n%s", want);

	assert_string_equal(got, full);
	assert_int_equal(was, repaired);
}

#define USER(t) "{'role':'user','content':'" t "'}"
#define SAYS(t) "{'role':'assistant','content':'" t "'}"
#define CALL(id, name) "{'id':'" id "','type':'function','function':" \
	"{'name':'" name "','arguments':'{}'}}"
#define CALLS(list) "{'role':'assistant','content':null,'tool_calls':[" list "]}"
#define RESULT(id, t) "{'role':'tool','tool_call_id':'" id "','content':'" t "'}"
#define MARKED(id, t, m) "{'role':'tool','tool_call_id':'" id "','content':'" t \
	"','mark':'" m "'}"

#define LOST "outcome unknown: interrupted before a result was recorded. It " \
	"may have had effects: look before you repeat it."

static void
a_legal_history_stays_as_it_is(void **state)
{
	(void)state;
	check("[" USER("a") "," CALLS(CALL("c1", "run") "," CALL("c2", "run")) ","
	    RESULT("c1", "r1") "," RESULT("c2", "r2") "," SAYS("done") ","
	    USER("b") "]", false,
	    "u:a\na:[c1 run({})][c2 run({})]\nt:<c1>r1\nt:<c2>r2\na:done\nu:b\n");
}

/* C077 */
static void
a_call_without_result_gets_one(void **state)
{
	(void)state;
	check("[" USER("a") "," CALLS(CALL("c1", "run")) "," USER("go on") "]",
	    true, "u:a\na:[c1 run({})]\nt:<c1>" LOST "\n"
	    "a:[A new message came before my answer.]\nu:go on\n");
	check("[" USER("a") "," CALLS(CALL("c1", "run")) "]", true,
	    "u:a\na:[c1 run({})]\nt:<c1>" LOST "\n");
}

/* C107 */
static void
an_interrupted_batch_has_a_result_for_each_call(void **state)
{
	(void)state;
	check("[" USER("a") "," CALLS(CALL("c1", "run") "," CALL("c2", "run") ","
	    CALL("c3", "run")) "," RESULT("c1", "real") ","
	    MARKED("c2", "half", "cancelled") "," MARKED("c3", "", "not_started")
	    "," USER("b") "]", false,
	    "u:a\na:[c1 run({})][c2 run({})][c3 run({})]\nt:<c1>real\n"
	    "t:<c2>cancelled, may have had effects: look before you repeat it.\n"
	    "What is known: half\n"
	    "t:<c3>not started: the turn was cancelled before.\n"
	    "a:[A new message came before my answer.]\nu:b\n");
}

static void
an_unknown_outcome_is_called_so(void **state)
{
	(void)state;
	check("[" USER("a") "," CALLS(CALL("c1", "run")) ","
	    MARKED("c1", "", "unknown") "," SAYS("I told you") "," USER("b") "]",
	    false, "u:a\na:[c1 run({})]\nt:<c1>outcome unknown: it was under way "
	    "when the gateway lost sight of it. It may have had effects: look "
	    "before you repeat it.\na:I told you\nu:b\n");
}

/* C078 */
static void
orphans_and_duplicates_are_left_out(void **state)
{
	(void)state;
	check("[" RESULT("c9", "old") "," SAYS("tail of an older turn") ","
	    USER("a") "," CALLS(CALL("c1", "run")) "," RESULT("c1", "one") ","
	    RESULT("c1", "two") "," RESULT("cx", "lost") "," SAYS("x") ","
	    USER("b") "]", true,
	    "u:[Earlier messages are left out.]\n\na\na:[c1 run({})]\n"
	    "t:<c1>one\na:x\nu:b\n");
	/* the same id in a later turn, and a result behind a user message */
	check("[" USER("a") "," CALLS(CALL("c1", "run")) "," USER("b") ","
	    RESULT("c1", "one") "," CALLS(CALL("c1", "run")) ","
	    RESULT("c1", "two") "]", false,
	    "u:a\na:[c1 run({})]\nt:<c1>one\n"
	    "a:[A new message came before my answer.]\nu:b\n"
	    "a:[c1 run({})]\nt:<c1>two\n");
	/* the result of a later use is not taken for an earlier one */
	check("[" USER("a") "," CALLS(CALL("c1", "run")) ","
	    CALLS(CALL("c1", "run")) "," RESULT("c1", "two") "]", true,
	    "u:a\na:[c1 run({})]\nt:<c1>" LOST "\na:[c1 run({})]\nt:<c1>two\n");
	/* a real result beats one that was made up before it came */
	check("[" USER("a") "," CALLS(CALL("c1", "run")) ","
	    MARKED("c1", "", "unknown") "," RESULT("c1", "real") "]", true,
	    "u:a\na:[c1 run({})]\nt:<c1>real\n");
}

/* C080, C109 */
static void
adjacent_messages_of_one_role_are_merged(void **state)
{
	(void)state;
	check("[" USER("disk?") "," USER("and the uptime?") "]", false,
	    "u:disk?\n\nand the uptime?\n");
	check("[" USER("a") "," SAYS("x") "," SAYS("y") ","
	    CALLS(CALL("c1", "run")) "," RESULT("c1", "r") "]", false,
	    "u:a\na:x\n\ny[c1 run({})]\nt:<c1>r\n");
}

/* C081 */
static void
empty_messages_are_never_sent(void **state)
{
	(void)state;
	check("[" USER("a") "," SAYS("") "," USER(" \\n") "," USER("b") ","
	    "{'role':'assistant','content':null,'tool_calls':[]}]", true,
	    "u:a\n\nb\n");
	check("[" USER("a") "," CALLS(CALL("c", "run")) "," RESULT("c", "") "]",
	    false, "u:a\na:[c run({})]\nt:<c>(no output)\n");
	check("[]", false, "u:[No message.]\n");
	check("[" SAYS("x") "]", false, "u:[No message.]\na:x\nu:[Go on.]\n");
}

/* C110 */
static void
partial_text_is_kept_with_its_mark(void **state)
{
	(void)state;
	check("[" USER("a") ",{'role':'assistant','content':'half an ans',"
	    "'mark':'cut'}," USER("b") "]", false,
	    "u:a\na:half an ans\n\n[cut off here: the turn was cancelled]\n"
	    "u:b\n");
	/* resumed: it is thought anew */
	check("[" USER("a") ",{'role':'assistant','content':'half an ans',"
	    "'mark':'cut'}]", false, "u:a\n");
}

/* C085 */
static void
arguments_names_and_ids_become_legal(void **state)
{
	(void)state;
	check("[" USER("a") ",{'role':'assistant','content':'','tool_calls':["
	    "{'id':'c1','function':{'name':'run it!','arguments':''}},"
	    "{'id':'c2','function':{'name':'','arguments':'[1]'}},"
	    "{'function':{'name':'run','arguments':{'a':1}}},"
	    "{'id':'c1','function':{'name':'run','arguments':'{\\'a\\': 2 }'}}]},"
	    RESULT("c1", "r1") "," RESULT("c2", "r2") "," RESULT("c1", "r4") "]",
	    true,
	    "u:a\na:[c1 run_it_({})][c2 unnamed({})][call_1_2 run({\"a\":1})]"
	    "[call_1_3 run({\"a\": 2 })]\nt:<c1>r1\nt:<c2>r2\nt:<call_1_2>" LOST
	    "\nt:<call_1_3>r4\n");
}

static void
other_roles_are_left_out(void **state)
{
	(void)state;
	check("[{'role':'system','content':'evil'},{'role':'x'},5," USER("a") "]",
	    true, "u:a\n");
}

static void
content_parts_give_their_text(void **state)
{
	(void)state;
	check("[{'role':'user','content':[{'type':'text','text':'see '},"
	    "{'type':'image_url'},{'type':'text','text':'this'}]}]", false,
	    "u:see this\n");
}

/* ---- clean-up of replays -------------------------------------------------- */

static void
broken_exchanges_of_read_only_tools_are_dropped(void **state)
{
	(void)state;
	check("[" USER("a") "," CALLS(CALL("c1", "look")) "," USER("b") "]", true,
	    "u:a\n\nb\n");
	check("[" USER("a") ",{'role':'assistant','content':'so','tool_calls':["
	    CALL("c1", "look") "]}," MARKED("c1", "", "cancelled") ","
	    USER("b") "]", false, "u:a\na:so\nu:b\n");
	check("[" USER("a") "," CALLS(CALL("c1", "look")) "," RESULT("c1", "r")
	    "]", false, "u:a\na:[c1 look({})]\nt:<c1>r\n");
	/* one that is not makes all of them stay */
	check("[" USER("a") "," CALLS(CALL("c1", "look") "," CALL("c2", "run"))
	    "," RESULT("c1", "r") "]", true,
	    "u:a\na:[c1 look({})][c2 run({})]\nt:<c1>r\nt:<c2>" LOST "\n");
}

static void
an_interrupt_marker_counts_only_as_the_last_line_of_a_failure(void **state)
{
	(void)state;
	static const struct { const char *content; bool hit; } t[] = {
		{ "{\\'output\\':\\'x\\\\n[Command interrupted]\\\\n\\',"
		    "\\'exit_code\\':130}", true },
		{ "{\\'output\\':\\'[execution interrupted: new message]\\',"
		    "\\'exit_code\\':1}", true },
		{ "{\\'output\\':\\'[Command interrupted]\\',\\'exit_code\\':0}",
		    false },
		{ "{\\'output\\':\\'[Command interrupted]\\\\nx\\',"
		    "\\'exit_code\\':1}", false },
		{ "{\\'output\\':\\'echo [Command interrupted]\\',"
		    "\\'exit_code\\':1}", false },
		{ "[Command interrupted]", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP_FREE char *text = mem_printf("[" USER("a") ","
		    CALLS(CALL("c1", "run")) "," RESULT("c1", "%s") "]",
		    t[i].content);
		CLEANUP_JSON struct json *in = parse(text);
		CLEANUP_JSON struct json *m = messages_of(in,
		    (struct history_opts){ 0 }, NULL);
		const char *got = json_get_str(json_at(m, 3), "content", "");

		if ((strncmp(got, "cancelled, may", 14) == 0) != t[i].hit)
			fail_msg("%zu: %s", i, got);
	}
}

static void
old_confirmations_of_dangerous_acts_expire(void **state)
{
	(void)state;
	static const struct { const char *text, *at; bool stays; } t[] = {
		{ "Please CONFIRM Wipe now", "1789999939999", false },
		{ "Please CONFIRM Wipe now", "1789999940000", true },
		{ "confirm wipe", "1790000005001", false },
		{ "confirm wipe", "'x'", false }, { "confirm wipe", "null", false },
		{ "confirm wipe", "-1", false },
		{ "yes, delete everything", "1", false },
		{ "確認重啟", "1", false },
		{ "yes", "1", true }, { "wipe it", "1", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP_FREE char *text = mem_printf("[" USER("first") ","
		    SAYS("?") ",{'role':'user','content':'%s','at':%s}]",
		    t[i].text, t[i].at);
		CLEANUP_JSON struct json *in = parse(text);
		CLEANUP_JSON struct json *m = messages_of(in,
		    (struct history_opts){ 0 }, NULL);
		const char *got = json_get_str(json_at(m, 3), "content", "");

		assert_int_equal(strcmp(got, t[i].text) == 0, t[i].stays);
		assert_int_equal(json_len(m), 4);
	}
	check("[{'role':'user','content':'confirm wipe'}]", false,
	    "u:confirm wipe\n");
}

/* ---- the window ----------------------------------------------------------- */

static void
the_window_moves_in_steps_and_begins_with_a_question(void **state)
{
	(void)state;
	CLEANUP_JSON struct json *entries = json_array();
	CLEANUP_FREE char *before = NULL;
	int moved = 0;

	for (int i = 0; i < 200; i++) {
		CLEANUP_FREE char *q = mem_printf("q%d", i);

		json_add_take(entries, json_set_str(json_set_str(json_object(),
		    "role", "user"), "content", q));
		CLEANUP_JSON struct json *m = messages_of(entries,
		    (struct history_opts){ .max_messages = 40 }, NULL);
		const char *first = json_get_str(json_at(m, 1), "content", "");

		assert_true(json_len(m) <= 41);
		assert_true(i < 30 || json_len(m) >= 29);
		if (before && strcmp(before, first) != 0)
			moved++;
		mem_free(before);
		before = mem_str(first);
		json_add_take(entries, json_set_str(json_set_str(json_object(),
		    "role", "assistant"), "content", "a"));
	}
	assert_non_null(strstr(before, "[Earlier messages are left out.]"));
	assert_int_equal(moved, 36);	/* (400 - 40) / 10, not 160 */
}

static void
a_long_turn_keeps_its_question(void **state)
{
	(void)state;
	CLEANUP_JSON struct json *entries = json_array();

	json_add_take(entries, parse(USER("old")));
	json_add_take(entries, parse(SAYS("old")));
	json_add_take(entries, parse(USER("question")));
	for (int i = 0; i < 100; i++) {
		json_add_take(entries, parse(CALLS(CALL("c", "run"))));
		json_add_take(entries, parse(RESULT("c", "r")));
	}
	CLEANUP_JSON struct json *m = messages_of(entries,
	    (struct history_opts){ .max_messages = 20 }, NULL);

	assert_true(json_len(m) >= 15 && json_len(m) <= 22);
	assert_string_equal(json_get_str(json_at(m, 1), "content", ""),
	    "[Earlier messages are left out.]\n\nquestion");
}

static void
huge_texts_are_cut_in_the_middle(void **state)
{
	(void)state;
	CLEANUP_JSON struct json *entries = json_array();
	char *big = mem_alloc(300001);

	for (size_t i = 0; i < 300000; i += 3)
		memcpy(big + i, "漢", 3);
	json_add_take(entries, parse(USER("q")));
	for (int i = 0; i < 9; i++) {
		json_add_take(entries, parse(CALLS(CALL("c", "run"))));
		json_add_take(entries, json_set_str(parse(RESULT("c", "")),
		    "content", big));
	}
	CLEANUP_JSON struct json *m = messages_of(entries,
	    (struct history_opts){ .max_bytes = 100000 }, NULL);
	CLEANUP_FREE char *text = json_text(m);

	assert_true(strlen(text) < 110000);
	assert_true(json_len(m) >= 4);
	assert_non_null(strstr(text, "bytes left out"));
	mem_free(big);
}

/* ---- C078: random histories and windows ----------------------------------- */

static unsigned rnd_state;

static unsigned
rnd(unsigned n)
{
	rnd_state = rnd_state * 1664525u + 1013904223u;
	return (rnd_state >> 8) % n;
}

static struct json *
random_entry(void)
{
	static const char *const texts[] = { "", " ", "x", "hello", "confirm wipe",
		"{\"output\":\"[Command interrupted]\",\"exit_code\":130}" };
	static const char *const marks[] = { "cut", "unknown", "cancelled",
		"not_started", "what" };
	static const char *const roles[] = { "user", "assistant", "assistant",
		"tool", "tool", "tool", "system" };
	static const char *const ids[] = { "a", "b", "c", "", "call_1_1" };
	static const char *const args[] = { "{}", "", "{\"a\":1}", "[", "null" };
	static const char *const names[] = { "run", "look", "", "odd name" };
	const char *role = roles[rnd(ARRAY_LEN(roles))];
	struct json *e = json_set_str(json_object(), "role", role);

	if (rnd(8))
		json_set_str(e, "content", texts[rnd(ARRAY_LEN(texts))]);
	if (!rnd(3))
		json_set_str(e, "mark", marks[rnd(ARRAY_LEN(marks))]);
	if (!rnd(3))
		json_set_int(e, "at", rnd(2) ? NOW : 5);
	if (strcmp(role, "tool") == 0)
		json_set_str(e, "tool_call_id", ids[rnd(ARRAY_LEN(ids))]);
	if (strcmp(role, "assistant") != 0 || rnd(2))
		return e;
	struct json *calls = json_array();

	for (unsigned n = rnd(4); n > 0; n--) {
		struct json *f = json_object();

		json_set_str(f, "name", names[rnd(ARRAY_LEN(names))]);
		json_set_str(f, "arguments", args[rnd(ARRAY_LEN(args))]);
		json_add_take(calls, json_set_take(json_set_str(json_object(),
		    "id", ids[rnd(ARRAY_LEN(ids))]), "function", f));
	}
	return json_set_take(e, "tool_calls", calls);
}

/* What was sent, stored as it is and sent again, is the same. */
static void
check_stable(const struct json *messages)
{
	CLEANUP_JSON struct json *again = json_array();
	bool repaired;

	for (const struct json *m = json_at(messages, 1); m; m = json_next(m))
		json_add_take(again, json_clone(m));
	CLEANUP_JSON struct json *second = messages_of(again,
	    (struct history_opts){ .max_messages = 100000 }, &repaired);
	CLEANUP_FREE char *a = lines(messages);
	CLEANUP_FREE char *b = lines(second);

	assert_false(repaired);
	assert_string_equal(b, a);
}

static void
every_random_history_gives_a_legal_request(void **state)
{
	(void)state;
	static const char *const read_only[] = { "look", NULL };

	for (unsigned seed = 1; seed <= 4000; seed++) {
		CLEANUP_JSON struct json *entries = json_array();

		rnd_state = seed * 7919u;
		for (unsigned n = rnd(60); n > 0; n--)
			json_add_take(entries, random_entry());
		json_add_take(entries, parse(USER("the question")));
		struct history_opts opts = {
			.max_messages = rnd(2) ? 1 + rnd(40) : 0,
			.max_bytes = rnd(2) ? 100 + rnd(400) : 0,
			.read_only = rnd(2) ? read_only : NULL,
		};
		CLEANUP_JSON struct json *m = messages_of(entries, opts, NULL);
		const struct json *last = json_at(m, json_len(m) - 1);

		assert_string_equal(json_get_str(last, "role", ""), "user");
		assert_non_null(strstr(json_get_str(last, "content", ""),
		    "the question"));
		if (!opts.max_bytes)
			check_stable(m);
		json_add_take(entries, random_entry());
		CLEANUP_JSON struct json *other = messages_of(entries, opts, NULL);

		(void)other;
	}
}

/* ---- the check itself ----------------------------------------------------- */

static void
the_check_refuses_what_servers_refuse(void **state)
{
	(void)state;
#define SYS "{'role':'system','content':'S'}"
	static const struct { const char *messages, *word; } t[] = {
		{ "[]", "first" }, { "[" USER("a") "]", "first" },
		{ "[" SYS "]", "after the system" },
		{ "[" SYS "," SAYS("a") "]", "after the system" },
		{ "[" SYS "," USER("a") "," USER("b") "]", "followed" },
		{ "[" SYS "," USER("") "]", "empty" },
		{ "[" SYS "," USER("a") "," SAYS("") "," USER("b") "]", "empty" },
		{ "[" SYS "," USER("a") "," SAYS("x") "]", "nothing to answer" },
		{ "[" SYS "," USER("a") "," SAYS("x") "," SAYS("x") "]",
		    "followed" },
		{ "[" SYS "," USER("a") "," RESULT("c", "x") "]", "followed" },
		{ "[" SYS "," USER("a") "," CALLS(CALL("c", "run")) "]",
		    "no result" },
		{ "[" SYS "," USER("a") "," CALLS(CALL("c", "run")) ","
		    RESULT("d", "x") "]", "another call" },
		{ "[" SYS "," USER("a") "," CALLS(CALL("c", "run")) ","
		    RESULT("c", "") "]", "empty result" },
		{ "[" SYS "," USER("a") "," CALLS(CALL("c", "run")) ","
		    RESULT("c", "x") "," RESULT("c", "x") "]", "not followed" },
		{ "[" SYS "," USER("a") "," CALLS(CALL("c", "run")) ","
		    RESULT("c", "x") "," USER("b") "]", "not followed" },
		{ "[" SYS "," USER("a") "," CALLS(CALL("c", "r") "," CALL("c", "r"))
		    "]", "one id" },
		{ "[" SYS "," USER("a") "," CALLS(CALL("", "r")) "]", "without id" },
		{ "[" SYS "," USER("a") "," CALLS(CALL("c", "r r")) "]", "name" },
		{ "[" SYS "," USER("a") "," CALLS("") "]", "without a call" },
		{ "[" SYS "," USER("a") "," CALLS("{'id':'c','type':'function',"
		    "'function':{'name':'r','arguments':''}}") "]", "JSON object" },
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP_JSON struct json *m = parse(t[i].messages);
		struct err err = { .text = "" };

		assert_int_equal(history_check(m, &err), -1);
		if (!strstr(err.text, t[i].word))
			fail_msg("%zu: %s", i, err.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_legal_history_stays_as_it_is),
		cmocka_unit_test(a_call_without_result_gets_one),
		cmocka_unit_test(an_interrupted_batch_has_a_result_for_each_call),
		cmocka_unit_test(an_unknown_outcome_is_called_so),
		cmocka_unit_test(orphans_and_duplicates_are_left_out),
		cmocka_unit_test(adjacent_messages_of_one_role_are_merged),
		cmocka_unit_test(empty_messages_are_never_sent),
		cmocka_unit_test(partial_text_is_kept_with_its_mark),
		cmocka_unit_test(arguments_names_and_ids_become_legal),
		cmocka_unit_test(other_roles_are_left_out),
		cmocka_unit_test(content_parts_give_their_text),
		cmocka_unit_test(broken_exchanges_of_read_only_tools_are_dropped),
		cmocka_unit_test(an_interrupt_marker_counts_only_as_the_last_line_of_a_failure),
		cmocka_unit_test(old_confirmations_of_dangerous_acts_expire),
		cmocka_unit_test(the_window_moves_in_steps_and_begins_with_a_question),
		cmocka_unit_test(a_long_turn_keeps_its_question),
		cmocka_unit_test(huge_texts_are_cut_in_the_middle),
		cmocka_unit_test(every_random_history_gives_a_legal_request),
		cmocka_unit_test(the_check_refuses_what_servers_refuse),
	};

	return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
