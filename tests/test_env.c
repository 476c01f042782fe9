/* Environments built from nothing, directories, exit codes: the small pure parts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "sandbox/cwd.h"
#include "sandbox/env.h"
#include "sandbox/env_refuse.h"
#include "sandbox/exit_meaning.h"
#include "sandbox/ring.h"

static void
credentials_are_refused_by_name_and_by_shape(void **state)
{
	static const char *const refused[] = {
		"OPENAI_API_KEY", "OPENROUTER_API_KEY", "ANTHROPIC_API_KEY",
		"ANTHROPIC_TOKEN", "OPENAI_BASE_URL", "GOOGLE_API_KEY",
		"GOOGLE_APPLICATION_CREDENTIALS", "MISTRAL_API_KEY",
		"TELEGRAM_BOT_TOKEN", "TELEGRAM_ALLOWED_USERS",
		"DISCORD_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET",
		"GH_TOKEN", "GITHUB_TOKEN", "GITHUB_APP_PRIVATE_KEY_PATH",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK",
		"DATABASE_URL", "EMAIL_PASSWORD", "SUDO_PASSWORD", "PGPASSWORD",
		"SSH_AUTH_SOCK", "DOCKER_HOST", "KUBECONFIG", "GATEHOUSE_HOME",
		"HERMES_HOME", "GATEWAY_ALLOWED_USERS", "HASS_TOKEN",
		"NEW_SERVICE_API_KEY", "some_api_key", "X_APIKEY", "MY_SECRET",
		"FOO_PASSPHRASE", "NPM_TOKEN", "CI_JOB_TOKEN", "SENTRY_DSN",
		"AUXILIARY_VISION_API_KEY", "GATEWAY_RELAY_SECRET",
		"ACME_VAR",
	};
	static const char *const more[] = { "ACME_VAR", NULL };
	static const char *const fine[] = { "LANG", "LC_ALL", "TZ", "EDITOR",
		"CC", "CFLAGS", "GOPATH", "VIRTUAL_ENV", "MY_SETTING", "KEYMAP",
		"TOKENIZERS_PARALLELISM", "HTTP_PROXY", "JAVA_HOME" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (!env_refused(refused[i], more))
			fail_msg("%s may pass", refused[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
		if (env_refused(fine[i], NULL))
			fail_msg("%s may not pass", fine[i]);
	}
}

static void
what_loads_code_does_not_persist(void **state)
{
	static const char *const no[] = { "PATH", "IFS", "ENV", "BASH_ENV",
		"BASH_FUNC_ls", "BASHOPTS", "LD_PRELOAD", "LD_LIBRARY_PATH",
		"PS4", "PROMPT_COMMAND", "GIT_SSH_COMMAND", "GIT_DIR",
		"PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "PERL5OPT",
		"RUBYOPT", "JAVA_TOOL_OPTIONS", "HOME", "SHELLOPTS", "CDPATH",
		"PAGER", "EDITOR", "GLIBC_TUNABLES", "https_proxy", "OLDPWD",
		"MANPAGER", "LESSOPEN", "GATEHOUSE", "AI_AGENT" };
	static const char *const yes[] = { "A", "CC", "VIRTUAL_ENV", "LANG",
		"MY_API_KEY", "TMPDIR", "DEBUG", "path", "x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(no); i++) {
		if (env_may_persist(no[i]))
			fail_msg("%s persists", no[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		if (!env_may_persist(yes[i]))
			fail_msg("%s does not persist", yes[i]);
	}
}

static void
only_what_was_named_is_passed(void **state)
{
	static const char *const environ[] = { "SEEN=1", "HIDDEN=2", "TZ=UTC",
		"X_TOKEN=t", "PATH=/gateway", "SEEN_TOO=3", NULL };
	static const char *const pass[] = { "SEEN", "X_TOKEN", "ABSENT", NULL };
	struct vars login, exports, v;
	char *refused;

	(void)state;
	vars_init(&login, VARS_MAX);
	vars_init(&exports, VARS_MAX);
	vars_set(&login, "FROM_LOGIN", "l");
	vars_set(&exports, "SEEN", "exported");
	struct env_spec spec = { .home = "/home/x", .user = "x",
		.passthrough = pass, .environ = environ, .login = &login,
		.exports = &exports };
	env_build(&v, &spec);
	assert_string_equal(vars_get(&v, "SEEN"), "exported");
	assert_string_equal(vars_get(&v, "FROM_LOGIN"), "l");
	assert_string_equal(vars_get(&v, "TZ"), "UTC");
	assert_string_equal(vars_get(&v, "HOME"), "/home/x");
	assert_null(strstr(vars_get(&v, "PATH"), "gateway"));
	assert_null(vars_get(&v, "HIDDEN"));
	assert_null(vars_get(&v, "SEEN_TOO"));
	assert_null(vars_get(&v, "X_TOKEN"));
	assert_null(vars_get(&v, "ABSENT"));
	refused = env_passthrough_refused(pass, NULL);
	assert_string_equal(refused, "X_TOKEN");
	mem_free(refused);
	vars_done(&v);
	spec.timezone = "Europe/Berlin";	/* the configured zone wins */
	env_build(&v, &spec);
	assert_string_equal(vars_get(&v, "TZ"), "Europe/Berlin");
	vars_done(&v);
	vars_done(&login);
	vars_done(&exports);
}

