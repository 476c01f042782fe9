/*
 * Workspaces emptied and measured from outside, whatever a command left there;
 * as whoever runs the tests, and once more as an ordinary user when that is root.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/real_native.h"

static struct {
	bool done;
	struct box_usage usage;
	struct err err;
} tended;

static void
on_tended(void *arg, const struct box_usage *usage, const struct err *err)
{
	struct nat *nat = arg;

	(void)nat;
	tended.done = true;
	tended.usage = *usage;
	tended.err.code = ERR_NONE;
	if (err)
		tended.err = *err;
}

static void
tend(struct nat *nat, bool empty)
{
	struct op *op = (empty ? backend_native.empty : backend_native.measure)(
		nat->inst, nat->workspace, on_tended, nat);

	(void)op;
	tended.done = false;
	assert_true(real_until(&nat->real, &tended.done));
}

static unsigned
entries(const char *path)
{
	unsigned n = 0;
	struct dirent *e;
	DIR *dir = opendir(path);

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.' || e->d_name[1] > '.';
	if (dir)
		closedir(dir);
	return n;
}

/* 3000 levels are 6000 bytes of path, more than a path may have. */
#define DEEP(n) "perl -e 'for (1.." #n ") { mkdir q(d); chdir q(d) or die }'\n"
static const char nasty[] =
	"mkdir -p a/b/c; echo x > a/b/c/f; ln -s / a/root; ln -s .. a/up\n"
	"mkfifo a/fifo; mkdir locked; echo y > locked/f; chmod 000 locked a/b\n"
	"mkdir '.gatehouse-0' \"$(printf 'new\nline')\" ' '; touch -- -rf\n"
	"mkdir many; cd many; touch $(seq 2000); cd ..; chmod 500 many\n"
	DEEP(3000);

static void
what_a_command_left_is_removed_and_nothing_else(void **state)
{
	struct nat *nat = NAT(state);
	CLEANUP_FREE char *outside = mem_printf("%s/outside", nat->state);

	assert_int_equal(mkdir(outside, 0777), 0);
	assert_int_equal(chmod(outside, 0777), 0);
	CLEANUP_FREE char *file = mem_printf("%s/file", outside);
	FILE *f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	nat_expect(nat, nasty, 0, NULL);
	CLEANUP_FREE char *script = mem_printf("ln -s %s out; ln -s %s d/out",
		outside, outside);
	nat_expect(nat, script, 0, NULL);
	nat_close(nat);
	tend(nat, true);
	assert_string_equal(tended.err.text, "");
	assert_int_equal(tended.err.code, ERR_NONE);
	assert_true(tended.usage.entries > 5000);
	assert_int_equal(entries(nat->workspace), 0);
	assert_int_equal(entries(outside), 1);
	unlink(file);
	rmdir(outside);
	assert_true(nat_open(nat));	/* for the teardown */
}

static void
what_it_takes_is_added_up(void **state)
{
	struct nat *nat = NAT(state);

	nat_expect(nat, "head -c 3000000 /dev/zero > f; ln f g; mkdir -p a/b\n"
		"head -c 2000000 /dev/zero > a/b/h; chmod 000 a; truncate -s 8M hole\n"
		"ln -s /usr/bin/env link", 0, "");
	tend(nat, false);
	assert_int_equal(tended.err.code, ERR_NONE);
	assert_int_equal(tended.usage.entries, 7);
	assert_in_range(tended.usage.bytes, 5000000, 5200000);
	nat_expect(nat, "stat -c %a a", 0, "0\n");	/* its mode is as it was */
	nat_expect(nat, "chmod 700 a\n" DEEP(600), 0, "");
	tend(nat, false);
	assert_int_equal(tended.err.code, ERR_LIMIT);
	assert_non_null(strstr(tended.err.text, "nested deeper than 512"));
}

static void
only_what_lies_below_the_state_directory_is_touched(void **state)
{
	struct nat *nat = NAT(state);
	static const char *const paths[] = { "/tmp", "/", "/nonexistent" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct op *op = backend_native.empty(nat->inst, paths[i], on_tended,
			nat);
		(void)op;
		tended.done = false;
		assert_true(real_until(&nat->real, &tended.done));
		assert_int_equal(tended.err.code, ERR_NOT_FOUND);
	}
	/* Cancelled: no word comes. */
	struct op *op = backend_native.measure(nat->inst, nat->workspace,
		on_tended, nat);
	tended.done = false;
	op_cancel(&op);
	nat_expect(nat, "sleep 0.2", 0, "");
	assert_false(tended.done);
}

static char **program_argv;

static void
all_of_this_holds_for_an_ordinary_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(nat_again(program_argv), 0);
}

int
main(int argc, char **argv)
{
#define REAL(f) cmocka_unit_test_setup_teardown(f, nat_setup, nat_teardown)
	const struct CMUnitTest tests[] = {
		REAL(what_a_command_left_is_removed_and_nothing_else),
		REAL(what_it_takes_is_added_up),
		REAL(only_what_lies_below_the_state_directory_is_touched),
		cmocka_unit_test(all_of_this_holds_for_an_ordinary_user),
	};

	(void)argc;
	program_argv = argv;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
