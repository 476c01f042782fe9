#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/doctor_trial.h"
#include "tests/tmpdir.h"

/* Runs it in bash on this host; its exit status. */
static int
run_outside(const char *command)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("PROBE_TOKEN", "x", 1);
		setenv("NAME", "localhost", 1);	/* known outside, offline too */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execl("/bin/bash", "bash", "-c", command, (char *)NULL);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * The control: where nothing isolates, every trial finds what it looks for.
 * Which bug: a trial that can't fail would prove nothing inside either.
 */
static void
every_trial_fails_outside_a_sandbox(void **state)
{
	int port;
	int fd = doctor_trial_listen(&port);

	(void)state;
	assert_true(fd >= 0);
	tmpdir_make();
	tmpdir_write("instance.json", "{}");
	for (unsigned i = 0; i < doctor_ntrials; i++) {
		CLEANUP_FREE char *command = doctor_trial_command(&doctor_trials[i],
			tmpdir_path("."), (int)getpid(), port);
		int status = run_outside(command);

		fprintf(stderr, "# %s: %d\n", doctor_trials[i].claim, status);
		/* User namespaces may be refused here too. */
		if (!strstr(doctor_trials[i].claim, "user namespaces") ||
		    run_outside("unshare -U true") == 0)
			assert_int_equal(status, 1);
	}
	tmpdir_remove();
	close(fd);
}

static void
a_path_with_quotes_stays_data(void **state)
{
	const struct doctor_trial trial = { .claim = "", .script =
		"[ \"$STATE\" = \"/a'b; exit 3 \\$(x)\" ] || exit 1", .cure = "" };
	CLEANUP_FREE char *command = doctor_trial_command(&trial,
		"/a'b; exit 3 $(x)", 1, 1);

	(void)state;
	assert_int_equal(run_outside(command), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_trial_fails_outside_a_sandbox),
		cmocka_unit_test(a_path_with_quotes_stays_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
