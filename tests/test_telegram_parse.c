/* Updates of the Bot API as messages. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "platforms/telegram_parse.h"

static const struct telegram_self self = { "7000001", "gate_demo_bot" };

static void
parse_text(struct telegram_batch *b, const char *json)
{
	struct err err;
	struct json *root = json_parse(json, strlen(json), &err);

	if (!root)
		fail_msg("%s: %s", err.text, json);
	if (json_get(root, "update_id")) {	/* one update */
		struct json *list = json_array();
		struct json *answer = json_object();

		json_add_take(list, root);
		json_set_take(answer, "result", list);
		root = answer;
	}
	if (telegram_batch_init(b, root, &self, &err) < 0)
		fail_msg("%s", err.text);
}

static void
parse_file(struct telegram_batch *b, const char *name)
{
	const char *top = getenv("TOP_SRCDIR");
	CLEANUP_FREE char *path = mem_printf("%s/tests/data/telegram/%s.json",
		top ? top : ".", name);
	CLEANUP_BUF struct buf text;
	char block[4096];
	size_t n;
	FILE *f = fopen(path, "r");

	buf_init(&text, 1u << 20);
	if (!f)
		fail_msg("no %s", path);
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		buf_add(&text, block, n);
	fclose(f);
	parse_text(b, text.data);
}

static void
emoji_before_entities_do_not_shift_them(void **state)
{
	struct telegram_batch b;

	(void)state;
	parse_file(&b, "getupdates_emoji_entities");
	assert_int_equal(b.n, 1);
	assert_int_equal(b.next_offset, 500002);
	const struct msg *m = &b.msgs[0];
	assert_int_equal(m->kind, MSG_TEXT);
	assert_string_equal(m->account, "7000001");
	assert_string_equal(m->chat_id, "1001");
	assert_int_equal(m->chat_type, CHAT_DM);
	assert_string_equal(m->user_id, "1001");
	assert_string_equal(m->user_name, "Ada Byte");
	assert_string_equal(m->event_id, "1001:11");
	assert_true(m->mentions_bot);
	assert_false(m->from_bot);
	assert_true(m->sent_wall == 1790000000000);
	/* own @name stripped; the rest of a command stays as it was typed */
	assert_memory_equal(m->text, "/ask \U0001f468\u200d", 12);
	telegram_batch_done(&b);
}

