/* Conversations as a person sees them: list, read, search, rename, erase. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/loop_sim.h"
#include "tests/store_sync.h"

#define K "agent:main:telegram:dm:42"

static enum err_code
find(struct sync *s, const char *ref)
{
	return SYNC(s, store_conversation(s->store, ref, sync_on_json, s));
}

static enum err_code
reset(struct sync *s)
{
	return SYNC(s, store_reset(s->store, K, s->now, sync_on_json, s));
}

static void
a_session_is_found_by_id_beginning_title_or_key(void **state)
{
	struct sync *s = *state;
	char id[40], part[40];

	sync_say(s, K, "1", "hello", true);
	memcpy(id, s->session_id, sizeof(id));
	memcpy(part, id, sizeof(part));
	part[18] = '\0';
	assert_int_equal(SYNC(s, store_conversation_rename(s->store, id,
	    "Disk trouble", sync_on_done, s)), ERR_NONE);
	reset(s);
	const char *const refs[] = { id, part, "disk TROUBLE" };
	for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
		assert_int_equal(find(s, refs[i]), ERR_NONE);
		assert_string_equal(json_get_str(s->json, "session_id", ""), id);
		assert_int_equal(json_get_int(s->json, "current", -1), 0);
		assert_int_equal(json_get_int(s->json, "messages", 0), 1);
	}
	assert_int_equal(find(s, K), ERR_NONE);
	assert_string_not_equal(json_get_str(s->json, "session_id", ""), id);
	assert_int_equal(find(s, "20260921_"), ERR_INVALID);
	assert_non_null(strstr(s->err.text, "several"));
	assert_int_equal(find(s, "nothing"), ERR_NOT_FOUND);
	assert_int_equal(find(s, "%"), ERR_NOT_FOUND);
	assert_int_equal(find(s, ""), ERR_NOT_FOUND);
}

static void
a_title_is_given_once(void **state)
{
	struct sync *s = *state;
	char id[40];

	sync_say(s, K, "1", "hello", true);
	memcpy(id, s->session_id, sizeof(id));
	SYNC(s, store_conversation_rename(s->store, id, "A", sync_on_done, s));
	sync_say(s, "k2", "2", "hello", true);
	assert_int_equal(SYNC(s, store_conversation_rename(s->store,
	    s->session_id, "a", sync_on_done, s)), ERR_EXISTS);
	assert_int_equal(SYNC(s, store_conversation_rename(s->store, id, "",
	    sync_on_done, s)), ERR_NONE);
	assert_int_equal(SYNC(s, store_conversation_rename(s->store,
	    s->session_id, "a", sync_on_done, s)), ERR_NONE);
	assert_int_equal(SYNC(s, store_conversation_rename(s->store, "no", "a",
	    sync_on_done, s)), ERR_NOT_FOUND);
}

static void
the_list_comes_in_pages_newest_first(void **state)
{
	struct sync *s = *state;
	int seen = 0;
	int64_t before = 0;

	sync_say(s, K, "1", "hello", true);
	for (int i = 0; i < 6; i++)
		reset(s);
	do {
		SYNC(s, store_conversations(s->store, before, 3, sync_on_json, s));
		for (const struct json *e = json_first(json_get(s->json, "list"));
		    e; e = json_next(e), seen++)
			assert_int_equal(json_get_int(e, "current", -1), seen == 0);
		before = json_get_int(s->json, "next", 0);
	} while (before != 0);
	assert_int_equal(seen, 7);
}

static void
entries_come_in_pages_in_order_without_those_never_said(void **state)
{
	struct sync *s = *state;
	char next[64] = "";
	int seen = 0;

	sync_say(s, K, "1", "0", true);
	for (int i = 1; i < 8; i++) {
		char text[2] = { (char)('0' + i), '\0' };

		sync_append(s, K, 1, "assistant", text);
	}
	sync_finish(s, K, 1, "never said", 1, false);
	sync_say(s, K, "2", "8", true);
	sync_append(s, K, 1, "assistant", "late");	/* before "8" */
	do {
		SYNC(s, store_conversation_read(s->store, s->session_id, next, 3,
		    sync_on_json, s));
		for (const struct json *e = json_first(json_get(s->json,
		    "entries")); e; e = json_next(e), seen++) {
			char text[2] = { (char)('0' + seen), '\0' };

			assert_string_equal(json_get_str(e, "content", ""),
			    seen < 8 ? text : seen == 8 ? "late" : "8");
		}
		assert_int_equal(mem_copy_str(next, sizeof(next),
		    json_get_str(s->json, "next", "")), 0);
	} while (next[0] != '\0');
	assert_int_equal(seen, 10);
}

