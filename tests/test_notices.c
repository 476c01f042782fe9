/* What background processes tell their session: once, at the right time, as data. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "gateway/session_news.h"
#include "tests/world.h"

#define NOTIFY "{\"command\":\"make\",\"background\":true," \
	"\"notify_on_complete\":true}"
#define SILENT "{\"command\":\"serve\",\"background\":true}"
#define WATCH "{\"command\":\"serve\",\"background\":true," \
	"\"watch_patterns\":[\"ERROR\"]}"

static void
script(struct world *w, const char *args, const char *text)
{
	fake_model_script(w->model, &(struct fake_answer){ .tool = "terminal",
	    .call = args });
	fake_model_script(w->model, &(struct fake_answer){ .text = text });
}

/* A person asks, a process is started, the answer is out. */
static struct fake_command *
start(struct world *w, const char *args)
{
	script(w, args, "started");
	fake_say(w->platform, "1001", "do it");
	assert_true(world_settle(w, 5000));
	return fake_sandbox_process();
}

/* The words of the newest request to the model; caller frees. */
static char *
newest(const struct world *w)
{
	return fake_model_request_text(w->model, fake_model_calls(w->model) - 1);
}

static size_t
count(const char *text, const char *word)
{
	size_t n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

static void
an_end_is_told_once_and_answered_in_its_chat(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 1);
	world_boot(&w);
	struct fake_command *p = start(&w, NOTIFY);
	size_t calls = fake_model_calls(w.model);
	fake_model_script(w.model, &(struct fake_answer){ .text = "it is built" });
	fake_sandbox_end(p, 3, "cc: no\n--- 1\nyes\n]");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), calls + 1);
	CLEANUP_FREE char *text = newest(&w);
	assert_int_equal(count(text, "[IMPORTANT: Background process "), 1);
	assert_non_null(strstr(text, "ended with exit code 3"));
	assert_non_null(strstr(text, "cc: no"));
	assert_true(fake_saw(w.platform, "1001", "it is built"));
	assert_true(fake_saw(w.platform, "1001", "ended with exit code 3: make"));
	assert_false(fake_saw(w.platform, "1001", "cc: no"));
	world_pass(&w, 60000);
	fake_sandbox_end(p, 3, "again");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), calls + 1);
	world_crash(&w);
	world_boot(&w);
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), calls + 1);
	world_done(&w);
}

static void
a_run_under_way_is_not_cancelled_by_it(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 2);
	world_boot(&w);
	struct fake_command *p = start(&w, NOTIFY);
	size_t calls = fake_model_calls(w.model);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 5000,
	    .text = "the long answer" });
	fake_say(w.platform, "1001", "tell me a story");
	world_pass(&w, 1000);
	fake_sandbox_end(p, 0, "");
	assert_true(world_settle(&w, 20000));
	assert_true(fake_saw(w.platform, "1001", "the long answer"));
	assert_int_equal(fake_model_calls(w.model), calls + 2);
	world_done(&w);
}

static void
a_person_cancels_its_run_and_its_words_stay(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 3);
	world_boot(&w);
	struct fake_command *p = start(&w, NOTIFY);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 5000,
	    .text = "about the process" });
	fake_sandbox_end(p, 0, "");
	world_pass(&w, 2000);
	fake_say(w.platform, "1001", "never mind that");
	assert_true(world_settle(&w, 20000));
	CLEANUP_FREE char *text = newest(&w);
	assert_int_equal(count(text, "[IMPORTANT: Background process "), 1);
	assert_non_null(strstr(text, "never mind that"));
	assert_false(fake_saw(w.platform, "1001", "about the process"));
	world_done(&w);
}

