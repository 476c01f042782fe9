#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/config_edit.h"
#include "gateway/config_write.h"
#include "tests/tmpdir.h"

static struct err err;

/* before, path, value ("[a,b" = a list), after; NULL: refused. */
static const struct { const char *before, *path, *value, *after; } rows[] = {
	{ "", "agent.max_turns", "5", "agent:\n  max_turns: 5\n" },
	{ "# mine\nfoo: 1\n", "logging.level", "debug",
	  "# mine\nfoo: 1\nlogging:\n  level: debug\n" },
	{ "agent:\n    # why\n    max_turns: 7   # few\n    zzz: 1\n",
	  "agent.max_turns", "5",
	  "agent:\n    # why\n    max_turns: 5   # few\n    zzz: 1\n" },
	{ "agent:\n    zzz: 1  # x\nb: 2", "agent.max_turns", "5",
	  "agent:\n    max_turns: 5\n    zzz: 1  # x\nb: 2" },
	{ "agent:\nb: 2\n", "agent.max_turns", "5",
	  "agent:\n  max_turns: 5\nb: 2\n" },
	{ "agent: {zzz: 1} # c\n", "agent.max_turns", "5",
	  "agent: {max_turns: 5, zzz: 1} # c\n" },
	{ "agent: {}\n", "agent.max_turns", "5", "agent: {max_turns: 5}\n" },
	{ "b: 2", "timezone", "Europe/Berlin",
	  "b: 2\ntimezone: \"Europe/Berlin\"\n" },
	{ "timezone: 'old'   # c\n", "timezone", "a\"b\\c ${X} \xc3\xbc",
	  "timezone: \"a\\\"b\\\\c $${X} \xc3\xbc\"   # c\n" },
	{ "timezone: |\n  a\n  b\nb: 2\n", "timezone", "x",
	  "timezone: \"x\"\nb: 2\n" },
	{ "timezone:   # none yet\nb: 2\n", "timezone", "x",
	  "timezone: \"x\"   # none yet\nb: 2\n" },
	{ "telegram:\n  allow_from: # people\n  - 1\n  - 2 # two\n\n  # next\n"
	  "  enabled: true\n", "platforms.telegram.allowed_users", "[1,3",
	  "telegram:\n  allow_from: [\"1\", \"3\"] # people # two\n\n  # next\n"
	  "  enabled: true\n" },
	{ "telegram: {extra: {allow_from: [1, 2]}}\n",
	  "platforms.telegram.allowed_users", "[",
	  "telegram: {extra: {allow_from: []}}\n" },
	{ "platforms:\n  slack: {}\n", "platforms.telegram.require_mention", "true",
	  "platforms:\n  telegram:\n    require_mention: true\n  slack: {}\n" },
	{ "a: &x {level: info}\nlogging:\n  <<: *x\n", "logging.level", "warn",
	  NULL },
	{ "logging: *nowhere\n", "logging.level", "warn", NULL },
	{ "logging: [1]\n", "logging.level", "warn", NULL },
	{ "\xef\xbb\xbf" "agent:\n  max_turns: 7\n", "agent.max_turns", "5",
	  "\xef\xbb\xbf" "agent:\n  max_turns: 5\n" },
	{ "\xc3\xbc: {agent: 1, x: \xe2\x82\xac}\nagent: {a: \xc3\xbc, max_turns: 7}\n",
	  "agent.max_turns", "5",
	  "\xc3\xbc: {agent: 1, x: \xe2\x82\xac}\nagent: {a: \xc3\xbc, max_turns: 5}\n" },
	{ "...\n", "agent.max_turns", "5", NULL },
};

static void
an_edit_changes_its_key_and_no_other_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool list = rows[i].value[0] == '[';
		const char *items[] = { rows[i].value + list, NULL };
		CLEANUP_FREE char *first = NULL;
		const char *two[2];
		bool plain = !list && strcmp(rows[i].path, "timezone") != 0;
		struct config_edit edit = { rows[i].path, items, 1, list, plain };
		char *comma = strchr(items[0], ',');

		if (list && !*items[0])
			edit.n = 0;
		if (list && comma) {
			first = mem_strn(items[0], (size_t)(comma - items[0]));
			two[0] = first;
			two[1] = comma + 1;
			edit.items = two;
			edit.n = 2;
		}
		CLEANUP_FREE char *after = config_edit_yaml(rows[i].before,
			strlen(rows[i].before), &edit, &err);
		fprintf(stderr, "# %zu\n", i);
		if (!rows[i].after) {
			assert_null(after);
			continue;
		}
		assert_non_null(after);
		assert_string_equal(after, rows[i].after);
	}
}