static void
formatting_becomes_markdown_by_utf16_offsets(void **state)	/* C013 */
{
	static const struct { const char *text, *entities, *want; } t[] = {
		{ "\U0001f389 run make now", "[{\"type\":\"code\",\"offset\":7,\"length\":4}]",
			"\U0001f389 run `make` now" },
		{ "a b c", "[{\"type\":\"bold\",\"offset\":0,\"length\":3},"
			"{\"type\":\"italic\",\"offset\":2,\"length\":1}]", "**a _b_** c" },
		{ "x int y; z", "[{\"type\":\"pre\",\"offset\":2,\"length\":6,"
			"\"language\":\"c\"}]", "x \n```c\nint y;\n```\n z" },
		{ "a`b", "[{\"type\":\"code\",\"offset\":0,\"length\":3}]", "``a`b``" },
		{ "see docs", "[{\"type\":\"text_link\",\"offset\":4,\"length\":4,"
			"\"url\":\"https://e.org/?a=1\"}]", "see [docs](https://e.org/?a=1)" },
		{ "q1\nq2\nend", "[{\"type\":\"blockquote\",\"offset\":0,\"length\":5}]",
			"> q1\n> q2\nend" },
		/* out of range, crossing, senseless: text as it is */
		{ "abc", "[{\"type\":\"bold\",\"offset\":1,\"length\":99}]", "abc" },
		{ "abc", "[{\"type\":\"bold\",\"offset\":-1,\"length\":2}]", "abc" },
		{ "abc", "[{\"type\":\"bold\",\"offset\":4e9,\"length\":4e9}]", "abc" },
		{ "abcd", "[{\"type\":\"bold\",\"offset\":0,\"length\":3},"
			"{\"type\":\"italic\",\"offset\":2,\"length\":2}]", "**abc**d" },
		{ "abc", "[{\"type\":\"hashtag\",\"offset\":0,\"length\":3},7,null]", "abc" },
		/* begins inside a surrogate pair: from the character's start */
		{ "\U0001f600x", "[{\"type\":\"bold\",\"offset\":1,\"length\":2}]",
			"**\U0001f600x**" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct telegram_batch b;
		CLEANUP_JSON struct json *s = json_string(t[i].text);
		CLEANUP_FREE char *quoted = json_text(s);
		CLEANUP_FREE char *up = mem_printf("{\"update_id\":1,\"message\":"
			"{\"message_id\":1,\"chat\":{\"id\":5,\"type\":\"private\"},"
			"\"from\":{\"id\":5},\"text\":%s,\"entities\":%s}}",
			quoted, t[i].entities);

		parse_text(&b, up);
		assert_string_equal(b.msgs[0].text, t[i].want);
		telegram_batch_done(&b);
	}
}

static void
a_topic_is_a_thread_and_its_implicit_reply_is_none(void **state)
{
	struct telegram_batch b;

	(void)state;
	parse_file(&b, "update_topic_message");
	const struct msg *m = &b.msgs[0];
	assert_string_equal(m->chat_id, "-1002000000001");
	assert_int_equal(m->chat_type, CHAT_FORUM);
	assert_string_equal(m->thread_id, "40");
	assert_string_equal(m->reply_to, "");
	assert_false(m->reply_to_bot);
	assert_true(m->mentions_bot);
	assert_string_equal(m->text, "@gate_demo_bot status?");
	telegram_batch_done(&b);
}

static void
a_quoting_reply_to_the_bot_addresses_it(void **state)
{
	struct telegram_batch b;

	(void)state;
	parse_file(&b, "update_topic_reply_quote");
	const struct msg *m = &b.msgs[0];
	assert_string_equal(m->reply_to, "55");
	assert_true(m->reply_to_bot);
	assert_true(m->mentions_bot);
	assert_string_equal(m->text,
		"[Replying to Gate: \"3 jobs\"]\nwhich ones?");
	telegram_batch_done(&b);
}

/* C016, C017: sending to these ids fails, so they must not come out. */
static void
a_thread_id_without_a_topic_is_ignored(void **state)
{
	static const char *const extra[] = {
		"\"message_thread_id\":812",
		"\"message_thread_id\":55,\"is_topic_message\":false",
		"\"message_thread_id\":1,\"is_topic_message\":true" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(extra); i++) {
		struct telegram_batch b;
		CLEANUP_FREE char *up = mem_printf("{\"update_id\":1,\"message\":"
			"{\"message_id\":9,\"chat\":{\"id\":-1005,\"type\":"
			"\"supergroup\",\"is_forum\":true},\"from\":{\"id\":5},"
			"\"text\":\"x\",%s}}", extra[i]);

		parse_text(&b, up);
		assert_string_equal(b.msgs[0].thread_id, "");
		assert_int_equal(b.msgs[0].chat_type, CHAT_FORUM);
		telegram_batch_done(&b);
	}
}

static void
media_and_captions_are_words_too(void **state)
{
	struct telegram_batch b;

	(void)state;
	parse_file(&b, "getupdates_media_group");
	assert_int_equal(b.n, 2);
	assert_string_equal(b.msgs[0].text,
		"[photo]\n**compare** these \U0001f5bc\ufe0f");
	assert_string_equal(b.msgs[1].text, "[photo]");
	telegram_batch_done(&b);
	parse_file(&b, "getupdates_voice_document");
	assert_string_equal(b.msgs[0].text, "[voice message]");
	assert_string_equal(b.msgs[1].text, "[document: rapport \u00e9t\u00e9 (1).pdf]\n"
		"too big for getFile (>20 MB)");
	telegram_batch_done(&b);
}

static void
forwarded_words_name_their_origin(void **state)
{
	struct telegram_batch b;

	(void)state;
	parse_file(&b, "getupdates_forwarded");
	assert_string_equal(b.msgs[0].text,
		"[Forwarded from Someone Private]\nfwd from hidden");
	assert_string_equal(b.msgs[1].text,
		"[Forwarded from News]\nfwd from channel");
	assert_string_equal(b.msgs[2].text, "[Forwarded from Bo]\nfwd from Bo");
	assert_string_equal(b.msgs[2].user_id, "1001");
	telegram_batch_done(&b);
}

/* Somebody else's "/stop" that is forwarded is not one. */
static void
a_forwarded_command_is_no_command(void **state)
{
	struct telegram_batch b;

	(void)state;
	parse_text(&b, "{\"update_id\":1,\"message\":{\"message_id\":1,\"chat\":"
		"{\"id\":5,\"type\":\"private\"},\"from\":{\"id\":5},"
		"\"forward_origin\":{\"type\":\"hidden_user\","
		"\"sender_user_name\":\"E]\\nvil\"},\"text\":\"/stop\"}}");
	assert_string_equal(b.msgs[0].text, "[Forwarded from E) vil]\n/stop");
	telegram_batch_done(&b);
}

static void
an_edit_has_a_key_of_its_own(void **state)
{
	struct telegram_batch b;

	(void)state;
	parse_file(&b, "update_edited_message");
	assert_int_equal(b.msgs[0].kind, MSG_EDIT);
	assert_string_equal(b.msgs[0].event_id, "1001:11:1790000044");
	assert_string_equal(b.msgs[0].msg_id, "11");
	assert_string_equal(b.msgs[0].text, "_edited_ text \U0001f600");
	telegram_batch_done(&b);
}

static void
both_signs_of_a_migration_are_one_event(void **state)	/* C015 */
{
	struct telegram_batch b;

	(void)state;
	parse_file(&b, "getupdates_migration");
	assert_int_equal(b.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(b.msgs[i].kind, MSG_MIGRATED);
		assert_string_equal(b.msgs[i].chat_id, "-4001");
		assert_string_equal(b.msgs[i].text, "-1004000000001");
	}
	assert_string_equal(b.msgs[0].event_id, b.msgs[1].event_id);
	telegram_batch_done(&b);
}

static void
presses_carry_who_what_and_where(void **state)
{
	struct telegram_batch b;

	(void)state;
	parse_file(&b, "getupdates_callback_query");
	assert_int_equal(b.n, 2);
	const struct msg *m = &b.msgs[0];
	assert_int_equal(m->kind, MSG_PRESS);
	assert_string_equal(m->event_id, "4382000000000001");
	assert_string_equal(m->press_id, "4382000000000001");
	assert_string_equal(m->press_data, "ap:7f3a:1");
	assert_string_equal(m->user_id, "1001");
	assert_string_equal(m->chat_id, "1001");
	assert_string_equal(m->msg_id, "80");
	/* the second one's message is inaccessible */
	assert_string_equal(b.msgs[1].chat_id, "-1002000000001");
	assert_string_equal(b.msgs[1].msg_id, "12");
	assert_string_equal(b.msgs[1].user_id, "1002");
	telegram_batch_done(&b);
}

static void
odd_senders_speak_for_themselves(void **state)
{
	struct telegram_batch b;

	(void)state;
	parse_file(&b, "getupdates_odd_senders");
	assert_int_equal(b.updates, 7);
	assert_int_equal(b.skipped, 2);		/* reaction, stopped generation */
	assert_int_equal(b.next_offset, 500023);
	assert_int_equal(b.n, 5);
	/* an anonymous admin speaks as the group and is no bot */
	assert_string_equal(b.msgs[0].user_id, "-1002000000001");
	assert_false(b.msgs[0].from_bot);
	/* the linked channel */
	assert_string_equal(b.msgs[1].user_id, "-1003000000001");
	/* a channel post */
	assert_int_equal(b.msgs[2].chat_type, CHAT_CHANNEL);
	assert_string_equal(b.msgs[2].user_id, "-1003000000001");
	/* another bot */
	assert_true(b.msgs[3].from_bot);
	/* blocked by the user */
	assert_int_equal(b.msgs[4].kind, MSG_MEMBER);
	assert_string_equal(b.msgs[4].text, "kicked");
	assert_string_equal(b.msgs[4].chat_id, "1001");
	telegram_batch_done(&b);
}

static void
own_command_forms_are_taken_others_left(void **state)	/* C029 */
{
	static const struct { const char *text, *want; bool mention; } t[] = {
		{ "/pair", "/pair", false },
		{ "/pair@gate_demo_bot", "/pair", true },
		{ "/pair@GATE_Demo_Bot  ABC ", "/pair  ABC ", true },
		{ "/PAIR", "/PAIR", false },
		{ "/pair  ABC ", "/pair  ABC ", false },
		{ " /pair@gate_demo_bot x", " /pair x", true },
		{ "/pair\\nABC", "/pair\nABC", false },
		{ "/stop@other_bot", NULL, false },
		{ "/stop@gate_demo_bot2", NULL, false },
		{ "/ nothing", "/ nothing", false },
		{ "hi @Gate_Demo_Bot!", "hi @Gate_Demo_Bot!", true },
		{ "me@gate_demo_bot @gate_demo_bots", "me@gate_demo_bot @gate_demo_bots", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct telegram_batch b;
		CLEANUP_FREE char *up = mem_printf("{\"update_id\":3,\"message\":"
			"{\"message_id\":1,\"chat\":{\"id\":-5,\"type\":\"group\"},"
			"\"from\":{\"id\":5},\"text\":\"%s\",\"entities\":[{\"type\":"
			"\"bot_command\",\"offset\":0,\"length\":5}]}}", t[i].text);

		parse_text(&b, up);
		assert_int_equal(b.n, t[i].want ? 1 : 0);
		assert_int_equal(b.next_offset, 4);
		if (t[i].want) {
			assert_string_equal(b.msgs[0].text, t[i].want);
			assert_int_equal(b.msgs[0].mentions_bot, t[i].mention);
		}
		telegram_batch_done(&b);
	}
}

static void
what_cannot_be_read_is_kept_and_passed(void **state)
{
	struct telegram_batch b;

	(void)state;
	parse_text(&b, "{\"ok\":true,\"result\":["
		"{\"update_id\":5,\"message\":{\"text\":\"no chat\"}},"
		"{\"update_id\":6,\"message\":7},"
		"{\"update_id\":7,\"message\":{\"message_id\":1,\"chat\":{\"id\":5,"
		"\"type\":\"private\"},\"from\":{\"id\":5},\"hologram\":{}}},"
		"{\"update_id\":8,\"unheard_of\":{}},"
		"{\"update_id\":9,\"message\":{\"message_id\":2,\"chat\":{\"id\":-5,"
		"\"type\":\"group\"},\"from\":{\"id\":5},\"pinned_message\":{}}},"
		"{\"update_id\":10,\"callback_query\":{\"id\":\"\"}},"
		"{\"text\":\"no id\"}, null, 7]}");
	assert_int_equal(b.updates, 9);
	assert_int_equal(b.n, 4);
	assert_int_equal(b.skipped, 2);
	assert_int_equal(b.next_offset, 11);
	for (size_t i = 0; i < b.n; i++)
		assert_int_equal(b.msgs[i].kind, MSG_UNREADABLE);
	assert_string_equal(b.msgs[0].event_id, "u5");
	assert_non_null(strstr(b.msgs[0].text, "no chat"));
	telegram_batch_done(&b);
}

static void
an_answer_without_updates_in_it_is_an_error(void **state)
{
	static const char *const bad[] = { "{\"ok\":true}",
		"{\"ok\":true,\"result\":{}}", "{\"ok\":true,\"result\":[{\"a\":1}]}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct telegram_batch b;
		struct err err = { .code = ERR_NONE };
		struct json *root = json_parse(bad[i], strlen(bad[i]), &err);

		assert_int_equal(telegram_batch_init(&b, root, &self, &err), -1);
		assert_int_equal(err.code, ERR_PROTOCOL);
		telegram_batch_done(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(emoji_before_entities_do_not_shift_them),
		cmocka_unit_test(formatting_becomes_markdown_by_utf16_offsets),
		cmocka_unit_test(a_topic_is_a_thread_and_its_implicit_reply_is_none),
		cmocka_unit_test(a_quoting_reply_to_the_bot_addresses_it),
		cmocka_unit_test(a_thread_id_without_a_topic_is_ignored),
		cmocka_unit_test(media_and_captions_are_words_too),
		cmocka_unit_test(forwarded_words_name_their_origin),
		cmocka_unit_test(a_forwarded_command_is_no_command),
		cmocka_unit_test(an_edit_has_a_key_of_its_own),
		cmocka_unit_test(both_signs_of_a_migration_are_one_event),
		cmocka_unit_test(presses_carry_who_what_and_where),
		cmocka_unit_test(odd_senders_speak_for_themselves),
		cmocka_unit_test(own_command_forms_are_taken_others_left),
		cmocka_unit_test(what_cannot_be_read_is_kept_and_passed),
		cmocka_unit_test(an_answer_without_updates_in_it_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
