/* The index of words: found in any language, never a wrong find, never stale. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/words.h"
#include "tests/loop_sim.h"
#include "tests/store_sync.h"

#define K "agent:main:telegram:dm:42"
#define HOURS (3600 * 1000LL)

/* All pages: how many entries were found; *ret_pages: calls it took. */
static size_t
found(struct sync *s, const char *words)
{
	int64_t before = 0;
	size_t n = 0;

	do {
		assert_int_equal(SYNC(s, store_search(s->store, words, before,
		    sync_on_json, s)), ERR_NONE);
		n += json_len(json_get(s->json, "matches"));
		before = json_get_int(s->json, "next", 0);
	} while (before > 0);
	return n;
}

static char *
index_path(struct sync *s)
{
	return mem_printf("%s-words", s->path);
}

static int64_t
index_number(struct sync *s, const char *sql)
{
	CLEANUP_FREE char *path = index_path(s);
	char keep[sizeof(s->path)];
	int64_t value;

	memcpy(keep, s->path, sizeof(keep));
	if (access(path, F_OK) != 0)
		return -1;
	REQUIRE(mem_copy_str(s->path, sizeof(s->path), path) == 0);
	value = sync_sql(s, sql);
	memcpy(s->path, keep, sizeof(keep));
	return value;
}

#define UPTO "SELECT upto FROM mark"

/* The pump's ticks, until the index has all that is settled. */
static void
fill(struct sync *s)
{
	int64_t last = -2, now;

	for (int i = 0; i < 40; i++) {
		sim_advance(s->loop, 600000);
		for (int k = 0; k < 4; k++)	/* jobs of the reader end in order */
			SYNC(s, store_search(s->store, "flush", 0, sync_on_json,
			    s));
		now = index_number(s, UPTO);
		if (now == last && now > 0)
			return;
		last = now;
	}
	fail_msg("the index is not filled: %lld", (long long)last);
}

static void
say(struct sync *s, const char *text)
{
	static unsigned n;
	CLEANUP_FREE char *id = mem_printf("e%u", n++);

	assert_int_equal(sync_say(s, K, id, text, true), ERR_NONE);
	sync_finish(s, K, s->claim.generation, "fine", 1, true);
	sync_mark(s, s->row.id, "delivered", "1");
}

/* What tests give as now is far behind the loop's clock: all is settled. */
static void
words_of_any_language_are_found_with_and_without_the_index(void **state)
{
	static const struct { const char *words; size_t n; } wanted[] = {
		{ "garden", 2 }, { "GARDEN", 2 }, { "rden pl", 1 },
		{ "東京都", 1 }, { "京都", 1 }, { "ประเทศ", 1 }, { "größe", 1 },
		{ "a", 6 }, { "50%", 1 }, { "say \"yes\"", 1 }, { "nothing", 0 },
		{ "dengar", 0 }, { "fine", 6 },
	};
	struct sync *s = *state;

	say(s, "the garden plan");
	say(s, "a Garden shed");
	say(s, "東京都に行きたい a");
	say(s, "ประเทศไทย a");
	say(s, "die größe von 50% a");
	say(s, "say \"yes\" or a_b");
	for (int with = 0; with < 2; with++) {
		for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
			size_t n = found(s, wanted[i].words);

			if (n != wanted[i].n)
				fail_msg("%s the index: '%s' %zu times, not %zu",
				    with ? "with" : "without", wanted[i].words,
				    n, wanted[i].n);
		}
		if (!with)
			fill(s);
	}
	assert_int_equal(index_number(s, UPTO),
	    sync_sql(s, "SELECT max(id) FROM transcript"));
	/* The newest words are found before the index has them. */
	say(s, "a new garden");
	assert_int_equal(found(s, "garden"), 3);
}

/* Newest first over both halves, each once, whatever the page. */
static void
many_finds_come_in_pages(void **state)
{
	struct sync *s = *state;
	struct run_ref run = { K, 1 };

	assert_int_equal(sync_say(s, K, "1", "begin", true), ERR_NONE);
	CLEANUP_JSON struct json *entries = json_array();

	for (int i = 0; i < 700; i++) {
		struct json *e = json_object();

		json_set_str(e, "role", "assistant");
		json_set_str(e, "content", i % 2 ? "needle in it" : "hay");
		json_add_take(entries, e);
	}
	SYNC(s, store_append(s->store, &run, entries, s->now, sync_on_done, s));
	assert_int_equal(found(s, "needle"), 350);
	fill(s);
	SYNC(s, store_append(s->store, &run, entries, s->now, sync_on_done, s));
	assert_int_equal(found(s, "needle"), 700);
	assert_int_equal(found(s, "hay"), 700);
}

