/* A path of the host must not reach the inside of another sandbox. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "gateway/start_dir.h"

static const struct {
	const char *configured, *messaging, *backend;
	bool chat, mount;
	const char *want;	/* NULL: where the backend begins */
} rows[] = {
	/* 1: explicit */
	{ "/srv/x", "", "local", true, false, "/srv/x" },
	{ "/srv/x", "/m", "local", true, false, "/srv/x" },
	{ "/srv/x", "", "", false, false, "/srv/x" },
	{ "/srv/x", "", "ssh", true, false, "/srv/x" },
	{ "/home/me", "", "ssh", true, false, "/home/me" },
	{ "/srv/x", "", "docker", true, false, "/srv/x" },
	{ "/home/me", "", "docker", true, false, NULL },
	{ "/Users/me", "", "modal", true, false, NULL },
	{ "C:\\me", "", "docker", true, false, NULL },
	{ "sub", "", "docker", true, false, NULL },
	{ "/home/me", "", "docker", true, true, "/home/me" },
	{ "/srv/x", "", "native", true, false, NULL },
	{ "/home/me", "/m", "native", false, false, NULL },
	/* 2: local, with a placeholder */
	{ ".", "", "local", true, false, "~" },
	{ "auto", "", "local", true, false, "~" },
	{ "cwd", "", "", true, false, "~" },
	{ "", "", "local", true, false, "~" },
	{ ".", "/m", "local", true, false, "/m" },
	{ ".", "  /m \n", "local", true, false, "/m" },
	{ ".", "   ", "local", true, false, "~" },
	{ ".", "/m", "local", false, false, NULL },	/* the operator's own */
	{ " .", "", "local", true, false, " ." },	/* no trimming here */
	/* 3: a container that mounts the directory */
	{ ".", "/m", "docker", true, true, "/m" },
	{ ".", ".", "docker", true, true, NULL },
	{ ".", "", "docker", true, true, NULL },
	/* 4: everything else */
	{ ".", "/m", "docker", true, false, NULL },
	{ ".", "/m", "ssh", true, false, NULL },
	{ "auto", "/m", "native", true, true, NULL },
	{ "", "/m", "daytona", true, false, NULL },
};

static void
every_row_begins_where_the_contract_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct start_dir in = {
			.configured = rows[i].configured,
			.messaging = rows[i].messaging, .backend = rows[i].backend,
			.chat = rows[i].chat, .mount = rows[i].mount,
		};
		CLEANUP_FREE char *got = start_dir(&in);

		if (!rows[i].want)
			assert_null(got);
		else
			assert_string_equal(got, rows[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_begins_where_the_contract_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
