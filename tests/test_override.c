#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/override.h"
#include "tests/tmpdir.h"

static struct report rep;
static struct override got;

static int
setup(void **state)
{
	(void)state;
	report_init(&rep);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	report_done(&rep);
	return 0;
}

static int
decide(const char *gateway, const char *terminal, const char *image,
	const char *native_image, int64_t gateway_life, int64_t terminal_life)
{
	struct override_in in = {
		{ gateway, "gateway.terminal_backend", "c.yaml", 2 },
		{ image, "gateway.sandbox_image", "c.yaml", 3 },
		gateway_life,
		{ terminal, "terminal.backend", "c.yaml", 4 },
		{ native_image, "terminal.native_image", "c.yaml", 5 },
		{ "own:1", "terminal.docker_image", "c.yaml", 6 },
		{ "/own.sif", "terminal.singularity_image", "c.yaml", 7 },
		terminal_life,
	};

	report_done(&rep);
	return override_decide(&in, &got, &rep);
}

static bool
said(enum report_level level, const char *words)
{
	for (size_t i = 0; i < rep.n; i++)
		if (rep.items[i].level == level && strstr(rep.items[i].text, words))
			return true;
	return false;
}

/* gateway, terminal -> sessions, console; NULL: the start stops. */
static const struct { const char *gateway, *terminal, *sessions, *console; }
table[] = {
	{ "", "", "native", "native" },
	{ "", "native", "native", "native" },
	{ "", "local", "native", "local" },
	{ "", "modal", NULL, NULL },
	{ "", "bogus", NULL, NULL },
	{ "native", "", "native", "native" },
	{ "native", "native", "native", "native" },
	{ "native", "local", "native", "local" },
	{ "native", "modal", NULL, NULL },
	{ "native", "bogus", NULL, NULL },
	{ "local", "", "local", "native" },
	{ "local", "native", "local", "native" },
	{ "local", "local", "local", "local" },
	{ "local", "modal", NULL, NULL },
	{ "local", "bogus", NULL, NULL },
	{ "modal", "", NULL, NULL },
	{ "modal", "native", NULL, NULL },
	{ "modal", "local", NULL, NULL },
	{ "modal", "modal", NULL, NULL },
	{ "modal", "bogus", NULL, NULL },
	{ "bogus", "", NULL, NULL },
	{ "bogus", "native", NULL, NULL },
	{ "bogus", "local", NULL, NULL },
	{ "bogus", "modal", NULL, NULL },
	{ "bogus", "bogus", NULL, NULL },
};

/* image key, native image key -> image of a native session; NULL: stops. */
static const struct { const char *image, *native, *sessions, *console; }
images[] = {
	{ "", "", "", "" },
	{ "", "/n", "/n", "/n" },
	{ "/g", "", "/g", "" },
	{ "/g", "/n", "/g", "/n" },
	{ "python:3.12", "", NULL, NULL },
	{ "python:3.12", "/n", NULL, NULL },
	{ "docker://x", "", NULL, NULL },
};

static const struct { int64_t gateway, terminal, sessions; } lives[] = {
	{ -1, 300, 300 }, { -1, 0, 0 }, { 0, 300, 0 }, { 60, 300, 60 },
	{ 60, 0, 60 },
};

static void
check_row(size_t t, size_t i, size_t k)
{
	const char *sessions = table[t].sessions;
	bool local = sessions && strcmp(sessions, "local") == 0;
	/* A backend without images refuses one that was asked for. */
	bool stops = !sessions || (local && *images[i].image) ||
		(!local && !images[i].sessions);
	int r = decide(table[t].gateway, table[t].terminal, images[i].image,
		images[i].native, lives[k].gateway, lives[k].terminal);

	assert_int_equal(r, stops ? -1 : 0);
	assert_int_equal(rep.errors > 0, stops);
	if (stops)
		return;
	assert_string_equal(got.backend, sessions);
	assert_string_equal(got.console_backend, table[t].console);
	assert_string_equal(got.image, local ? "" : images[i].sessions);
	assert_string_equal(got.console_image,
		strcmp(got.console_backend, "local") == 0 ? "" : images[i].console);
	assert_int_equal(got.lifetime_s, lives[k].sessions);
	assert_int_equal(got.console_lifetime_s, lives[k].terminal);
	assert_int_equal(got.overridden, *table[t].gateway != '\0');
	assert_int_equal(got.host_commands, local);
	/* Never in silence: the host is warned about, and only then. */
	assert_int_equal(said(REPORT_WARN, "run commands on this host"), local);
	assert_int_equal(said(REPORT_NOTE, "console only"),
		!*table[t].gateway && strcmp(table[t].terminal, "local") == 0);
}

