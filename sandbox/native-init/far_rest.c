/*
 * PID 1 of a container: takes in orphans, and ends, and the container with it,
 * at its deadline, should nobody be left who remembers it.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/native-init/far.h"
#include "sandbox/native-init/helper.h"

#define TURN_S 600	/* CLOCK_MONOTONIC stands still while a machine sleeps */

static time_t
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec;
}

int
far_rest_main(const char *seconds)
{
	time_t end = now_s() + (time_t)strtol(seconds, NULL, 10);
	sigset_t set;

	sys_close_range(3, ~0u);
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	for (;;) {
		struct timespec turn = { .tv_sec = TURN_S };
		time_t left = end - now_s();

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (left <= 0)
			return 0;
		if (left < TURN_S)
			turn.tv_sec = left;
		if (sigtimedwait(&set, NULL, &turn) == SIGTERM)
			return 0;
	}
}