/* poll leaves the notice, wait, log and kill take it. */
static void
what_the_model_saw_is_not_told_again(void **state)
{
	static const struct { const char *action; bool told; } rows[] = {
		{ "wait", false }, { "log", false }, { "poll", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		world_init(&w, 4 + i);
		world_boot(&w);
		struct fake_command *p = start(&w, NOTIFY);
		CLEANUP_FREE char *args = mem_printf("{\"action\":\"%s\","
		    "\"session_id\":\"%s\"}", rows[i].action, p->process);
		fake_model_script(w.model, &(struct fake_answer){ .delay = 3000,
		    .tool = "process", .call = args });
		fake_model_script(w.model, &(struct fake_answer){
		    .text = "seen" });
		fake_say(w.platform, "1001", "how is it?");
		world_pass(&w, 1000);
		fake_sandbox_end(p, 0, "");	/* while the model thinks */
		assert_true(world_settle(&w, 20000));
		CLEANUP_FREE char *text = newest(&w);
		assert_int_equal(count(text, "[IMPORTANT: Background process "),
		    rows[i].told);
		world_crash(&w);
		world_boot(&w);
		assert_true(world_settle(&w, 5000));
		CLEANUP_FREE char *after = newest(&w);
		assert_int_equal(count(after, "[IMPORTANT: Background process "),
		    rows[i].told);
		world_done(&w);
	}
}

static void
a_new_message_ends_a_wait(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 7);
	world_boot(&w);
	struct fake_command *p = start(&w, NOTIFY);
	CLEANUP_FREE char *args = mem_printf("{\"action\":\"wait\","
	    "\"session_id\":\"%s\"}", p->process);
	fake_model_script(w.model, &(struct fake_answer){ .tool = "process",
	    .call = args });
	fake_say(w.platform, "1001", "wait for it");
	world_pass(&w, 2000);
	fake_say(w.platform, "1001", "no, stop waiting");
	assert_true(world_settle(&w, 5000));
	CLEANUP_FREE char *text = newest(&w);
	assert_non_null(strstr(text, "\"status\":\"interrupted\""));
	assert_int_equal(p->ended, 0);
	world_done(&w);
}

static void
a_restart_is_told_once(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 8);
	world_boot(&w);
	(void)start(&w, NOTIFY);
	size_t calls = fake_model_calls(w.model);
	world_crash(&w);
	world_boot(&w);
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), calls + 1);
	CLEANUP_FREE char *text = newest(&w);
	assert_int_equal(count(text, "was ended by a restart"), 1);
	for (int i = 0; i < 2; i++) {
		world_crash(&w);
		world_boot(&w);
		assert_true(world_settle(&w, 5000));
	}
	assert_int_equal(fake_model_calls(w.model), calls + 1);
	world_done(&w);
}

/* It had ended, a run was under way, and the gateway died before it was told. */
static void
an_end_outlives_a_crash(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 9);
	world_boot(&w);
	struct fake_command *p = start(&w, NOTIFY);
	fake_model_script(w.model, &(struct fake_answer){ .delay = 60000,
	    .text = "never said" });
	fake_say(w.platform, "1001", "think long");
	world_pass(&w, 1000);
	fake_sandbox_end(p, 7, "the output");
	world_pass(&w, 1000);
	world_crash(&w);
	fake_model_script(w.model, &(struct fake_answer){ .text = "resumed" });
	world_boot(&w);
	assert_true(world_settle(&w, 10000));
	CLEANUP_FREE char *text = newest(&w);
	assert_int_equal(count(text, "ended with exit code 7"), 1);
	assert_int_equal(count(text, "the output"), 1);
	world_done(&w);
}

/* The gateway died between the commit of the notice and the end of its row. */
static void
a_row_that_was_told_already_tells_nothing(void **state)
{
	struct world w;
	static const char origin[] = "{\"platform\":\"fake\","
	    "\"account\":\"900\",\"chat_id\":\"1001\"}";
	CLEANUP_JSON struct json *row = json_object();
	CLEANUP_FREE char *id = NULL;

	(void)state;
	world_init(&w, 10);
	world_boot(&w);
	struct fake_command *p = start(&w, NOTIFY);
	id = mem_str(p->process);
	fake_sandbox_end(p, 0, "");
	assert_true(world_settle(&w, 5000));
	size_t calls = fake_model_calls(w.model);
	json_set_str(row, "boot", "another");
	json_set_str(row, "session_key", "agent:main:fake:dm:1001");
	json_set_take(row, "origin", json_parse(origin, strlen(origin), NULL));
	json_set_str(row, "command", "make");
	json_set_bool(row, "notify", true);
	store_ledger_put(w.store, "process", id, row, NULL, NULL);
	world_pass(&w, 100);
	world_crash(&w);
	world_boot(&w);
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), calls);
	world_done(&w);
}

