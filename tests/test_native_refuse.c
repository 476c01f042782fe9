/*
 * The native sandbox where something is refused, limited, bound or taken from
 * an image.  Real, as root and as an ordinary user.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/real_native.h"

static void
a_workspace_that_is_a_link_out_is_refused(void **state)
{
	struct nat *nat = NAT(state);
	CLEANUP_FREE char *link = mem_printf("%s/link", nat->state);

	nat_close(nat);
	assert_int_equal(symlink("/etc", link), 0);
	mem_free(nat->workspace);
	nat->workspace = mem_str(link);
	assert_false(nat_open(nat));
	assert_non_null(strstr(nat->error, "link"));
	assert_int_equal(unlink(link), 0);
}

static void
refusals_name_cause_and_cure(void **state)
{
	struct nat nat;
	struct native_opts net = { .network = "bridge" };
	struct native_bind state_bind = { "/", "/host", false };
	struct native_bind dev_bind = { "/dev", "/data/dev", false };
	struct native_bind etc_bind = { "/usr/share", "/etc/x", false };
	struct native_bind workspace_bind = { "/usr/share", "/workspace/x", false };
	struct native_opts binds = { .binds = &state_bind, .nbinds = 1 };

	(void)state;
	assert_false(nat_start(&nat, &net, NULL));
	assert_non_null(strstr(nat.error, "none"));
	nat_stop(&nat);
	assert_false(nat_start(&nat, &nat_defaults, "debian:12"));
	assert_non_null(strstr(nat.error, "directory"));
	nat_stop(&nat);
	assert_false(nat_start(&nat, &nat_defaults, "/usr/share"));
	assert_non_null(strstr(nat.error, "/bin/sh"));
	nat_stop(&nat);
	assert_false(nat_start(&nat, &binds, NULL));
	assert_non_null(strstr(nat.error, "state"));
	nat_stop(&nat);
	binds.binds = &dev_bind;
	assert_false(nat_start(&nat, &binds, NULL));
	nat_stop(&nat);
	binds.binds = &etc_bind;
	assert_false(nat_start(&nat, &binds, NULL));
	nat_stop(&nat);
	binds.binds = &workspace_bind;
	assert_false(nat_start(&nat, &binds, NULL));
	nat_stop(&nat);
}

static void
binds_are_read_only_unless_said_and_count_in_the_isolation(void **state)
{
	(void)NAT(state);
	char ro[] = "/tmp/ghbind-XXXXXX", rw[] = "/tmp/ghbind-XXXXXX";
	assert_non_null(mkdtemp(ro));
	assert_non_null(mkdtemp(rw));
	assert_int_equal(chmod(rw, 0777), 0);
	assert_int_equal(chmod(ro, 0777), 0);
	struct native_bind list[] = { { ro, "/data/ro", false }, { rw, "/data/rw", true } };
	struct native_opts opts = { .binds = list, .nbinds = 2 };
	struct nat nat;

	assert_true(nat_start(&nat, &opts, NULL));
	assert_true(nat_probe(&nat));
	assert_int_equal(nat.props.isolation, SANDBOX_ISOLATED & ~SANDBOX_NO_HOST_FILES);
	assert_true(nat_open(&nat));
	nat_expect(&nat, "echo x > /data/rw/f && cat /data/rw/f; echo x > /data/ro/f", 1, NULL);
	CLEANUP_FREE char *made = mem_printf("%s/f", rw);
	assert_int_equal(access(made, F_OK), 0);
	unlink(made);
	/* Exchanged behind our back: what would be bound is not what was meant. */
	nat_close(&nat);
	CLEANUP_FREE char *moved = mem_printf("%s.moved", rw);
	assert_int_equal(rename(rw, moved), 0);
	assert_int_equal(symlink("/etc", rw), 0);
	assert_false(nat_open(&nat));
	assert_non_null(strstr(nat.error, "replaced"));
	nat_stop(&nat);
	unlink(rw);
	rmdir(ro);
	rmdir(moved);
}