static void
every_combination_gives_what_the_rule_says(void **state)
{
	(void)state;
	for (size_t t = 0; t < ARRAY_LEN(table); t++)
		for (size_t i = 0; i < ARRAY_LEN(images); i++)
			for (size_t k = 0; k < ARRAY_LEN(lives); k++)
				check_row(t, i, k);
}

static void
a_typo_names_the_valid_values_and_the_nearest(void **state)
{
	static const struct { const char *word, *near; } rows[] = {
		{ "nativ", "native" }, { "dokcer", "docker" }, { "Native", "native" },
		{ "locla", "local" }, { "singularty", "singularity" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_FREE char *near = mem_printf("did you mean %s?", rows[i].near);

		assert_int_equal(decide(rows[i].word, "", "", "", -1, 300), -1);
		assert_true(said(REPORT_ERROR, near));
		assert_true(said(REPORT_ERROR, "valid: native, local, docker"));
		assert_int_equal(rep.items[0].line, 2);
	}
}

static void
a_known_backend_that_is_not_built_says_so(void **state)
{
	static const char *const names[] = { "modal", "daytona", "tenki", "e2b", "sprites" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(decide("", names[i], "", "", -1, 300), -1);
		assert_true(said(REPORT_ERROR, "is not part of this version"));
		assert_false(said(REPORT_ERROR, "did you mean"));
	}
}

/* The gateway's image is for the gateway's backend only. */
static void
each_backend_has_its_own_image(void **state)
{
	(void)state;
	assert_int_equal(decide("docker", "native", "", "/n", -1, 300), 0);
	assert_string_equal(got.backend, "docker");
	assert_string_equal(got.image, "own:1");
	assert_string_equal(got.console_image, "/n");
	assert_int_equal(decide("podman", "docker", "given:2", "", -1, 300), 0);
	assert_string_equal(got.image, "given:2");
	assert_string_equal(got.console_image, "own:1");
	assert_int_equal(decide("native", "docker", "", "", -1, 300), 0);
	assert_string_equal(got.image, "");
	assert_false(got.host_commands);
}

static void
a_registry_name_with_native_comes_with_the_cure(void **state)
{
	(void)state;
	assert_int_equal(decide("native", "", "python:3.12", "", -1, 300), -1);
	assert_true(said(REPORT_ERROR, "unpacked root file system"));
	assert_int_equal(rep.items[0].line, 3);
}

static void
the_line_says_what_was_applied(void **state)
{
	char *line;

	(void)state;
	assert_int_equal(decide("native", "local", "/img", "", -1, 300), 0);
	line = override_line(&got);
	assert_string_equal(line,
		"Gateway terminal backend override: native (image: /img)");
	mem_free(line);
	assert_int_equal(decide("native", "", "", "", -1, 300), 0);
	line = override_line(&got);
	assert_string_equal(line,
		"Gateway terminal backend override: native (image: default)");
	mem_free(line);
}

/* The file beats TERMINAL_ENV, and a stale TERMINAL_ENV=local reaches nobody. */
static void
the_environment_moves_no_session_to_the_host(void **state)
{
	static const char *const env[] = { "TERMINAL_ENV=local",
		"TERMINAL_LIFETIME_SECONDS=7", NULL };
	struct config_input in = { .environ = env };
	static const struct { const char *yaml, *sessions, *console; } rows[] = {
		{ "", "native", "local" },
		{ "terminal: {backend: native}\n", "native", "native" },
		{ "gateway: {terminal_backend: native}\n", "native", "local" },
		{ "gateway: {terminal_backend: local}\n", "local", "local" },
	};

	(void)state;
	tmpdir_make();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_FREE char *file = mem_str(tmpdir_path("config.yaml"));
		struct config *cfg;

		tmpdir_write("config.yaml", rows[i].yaml);
		in.file = file;
		report_done(&rep);
		cfg = config_load(&in, &rep);
		assert_non_null(cfg);
		assert_int_equal(override_resolve(cfg, &got, &rep), 0);
		assert_string_equal(got.backend, rows[i].sessions);
		assert_string_equal(got.console_backend, rows[i].console);
		assert_int_equal(got.lifetime_s, 7);
		config_free(&cfg);
	}
	tmpdir_remove();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(every_combination_gives_what_the_rule_says),
		T(a_typo_names_the_valid_values_and_the_nearest),
		T(a_known_backend_that_is_not_built_says_so),
		T(each_backend_has_its_own_image),
		T(a_registry_name_with_native_comes_with_the_cure),
		T(the_line_says_what_was_applied),
		T(the_environment_moves_no_session_to_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
