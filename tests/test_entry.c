/*
 * The override at every way in: the list that tests/e2e/entries.mjs tries holds
 * each platform and each command that has a launcher, and nothing else makes
 * sandboxes or says whose they are.  Which bug: a new way in that nobody thought
 * of when the override was tested.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/cli.h"
#include "gateway/session_priv.h"

#define ROWS_MAX 64

static struct row { char kind[16], name[64], owner[16]; } rows[ROWS_MAX];
static size_t nrows;

static const char *const platforms[] = {
#define PLATFORM(name) #name,
#include "platforms/list.h"
#undef PLATFORM
};

static int
read_rows(void **state)
{
	CLEANUP_FREE char *path = mem_printf("%s/tests/data/entry-points.tsv",
		getenv("TOP_SRCDIR"));
	FILE *f = fopen(path, "r");
	char line[256];

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct row *r = &rows[nrows];

		if (line[0] == '#')
			continue;
		assert_true(nrows < ROWS_MAX);
		assert_int_equal(sscanf(line, "%15[^\t]\t%63[^\t]\t%15[^\n]", r->kind,
			r->name, r->owner), 3);
		nrows++;
	}
	fclose(f);
	return 0;
}

static const struct row *
row_of(const char *kind, const char *name)
{
	for (size_t i = 0; i < nrows; i++)
		if (strcmp(rows[i].kind, kind) == 0 && strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static const char *
word_of(enum sandbox_owner owner)
{
	return owner == SANDBOX_CONSOLE ? "console" : "messaging";
}

static void
every_platform_is_listed(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(platforms); i++) {
		const struct row *r = row_of("platform", platforms[i]);

		print_message("platform %s\n", platforms[i]);
		assert_non_null(r);
		assert_string_equal(r->owner, word_of(session_owner(platforms[i])));
	}
	for (size_t i = 0; i < nrows; i++)
		n += strcmp(rows[i].kind, "platform") == 0;
	assert_int_equal(n, ARRAY_LEN(platforms));
}

/* Whatever it is called, what isn't the operator's console is not. */
static void
what_nobody_knows_is_a_messaging_session(void **state)
{
	static const char *const names[] = { "", "api", "api_server", "webhook",
		"cron", "Console", "console2", "slack" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(session_owner(names[i]), SANDBOX_MESSAGING);
	assert_int_equal(session_owner("console"), SANDBOX_CONSOLE);
}

/* A row's first words are a command's; what follows are its options. */
static bool
row_is_of(const struct row *r, const struct cli_command *c)
{
	size_t n = strlen(c->words);

	return strcmp(r->kind, "command") == 0 &&
		strncmp(r->name, c->words, n) == 0 &&
		(r->name[n] == '\0' || strncmp(r->name + n, " --", 3) == 0);
}

static void
every_command_with_a_launcher_is_listed(void **state)
{
	const unsigned launcher = CLI_NEEDS_LAUNCHER | CLI_TRIES_LAUNCHER;
	size_t n = 0, commands = 0;

	(void)state;
	for (size_t i = 0; i < cli_ncommands; i++) {
		const struct cli_command *c = &cli_commands[i];
		size_t found = 0;

		for (size_t k = 0; k < nrows; k++)
			found += row_is_of(&rows[k], c);
		print_message("command %s\n", c->words);
		if (c->needs & launcher)
			assert_non_null(row_of("command", c->words));
		else
			assert_int_equal(found, 0);
		n += found;
	}
	for (size_t k = 0; k < nrows; k++)
		commands += strcmp(rows[k].kind, "command") == 0;
	assert_int_equal(n, commands);
}

/* Names of the files with this text, one a line; caller frees. */
static char *
files_with(const char *text)
{
	CLEANUP_FREE char *command = mem_printf("cd '%s' && grep -rlF '%s' base store "
		"platforms gateway --include='*.c' | LC_ALL=C sort",
		getenv("TOP_SRCDIR"), text);
	FILE *f = popen(command, "r");
	char line[4096];
	struct buf out;

	assert_non_null(f);
	buf_init(&out, 65536);
	while (fgets(line, sizeof(line), f))
		buf_add_str(&out, line);
	assert_int_equal(pclose(f), 0);
	return buf_take(&out);
}

/*
 * Another file here is another way in, or another judge of whose it is: it
 * belongs into entry-points.tsv first.
 */
static void
nobody_else_makes_sandboxes_or_says_whose_they_are(void **state)
{
	CLEANUP_FREE char *makers = files_with("sandboxes_new(");
	CLEANUP_FREE char *judges = files_with("SANDBOX_CONSOLE");

	(void)state;
	assert_string_equal(makers, "gateway/doctor.c\ngateway/parts.c\n"
		"gateway/sandbox_oneshot.c\ngateway/sandbox_prune.c\n");
	assert_string_equal(judges, "gateway/doctor.c\ngateway/gateway.c\n"
		"gateway/sandbox_oneshot.c\ngateway/session.c\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_platform_is_listed),
		cmocka_unit_test(what_nobody_knows_is_a_messaging_session),
		cmocka_unit_test(every_command_with_a_launcher_is_listed),
		cmocka_unit_test(nobody_else_makes_sandboxes_or_says_whose_they_are),
	};

	return cmocka_run_group_tests(tests, read_rows, NULL);
}
