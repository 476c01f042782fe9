#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/mem.h"
#include "gateway/auth.h"

static const char *const users[] = { "1001", "1002", "7", NULL };
static const char *const group_users[] = { "1004", NULL };
static const char *const chats[] = { "-9", NULL };
static const char *const admins[] = { "7", NULL };
static const char *const group_admins[] = { "1004", NULL };
static const char *const commands[] = { "status", NULL };
static const char *const anybody[] = { "*", NULL };

static const struct auth_rule rules[] = {
	{ .platform = "telegram", .users = users, .group_users = group_users,
	  .group_chats = chats, .admins = admins, .group_admins = group_admins,
	  .user_commands = commands },
	{ .platform = "discord", .users = users },
	{ .platform = "console", .users = anybody },
};

static struct origin
person(const char *platform, const char *id, const char *chat,
    enum chat_type type)
{
	return (struct origin){
		.platform = (char *)(uintptr_t)platform,
		.account = (char *)(uintptr_t)"900",
		.user_id = (char *)(uintptr_t)id,
		.chat_id = (char *)(uintptr_t)chat, .chat_type = type,
	};
}

static void
a_decision_takes_platform_and_id(void **state)
{
	static const char *const named[] = { "1002", "telegram:7", NULL };
	static const struct {
		const char *const *approvers;
		const char *asked_on, *asker, *on, *who;
		bool may;
	} rows[] = {
		{ NULL, "telegram", "1001", "telegram", "1001", true },
		{ NULL, "telegram", "1001", "telegram", "1002", false },
		/* the same number is somebody else elsewhere */
		{ NULL, "telegram", "1001", "discord", "1001", false },
		{ NULL, "telegram", "1001", "telegram", "7", true },
		{ NULL, "discord", "1001", "telegram", "7", false },
		{ NULL, "telegram", "1001", "telegram", "6666", false },
		{ named, "telegram", "1001", "telegram", "1001", false },
		{ named, "telegram", "1001", "telegram", "1002", true },
		{ named, "discord", "1001", "discord", "1002", true },
		{ named, "telegram", "1001", "discord", "1002", false },
		{ named, "discord", "1001", "telegram", "7", true },
		{ named, "discord", "1001", "discord", "7", false },
		{ NULL, "telegram", "1001", "console", "operator", true },
		{ named, "telegram", "1001", "console", "operator", true },
		{ NULL, "telegram", "", "telegram", "", false },
	};
	struct auth auth;

	(void)state;
	auth_init(&auth, rules, ARRAY_LEN(rules));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct origin asked = person(rows[i].asked_on, rows[i].asker,
		    "1001", CHAT_DM);
		struct origin who = person(rows[i].on, rows[i].who,
		    rows[i].who, CHAT_DM);
		bool may = auth_may_approve(&auth, rows[i].approvers, &asked,
		    &who);

		if (may != rows[i].may)
			fprintf(stderr, "# row %zu\n", i);
		assert_int_equal(may, rows[i].may);
	}
	auth_done(&auth);
}

/* tdlib/telegram-bot-api#667: one id for every admin of the group. */
static void
a_shared_id_never_decides(void **state)
{
	static const char *const ids[] = { "1087968824", "136817688", "777000",
		"-9", "" };
	static const char *const named[] = { "1087968824", "-9", "1001", NULL };
	struct origin asked = person("telegram", "-9", "-9", CHAT_GROUP);
	struct auth auth;

	(void)state;
	auth_init(&auth, rules, ARRAY_LEN(rules));
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		struct origin who = person("telegram", ids[i], "-9", CHAT_GROUP);

		assert_false(auth_may_approve(&auth, NULL, &who, &who));
		assert_false(auth_may_approve(&auth, named, &asked, &who));
	}
	struct origin listed = person("telegram", "1001", "-9", CHAT_GROUP);
	struct origin other = person("telegram", "1003", "-9", CHAT_GROUP);

	assert_true(auth_may_approve(&auth, named, &asked, &listed));
	assert_false(auth_may_approve(&auth, named, &asked, &other));
	/* Without names: the admins of groups, nobody else. */
	struct origin admin = person("telegram", "1004", "-9", CHAT_GROUP);

	assert_true(auth_may_approve(&auth, NULL, &asked, &admin));
	assert_false(auth_may_approve(&auth, NULL, &asked, &other));
	assert_true(auth_has_approver(&auth, NULL, &asked));
	asked.platform = (char *)(uintptr_t)"discord";
	asked.user_id = (char *)(uintptr_t)"";
	assert_false(auth_has_approver(&auth, NULL, &asked));
	auth_done(&auth);
}

/* Naming admins takes commands from the others, as in Hermes. */
static void
commands_are_the_admins_where_there_are_any(void **state)
{
	struct auth auth;
	struct origin user = person("telegram", "1001", "1001", CHAT_DM);
	struct origin admin = person("telegram", "7", "7", CHAT_DM);
	struct origin in_group = person("telegram", "7", "-9", CHAT_GROUP);
	struct origin free = person("discord", "1001", "1001", CHAT_DM);

	(void)state;
	auth_init(&auth, rules, ARRAY_LEN(rules));
	assert_false(auth_may_command(&auth, &user, "yolo"));
	assert_true(auth_may_command(&auth, &user, "status"));
	assert_true(auth_may_command(&auth, &user, "stop"));
	assert_true(auth_may_command(&auth, &user, "deny"));
	assert_true(auth_may_command(&auth, &admin, "yolo"));
	assert_false(auth_may_command(&auth, &in_group, "yolo"));
	assert_true(auth_may_command(&auth, &free, "yolo"));
	auth_done(&auth);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_decision_takes_platform_and_id),
		cmocka_unit_test(a_shared_id_never_decides),
		cmocka_unit_test(commands_are_the_admins_where_there_are_any),
	};

	return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