static void
limits_hold(void **state)
{
	(void)NAT(state);
	struct native_opts opts = {
		.memory_max = 192u << 20, .pids_max = 40, .files_max = 64,
		.file_size_max = 8u << 20, .tmp_max = 16u << 20,
	};
	struct nat nat;

	assert_true(nat_start(&nat, &opts, NULL));
	assert_true(nat_open(&nat));
	nat_expect(&nat, "ulimit -n; ulimit -c", 0, "64\n0\n");
	nat_expect(&nat, "head -c 9000000 /dev/zero > f", 128 + SIGXFSZ, NULL);
	nat_expect(&nat, "head -c 9000000 /dev/zero > f; stat -c %s f", 0, NULL);
	nat_expect(&nat, "for i in 1 2 3; do head -c 7000000 /dev/zero > /tmp/$i || exit 9; done",
		9, NULL);
	nat_expect(&nat, "grep -qm1 unavailable < <(for i in $(seq 60); do "
		"sleep 300 >/dev/null 2>&1 & done 2>&1) && exit 9", 9, NULL);
	struct nat_run run;
	nat_run(&nat, &run, "x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo got");
	assert_null(strstr(run.out.data, "got"));
	nat_run_done(&run);
	nat_close(&nat);
	assert_true(nat_open(&nat));
	nat_expect(&nat, "echo fine", 0, "fine\n");
	nat_stop(&nat);
}

/*
 * By cgroup, where there is one: no more than its part of the time, however
 * idle the machine is.  Else each process has so many seconds and no more.
 * Which of both is in force is said.
 */
static void
cpu_is_limited(void **state)
{
	(void)NAT(state);
	struct native_opts opts = { .cpu_milli = 250, .cpu_seconds = 7 };
	struct nat nat;

	assert_true(nat_start(&nat, &opts, NULL));
	assert_true(nat_probe(&nat));
	assert_true(nat_open(&nat));
	bool shared = strstr(nat.props.limits, "cpu 0.250 at half share (cgroup)");
	if (!shared)
		assert_non_null(strstr(nat.props.limits, "cpu 7 s (each process"));
	nat_expect(&nat, "ulimit -t", 0, shared ? "unlimited\n" : "7\n");
	if (shared)
		nat_expect(&nat, "now() { echo $((10#${EPOCHREALTIME/./})); }; a=$(now);"
			"while [ $(($(now) - a)) -lt 800000 ]; do :; done;"
			"t=$(awk '{ print $14 + $15 + $16 + $17 }' /proc/$$/stat);"
			"[ $t -lt 50 ] || echo $t of 80 ticks", 0, "");
	nat_stop(&nat);
}

/* What all may hold in memory has a bound, and one alone must fit. */
static void
the_sum_of_tmpfs_is_bounded(void **state)
{
	(void)NAT(state);
	struct native_opts opts = { .tmp_max = 16u << 20, .tmp_total = 17u << 20 };
	struct nat nat;

	assert_false(nat_start(&nat, &opts, NULL));
	assert_non_null(strstr(nat.error, "native.tmp_total"));
	nat_stop(&nat);
	opts.tmp_total = 40u << 20;
	assert_true(nat_start(&nat, &opts, NULL));
	assert_true(nat_probe(&nat));
	assert_int_equal(nat.props.boxes_max, 2);
	assert_non_null(strstr(nat.props.limits, "2 sandboxes at a time"));
	nat_stop(&nat);
}

/* In the state directory, so that it is there for whom a probe runs as. */
static char *
copy_to(struct nat *nat, const char *from, const char *name)
{
	static char block[1 << 16];
	char *to = mem_printf("%s/%s", nat->state, name);
	CLEANUP_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, block, sizeof(block))) > 0)
		assert_int_equal(write(out, block, (size_t)n), n);
	return to;
}

/*
 * A machine that forbids something, as far as an ordinary user can make one:
 * runs this program with --probe under the given shell line; what it says.
 */
