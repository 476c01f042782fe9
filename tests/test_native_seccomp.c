/*
 * The filter program itself, run by a small interpreter of classic BPF, so
 * that every rule is seen, also those for what this kernel doesn't have.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "sandbox/native_priv.h"

static struct sock_filter *program;
static size_t length;

static uint32_t
alu(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_AND:
		return a & k;
	case BPF_OR:
		return a | k;
	default:
		fail_msg("unexpected instruction 0x%x", code);
		return 0;
	}
}

static bool
jump(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	case BPF_JSET:
		return (a & k) != 0;
	default:
		fail_msg("unexpected jump 0x%x", code);
		return false;
	}
}

static uint32_t
interpret(const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < length; pc++) {
		const struct sock_filter *i = &program[pc];
		if (BPF_CLASS(i->code) == BPF_RET)
			return i->k;
		if (BPF_CLASS(i->code) == BPF_LD) {
			assert_true(i->k + 4 <= sizeof(*data));
			memcpy(&a, (const char *)data + i->k, 4);
		} else if (BPF_CLASS(i->code) == BPF_ALU) {
			a = alu(i->code, a, i->k);
		} else if (i->code == (BPF_JMP | BPF_JA)) {
			pc += i->k;
		} else if (BPF_CLASS(i->code) == BPF_JMP) {
			pc += jump(i->code, a, i->k) ? i->jt : i->jf;
		} else {
			fail_msg("unexpected instruction 0x%x", i->code);
		}
	}
	fail_msg("the program has no end");
	return 0;
}

static uint32_t
verdict_nr(int nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	struct seccomp_data data = {
		.nr = nr, .arch = seccomp_arch_native(), .args = { a0, a1, a2 },
	};

	return interpret(&data);
}

static uint32_t
verdict(const char *name, uint64_t a0, uint64_t a1, uint64_t a2)
{
	int nr = seccomp_syscall_resolve_name(name);

	if (nr < 0)
		skip();
	return verdict_nr(nr, a0, a1, a2);
}

#define ALLOW SECCOMP_RET_ALLOW
#define ERR(e) (SECCOMP_RET_ERRNO | (e))

static void
ordinary_calls_pass(void **state)
{
	static const char *const names[] = {
		"read", "write", "openat", "execve", "wait4", "exit_group", "futex",
		"kill", "fork", "vfork", "mmap", "getrandom", "memfd_create",
		"landlock_restrict_self", "seccomp", "prctl", "close_range",
		"rt_sigaction", "epoll_wait", "statx", "renameat2", "pidfd_open",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (verdict(names[i], 0, 0, 0) != ALLOW)
			fail_msg("%s is refused", names[i]);
}

static void
socket_families_and_types(void **state)
{
	(void)state;
	for (uint64_t family = 0; family < 60; family++) {
		bool good = family == AF_UNSPEC || family == AF_UNIX ||
			family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
		for (int high = 0; high < 2; high++) {
			uint64_t arg = family | (high ? 1ull << 32 : 0);
			uint32_t got = verdict("socket", arg, SOCK_STREAM, 0);
			if (!good && got != ERR(EAFNOSUPPORT))
				fail_msg("family 0x%llx gives 0x%x", (unsigned long long)arg, got);
			if (good && !high && got != ALLOW)
				fail_msg("family %llu is refused", (unsigned long long)arg);
		}
	}
	assert_int_equal(verdict("socket", AF_INET, SOCK_RAW, 1), ERR(EPERM));
	assert_int_equal(verdict("socket", AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58),
		ERR(EPERM));
	assert_int_equal(verdict("socket", AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), ALLOW);
	assert_int_equal(verdict("socket", AF_NETLINK, SOCK_RAW, 0), ALLOW);
	for (uint64_t protocol = 1; protocol < 32; protocol++)
		assert_int_equal(verdict("socket", AF_NETLINK, SOCK_RAW, protocol),
			ERR(EPERM));
	assert_int_equal(verdict("socketpair", AF_UNIX, SOCK_STREAM, 0), ALLOW);
	assert_int_equal(verdict("socketpair", 30, SOCK_STREAM, 0), ERR(EAFNOSUPPORT));
}

static void
namespace_flags_of_clone_each_and_together(void **state)
{
	static const uint64_t flags[] = {
		0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000,
		0x40000000,
	};

	(void)state;
	/* A thread of libc, a fork, a vfork. */
	assert_int_equal(verdict("clone", 0x3d0f00, 0, 0), ALLOW);
	assert_int_equal(verdict("clone", 0x1200011, 0, 0), ALLOW);
	assert_int_equal(verdict("clone", 0x4111, 0, 0), ALLOW);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		assert_int_equal(verdict("clone", flags[i] | 17, 0, 0), ERR(EPERM));
		assert_int_equal(verdict("clone", flags[i] | 0x3d0f00, 0, 0), ERR(EPERM));
	}
	assert_int_equal(verdict("clone3", 0, 88, 0), ERR(ENOSYS));
}

