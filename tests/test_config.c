#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/redact.h"
#include "gateway/config.h"
#include "gateway/config_table.h"
#include "gateway/config_value.h"
#include "gateway/config_write.h"
#include "tests/tmpdir.h"

static struct report rep;
static struct config *cfg;
static const char *const no_env[] = { "HOME=/home/x", NULL };

static int
setup(void **state)
{
	(void)state;
	tmpdir_make();
	report_init(&rep);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	config_free(&cfg);
	report_done(&rep);
	redact_clear();
	tmpdir_remove();
	return 0;
}

static void
load(const char *yaml, const char *dotenv, const char *const *env)
{
	CLEANUP_FREE char *file = mem_str(tmpdir_path("config.yaml"));
	CLEANUP_FREE char *env_file = mem_str(tmpdir_path(".env"));
	struct config_input in = { .file = file, .dotenv_file = env_file,
		.environ = env };

	config_free(&cfg);
	report_done(&rep);
	if (yaml)
		tmpdir_write("config.yaml", yaml);
	if (dotenv)
		tmpdir_write(".env", dotenv);
	cfg = config_load(&in, &rep);
	for (size_t i = 0; i < rep.n; i++)
		fprintf(stderr, "# %u %s: %s\n", rep.items[i].line,
			report_level_name(rep.items[i].level), rep.items[i].text);
}

static bool
said(enum report_level level, unsigned line, const char *words)
{
	for (size_t i = 0; i < rep.n; i++)
		if (rep.items[i].level == level && rep.items[i].line == line &&
		    strstr(rep.items[i].text, words))
			return true;
	return false;
}

static void
without_a_file_the_defaults_hold(void **state)
{
	(void)state;
	load(NULL, NULL, no_env);
	assert_non_null(cfg);
	assert_int_equal(rep.n, 0);
	assert_false(cfg->file_exists);
	assert_int_equal(cfg->terminal.timeout, 180000);
	assert_int_equal(cfg->gateway.sandbox_lifetime_s, -1);
	assert_string_equal(cfg->display.busy_input_mode, "interrupt");
	assert_int_equal(cfg->native.memory_max, 2LL << 30);
	assert_int_equal(cfg->telegram.allowed_users.n, 0);
	assert_null(cfg->telegram.allowed_users.items[0]);
	assert_string_equal(cfg->model.api_key, "");
}

/* C197 */
static void
a_misspelt_safety_key_stops_the_start_with_line_and_name(void **state)
{
	(void)state;
	load("gateway:\n  allow_al_users: true\n  allowed_usrs: [1001]\n"
		"telegram:\n  alowed_users: ['1001']\n", NULL, no_env);
	assert_null(cfg);
	assert_int_equal(rep.errors, 3);
	assert_true(said(REPORT_ERROR, 2, "did you mean gateway.allow_all_users?"));
	assert_true(said(REPORT_ERROR, 3, "did you mean gateway.allowed_users?"));
	assert_true(said(REPORT_ERROR, 5, "did you mean telegram.allowed_users?"));
}

