#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"

struct world {
	struct loop *loop;
	struct timer *timer;
	struct watch *watch;
	char order[16];
	size_t n;
	int fds[2];
	unsigned events;
};

static void
stop(void *arg)
{
	loop_stop(arg);
}

static void
note(struct world *w, char c)
{
	assert_true(w->n + 1 < sizeof(w->order));
	w->order[w->n++] = c;
	w->order[w->n] = '\0';
}

static void
on_a(void *arg)
{
	note(arg, 'a');
}

static void
on_b(void *arg)
{
	struct world *w = arg;

	note(w, 'b');
	loop_stop(w->loop);
}

static void
timers_fire_in_time_order_and_not_early(void **state)
{
	(void)state;
	struct world w = { .loop = loop_new() };
	msec_t began = loop_now(w.loop);

	loop_after(w.loop, 30, "b", on_b, &w);
	loop_after(w.loop, 10, "a", on_a, &w);
	assert_int_equal(w.n, 0);
	assert_int_equal(loop_run(w.loop), 0);
	assert_string_equal(w.order, "ab");
	assert_true(loop_now(w.loop) - began >= 30);
	loop_free(&w.loop);
	assert_null(w.loop);
}

static void
on_busy(void *arg)
{
	struct world *w = arg;
	msec_t until = loop_now(w->loop) + 20;

	while (loop_now(w->loop) < until)
		;
	w->timer = loop_after(w->loop, 10, "b", on_b, w);
}

static void
a_timer_set_late_in_a_slow_callback_still_waits_its_whole_time(void **state)
{
	(void)state;
	struct world w = { .loop = loop_new() };
	msec_t began = loop_now(w.loop);

	loop_defer(w.loop, "busy", on_busy, &w);
	assert_int_equal(loop_run(w.loop), 0);
	assert_true(loop_now(w.loop) - began >= 30);
	loop_free(&w.loop);
}

static void
on_cancelling(void *arg)
{
	struct world *w = arg;

	loop_cancel(&w->timer);
	loop_cancel(&w->timer);
}

static void
a_cancelled_timer_never_fires(void **state)
{
	(void)state;
	struct world w = { .loop = loop_new() };

	w.timer = loop_after(w.loop, 5, "a", on_a, &w);
	loop_defer(w.loop, "cancelling", on_cancelling, &w);
	loop_after(w.loop, 20, "b", on_b, &w);
	assert_int_equal(loop_run(w.loop), 0);
	assert_string_equal(w.order, "b");
	assert_null(w.timer);
	loop_free(&w.loop);
}

static void
on_readable(void *arg, unsigned events)
{
	struct world *w = arg;
	char c;

	w->events |= events;
	if (w->n == 2) {	/* level triggered: told again, not read yet */
		assert_int_equal(read(w->fds[0], &c, 1), 1);
		loop_watch_set(w->watch, 0);
		loop_after(w->loop, 5, "b", on_b, w);
	}
	note(w, 'r');
}

static void
a_watch_tells_until_the_bytes_are_read_and_pauses(void **state)
{
	(void)state;
	struct world w = { .loop = loop_new() };

	assert_int_equal(pipe(w.fds), 0);
	w.watch = loop_watch(w.loop, w.fds[0], LOOP_READ, "pipe", on_readable, &w);
	assert_int_equal(write(w.fds[1], "xy", 2), 2);
	assert_int_equal(loop_run(w.loop), 0);
	assert_string_equal(w.order, "rrrb");
	assert_int_equal(w.events, LOOP_READ);
	loop_unwatch(&w.watch);
	loop_free(&w.loop);
	close(w.fds[0]);
	close(w.fds[1]);
}

static void
on_writable(void *arg, unsigned events)
{
	struct world *w = arg;

	w->events |= events;
	loop_unwatch(&w->watch);
	loop_stop(w->loop);
}

static void
a_watch_may_be_removed_in_its_own_callback(void **state)
{
	(void)state;
	struct world w = { .loop = loop_new() };

	assert_int_equal(pipe(w.fds), 0);
	w.watch = loop_watch(w.loop, w.fds[1], LOOP_WRITE, "pipe", on_writable, &w);
	assert_int_equal(loop_run(w.loop), 0);
	assert_int_equal(w.events, LOOP_WRITE);
	assert_null(w.watch);
	loop_free(&w.loop);
	close(w.fds[0]);
	close(w.fds[1]);
}

static void
on_raise(void *arg)
{
	(void)arg;
	raise(SIGUSR1);
}

static void
a_signal_arrives_on_the_loop(void **state)
{
	(void)state;
	struct world w = { .loop = loop_new() };
	struct sigwatch *sig = loop_signal(w.loop, SIGUSR1, "usr1", on_b, &w);

	loop_defer(w.loop, "raise", on_raise, NULL);
	assert_int_equal(loop_run(w.loop), 0);
	assert_string_equal(w.order, "b");
	loop_signal_free(&sig);
	assert_null(sig);
	loop_free(&w.loop);
}

static void
stop_before_run_is_not_lost(void **state)
{
	(void)state;
	struct loop *loop = loop_new();

	loop_stop(loop);
	assert_int_equal(loop_run(loop), 0);
	loop_defer(loop, "stop", stop, loop);
	assert_int_equal(loop_run(loop), 0);
	loop_free(&loop);
}

static void
on_hog(void *arg)
{
	struct loop *loop = arg;
	msec_t until = loop_now(loop) + 250;

	while (loop_now(loop) < until)
		;
	loop_after(loop, 150, "stop", stop, loop);
}

static void
the_watchdog_names_who_held_the_loop(void **state)
{
	(void)state;
	struct loop *loop = loop_new();
	int fds[2];
	char text[2000];

	assert_int_equal(pipe(fds), 0);
	log_open(fds[1], LOG_INFO);
	loop_watchdog_start(loop);
	loop_after(loop, 10, "the-hog", on_hog, loop);
	assert_int_equal(loop_run(loop), 0);
	struct loop_stats stats = loop_stats(loop, true);

	assert_true(stats.stalls >= 1);
	assert_true(stats.stall_max > 50);
	assert_true(stats.callbacks >= 2);
	stats = loop_stats(loop, false);
	assert_int_equal(stats.stalls, 0);
	assert_int_equal(stats.stall_max, 0);
	assert_true(stats.callbacks >= 2);	/* progress is never reset */

	ssize_t n = read(fds[0], text, sizeof(text) - 1);

	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "slowest=the-hog"));
	log_open(STDERR_FILENO, LOG_INFO);
	loop_free(&loop);
	close(fds[0]);
	close(fds[1]);
}

static void
clocks_are_plausible(void **state)
{
	(void)state;
	struct loop *loop = loop_new();

	assert_true(loop_wall(loop) > 1700000000000);
	assert_true(loop_boottime(loop) >= loop_now(loop));
	assert_int_not_equal(loop_random(loop), loop_random(loop));
	loop_free(&loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_in_time_order_and_not_early),
		cmocka_unit_test(a_timer_set_late_in_a_slow_callback_still_waits_its_whole_time),
		cmocka_unit_test(a_cancelled_timer_never_fires),
		cmocka_unit_test(a_watch_tells_until_the_bytes_are_read_and_pauses),
		cmocka_unit_test(a_watch_may_be_removed_in_its_own_callback),
		cmocka_unit_test(a_signal_arrives_on_the_loop),
		cmocka_unit_test(stop_before_run_is_not_lost),
		cmocka_unit_test(the_watchdog_names_who_held_the_loop),
		cmocka_unit_test(clocks_are_plausible),
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
