/* What is written down of open sandboxes, and what becomes of it after an end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/ledger.h"
#include "sandbox/owner.h"
#include "tests/sandbox_sim.h"
#include "tests/store_sync.h"
#include "tests/tmpdir.h"

static struct sync store;

static void
start(msec_t lifetime)
{
	struct sandbox_opts opts = { .messaging_backend = "fake",
		.console_backend = "fake", .state_dir = tmpdir_make(),
		.instance_id = "instance-1", .lifetime_ms = lifetime,
		.timeout_ms = 60000, .timeout_max_ms = 600000, .output_max = 1000 };
	struct err err = { ERR_NONE, "" };
	bool probed = false;

	loop = store.loop;
	sb = sandboxes_new(loop, NULL, store.store, &opts, &err);
	assert_non_null(sb);
	(void)sandboxes_probe(sb, on_flag, &probed);
	sim_advance(loop, 1000);
	assert_true(probed);
}

static void
stop(void)
{
	bool closed = false;

	(void)sandboxes_close(sb, on_flag, &closed);
	sim_advance(loop, 11000);
	assert_true(closed);
	sandboxes_free(&sb);
	tmpdir_remove();
}

/*
 * Reads are answered in order, and so are writes: a list that was asked for
 * before has come, and what it made to be removed has been.
 */
static const struct json *
rows(void)
{
	assert_int_equal(SYNC(&store, store_ledger_list(store.store, LEDGER_KIND,
	    sync_on_json, &store)), ERR_NONE);
	assert_int_equal(SYNC(&store, store_ledger_remove(store.store, LEDGER_KIND,
	    "none", sync_on_done, &store)), ERR_NONE);
	assert_int_equal(SYNC(&store, store_ledger_list(store.store, LEDGER_KIND,
	    sync_on_json, &store)), ERR_NONE);
	return store.json;
}

static void
put_old(const char *id, const char *backend)
{
	CLEANUP_JSON struct json *row = json_object();

	json_set_str(row, "id", id);
	json_set_str(row, "backend", backend);
	json_set_str(row, "process", "1-1-000000000000");
	SYNC(&store, store_ledger_put(store.store, LEDGER_KIND, id, row,
	    sync_on_done, &store));
}

static void
a_row_says_whose_it_is_and_goes_with_the_sandbox(void **state)
{
	char self[OWNER_TEXT_MAX];
	struct ran r;

	(void)state;
	fake_reset();
	sync_init(&store);
	start(60000);
	run(&r, "echo");
	assert_int_equal(json_len(rows()), 1);
	const struct json *row = json_get(json_at(store.json, 0), "row");
	owner_self(self);
	assert_string_equal(json_get_str(row, "key", ""), "main/messaging/chat:1");
	assert_string_equal(json_get_str(row, "backend", ""), "fake");
	assert_string_equal(json_get_str(row, "instance", ""), "instance-1");
	assert_string_equal(json_get_str(row, "process", ""), self);
	/* Made from a hash: nothing of a key's text is in a name or a path. */
	assert_int_equal(strspn(json_get_str(row, "id", ""),
	    "s0123456789abcdef"), 21);
	assert_int_equal(strlen(json_get_str(row, "id", "")), 21);
	sim_advance(loop, 130000);
	assert_int_equal(fake.boxes, 0);
	assert_int_equal(json_len(rows()), 0);
	run(&r, "again");
	assert_int_equal(json_len(rows()), 1);
	stop();
	assert_int_equal(json_len(rows()), 0);
	sync_done(&store);
}

/* What can't outlive its process has ended with it; the rest is ended first. */
static void
rows_of_an_earlier_process_go_when_what_they_name_has_ended(void **state)
{
	(void)state;
	for (int reaps = 0; reaps <= 1; reaps++) {
		fake_reset();
		fake.reaps = reaps;
		sync_init(&store);
		put_old("s0", "fake");
		put_old("s1", "gone");	/* of a backend that isn't there any more */
		start(0);
		assert_int_equal(json_len(rows()), 0);
		assert_int_equal(fake.reaped, reaps);
		stop();
		sync_done(&store);
	}
}

static void
what_could_not_be_ended_stays_written_down_and_is_tried_again(void **state)
{
	(void)state;
	fake_reset();
	fake.reaps = true;
	fake.plan.fail_at = 3;		/* start, probe, reap */
	sync_init(&store);
	put_old("s0", "fake");
	start(0);
	assert_int_equal(fake.reaped, 1);
	assert_int_equal(json_len(rows()), 1);
	sim_advance(loop, 3600000);
	assert_int_equal(fake.reaped, 2);
	assert_int_equal(json_len(rows()), 0);
	stop();
	sync_done(&store);
}

/* Torn down, and what it needs is gone: refused, in no other place. */
static void
the_next_command_has_the_same_backend_or_an_error(void **state)
{
	struct ran r;

	(void)state;
	fake_reset();
	sync_init(&store);
	start(60000);
	run(&r, "one");
	sim_advance(loop, 130000);
	assert_int_equal(fake.boxes, 0);
	fake.plan.fail_at = fake.calls + 1;
	unsigned spawns = fake.spawns;
	run(&r, "two");
	assert_int_equal(r.code, SANDBOX_EXIT_REFUSED);
	assert_false(r.started);
	assert_non_null(strstr(r.error, "fake call failed"));
	assert_int_equal(fake.spawns, spawns);
	run(&r, "three");
	assert_int_equal(r.code, 0);
	assert_int_equal(fake.spawns, spawns + 1);
	assert_string_equal(sandbox_props_of(sb, &key).backend, "fake");
	stop();
	sync_done(&store);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_says_whose_it_is_and_goes_with_the_sandbox),
		cmocka_unit_test(
		    rows_of_an_earlier_process_go_when_what_they_name_has_ended),
		cmocka_unit_test(
		    what_could_not_be_ended_stays_written_down_and_is_tried_again),
		cmocka_unit_test(the_next_command_has_the_same_backend_or_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