static size_t
matches(struct sync *s, const char *words)
{
	assert_int_equal(SYNC(s, store_search(s->store, words, 0, sync_on_json,
	    s)), ERR_NONE);
	return json_len(json_get(s->json, "matches"));
}

static void
words_are_found_in_any_script_and_taken_literally(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "where is the Backup of 100% of it?", true);
	sync_append(s, K, 1, "assistant", "\xe5\xa4\x87\xe4\xbb\xbd\xe5\x9c\xa8"
	    "\xe7\xa1\xac\xe7\x9b\x98\xe4\xb8\x8a");
	sync_append(s, K, 1, "assistant", "say \"hi\" to C:\\new_dir");
	assert_int_equal(matches(s, "backup"), 1);
	assert_string_equal(json_get_str(json_path(s->json, "matches.0"),
	    "session_id", ""), s->session_id);
	assert_non_null(strstr(json_get_str(json_path(s->json, "matches.0"),
	    "text", ""), "Backup of"));
	/* two characters without a space around them */
	assert_int_equal(matches(s, "\xe7\xa1\xac\xe7\x9b\x98"), 1);
	assert_int_equal(matches(s, "100%"), 1);
	assert_int_equal(matches(s, "1%0"), 0);
	assert_int_equal(matches(s, "new_dir"), 1);
	assert_int_equal(matches(s, "newXdir"), 0);
	assert_int_equal(matches(s, "\"hi\""), 1);
	assert_int_equal(matches(s, "content"), 0);	/* JSON is not words */
	assert_int_equal(SYNC(s, store_search(s->store, "", 0, sync_on_json, s)),
	    ERR_INVALID);
}

static void
a_search_goes_on_where_the_last_slice_ended(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };
	struct json *entries = json_array();
	int64_t before = 0;
	size_t found = 0, slices = 0;

	sync_say(s, K, "1", "needle", true);
	for (int i = 0; i < 1000; i++)
		json_add_take(entries, json_set_str(json_set_str(json_object(),
		    "role", "tool"), "content", "hay"));
	for (int i = 0; i < 12; i++)
		store_append(s->store, &run, entries, s->now, NULL, NULL);
	json_free(&entries);
	sync_append(s, K, 1, "assistant", "needle");
	do {
		SYNC(s, store_search(s->store, "needle", before, sync_on_json, s));
		found += json_len(json_get(s->json, "matches"));
		before = json_get_int(s->json, "next", 0);
		slices++;
	} while (before != 0);
	assert_int_equal(found, 2);
	assert_int_equal(slices, 3);
}

static void
erase(struct sync *s, const char *id)
{
	for (;;) {
		assert_int_equal(SYNC(s, store_conversation_erase(s->store, id,
		    false, s->now, sync_on_json, s)), ERR_NONE);
		if (json_get_bool(s->json, "done", false))
			return;
	}
}