static char *
probe_under(struct nat *nat, const char *line)
{
	static char text[4096];
	CLEANUP_FREE char *self = copy_to(nat, "/proc/self/exe", "self");
	CLEANUP_FREE char *helper = copy_to(nat, getenv("GATEHOUSE_HELPER"), "helper");
	int out[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(out[1], 1);
		dup2(out[1], 2);
		setenv("SELF", self, 1);
		setenv("GATEHOUSE_HELPER", helper, 1);
		execl("/bin/bash", "bash", "-c", line, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	size_t len = 0;
	ssize_t n;
	while ((n = read(out[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = 0;
	close(out[0]);
	waitpid(pid, NULL, 0);
	return text;
}

static void
expect_refusal(struct nat *nat, const char *line, const char *step, const char *cure)
{
	char *text = probe_under(nat, line);

	if (!strstr(text, step) || !strstr(text, cure))
		fail_msg("`%s` gave: %s", line, text);
}

static void
each_kind_of_refusal_names_its_own_cause_and_cure(void **state)
{
	struct nat *nat = NAT(state);

	expect_refusal(nat, "unshare -Ur bash -c 'echo 0 >/proc/sys/user/"
		"max_user_namespaces; exec $SELF --probe'",
		"create a user namespace", "sysctl -w user.max_user_namespaces");
	expect_refusal(nat, "unshare -Urm bash -c 'mount --bind /dev/null /proc/kallsyms; "
		"exec $SELF --probe'", "mount a new /proc", "systempaths=unmasked");
	expect_refusal(nat, "exec $SELF --probe-filtered", "create a user namespace",
		"seccomp=PROFILE");
	expect_refusal(nat, "d=$(mktemp -d); unshare -Urm bash -c \"mount --rbind / $d; "
		"cd $d; exec chroot $d $SELF --probe\"; rmdir $d",
		"create a user namespace", "chroot");
}

static void
root_of_a_namespace_without_our_uid_uses_its_own(void **state)
{
	struct nat *nat = NAT(state);
	char *text = probe_under(nat, "exec unshare -Ur $SELF --probe");

	if (strcmp(text, "available\n") != 0)
		fail_msg("%s", text);
}

static void
an_image_is_what_the_sandbox_sees(void **state)
{
	static const char make[] =
		"set -e; cd \"$0\"; mkdir -p img/bin img/etc img/lib64 img/opt; "
		"cp /bin/bash img/bin/; cp /bin/bash img/bin/sh; echo mine > img/etc/issue; "
		"ldd /bin/bash | grep -o '/[^ ]*' | while read -r f; do "
		"mkdir -p img/${f%/*}; cp -L $f img/$f; done; chmod -R go+rX img";
	struct nat *outer = NAT(state);
	CLEANUP_FREE char *image = mem_printf("%s/img", outer->state);
	struct nat nat;
	int status;

	pid_t pid = fork();
	if (pid == 0) {
		execl("/bin/bash", "bash", "-c", make, outer->state, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(chmod(outer->state, 0755), 0);
	if (!nat_start(&nat, &nat_defaults, image) || !nat_probe(&nat) || !nat_open(&nat))
		fail_msg("%s", nat.error);
	assert_string_equal(nat.props.image, image);
	nat_expect(&nat, "read -r x < /etc/issue; echo $x; [ -e /usr/bin/env ] || echo none; "
		"echo x > f; read -r y < f; echo $y; echo no > /etc/issue", 1,
		"mine\nnone\nx\nbash: line 2: /etc/issue: Read-only file system\n");
	nat_stop(&nat);
	assert_false(nat_start(&nat, &nat_defaults, "/"));
	assert_non_null(strstr(nat.error, "state"));
	nat_stop(&nat);
}

/* What probe_under() starts. */
static int
probe_only(bool filtered)
{
	struct nat nat;

	if (filtered) {
		scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
		if (!ctx || seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
		    SCMP_SYS(unshare), 0) < 0 || seccomp_load(ctx) < 0)
			return 1;
		seccomp_release(ctx);
	}
	if (!nat_start(&nat, &nat_defaults, NULL)) {
		puts(nat.error);
		return 1;
	}
	puts(nat_probe(&nat) ? "available" : nat.props.why);
	nat_stop(&nat);
	return 0;
}

static char **program_argv;

static void
all_of_this_holds_for_an_ordinary_user(void **state)
{
	(void)state;
	if (geteuid() != 0 || getenv("GATEHOUSE_TEST_AGAIN"))
		skip();
	assert_int_equal(nat_again(program_argv), 0);
}

int
main(int argc, char **argv)
{
#define REAL(f) cmocka_unit_test_setup_teardown(f, nat_setup, nat_teardown)
	const struct CMUnitTest tests[] = {
		REAL(a_workspace_that_is_a_link_out_is_refused),
		cmocka_unit_test(refusals_name_cause_and_cure),
		REAL(binds_are_read_only_unless_said_and_count_in_the_isolation),
		REAL(limits_hold),
		REAL(cpu_is_limited),
		REAL(the_sum_of_tmpfs_is_bounded),
		REAL(each_kind_of_refusal_names_its_own_cause_and_cure),
		REAL(root_of_a_namespace_without_our_uid_uses_its_own),
		REAL(an_image_is_what_the_sandbox_sees),
		cmocka_unit_test(all_of_this_holds_for_an_ordinary_user),
	};

	program_argv = argv;
	if (argc == 2 && strncmp(argv[1], "--probe", 7) == 0)
		return probe_only(strcmp(argv[1], "--probe-filtered") == 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