static void
variables_are_bounded_and_replaced(void **state)
{
	struct vars v;
	char big[600];

	(void)state;
	memset(big, 'x', 599);
	big[599] = 0;
	vars_init(&v, 1000);
	assert_true(vars_set(&v, "A", big));
	assert_false(vars_set(&v, "B", big));
	assert_true(vars_set(&v, "A", "small"));
	assert_true(vars_set(&v, "B", big));
	assert_false(vars_set(&v, "1A", ""));
	assert_false(vars_set(&v, "A-B", ""));
	assert_false(vars_set(&v, "", ""));
	assert_int_equal(v.n, 2);
	char **env = vars_env(&v);
	assert_string_equal(env[0], "A=small");
	assert_null(env[2]);
	vars_env_free(&env);
	vars_done(&v);
}

static void
directories_are_joined_as_text(void **state)
{
	static const struct { const char *tracked, *workdir, *want; } table[] = {
		{ "/a", "", "/a" }, { "/a", ".", "/a" }, { "/a", "b", "/a/b" },
		{ "/", "b", "/b" }, { "/a", "/b", "/b" }, { "/a", "~", "/home" },
		{ "/a", "~/c", "/home/c" }, { "/a", "~c", "/a/~c" },
		{ "/a", "../b", "/a/../b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		char *got = cwd_resolve(table[i].tracked, "/home",
		    table[i].workdir);
		assert_string_equal(got, table[i].want);
		mem_free(got);
	}
	assert_int_equal(cwd_check("/srv/My Files/проект-1", NULL), 0);
	assert_int_equal(cwd_check("C:\\x", NULL), 0);
	assert_int_equal(cwd_check("/a;b", NULL), -1);
	assert_int_equal(cwd_check("/a\tb", NULL), -1);
}

static void
codes_that_are_no_errors_are_explained(void **state)
{
	static const struct { const char *command; int code; bool meant; } table[] = {
		{ "grep x f", 1, true }, { "grep x f", 2, false },
		{ "cat f | grep x", 1, true }, { "grep x f | cat", 1, false },
		{ "A=1 LC_ALL=C rg x", 1, true }, { "/usr/bin/diff a b", 1, true },
		{ "cd x && test -f y", 1, true }, { "[ a = b ]", 1, true },
		{ "curl http://x", 6, true }, { "curl http://x", 5, false },
		{ "echo 'a | b'; find / -name x", 1, true },
		{ "echo 'x; grep y'", 1, false }, { "grep x f;", 1, true },
		{ "", 1, false }, { "   ", 1, false }, { "A=1", 1, false },
		{ "greple x", 1, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *m = exit_meaning(table[i].command,
		    strlen(table[i].command), table[i].code);
		if ((m != NULL) != table[i].meant)
			fail_msg("%s: %s", table[i].command, m ? m : "nothing");
	}
}

static void
a_ring_keeps_the_last_bytes(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 30; piece++) {
		struct ring r;
		struct buf out;
		char all[1000];
		ring_init(&r, 50);
		buf_init(&out, 100);
		for (size_t i = 0; i < sizeof(all); i++)
			all[i] = (char)('a' + i % 26);
		for (size_t at = 0; at + piece <= 990; at += piece) {
			ring_add(&r, all + at, piece);
			size_t end = at + piece, want = end < 50 ? end : 50;
			buf_clear(&out);
			ring_copy(&r, &out);
			assert_int_equal(out.len, want);
			if (end <= sizeof(all))
				assert_memory_equal(out.data, all + end - want,
				    want);
		}
		ring_done(&r);
		buf_done(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(credentials_are_refused_by_name_and_by_shape),
		cmocka_unit_test(what_loads_code_does_not_persist),
		cmocka_unit_test(only_what_was_named_is_passed),
		cmocka_unit_test(variables_are_bounded_and_replaced),
		cmocka_unit_test(directories_are_joined_as_text),
		cmocka_unit_test(codes_that_are_no_errors_are_explained),
		cmocka_unit_test(a_ring_keeps_the_last_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