static void
an_erased_session_leaves_no_word_and_the_chat_goes_on(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };
	struct json *entries = json_array();
	char id[40];

	sync_say(s, K, "1", "topsecret", true);
	memcpy(id, s->session_id, sizeof(id));
	for (int i = 0; i < 900; i++)
		json_add_take(entries, json_set_str(json_object(), "content",
		    "topsecret"));
	for (int i = 0; i < 3; i++)
		store_append(s->store, &run, entries, s->now, NULL, NULL);
	json_free(&entries);
	SYNC(s, store_tool_start(s->store, &run, "c", "terminal", "topsecret",
	    false, s->now, sync_on_done, s));
	SYNC(s, store_tool_end(s->store, &run, "c", "ended", NULL, s->now,
	    sync_on_done, s));
	sync_finish(s, K, 1, "topsecret", 2, true);
	sync_mark(s, s->row.id, "delivered", "1");
	erase(s, id);
	assert_int_equal(matches(s, "topsecret"), 0);
	assert_int_equal(sync_sql(s, "SELECT (SELECT count(*) FROM outbox"
	    " WHERE text LIKE '%topsecret%') + (SELECT count(*) FROM inbox"
	    " WHERE text LIKE '%topsecret%') + (SELECT count(*) FROM tool"
	    " WHERE args LIKE '%topsecret%')"), 0);
	assert_int_equal(find(s, id), ERR_NOT_FOUND);
	assert_int_equal(SYNC(s, store_conversation_erase(s->store, id, true,
	    s->now, sync_on_json, s)), ERR_NOT_FOUND);
	sync_take(s);
	assert_int_equal(s->nrows, 0);
	assert_int_equal(sync_say(s, K, "2", "on", true), ERR_NONE);
	assert_int_equal(s->claim.generation, 2);
	assert_string_equal(sync_transcript(s, K), "user:on");
}

static void
a_session_that_is_worked_on_is_not_erased_by_accident(void **state)
{
	struct sync *s = *state;

	sync_say(s, K, "1", "a", true);
	assert_int_equal(SYNC(s, store_conversation_erase(s->store,
	    s->session_id, false, s->now, sync_on_json, s)), ERR_UNAVAILABLE);
	assert_string_equal(sync_transcript(s, K), "user:a");
	assert_int_equal(SYNC(s, store_conversation_erase(s->store,
	    s->session_id, true, s->now, sync_on_json, s)), ERR_NONE);
	assert_string_equal(sync_transcript(s, K), "");
	assert_int_equal(sync_finish(s, K, 1, "late", 1, true), ERR_DENIED);
}

static void
only_a_session_without_open_words_is_idle(void **state)
{
	struct sync *s = *state;
	msec_t later = s->now + 1000;

	sync_say(s, K, "1", "a", true);
	char id[40];
	memcpy(id, s->session_id, sizeof(id));
	SYNC(s, store_conversation_idle(s->store, later, sync_on_json, s));
	assert_null(s->json);
	sync_finish(s, K, 1, "b", 0, false);
	SYNC(s, store_conversation_idle(s->store, s->now, sync_on_json, s));
	assert_null(s->json);
	SYNC(s, store_conversation_idle(s->store, later, sync_on_json, s));
	assert_string_equal(json_get_str(s->json, "session_id", ""), id);
	erase(s, id);
	/* the empty one that took its place is not idle over and over */
	SYNC(s, store_conversation_idle(s->store, later, sync_on_json, s));
	assert_null(s->json);
}

#define T(f) cmocka_unit_test_setup_teardown(f, sync_setup, sync_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_session_is_found_by_id_beginning_title_or_key),
		T(a_title_is_given_once),
		T(the_list_comes_in_pages_newest_first),
		T(entries_come_in_pages_in_order_without_those_never_said),
		T(words_are_found_in_any_script_and_taken_literally),
		T(a_search_goes_on_where_the_last_slice_ended),
		T(an_erased_session_leaves_no_word_and_the_chat_goes_on),
		T(a_session_that_is_worked_on_is_not_erased_by_accident),
		T(only_a_session_without_open_words_is_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
