#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/loop_sim.h"

struct world {
	struct loop *loop;
	struct watch *watch[2];
	char order[32];
	size_t n;
	msec_t at[32];
};

struct tag {
	struct world *world;
	char c;
};

static void
on_tag(void *arg)
{
	struct tag *tag = arg;
	struct world *w = tag->world;

	w->at[w->n] = loop_now(w->loop);
	w->order[w->n++] = tag->c;
	w->order[w->n] = '\0';
}

static void
due_timers_run_in_time_order_at_their_time(void **state)
{
	(void)state;
	struct world w = { .loop = loop_sim_new(3) };
	struct tag a = { &w, 'a' }, b = { &w, 'b' }, c = { &w, 'c' };
	msec_t began = loop_now(w.loop);

	loop_after(w.loop, 30, "c", on_tag, &c);
	loop_after(w.loop, 10, "a", on_tag, &a);
	loop_after(w.loop, 20, "b", on_tag, &b);
	assert_string_equal(sim_next_timer(w.loop), "a");
	assert_int_equal(sim_next_ms(w.loop), 10);
	sim_run_until_idle(w.loop);
	assert_string_equal(w.order, "");
	sim_advance(w.loop, 25);
	assert_string_equal(w.order, "ab");
	assert_int_equal(w.at[0] - began, 10);
	assert_int_equal(w.at[1] - began, 20);
	assert_int_equal(loop_now(w.loop) - began, 25);
	assert_int_equal(sim_timers(w.loop), 1);
	assert_true(sim_run_all(w.loop, 5));
	assert_string_equal(w.order, "abc");
	assert_int_equal(sim_next_ms(w.loop), -1);
	assert_null(sim_next_timer(w.loop));
	loop_free(&w.loop);
}

/* The order of three timers due at the same time. */
static void
order_of_ties(uint64_t seed, char order[32])
{
	struct world w = { .loop = loop_sim_new(seed) };
	struct tag a = { &w, 'a' }, b = { &w, 'b' }, c = { &w, 'c' };

	loop_defer(w.loop, "a", on_tag, &a);
	loop_after(w.loop, 0, "b", on_tag, &b);
	loop_after(w.loop, -5, "c", on_tag, &c);
	sim_run_until_idle(w.loop);
	memcpy(order, w.order, sizeof(w.order));
	loop_free(&w.loop);
}

static void
ties_are_ordered_by_the_seed_and_all_orders_occur(void **state)
{
	(void)state;
	static const char *const orders[] =
	    { "abc", "acb", "bac", "bca", "cab", "cba" };
	bool seen[ARRAY_LEN(orders)] = { false };
	char first[32], again[32];

	order_of_ties(0, first);
	assert_string_equal(first, "abc");
	for (uint64_t seed = 1; seed <= 100; seed++) {
		order_of_ties(seed, first);
		order_of_ties(seed, again);
		assert_string_equal(first, again);
		for (size_t i = 0; i < ARRAY_LEN(orders); i++)
			seen[i] = seen[i] || strcmp(first, orders[i]) == 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(orders); i++)
		assert_true(seen[i]);
}

static void
on_again(void *arg)
{
	struct world *w = arg;

	w->n++;
	if (w->n < 10)
		loop_after(w->loop, 7, "again", on_again, w);
}

static void
timers_made_by_timers_run_within_the_same_advance(void **state)
{
	(void)state;
	struct world w = { .loop = loop_sim_new(1) };

	loop_defer(w.loop, "again", on_again, &w);
	sim_advance(w.loop, 62);
	assert_int_equal(w.n, 9);
	assert_false(sim_run_all(w.loop, 0));
	sim_advance(w.loop, 1);
	assert_int_equal(w.n, 10);
	loop_free(&w.loop);
}

static void
the_clocks_move_together_and_apart(void **state)
{
	(void)state;
	struct loop *loop = loop_sim_new(1);
	msec_t now = loop_now(loop), boot = loop_boottime(loop);

	assert_int_equal(loop_wall(loop), SIM_WALL_START);
	sim_advance(loop, 1000);
	assert_int_equal(loop_now(loop), now + 1000);
	assert_int_equal(loop_wall(loop), SIM_WALL_START + 1000);
	assert_int_equal(loop_boottime(loop), boot + 1000);
	sim_suspend(loop, 5000);
	assert_int_equal(loop_now(loop), now + 1000);
	assert_int_equal(loop_boottime(loop), boot + 6000);
	assert_int_equal(loop_wall(loop), SIM_WALL_START + 6000);
	sim_set_wall(loop, 77);
	sim_advance(loop, 1);
	assert_int_equal(loop_wall(loop), 78);
	assert_int_equal(loop_boottime(loop), boot + 6001);
	loop_free(&loop);
}

static void
on_fd(void *arg, unsigned events)
{
	struct world *w = arg;

	w->order[w->n++] = events == LOOP_READ ? 'r' :
	    events == LOOP_WRITE ? 'w' : '2';
}

