/* conformance BACKEND: what every backend must do, proven through sandbox_run(). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/tools.h"

#define CASES_MAX 300

static struct CMUnitTest cases[CASES_MAX];
static size_t ncases;
static const char *backend = CONFORMANCE_DEFAULT;

void
cf_case(const char *name, void (*run)(void **state), void *state)
{
	if (ncases == CASES_MAX)
		abort();
	cases[ncases++] = (struct CMUnitTest){ .name = name, .test_func = run,
		.initial_state = state };
}

/* *state stays NULL: the cases have their own. */
static int
setup(void **state)
{
	(void)state;
	cf_start(backend);
	if (cf.props.available)
		return 0;
	fprintf(stderr, "%s: %s\n", backend, cf.props.why);
	return -1;
}

static int
teardown(void **state)
{
	(void)state;
	cf_stop();
	cf_ssh_stop();
	cf_singularity_stop();
	return cf.alarms;
}

int
main(int argc, char **argv)
{
	const char *why;

	signal(SIGPIPE, SIG_IGN);
	if (argc > 2) {
		fprintf(stderr, "usage: conformance BACKEND\n");
		return 2;
	}
	if (argc == 2)
		backend = argv[1];
	if (strcmp(backend, "ssh") == 0 && (why = cf_ssh_start())) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	if (strcmp(backend, "singularity") == 0 &&
	    (why = cf_singularity_start())) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	table_add();
	env_add();
	output_add_cases();
	files_add_cases();
	code_add_cases(backend);
	input_add();
	transfer_add();
	if (strcmp(backend, "ssh") == 0)
		ssh_add();
	if (strcmp(backend, "singularity") == 0)
		singularity_add();
	life_add();	/* the last of these end the launcher */
	return _cmocka_run_group_tests("conformance", cases, ncases, setup,
	    teardown);
}