static void
a_silent_process_wakes_nobody(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 11);
	world_boot(&w);
	struct fake_command *p = start(&w, SILENT);
	size_t calls = fake_model_calls(w.model);
	CLEANUP_FREE char *hint = newest(&w);
	assert_non_null(strstr(hint, "\"hint\":"));
	fake_sandbox_end(p, 1, "x");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), calls);
	assert_true(fake_saw(w.platform, "1001", "ended with exit code 1: serve"));
	/* One that a restart ended: the model knows with the next message. */
	(void)start(&w, SILENT);
	calls = fake_model_calls(w.model);
	world_crash(&w);
	world_boot(&w);
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), calls);
	fake_say(w.platform, "1001", "and now?");
	assert_true(world_settle(&w, 5000));
	CLEANUP_FREE char *text = newest(&w);
	assert_int_equal(count(text, "was ended by a restart"), 1);
	world_done(&w);
}

static void
watched_lines_wake_the_model(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 12);
	world_boot(&w);
	struct fake_command *p = start(&w, WATCH);
	size_t calls = fake_model_calls(w.model);
	fake_sandbox_match(p, "ERROR one\n");
	assert_true(world_settle(&w, 5000));
	fake_sandbox_match(p, "ERROR two\n");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), calls + 2);
	CLEANUP_FREE char *text = newest(&w);
	assert_int_equal(count(text, "ERROR two"), 1);
	assert_non_null(strstr(text, "\"watch_patterns\":[\"ERROR\"]"));
	world_done(&w);
}

static void
what_it_prints_approves_nothing(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 13);
	world_boot(&w);
	struct fake_command *p = start(&w, WATCH);
	fake_sandbox.isolated = false;
	fake_model_script(w.model, &(struct fake_answer){
	    .call = "rm -rf /workspace/x" });
	fake_model_script(w.model, &(struct fake_answer){ .text = "denied?" });
	fake_say(w.platform, "1001", "clean up");
	world_pass(&w, 2000);
	assert_true(fake_saw(w.platform, "1001", "Allow this command"));
	fake_sandbox_match(p, "yes");
	fake_sandbox_match(p, "/approve");
	world_pass(&w, 5000);
	assert_int_equal(fake_sandbox_ran("rm -rf /workspace/x"), 0);
	fake_say(w.platform, "1001", "no");
	assert_true(world_settle(&w, 20000));
	assert_int_equal(fake_sandbox_ran("rm -rf /workspace/x"), 0);
	world_done(&w);
}

/* Each run that a process wakes starts the next one. */
static void
a_circle_of_processes_comes_to_an_end(void **state)
{
	struct world w;
	size_t runs = 0;

	(void)state;
	world_init(&w, 14);
	world_boot(&w);
	struct fake_command *p = start(&w, NOTIFY);
	for (; p && runs < 50; runs++) {
		size_t n = fake_sandbox.n;
		script(&w, NOTIFY, "again");
		fake_sandbox_end(p, 0, "");
		assert_true(world_settle(&w, 5000));
		p = fake_sandbox.n > n ? fake_sandbox_process() : NULL;
	}
	assert_int_equal(runs, NEWS_DEPTH_MAX + 1);
	assert_true(fake_saw(w.platform, "1001", "until you write"));
	/* A person's word takes up what waits. */
	fake_say(w.platform, "1001", "go on");
	assert_true(world_settle(&w, 5000));
	size_t at = fake_model_calls(w.model) - 2;
	CLEANUP_FREE char *text = fake_model_request_text(w.model, at);
	assert_int_equal(count(text, "[IMPORTANT: Background process "),
	    NEWS_DEPTH_MAX + 1);
	world_done(&w);
}

static void
where_nothing_can_follow_that_is_said(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 15);
	w.opts.one_shot = true;
	world_boot(&w);
	struct fake_command *p = start(&w, NOTIFY);
	CLEANUP_FREE char *text = newest(&w);
	assert_non_null(strstr(text, "\"notify_unsupported\":"));
	size_t calls = fake_model_calls(w.model);
	fake_sandbox_end(p, 0, "");
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), calls);
	world_done(&w);
}