/* What is erased is in no file any more, at once. */
static void
erased_words_leave_the_index(void **state)
{
	struct sync *s = *state;
	char id[64];

	say(s, "the secret garden");
	fill(s);
	CLEANUP_FREE char *path = index_path(s);

	REQUIRE(mem_copy_str(id, sizeof(id), s->claim.session_id) == 0);
	assert_int_equal(access(path, F_OK), 0);
	SYNC(s, store_conversation_erase(s->store, id, false, s->now,
	    sync_on_json, s));
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(found(s, "secret"), 0);
	say(s, "another garden");
	fill(s);
	assert_int_equal(found(s, "secret"), 0);
	assert_int_equal(found(s, "garden"), 1);
}

/* Words that change after they were taken in are found as they are now. */
static void
changed_words_make_the_index_anew(void **state)
{
	struct sync *s = *state;
	struct inbox_event edit = {
		.kind = INBOX_EDIT, .kind_name = "edit", .event_id = "x1",
		.session_key = K, .chat_id = "42", .thread_id = "",
		.user_id = "7", .msg_id = "m1", .ref_id = "m1",
		.text = "about pears",
	};
	struct inbox_claim claim = { K, "{}", true, 0 };
	struct accept_req req = {
		.platform = "telegram", .account = "1", .events = &edit,
		.nevents = 1, .claims = &claim, .nclaims = 1,
	};

	assert_int_equal(sync_say(s, K, "1", "about apples", true), ERR_NONE);
	sync_sql_run(s->path, "UPDATE inbox SET msg_id = 'm1'");
	fill(s);
	assert_int_equal(found(s, "apples"), 1);
	s->now += 2 * HOURS;
	req.now_wall = s->now;
	s->expect_ids = s->expect_claims = 1;
	assert_int_equal(SYNC(s, store_accept(s->store, &req, sync_on_accept, s)),
	    ERR_NONE);
	assert_int_equal(found(s, "apples"), 0);
	assert_int_equal(found(s, "pears"), 1);
	fill(s);
	assert_int_equal(found(s, "apples"), 0);
	assert_int_equal(found(s, "pears"), 1);
}

/* The index is no part of what is stored: damage of it costs nothing. */
static void
a_damaged_or_foreign_index_is_left_out_and_made_again(void **state)
{
	struct sync *s = *state;
	CLEANUP_FREE char *path = index_path(s);

	say(s, "the garden");
	fill(s);
	sync_close(s);
	FILE *f = fopen(path, "r+");

	assert_non_null(f);
	for (int i = 0; i < 20000; i++)
		fputc('x', f);
	fclose(f);
	assert_true(sync_try_open(s));
	assert_int_equal(found(s, "garden"), 1);
	assert_true(store_health(s->store).ok);
	fill(s);
	assert_int_equal(found(s, "garden"), 1);
	/* Of another database: not believed. */
	sync_close(s);
	unlink(s->path);
	assert_true(sync_try_open(s));
	say(s, "a fresh start");
	say(s, "a fresh shed");
	assert_int_equal(found(s, "garden"), 0);
	assert_int_equal(found(s, "fresh"), 2);
	fill(s);
	assert_int_equal(found(s, "fresh"), 2);
}

/* A command beside the owner looks things up there, too, and changes nothing. */
static void
a_reader_uses_the_index_of_the_owner(void **state)
{
	struct sync *s = *state;
	struct store_opts opts = { .path = s->path, .profile = "main",
		.read_only = true };
	struct err err;

	say(s, "the garden");
	fill(s);
	struct store *owner = s->store;

	s->store = store_open(s->loop, &opts, &err);
	assert_non_null(s->store);
	assert_int_equal(found(s, "garden"), 1);
	assert_int_equal(found(s, "nothing"), 0);
	store_close(&s->store);
	s->store = owner;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, sync_setup, sync_teardown)
		T(words_of_any_language_are_found_with_and_without_the_index),
		T(many_finds_come_in_pages),
		T(erased_words_leave_the_index),
		T(changed_words_make_the_index_anew),
		T(a_damaged_or_foreign_index_is_left_out_and_made_again),
		T(a_reader_uses_the_index_of_the_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