static void
unknown_keys_are_errors_only_where_safety_is_at_stake(void **state)
{
	static const struct { const char *yaml; bool stops; const char *words; }
	rows[] = {
		{ "agent:\n  max_turn: 3\n", false, "agent.max_turns" },
		{ "retry: {jitter: 'yes'}\n", false, "retry is no known key" },
		{ "aprovals: {mode: off}\n", true, "approvals" },
		{ "telegrm: {token: x}\n", true, "telegram" },
		{ "allowed_users: [1]\n", true, "gateway.allowed_users" },
		{ "gateway: {token: x}\n", true, "platforms.telegram.token" },
		{ "gateway: {terminal_backand: docker}\n", true,
		  "gateway.terminal_backend" },
		{ "approvals: {denny: [x]}\n", true, "approvals.deny" },
		{ "native: {networks: full}\n", true, "native.network" },
		{ "local: {usr: x}\n", true, "local.user" },
		{ "platforms: {telegram: {extra: {alow_from: [1]}}}\n", true,
		  "platforms.telegram.extra.allow_from" },
		{ "display: {busy_input_mod: queue}\n", false, "busy_input_mode" },
		{ "commmand_allowlist: [x]\n", true, "command_allowlist" },
		{ "terminal: {zzzzzzzz: 1}\n", true, "terminal.zzzzzzzz" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool found = false;

		load(rows[i].yaml, NULL, no_env);
		assert_int_equal(cfg == NULL, rows[i].stops);
		for (size_t k = 0; k < rep.n; k++)
			found = found || (rep.items[k].level != REPORT_NOTE &&
				strstr(rep.items[k].text, rows[i].words));
		assert_true(found);
	}
}

/* C206 */
static void
a_value_of_the_wrong_type_is_one_error_that_names_its_key(void **state)
{
	static const struct { const char *yaml, *key, *form; } rows[] = {
		{ "agent: {max_turns: 80a}\n", "agent.max_turns", "1 to 1000" },
		{ "agent: {max_turns: -1}\n", "agent.max_turns", "1 to 1000" },
		{ "agent: {max_turns: 1e99}\n", "agent.max_turns", "whole number" },
		{ "agent: {max_turns: '80'}\n", "agent.max_turns", "whole number" },
		{ "agent: {max_turns: 99999999999999999999}\n", "agent.max_turns", "" },
		{ "agent: {max_turns: [1]}\n", "agent.max_turns", "a list" },
		{ "terminal: {timeout: 1e99}\n", "terminal.timeout", "seconds" },
		{ "terminal: {timeout: 0.9}\n", "terminal.timeout", "seconds" },
		{ "terminal: {timeout: 1.2345}\n", "terminal.timeout", "seconds" },
		{ "terminal: {timeout: true}\n", "terminal.timeout", "seconds" },
		{ "terminal: {lifetime_seconds: true}\n", "terminal.lifetime_seconds",
		  "whole number" },
		{ "gateway: {sandbox_lifetime: -1}\n", "gateway.sandbox_lifetime",
		  "from 0" },
		{ "gateway: {sandbox_lifetime: yes}\n", "gateway.sandbox_lifetime", "" },
		{ "telegram: {enabled: 'yes'}\n", "telegram.enabled",
		  "true or false" },
		{ "telegram: {enabled: 1}\n", "telegram.enabled", "true or false" },
		{ "timezone: Mars/Base\n", "timezone", "there is no zone" },
		{ "timezone: ../../etc/passwd\n", "timezone", "there is no zone" },
		{ "telegram: {allowed_users: {a: 1}}\n", "telegram.allowed_users",
		  "a list of ids, found a map" },
		{ "telegram: {allowed_users: [[1]]}\n", "telegram.allowed_users", "" },
		{ "telegram: {allowed_users: ['a b']}\n", "telegram.allowed_users",
		  "ids" },
		{ "native: {memory_max: 1K}\n", "native.memory_max", "size" },
		{ "native: {memory_max: 99999999999999G}\n", "native.memory_max", "" },
		{ "approvals: {mode: maybe}\n", "approvals.mode", "manual, smart, off" },
		{ "model: {base_url: localhost}\n", "model.base_url", "http://" },
		{ "network: {ca_file: x.pem}\n", "network.ca_file", "absolute" },
		{ "native: {binds: ['/a']}\n", "native.binds", "/host/path" },
		{ "terminal: {env_passthrough: [OPENAI_API_KEY]}\n",
		  "terminal.env_passthrough", "credential" },
		{ "gateway: 5\n", "gateway", "keys below" },
		{ "command_allowlist: ['*']\n", "command_allowlist", "*" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		load(rows[i].yaml, NULL, no_env);
		assert_null(cfg);
		assert_int_equal(rep.errors, 1);
		assert_non_null(strstr(rep.items[0].text, rows[i].key));
		assert_non_null(strstr(rep.items[0].text, rows[i].form));
		assert_int_equal(rep.items[0].line, 1);
	}
}

static void
lists_of_people_have_three_spellings(void **state)
{
	static const char *const rows[] = {
		"telegram: {allowed_users: [1001, '@b', \"3\"]}\n",
		"platforms: {telegram: {allow_from: '1001, @b,,3'}}\n",
		"gateway: {platforms: {telegram: {extra: {allow_from: "
			"\"1001,@b, 3\"}}}}\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		load(rows[i], NULL, no_env);
		assert_non_null(cfg);
		assert_int_equal(cfg->telegram.allowed_users.n, 3);
		assert_string_equal(cfg->telegram.allowed_users.items[0], "1001");
		assert_string_equal(cfg->telegram.allowed_users.items[1], "@b");
		assert_string_equal(cfg->telegram.allowed_users.items[2], "3");
		assert_null(cfg->telegram.allowed_users.items[3]);
	}
	load("telegram: {allowed_users: 1001}\n", NULL, no_env);
	assert_string_equal(cfg->telegram.allowed_users.items[0], "1001");
	load("telegram:\n  allowed_users: [1]\nplatforms:\n  telegram:\n"
		"    allow_from: [2]\n", NULL, no_env);
	assert_null(cfg);
	assert_true(said(REPORT_ERROR, 5, "first on line 2"));
}

/* C200 */
static void
references_work_wherever_a_string_may_stand(void **state)
{
	static const char *const env[] = { "MODEL=m-1", "U=1002", "P=9:abcdefgh",
		"N=7", NULL };

	(void)state;
	load("model: ${MODEL}\ntelegram:\n  token: ${env:P}\n"
		"  allowed_users: [1, '${U}']\n"
		"agent: {max_turns: \"${N}\", system_prompt: '$${MODEL}'}\n", NULL, env);
	assert_non_null(cfg);
	assert_string_equal(cfg->model.name, "m-1");
	assert_string_equal(cfg->telegram.token, "9:abcdefgh");
	assert_string_equal(cfg->telegram.allowed_users.items[1], "1002");
	assert_int_equal(cfg->agent.max_turns, 7);
	assert_string_equal(cfg->agent.system_prompt, "${MODEL}");
	load("model:\n  base_url: http://x/v1\n  default: m\n"
		"  api_key: ${MISSING}\n", NULL, env);
	assert_null(cfg);
	assert_true(said(REPORT_ERROR, 4, "model.api_key"));
	assert_true(said(REPORT_ERROR, 4, "MISSING"));
}

/* C201 */
static void
a_secret_with_dollars_arrives_unchanged(void **state)
{
	(void)state;
	load("model: {default: m, base_url: 'http://x/v1', key_env: API_HASH}\n"
		"agent: {system_prompt: 'a$b $HOME'}\n",
		"API_HASH=scheme$100000$abc$def\r\n", no_env);
	assert_non_null(cfg);
	assert_string_equal(cfg->model.api_key, "scheme$100000$abc$def");
	assert_string_equal(cfg->agent.system_prompt, "a$b $HOME");
}

/* defaults < config.yaml < .env < environment; terminal.* the other way. */
static void
sources_win_in_their_order(void **state)
{
	static const char *const env[] = { "TELEGRAM_BOT_TOKEN=3:cccccccc",
		"TERMINAL_TIMEOUT=33", "TELEGRAM_ALLOWED_USERS=", NULL };
	static const char *const yaml = "telegram: {token: '1:aaaaaaaa', "
		"allowed_users: [1]}\nterminal: {timeout: 11}\n";
	static const char *const dotenv = "TELEGRAM_BOT_TOKEN=2:bbbbbbbb\n"
		"TERMINAL_TIMEOUT=22\n";

	(void)state;
	load(yaml, NULL, no_env);
	assert_string_equal(cfg->telegram.token, "1:aaaaaaaa");
	load(yaml, dotenv, no_env);
	assert_string_equal(cfg->telegram.token, "2:bbbbbbbb");
	assert_int_equal(cfg->terminal.timeout, 11000);
	load(yaml, dotenv, env);
	assert_string_equal(cfg->telegram.token, "3:cccccccc");
	assert_int_equal(cfg->terminal.timeout, 11000);
	assert_string_equal(cfg->telegram.allowed_users.items[0], "1");
	load("telegram: {allowed_users: [1]}\n", dotenv, env);
	assert_int_equal(cfg->terminal.timeout, 33000);
	load("telegram: {allowed_users: [1]}\n", dotenv, no_env);
	assert_int_equal(cfg->terminal.timeout, 22000);
}

static void
a_bad_variable_is_an_error_that_names_it(void **state)
{
	static const char *const env[] = { "TERMINAL_TIMEOUT=soon", NULL };

	(void)state;
	load(NULL, NULL, env);
	assert_null(cfg);
	assert_true(said(REPORT_ERROR, 0, "TERMINAL_TIMEOUT"));
	load("terminal: {timeout: 5}\n", NULL, env);
	assert_non_null(cfg);
	load(NULL, "TELEGRAM_ALOWED_USERS=1\n", no_env);
	assert_null(cfg);
	assert_true(said(REPORT_ERROR, 1, "TELEGRAM_ALLOWED_USERS"));
	load(NULL, "SIGNAL_ALLOWED_USERS=1\nDISCORD_BOT_TOKEN=x\n", no_env);
	assert_non_null(cfg);
	assert_int_equal(rep.n, 0);
}

static void
no_message_and_no_listing_shows_a_secret(void **state)
{
	static const char secret[] = "sekret-value-123456";
	static const char *const env[] = { "OPENAI_API_KEY=sekret-value-123456",
		"TELEGRAM_BOT_TOKEN=sekret-value-123456", NULL };
	struct json *all CLEANUP_JSON = NULL;
	struct buf out CLEANUP_BUF;

	(void)state;
	load("telegram: {token: [sekret-value-123456]}\n", NULL, env);
	assert_null(cfg);
	for (size_t i = 0; i < rep.n; i++)
		assert_null(strstr(rep.items[i].text, secret));
	load("model: {default: m, base_url: 'http://x', "
		"api_key: sekret-value-123456}\ntelegram: {enabled: false}\n", NULL,
		no_env);
	assert_non_null(cfg);
	all = config_effective(cfg);
	CLEANUP_FREE char *text = json_text(all);
	assert_null(strstr(text, secret));
	assert_non_null(strstr(text, "config.yaml:1"));
	buf_init(&out, 1000);
	redact_text(&out, "k=sekret-value-123456;", 22);
	assert_null(strstr(out.data, secret));
}

/* Whatever a secret's type will be, its refusal doesn't quote it. */
static void
a_refused_secret_is_not_quoted(void **state)
{
	const struct config_key key = { .path = "x", .type = CONFIG_URL,
		.offset = offsetof(struct config, model.base_url),
		.flags = CONFIG_SECRET, .def = "" };
	struct err err;

	(void)state;
	load(NULL, NULL, no_env);
	assert_int_equal(config_value_set(cfg, &key, "hunter2", CONFIG_WORD, NULL,
		&err), -1);
	assert_null(strstr(err.text, "hunter2"));
	assert_string_equal(cfg->model.base_url, "");
}

static void
a_readable_dotenv_is_warned_about(void **state)
{
	(void)state;
	tmpdir_write(".env", "A=1\n");
	assert_int_equal(chmod(tmpdir_path(".env"), 0644), 0);
	load(NULL, NULL, no_env);
	assert_non_null(cfg);
	assert_true(said(REPORT_WARN, 0, "chmod 600"));
}

/* A file written for Hermes is understood; what means nothing here is noted. */
static void
a_file_of_hermes_is_accepted(void **state)
{
	(void)state;
	load("_config_version: 33\nmodel: gpt-x\nterminal:\n  backend: native\n"
		"  docker_image: a:b\n  docker_volumes: ['/a:/b', 'c:/d:ro']\n"
		"  docker_env: {A: one, B: 'two words'}\n  container_cpu: 1.5\n"
		"  docker_network: false\n  modal_image: x\n"
		"compression: {enabled: true}\napprovals: {mode: off, cron_mode: deny}\n"
		"display: {language: en, busy_input_mode: queue}\n"
		"discord: {require_mention: true}\nlogging: {level: WARNING}\n"
		"platforms: {slack: {enabled: false}}\nunauthorized_dm_behavior: pair\n",
		NULL, no_env);
	assert_non_null(cfg);
	assert_int_equal(rep.warnings, 0);
	assert_string_equal(cfg->approvals.mode, "off");
	assert_string_equal(cfg->logging.level, "warn");
	assert_string_equal(cfg->display.busy_input_mode, "queue");
	assert_string_equal(cfg->docker.image, "a:b");
	assert_string_equal(cfg->docker.volumes.items[1], "c:/d:ro");
	assert_string_equal(cfg->docker.env.items[1], "B=two words");
	assert_string_equal(cfg->docker.network, "false");
	assert_string_equal(cfg->docker.cpu, "1.5");
	assert_true(said(REPORT_NOTE, 10, "modal_image"));
	load("approvals: {mode: false}\n", NULL, no_env);
	assert_string_equal(cfg->approvals.mode, "off");
}

/* C207: what can't be obeyed is not passed over in silence. */
static void
what_this_version_cannot_obey_stops_the_start(void **state)
{
	static const char *const rows[] = {
		"discord: {enabled: true}\n",
		"platforms: {slack: {enabled: true}}\n",
		"gateway: {platforms: {matrix: {enabled: true}}}\n",
		"telegram: {dm_policy: open}\n",
		"telegram: {allowed_chats: '-100'}\n",
		"telegram: {enabled: true}\n",
		"approvals: {single_query_mode: approve}\n",
		"telegram: {token: nonsense}\n",
		"model: {provider: custom}\n",
		"model: {provider: openai}\n",
		"model: {provider: mystery}\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		load(rows[i], NULL, no_env);
		assert_null(cfg);
		assert_int_equal(rep.errors, 1);
	}
	load("telegram: {dm_policy: allowlist, allowed_chats: ''}\n", NULL, no_env);
	assert_non_null(cfg);
}

static void
an_open_or_empty_allow_list_is_warned_about(void **state)
{
	(void)state;
	load("telegram: {token: '1:aaaaaaaa'}\n", NULL, no_env);
	assert_true(said(REPORT_WARN, 0, "nobody may talk"));
	load("telegram: {token: '1:aaaaaaaa', allowed_users: '*'}\n", NULL, no_env);
	assert_true(said(REPORT_WARN, 1, "everybody may talk"));
	load("telegram: {token: '1:aaaaaaaa', allowed_users: [5]}\n", NULL, no_env);
	assert_int_equal(rep.n, 0);
}

/* A default never changes for an existing installation. */
static void
an_existing_file_keeps_its_versions_defaults(void **state)
{
	static const struct config_change changes[] = {
		{ 101, "agent.max_turns", "12" }, { 103, "agent.max_turns", "13" },
		{ 102, "approvals.mode", "off" }, { 0, NULL, NULL },
	};
	static const struct { const char *yaml; int turns; const char *mode, *after; }
	rows[] = {
		{ "_config_version: 100\n", 12, "off", "_config_version: 100\n"
		  "agent:\n  max_turns: 12\napprovals:\n  mode: off\n" },
		{ "_config_version: 101\n", 13, "off", "_config_version: 101\n"
		  "agent:\n  max_turns: 13\napprovals:\n  mode: off\n" },
		{ "_config_version: 103\n", 90, "manual", "_config_version: 103\n" },
		{ "# old\n", 12, "off", "# old\n"
		  "agent:\n  max_turns: 12\napprovals:\n  mode: off\n" },
		{ "_config_version: 33\nagent: {max_turns: 7}\n", 7, "off",
		  "_config_version: 33\nagent: {max_turns: 7}\n"
		  "approvals:\n  mode: off\n" },
	};
	CLEANUP_FREE char *file = mem_str(tmpdir_path("config.yaml"));
	struct config_input in = { .file = file, .environ = no_env,
		.changes = changes };
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_FREE char *text = NULL;

		tmpdir_write("config.yaml", rows[i].yaml);
		for (int again = 0; again < 2; again++) {
			config_free(&cfg);
			cfg = config_load(&in, &rep);
			assert_non_null(cfg);
			assert_int_equal(cfg->agent.max_turns, rows[i].turns);
			assert_string_equal(cfg->approvals.mode, rows[i].mode);
			assert_int_equal(config_migrate(cfg, &err), 0);
			mem_free(text);
			text = tmpdir_read("config.yaml");
			assert_string_equal(text, rows[i].after);
		}
	}
}

/* Without a file the version is written, so that the next one knows. */
static void
a_new_installation_records_its_version(void **state)
{
	struct err err;

	(void)state;
	load(NULL, NULL, no_env);
	assert_int_equal(config_migrate(cfg, &err), 0);
	CLEANUP_FREE char *text = tmpdir_read("config.yaml");
	CLEANUP_FREE char *want = mem_printf("_config_version: %d\n",
		CONFIG_VERSION);
	assert_string_equal(text, want);
}

/*
 * tests/data/config-defaults-N.txt is what version N began with.  Which bug: a
 * changed default without a new version and a row in config_changes.
 */
static void
no_default_changes_without_a_new_version(void **state)
{
	CLEANUP_FREE char *path = mem_printf("%s/tests/data/config-defaults-%d.txt",
		getenv("TOP_SRCDIR"), CONFIG_VERSION);
	FILE *f = fopen(path, "r");
	char line[512];
	size_t i = 0;

	(void)state;
	assert_non_null(f);
	for (; fgets(line, sizeof(line), f); i++) {
		CLEANUP_FREE char *now = i < config_nkeys ? mem_printf("%s\t%s\n",
			config_key_name(&config_keys[i]), config_keys[i].def) : NULL;

		/* A new row belongs into the file too (config dump-docs defaults). */
		assert_non_null(now);
		assert_string_equal(line, now);
	}
	assert_int_equal(i, config_nkeys);
	fclose(f);
}

/* Which bug: a row whose default isn't of its own type, or two rows at one place. */
static void
the_table_is_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *a = &config_keys[i];

		assert_true(a->path || a->env);
		assert_true(a->help && *a->help);
		assert_int_equal(a->type == CONFIG_ENUM, a->values != NULL);
		for (size_t k = 0; k < i; k++) {
			assert_int_not_equal(a->offset, config_keys[k].offset);
			if (a->path && config_keys[k].path)
				assert_string_not_equal(a->path, config_keys[k].path);
		}
		if (a->path) {
			CLEANUP_FREE char *same = config_canonical(a->path);

			assert_string_equal(same, a->path);
			assert_ptr_equal(config_key_find(a->path), a);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(without_a_file_the_defaults_hold),
		T(a_misspelt_safety_key_stops_the_start_with_line_and_name),
		T(unknown_keys_are_errors_only_where_safety_is_at_stake),
		T(a_value_of_the_wrong_type_is_one_error_that_names_its_key),
		T(lists_of_people_have_three_spellings),
		T(references_work_wherever_a_string_may_stand),
		T(a_secret_with_dollars_arrives_unchanged),
		T(sources_win_in_their_order),
		T(a_bad_variable_is_an_error_that_names_it),
		T(no_message_and_no_listing_shows_a_secret),
		T(a_refused_secret_is_not_quoted),
		T(a_readable_dotenv_is_warned_about),
		T(a_file_of_hermes_is_accepted),
		T(what_this_version_cannot_obey_stops_the_start),
		T(an_open_or_empty_allow_list_is_warned_about),
		T(an_existing_file_keeps_its_versions_defaults),
		T(a_new_installation_records_its_version),
		T(no_default_changes_without_a_new_version),
		T(the_table_is_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
