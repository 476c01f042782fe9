#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "base/redact.h"
#include "gateway/config_model.h"
#include "gateway/config_opts.h"
#include "tests/tmpdir.h"

#define R "OPENROUTER_API_KEY=router-key"
#define O "OPENAI_API_KEY=openai-key"

/* yaml, environment, may probe -> choice, server, key, model. */
static const struct {
	const char *yaml;
	const char *env[4];
	bool probe;
	enum model_choice choice;
	const char *url, *key, *name;
} rows[] = {
	{ "", { NULL }, true, MODEL_PROBE_LOCAL, "", "", "" },
	{ "", { NULL }, false, MODEL_DEMO, "", "", "" },
	{ "", { O, NULL }, true, MODEL_SERVER, "https://api.openai.com/v1",
	  "openai-key", "gpt-5-mini" },
	{ "", { O, R, NULL }, true, MODEL_SERVER, "https://openrouter.ai/api/v1",
	  "router-key", "openrouter/auto" },
	{ "model: my\n", { O, R, NULL }, false, MODEL_SERVER,
	  "https://openrouter.ai/api/v1", "router-key", "my" },
	{ "model: my\n", { NULL }, true, MODEL_PROBE_LOCAL, "", "", "my" },
	{ "", { O, "OPENAI_BASE_URL=http://h/v1", NULL }, false, MODEL_SERVER,
	  "http://h/v1", "openai-key", "gpt-5-mini" },
	/* A key of the environment is not sent to a server that the file names. */
	{ "model: {base_url: 'http://h/v1', default: m}\n", { O, R, NULL }, true,
	  MODEL_SERVER, "http://h/v1", "", "m" },
	{ "model: {provider: custom, base_url: 'http://h/v1', default: m, "
	  "api_key: k}\n", { R, NULL }, true, MODEL_SERVER, "http://h/v1", "k", "m" },
	{ "model: {provider: custom, base_url: 'http://h/v1', default: m, "
	  "key_env: K}\n", { "K=from-env", NULL }, true, MODEL_SERVER, "http://h/v1",
	  "from-env", "m" },
	{ "model: {provider: demo}\n", { O, R, NULL }, true, MODEL_DEMO, "", "", "" },
	{ "model: {provider: openai, default: m}\n", { O, R, NULL }, true,
	  MODEL_SERVER, "https://api.openai.com/v1", "openai-key", "m" },
	{ "model: {provider: openrouter}\n", { O, R, NULL }, true, MODEL_SERVER,
	  "https://openrouter.ai/api/v1", "router-key", "openrouter/auto" },
};

static struct config *
load(const char *yaml, const char *const *env)
{
	CLEANUP_FREE char *file = mem_str(tmpdir_path("config.yaml"));
	struct config_input in = { .file = file, .file_required = true,
		.environ = env };
	struct report rep;
	struct config *cfg;

	report_init(&rep);
	tmpdir_write("config.yaml", yaml);
	cfg = config_load(&in, &rep);
	assert_non_null(cfg);
	report_done(&rep);
	return cfg;
}

static void
the_order_of_choice_holds(void **state)
{
	(void)state;
	tmpdir_make();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct config *cfg = load(rows[i].yaml, rows[i].env);
		struct config_model m = config_model_choice(cfg, rows[i].probe);

		assert_int_equal(m.choice, rows[i].choice);
		assert_string_equal(m.base_url, rows[i].url);
		assert_string_equal(m.api_key, rows[i].key);
		assert_string_equal(m.name, rows[i].name);
		config_free(&cfg);
	}
	redact_clear();
	tmpdir_remove();
}

static void
options_of_lower_floors_carry_the_values(void **state)
{
	static const char *const env[] = { "HOME=/home/x", NULL };
	struct config *cfg;
	struct config_sandbox s;
	struct config_people people;
	struct override where;
	struct report rep;

	(void)state;
	tmpdir_make();
	report_init(&rep);
	cfg = load("native: {binds: ['/a:/b', '/c:/d:rw'], pids_max: 9}\n"
		"terminal: {timeout: 5, env_passthrough: [LANG]}\n"
		"gateway: {sandbox_lifetime: 0, allowed_users: [2], "
		"allow_all_users: true}\n"
		"telegram: {allowed_users: [1]}\n", env);
	assert_int_equal(override_resolve(cfg, &where, &rep), 0);
	config_sandbox_init(&s, cfg, &where, env);
	assert_int_equal(s.native.nbinds, 2);
	assert_string_equal(s.native.binds[0].source, "/a");
	assert_string_equal(s.native.binds[0].target, "/b");
	assert_false(s.native.binds[0].writable);
	assert_string_equal(s.native.binds[1].target, "/d");
	assert_true(s.native.binds[1].writable);
	assert_int_equal(s.native.pids_max, 9);
	assert_int_equal(s.opts.timeout_ms, 5000);
	assert_int_equal(s.opts.lifetime_ms, 0);
	assert_string_equal(s.opts.messaging_backend, "native");
	assert_string_equal(s.opts.env_passthrough[0], "LANG");
	assert_null(s.opts.env_passthrough[1]);
	assert_null(s.local.cwd);
	config_sandbox_done(&s);
	config_people_init(&people, cfg);
	assert_string_equal(people.users[0], "1");
	assert_string_equal(people.users[1], "2");
	assert_null(people.users[2]);
	assert_false(people.allow_all);
	config_people_done(&people);
	config_free(&cfg);
	report_done(&rep);
	tmpdir_remove();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_of_choice_holds),
		cmocka_unit_test(options_of_lower_floors_carry_the_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
