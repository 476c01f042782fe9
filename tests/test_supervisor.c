/*
 * Ready, pings and stopping on a real socket.  Red if a ping comes while the
 * store or the loop stands still, if a watchdog of another process is served,
 * or if a child could speak for us.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/supervisor.h"
#include "tests/loop_sim.h"
#include "tests/tmpdir.h"

struct fixture {
	struct loop *loop;
	struct supervisor *s;
	int fd;
	bool alive;
	const char *dir;
	char text[64];
};

static bool
is_alive(void *arg)
{
	return ((struct fixture *)arg)->alive;
}

static void
listen_at(struct fixture *f, bool abstract)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	CLEANUP_FREE char *path = mem_printf("%s%s/notify", abstract ? "@" : "",
	    f->dir);

	REQUIRE(mem_copy_str(at.sun_path, sizeof(at.sun_path), path) == 0);
	if (abstract)
		at.sun_path[0] = '\0';
	f->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->fd, (struct sockaddr *)&at,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) +
	    !abstract)), 0);
	setenv("NOTIFY_SOCKET", path, 1);
}

/* The next word, "" if there is none. */
static const char *
heard(struct fixture *f)
{
	ssize_t n = recv(f->fd, f->text, sizeof(f->text) - 1, 0);

	f->text[n > 0 ? n : 0] = '\0';
	return f->text;
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->loop = loop_sim_new(1);
	f->alive = true;
	f->dir = tmpdir_make();
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	supervisor_free(&f->s);
	if (f->fd > 0)
		close(f->fd);
	tmpdir_remove();
	loop_free(&f->loop);
	free(f);
	return 0;
}

static void
ready_pings_and_stopping_are_heard(void **state)
{
	struct fixture *f = *state;

	for (int abstract = 0; abstract <= 1; abstract++) {
		listen_at(f, abstract == 1);
		setenv("WATCHDOG_USEC", "20000000", 1);
		f->s = supervisor_new(f->loop, is_alive, f);
		sim_advance(f->loop, 60000);
		assert_string_equal(heard(f), "");
		supervisor_ready(f->s);
		assert_string_equal(heard(f), "READY=1");
		assert_string_equal(heard(f), "WATCHDOG=1");
		for (int i = 0; i < 3; i++) {
			sim_advance(f->loop, 10000);
			assert_string_equal(heard(f), "WATCHDOG=1");
			assert_string_equal(heard(f), "");
		}
		supervisor_stopping(f->s);
		assert_string_equal(heard(f), "STOPPING=1");
		supervisor_free(&f->s);
		close(f->fd);
	}
}

static void
what_stands_still_is_not_said_to_live(void **state)
{
	struct fixture *f = *state;

	listen_at(f, false);
	setenv("WATCHDOG_USEC", "20000000", 1);
	f->s = supervisor_new(f->loop, is_alive, f);
	supervisor_ready(f->s);
	while (*heard(f))
		;
	f->alive = false;
	sim_advance(f->loop, 60000);
	assert_string_equal(heard(f), "");
	f->alive = true;
	sim_advance(f->loop, 10000);
	assert_string_equal(heard(f), "WATCHDOG=1");
}

static void
another_process_is_not_spoken_for(void **state)
{
	struct fixture *f = *state;

	listen_at(f, false);
	setenv("WATCHDOG_USEC", "20000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	f->s = supervisor_new(f->loop, is_alive, f);
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_null(getenv("WATCHDOG_USEC"));
	assert_null(getenv("WATCHDOG_PID"));
	supervisor_ready(f->s);
	assert_string_equal(heard(f), "READY=1");
	sim_advance(f->loop, 60000);
	assert_string_equal(heard(f), "");
}

static void
without_a_supervisor_nothing_happens(void **state)
{
	static const char *const names[] = { "", "relative", "/nowhere/at/all" };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		setenv("NOTIFY_SOCKET", names[i], 1);
		setenv("WATCHDOG_USEC", "never", 1);
		f->s = supervisor_new(f->loop, is_alive, f);
		supervisor_ready(f->s);
		supervisor_stopping(f->s);
		sim_advance(f->loop, 60000);
		supervisor_free(&f->s);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(ready_pings_and_stopping_are_heard),
		T(what_stands_still_is_not_said_to_live),
		T(another_process_is_not_spoken_for),
		T(without_a_supervisor_nothing_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
