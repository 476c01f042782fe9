#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "gateway/auth.h"
#include "gateway/route.h"

static const struct route_opts opts = { "main", true, false };

static struct msg
msg_in(enum chat_type type, const char *chat, const char *thread,
    const char *user)
{
	return (struct msg){
		.kind = MSG_TEXT, .platform = "telegram", .account = "9",
		.event_id = "1", .chat_id = chat, .chat_type = type,
		.thread_id = thread, .user_id = user, .user_name = "Ada",
		.msg_id = "1", .reply_to = "", .text = "hi", .press_id = "",
		.press_data = "",
	};
}

static void
expect_key(struct msg msg, const char *want)
{
	CLEANUP_FREE char *key = route_session_key(&opts, &msg);

	assert_string_equal(key, want);
}

/* Case C217: people of one group don't share a session unless told so. */
static void
keys_separate_people_chats_and_threads(void **state)
{
	(void)state;
	expect_key(msg_in(CHAT_DM, "1001", "", "1001"),
	    "agent:main:telegram:dm:1001");
	expect_key(msg_in(CHAT_GROUP, "-100900", "", "1001"),
	    "agent:main:telegram:group:-100900:1001");
	expect_key(msg_in(CHAT_GROUP, "-100900", "", "1002"),
	    "agent:main:telegram:group:-100900:1002");
	expect_key(msg_in(CHAT_FORUM, "-100900", "55", "1001"),
	    "agent:main:telegram:forum:-100900:55");
	expect_key(msg_in(CHAT_DM, "", "", "7"), "agent:main:telegram:dm:7");
}

static void
an_id_cannot_pose_as_two_parts_of_a_key(void **state)
{
	(void)state;
	expect_key(msg_in(CHAT_GROUP, "1:2", "", "3"),
	    "agent:main:telegram:group:1%3A2:3");
	expect_key(msg_in(CHAT_DM, "../../etc", "", "3"),
	    "agent:main:telegram:dm:%2E.%2F%2E.%2Fetc");
}

static void
an_origin_survives_its_json(void **state)
{
	struct msg msg = msg_in(CHAT_FORUM, "-1", "55", "1001");
	struct origin a, b;

	(void)state;
	origin_from_msg(&a, &opts, &msg);
	CLEANUP_JSON struct json *node = origin_json(&a);

	origin_from_json(&b, node);
	assert_string_equal(a.chat_id, b.chat_id);
	assert_string_equal(a.thread_id, b.thread_id);
	assert_string_equal(a.user_id, b.user_id);
	assert_int_equal(b.chat_type, CHAT_FORUM);
	assert_true(b.shared);
	origin_done(&a);
	origin_done(&b);
}

static bool
allowed(const struct auth_rule *rule, struct msg msg)
{
	struct auth auth;

	auth_init(&auth, rule, rule ? 1 : 0);
	bool ok = auth_allows(&auth, &msg);

	assert_int_equal(auth.refused, !ok);
	auth_done(&auth);
	return ok;
}

static void
nobody_may_talk_unless_listed_by_id(void **state)
{
	static const char *const users[] = { "1001", NULL };
	static const char *const star[] = { "*", NULL };
	static const char *const chats[] = { "-5", NULL };
	struct auth_rule none = { .platform = "telegram" };
	struct auth_rule list = { .platform = "telegram", .users = users };
	struct auth_rule every = { .platform = "telegram", .users = star };
	struct auth_rule group = { .platform = "telegram", .group_chats = chats };
	struct auth_rule other = { .platform = "discord", .users = users };
	struct msg ada = msg_in(CHAT_DM, "1001", "", "1001");
	struct msg bob = msg_in(CHAT_DM, "1002", "", "1002");
	struct msg nobody = msg_in(CHAT_DM, "1", "", "");
	struct msg bot = ada;

	(void)state;
	bot.from_bot = true;
	bob.user_name = "1001";
	assert_false(allowed(NULL, ada));
	assert_false(allowed(&none, ada));
	assert_true(allowed(&list, ada));
	assert_false(allowed(&list, bob));
	assert_false(allowed(&list, bot));
	assert_false(allowed(&other, ada));
	assert_true(allowed(&every, bob));
	assert_false(allowed(&every, nobody));
	assert_true(allowed(&group, msg_in(CHAT_GROUP, "-5", "", "77")));
	assert_false(allowed(&group, msg_in(CHAT_DM, "-5", "", "77")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_separate_people_chats_and_threads),
		cmocka_unit_test(an_id_cannot_pose_as_two_parts_of_a_key),
		cmocka_unit_test(an_origin_survives_its_json),
		cmocka_unit_test(nobody_may_talk_unless_listed_by_id),
	};

	return cmocka_run_group_tests_name("route and auth", tests, NULL, NULL);
}