static void
on_fd_ends_all(void *arg, unsigned events)
{
	struct world *w = arg;

	(void)events;
	w->n++;
	loop_unwatch(&w->watch[0]);
	loop_unwatch(&w->watch[1]);
}

static void
a_watch_fires_only_when_the_test_says_so(void **state)
{
	(void)state;
	struct world w = { .loop = loop_sim_new(1) };

	w.watch[0] = loop_watch(w.loop, 5, LOOP_READ, "x", on_fd, &w);
	sim_advance(w.loop, 1000);
	assert_int_equal(w.n, 0);
	assert_false(sim_ready(w.loop, 6, LOOP_READ));
	assert_false(sim_ready(w.loop, 5, LOOP_WRITE));
	assert_true(sim_ready(w.loop, 5, LOOP_READ | LOOP_WRITE));
	loop_watch_set(w.watch[0], LOOP_READ | LOOP_WRITE);
	assert_true(sim_ready(w.loop, 5, LOOP_READ | LOOP_WRITE));
	loop_watch_set(w.watch[0], 0);
	assert_false(sim_ready(w.loop, 5, LOOP_READ));
	assert_string_equal(w.order, "r2");
	loop_unwatch(&w.watch[0]);
	loop_free(&w.loop);
}

static void
a_callback_may_end_a_watch_that_was_about_to_fire(void **state)
{
	(void)state;
	struct world w = { .loop = loop_sim_new(1) };

	w.watch[0] = loop_watch(w.loop, 5, LOOP_READ, "x", on_fd_ends_all, &w);
	w.watch[1] = loop_watch(w.loop, 5, LOOP_READ, "y", on_fd_ends_all, &w);
	assert_true(sim_ready(w.loop, 5, LOOP_READ));
	assert_int_equal(w.n, 1);
	loop_free(&w.loop);
}

static void
real_descriptors_are_polled_when_asked(void **state)
{
	(void)state;
	struct world w = { .loop = loop_sim_new(1) };
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	w.watch[0] = loop_watch(w.loop, fds[0], LOOP_READ, "x", on_fd, &w);
	assert_int_equal(sim_poll(w.loop), 0);
	assert_false(sim_wait(w.loop, 1));
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(sim_poll(w.loop), 1);
	assert_true(sim_wait(w.loop, 1000));
	assert_string_equal(w.order, "rr");
	loop_unwatch(&w.watch[0]);
	close(fds[0]);
	close(fds[1]);
	loop_free(&w.loop);
}

static void
on_stop(void *arg)
{
	loop_stop(arg);
}

static void
run_jumps_from_timer_to_timer_until_stopped(void **state)
{
	(void)state;
	struct loop *loop = loop_sim_new(1);
	msec_t began = loop_now(loop);
	struct sigwatch *sig = loop_signal(loop, SIGTERM, "term", on_stop, loop);

	loop_after(loop, 3600 * 1000, "stop", on_stop, loop);
	assert_int_equal(loop_run(loop), 0);
	assert_int_equal(loop_now(loop) - began, 3600 * 1000);
	assert_false(sim_signal(loop, SIGHUP));
	assert_true(sim_signal(loop, SIGTERM));
	assert_int_equal(loop_run(loop), 0);	/* stopped before it ran */
	loop_signal_free(&sig);
	loop_free(&loop);
}

/* Whether free refuses what `make` left behind; it aborts, so in a child. */
static bool
free_refuses(int what)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct loop *loop = loop_sim_new(1);

		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		if (what == 1)
			loop_defer(loop, "left", on_stop, loop);
		else if (what == 2)
			loop_watch(loop, 5, LOOP_READ, "left", on_fd, loop);
		else if (what == 3)
			loop_signal(loop, SIGTERM, "left", on_stop, loop);
		loop_free(&loop);
		_exit(0);
	}
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void
free_refuses_while_anything_is_left(void **state)
{
	(void)state;
	assert_false(free_refuses(0));
	assert_true(free_refuses(1));
	assert_true(free_refuses(2));
	assert_true(free_refuses(3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(due_timers_run_in_time_order_at_their_time),
		cmocka_unit_test(ties_are_ordered_by_the_seed_and_all_orders_occur),
		cmocka_unit_test(timers_made_by_timers_run_within_the_same_advance),
		cmocka_unit_test(the_clocks_move_together_and_apart),
		cmocka_unit_test(a_watch_fires_only_when_the_test_says_so),
		cmocka_unit_test(a_callback_may_end_a_watch_that_was_about_to_fire),
		cmocka_unit_test(real_descriptors_are_polled_when_asked),
		cmocka_unit_test(run_jumps_from_timer_to_timer_until_stopped),
		cmocka_unit_test(free_refuses_while_anything_is_left),
	};

	return cmocka_run_group_tests_name("loop_sim", tests, NULL, NULL);
}