static void
a_variable_changes_in_its_line(void **state)
{
	static const struct { const char *before, *value, *after; } env[] = {
		{ "", "x", "T='x'\n" },
		{ "A=1", "x", "A=1\nT='x'\n" },
		{ "# c\nexport T=old # o\nB=2\n", "a$b#c d", "# c\nT='a$b#c d'\nB=2\n" },
		{ "T=1\n", "it's\\", "T='it\\'s\\\\'\n" },
		{ "T='a\nb'\n", "x", NULL },
		{ "nonsense\n", "x", NULL },
		{ "", "a\nb", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(env); i++) {
		CLEANUP_FREE char *after = config_edit_dotenv(env[i].before,
			strlen(env[i].before), "T", env[i].value, &err);

		if (!env[i].after) {
			assert_null(after);
			continue;
		}
		assert_non_null(after);
		assert_string_equal(after, env[i].after);
	}
}

static int
set(const char *path, const char *value)
{
	CLEANUP_FREE char *file = mem_str(tmpdir_path("config.yaml"));

	return config_write_set(file, config_key_find(path), &value, 1, &err);
}

static void
a_write_keeps_mode_backup_and_content(void **state)
{
	struct stat st;

	(void)state;
	tmpdir_make();
	assert_int_equal(set("agent.max_turns", "5"), 0);
	CLEANUP_FREE char *fresh = tmpdir_read("config.yaml");
	assert_string_equal(fresh, "_config_version: 100\nagent:\n  max_turns: 5\n");
	assert_int_equal(stat(tmpdir_path("config.yaml"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(chmod(tmpdir_path("config.yaml"), 0640), 0);
	assert_int_equal(set("agent.max_turns", "90"), 0);
	assert_int_equal(stat(tmpdir_path("config.yaml"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	CLEANUP_FREE char *now = tmpdir_read("config.yaml");
	/* Equal to the default, and still written. */
	assert_string_equal(now, "_config_version: 100\nagent:\n  max_turns: 90\n");
	CLEANUP_FREE char *old = tmpdir_read("config.yaml.bak");
	assert_string_equal(old, fresh);
	tmpdir_remove();
}

static void
a_broken_file_or_value_is_never_written(void **state)
{
	(void)state;
	tmpdir_make();
	tmpdir_write("config.yaml", "a:\n\tb: 1\n");
	assert_int_equal(set("agent.max_turns", "5"), -1);
	assert_non_null(strstr(err.text, "tab"));
	CLEANUP_FREE char *same = tmpdir_read("config.yaml");
	assert_string_equal(same, "a:\n\tb: 1\n");
	tmpdir_write("config.yaml", "");
	assert_int_equal(set("agent.max_turns", "many"), -1);
	assert_non_null(strstr(err.text, "agent.max_turns"));
	tmpdir_remove();
}

/* hermes-agent#109888: a scalar is one entry, never its letters. */
static void
an_item_is_added_to_what_the_file_says(void **state)
{
	static const struct { const char *before, *after; } add[] = {
		{ "# mine\n", "# mine\ncommand_allowlist: [\"npm test\"]\n" },
		{ "command_allowlist: docker *   # c\nb: 1\n",
		  "command_allowlist: [\"docker *\", \"npm test\"]   # c\nb: 1\n" },
		{ "command_allowlist:\n- a  # one\n- \"b, c\"\nb: 1\n",
		  "command_allowlist:\n- a  # one\n- \"b, c\"\n- \"npm test\"\nb: 1\n" },
		{ "command_allowlist:\n  - a # 1\n  - b # 2\n\n# c\n",
		  "command_allowlist:\n  - a # 1\n  - b # 2\n  - \"npm test\"\n\n# c\n" },
		{ "command_allowlist:\n  -  a",
		  "command_allowlist:\n  -  a\n  -  \"npm test\"" },
		{ "command_allowlist: ['npm test']\n",
		  "command_allowlist: ['npm test']\n" },
		{ "command_allowlist: ['x $${HOME}']\n",
		  "command_allowlist: [\"x $${HOME}\", \"npm test\"]\n" },
		{ "command_allowlist: ['x ${HOME}']\n", NULL },
		{ "command_allowlist: [[a]]\n", NULL },
		{ "command_allowlist: {a: 1}\n", NULL },
		{ "a:\n\tb: 1\n", NULL },
	};

	(void)state;
	tmpdir_make();
	for (size_t i = 0; i < ARRAY_LEN(add); i++) {
		CLEANUP_FREE char *file = mem_str(tmpdir_path("config.yaml"));

		tmpdir_write("config.yaml", add[i].before);
		int r = config_write_add(file,
			config_key_find("command_allowlist"), "npm test", &err);
		CLEANUP_FREE char *now = tmpdir_read("config.yaml");

		assert_int_equal(r, add[i].after ? 0 : -1);
		assert_string_equal(now, add[i].after ? add[i].after :
			add[i].before);
	}
	tmpdir_remove();
}

static const char *const writer_paths[] = { "agent.max_turns",
	"model.max_tokens", "native.pids_max", "native.files_max",
	"approvals.gateway_timeout", "approvals.timeout" };

/* All begin when the pipe closes; each writes its own key once. */
static void
write_together(void)
{
	int go[2];

	assert_int_equal(pipe(go), 0);
	for (size_t i = 0; i < ARRAY_LEN(writer_paths); i++)
		if (fork() == 0) {
			char c;

			close(go[1]);
			(void)!read(go[0], &c, 1);
			_exit(set(writer_paths[i], "17") != 0);
		}
	close(go[0]);
	close(go[1]);
	for (int status; wait(&status) > 0; )
		assert_int_equal(status, 0);
}

/* Which bug: without the lock, one of many writers' keys is lost. */
static void
writers_wait_for_each_other(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		tmpdir_make();
		write_together();
		CLEANUP_FREE char *text = tmpdir_read("config.yaml");
		for (size_t i = 0; i < ARRAY_LEN(writer_paths); i++)
			assert_non_null(strstr(text,
				strchr(writer_paths[i], '.') + 1));
		tmpdir_remove();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_edit_changes_its_key_and_no_other_byte),
		cmocka_unit_test(a_variable_changes_in_its_line),
		cmocka_unit_test(a_write_keeps_mode_backup_and_content),
		cmocka_unit_test(a_broken_file_or_value_is_never_written),
		cmocka_unit_test(an_item_is_added_to_what_the_file_says),
		cmocka_unit_test(writers_wait_for_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
