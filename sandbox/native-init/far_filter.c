/*
 * A command in a container makes no user namespace, whatever the engine's own
 * system call filter says: docker's refuses them, podman's doesn't.  A new user
 * namespace gives all capabilities within, and with them the parts of the kernel
 * that are tested least.  This filter is added to the engine's, which stays.
 *
 * clone3 is answered ENOSYS, for its flags lie behind a pointer; libraries use
 * clone then.  What has no row below (another kind of program than this machine's)
 * is answered ENOSYS, too.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "sandbox/native-init/far.h"

#define FLAGS_LOW (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0)
#ifdef __s390x__
#define CLONE_FLAGS_ARG 1
#else
#define CLONE_FLAGS_ARG 0
#endif
#define X32_BIT 0x40000000u

static const struct row {
	uint32_t arch, unshare, clone, clone3;
} rows[] = {
#if defined(__x86_64__)
	{ AUDIT_ARCH_X86_64, SYS_unshare, SYS_clone, 435 },
	{ AUDIT_ARCH_I386, 310, 120, 435 },
#elif defined(__aarch64__)
	{ AUDIT_ARCH_AARCH64, SYS_unshare, SYS_clone, 435 },
	{ AUDIT_ARCH_ARM, 337, 120, 435 },
#elif defined(__s390x__)
	{ AUDIT_ARCH_S390X, SYS_unshare, SYS_clone, 435 },
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	{ AUDIT_ARCH_PPC64LE, SYS_unshare, SYS_clone, 435 },
#elif defined(__riscv)
	{ AUDIT_ARCH_RISCV64, SYS_unshare, SYS_clone, 435 },
#endif
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define ROW_LEN 14u

struct program {
	struct sock_filter code[2 + ROWS * ROW_LEN];
	unsigned n;
};

static void
put(struct program *p, uint16_t code, uint32_t k, unsigned yes, unsigned no)
{
	p->code[p->n++] = (struct sock_filter){ code, (uint8_t)yes, (uint8_t)no, k };
}

static void
load(struct program *p, size_t offset)
{
	put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void
answer(struct program *p, int errnum)
{
	put(p, BPF_RET | BPF_K, errnum ? SECCOMP_RET_ERRNO | (uint32_t)errnum :
	    SECCOMP_RET_ALLOW, 0, 0);
}

/* Entered with the architecture loaded, and left so if it is another. */
static void
put_row(struct program *p, const struct row *row)
{
	unsigned begin = p->n;

	put(p, BPF_JMP | BPF_JEQ | BPF_K, row->arch, 0, ROW_LEN - 1);
	load(p, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
	put(p, BPF_ALU | BPF_AND | BPF_K, ~X32_BIT, 0, 0);
#else
	put(p, BPF_ALU | BPF_OR | BPF_K, 0, 0, 0);
#endif
	put(p, BPF_JMP | BPF_JEQ | BPF_K, row->clone3, 9, 0);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, row->unshare, 2, 0);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, row->clone, 3, 0);
	answer(p, 0);
	load(p, offsetof(struct seccomp_data, args[0]) + FLAGS_LOW);
	put(p, BPF_JMP | BPF_JA, 1, 0, 0);
	load(p, offsetof(struct seccomp_data, args[CLONE_FLAGS_ARG]) + FLAGS_LOW);
	put(p, BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 1, 0);
	answer(p, 0);
	answer(p, EPERM);
	answer(p, ENOSYS);
	_Static_assert(ROW_LEN == 14, "jumps above");
	if (p->n - begin != ROW_LEN)
		__builtin_trap();
}

int
far_refuse_userns(void)
{
	struct program p = { .n = 0 };

	load(&p, offsetof(struct seccomp_data, arch));
	for (size_t i = 0; i < ROWS; i++)
		put_row(&p, &rows[i]);
	answer(&p, ENOSYS);
	struct sock_fprog prog = { (unsigned short)p.n, p.code };
	if (ROWS == 0) {
		errno = ENOTSUP;
		return -1;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}