static void
arguments_are_compared_as_the_kernel_reads_them(void **state)
{
	(void)state;
	assert_int_equal(verdict("ioctl", 0, TIOCSTI, 0), ERR(EPERM));
	assert_int_equal(verdict("ioctl", 0, TIOCSTI | 1ull << 32, 0), ERR(EPERM));
	assert_int_equal(verdict("ioctl", 0, TIOCLINUX | 7ull << 40, 0), ERR(EPERM));
	assert_int_equal(verdict("ioctl", 0, TIOCGWINSZ, 0), ALLOW);
	assert_int_equal(verdict("mknodat", 0, 0, S_IFCHR | 0600), ERR(EPERM));
	assert_int_equal(verdict("mknodat", 0, 0, S_IFBLK), ERR(EPERM));
	assert_int_equal(verdict("mknodat", 0, 0, S_IFIFO | 0600), ALLOW);
	assert_int_equal(verdict("mknodat", 0, 0, S_IFSOCK), ALLOW);
	assert_int_equal(verdict("mknod", 0, S_IFCHR, 0), ERR(EPERM));
	assert_int_equal(verdict("mknod", 0, S_IFREG, 0), ALLOW);
	assert_int_equal(verdict("prlimit64", 0, 7, 0), ALLOW);
	assert_int_equal(verdict("prlimit64", 1, 7, 0), ERR(EPERM));
	assert_int_equal(verdict("personality", 0xffffffff, 0, 0), ALLOW);
	assert_int_equal(verdict("personality", 0x400000, 0, 0), ERR(EPERM));
}

static void
numbers_above_the_known_and_foreign_abis_are_refused(void **state)
{
	(void)state;
	for (int nr = 1000; nr < 100000; nr += 997)
		assert_int_equal(verdict_nr(nr, 0, 0, 0), ERR(ENOSYS));
	/* x32: the bit that marks its numbers. */
	assert_int_equal(verdict_nr(0x40000000 | 39, 0, 0, 0), ERR(ENOSYS));
	assert_int_equal(verdict_nr(-1, 0, 0, 0), ERR(ENOSYS));
	struct seccomp_data data = { .nr = 1, .arch = AUDIT_ARCH_I386 };
	assert_int_equal(interpret(&data), SECCOMP_RET_KILL_PROCESS);
	data.arch = AUDIT_ARCH_ARM;
	assert_int_equal(interpret(&data), SECCOMP_RET_KILL_PROCESS);
}

static int
build(void **state)
{
	struct err err = { ERR_NONE, "" };

	(void)state;
	program = native_seccomp_build(BOX_FULL, &length, &err);
	if (!program)
		fail_msg("%s", err.text);
	length /= sizeof(*program);
	/* The kernel's own bound. */
	assert_true(length <= BPF_MAXINSNS);
	return 0;
}

static int
drop(void **state)
{
	(void)state;
	mem_free(program);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_calls_pass),
		cmocka_unit_test(socket_families_and_types),
		cmocka_unit_test(namespace_flags_of_clone_each_and_together),
		cmocka_unit_test(arguments_are_compared_as_the_kernel_reads_them),
		cmocka_unit_test(numbers_above_the_known_and_foreign_abis_are_refused),
	};

	return cmocka_run_group_tests(tests, build, drop);
}