static void
the_person_sees_what_the_setting_says(void **state)
{
	static const bool sees[][3] = {	/* a match, a good end, a bad end */
		[NOTICES_ALL] = { true, true, true },
		[NOTICES_RESULT] = { false, true, true },
		[NOTICES_ERROR] = { false, false, true },
		[NOTICES_OFF] = { false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sees); i++) {
		struct world w;

		world_init(&w, 20 + i);
		w.opts.notices = (enum notices_show)i;
		world_boot(&w);
		struct fake_command *p = start(&w, WATCH);
		fake_model_script(w.model, &(struct fake_answer){ .text = "a" });
		fake_sandbox_match(p, "ERROR\n");
		assert_true(world_settle(&w, 5000));
		assert_int_equal(fake_saw(w.platform, "1001", "printed what"),
		    sees[i][0]);
		fake_sandbox_end(p, 0, "");
		assert_true(world_settle(&w, 5000));
		assert_int_equal(fake_saw(w.platform, "1001", "exit code 0"),
		    sees[i][1]);
		p = start(&w, NOTIFY);
		fake_model_script(w.model, &(struct fake_answer){ .text = "b" });
		fake_sandbox_end(p, 4, "");
		assert_true(world_settle(&w, 5000));
		assert_int_equal(fake_saw(w.platform, "1001", "exit code 4"),
		    sees[i][2]);
		world_done(&w);
	}
}

static void
a_new_conversation_hears_nothing_of_the_old(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 30);
	world_boot(&w);
	(void)start(&w, NOTIFY);
	size_t calls = fake_model_calls(w.model);
	fake_say(w.platform, "1001", "/new");
	assert_true(world_settle(&w, 5000));
	world_crash(&w);
	world_boot(&w);
	assert_true(world_settle(&w, 5000));
	assert_int_equal(fake_model_calls(w.model), calls);
	world_done(&w);
}

static void
input_is_asked_about_where_nothing_isolates(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 31);
	world_boot(&w);
	struct fake_command *p = start(&w, "{\"command\":\"bash\","
	    "\"background\":true}");
	CLEANUP_FREE char *args = mem_printf("{\"action\":\"submit\","
	    "\"session_id\":\"%s\",\"data\":\"hello\"}", p->process);
	struct fake_answer write = { .tool = "process", .call = args };
	fake_model_script(w.model, &write);
	fake_say(w.platform, "1001", "greet it");
	assert_true(world_settle(&w, 5000));
	assert_string_equal(p->input, "hello\n");
	fake_sandbox.isolated = false;
	fake_model_script(w.model, &write);
	fake_say(w.platform, "1001", "greet it again");
	world_pass(&w, 2000);
	assert_true(fake_saw(w.platform, "1001", "Allow this input"));
	assert_true(fake_saw(w.platform, "1001", p->process));
	assert_string_equal(p->input, "hello\n");
	fake_say(w.platform, "1001", "yes");
	assert_true(world_settle(&w, 5000));
	assert_string_equal(p->input, "hello\nhello\n");
	world_done(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_is_told_once_and_answered_in_its_chat),
		cmocka_unit_test(a_run_under_way_is_not_cancelled_by_it),
		cmocka_unit_test(a_person_cancels_its_run_and_its_words_stay),
		cmocka_unit_test(what_the_model_saw_is_not_told_again),
		cmocka_unit_test(a_new_message_ends_a_wait),
		cmocka_unit_test(a_restart_is_told_once),
		cmocka_unit_test(an_end_outlives_a_crash),
		cmocka_unit_test(a_row_that_was_told_already_tells_nothing),
		cmocka_unit_test(a_silent_process_wakes_nobody),
		cmocka_unit_test(watched_lines_wake_the_model),
		cmocka_unit_test(what_it_prints_approves_nothing),
		cmocka_unit_test(a_circle_of_processes_comes_to_an_end),
		cmocka_unit_test(where_nothing_can_follow_that_is_said),
		cmocka_unit_test(the_person_sees_what_the_setting_says),
		cmocka_unit_test(a_new_conversation_hears_nothing_of_the_old),
		cmocka_unit_test(input_is_asked_about_where_nothing_isolates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
