/*
 * The system call filter of native.  Built once by the gateway with
 * libseccomp, handed to the helper as a ready program.
 *
 * Default allow, with what follows refused, and every number above the highest
 * one known to libseccomp answered ENOSYS: a kernel newer than our list brings
 * nothing new in, and programs fall back as on an old kernel.  EPERM rather
 * than a kill, as programs cope with it.  A 32-bit program is killed at its
 * first call; x32 numbers lie above the highest known.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/native_priv.h"

#define LOW32 0xffffffffull	/* the kernel looks at no more of an int */
#define SYSCALLS_END 1024
#define PROGRAM_MAX (16u * 1024)

static const char *const refused[] = {
	/* other processes' memory, files, keys */
	"ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd",
	"process_madvise", "keyctl", "add_key", "request_key",
	/* kernel surfaces with a record of holes */
	"bpf", "perf_event_open", "userfaultfd", "io_uring_setup",
	"io_uring_enter", "io_uring_register", "memfd_secret",
	/* mounts and namespaces */
	"mount", "umount", "umount2", "pivot_root", "chroot", "move_mount",
	"open_tree", "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick",
	"mount_setattr", "setns", "unshare",
	/* files by handle: around any path check */
	"open_by_handle_at", "name_to_handle_at",
	/* the machine */
	"kexec_load", "kexec_file_load", "init_module", "finit_module",
	"delete_module", "create_module", "query_module", "get_kernel_syms",
	"reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd",
	"syslog", "iopl", "ioperm", "settimeofday", "stime", "clock_settime",
	"clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex",
	"sethostname", "setdomainname", "vhangup", "lookup_dcookie",
	"nfsservctl", "uselib", "ustat", "sysfs", "_sysctl", "lsm_set_self_attr",
	/* watching the file system, moving memory between nodes */
	"fanotify_init", "fanotify_mark", "mbind", "set_mempolicy",
	"set_mempolicy_home_node", "migrate_pages", "move_pages",
};

/* A call this architecture lacks is no rule; any other failure ends it all. */
static int
refuse(scmp_filter_ctx ctx, const char *name, int errnum, unsigned n,
	const struct scmp_arg_cmp *args)
{
	int nr = seccomp_syscall_resolve_name(name);

	if (nr < 0)
		return 0;
	return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO((uint32_t)errnum), nr, n,
		args);
}

static int
refuse_masked(scmp_filter_ctx ctx, const char *name, unsigned arg, uint64_t mask,
	uint64_t value)
{
	const struct scmp_arg_cmp cmp = SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, mask, value);

	return refuse(ctx, name, EPERM, 1, &cmp);
}

static int
rules_namespaces(scmp_filter_ctx ctx)
{
	static const uint64_t flags[] = {
		CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
		CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,
	};
#if defined(__s390x__)
	const unsigned arg = 1;
#else
	const unsigned arg = 0;
#endif

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (refuse_masked(ctx, "clone", arg, flags[i], flags[i]) < 0)
			return -1;
	/* Its flags are in memory, where no filter sees them; libc then uses
	 * clone. */
	return refuse(ctx, "clone3", ENOSYS, 0, NULL);
}

static int
rules_sockets(scmp_filter_ctx ctx)
{
	static const char *const calls[] = { "socket", "socketpair" };
	static const int inet[] = { AF_INET, AF_INET6 };

	for (size_t c = 0; c < ARRAY_LEN(calls); c++) {
		for (unsigned family = 3; family < AF_NETLINK; family++) {
			const struct scmp_arg_cmp cmp = SCMP_CMP64(0,
				SCMP_CMP_MASKED_EQ, LOW32, family);
			if (family != AF_INET6 &&
			    refuse(ctx, calls[c], EAFNOSUPPORT, 1, &cmp) < 0)
				return -1;
		}
		const struct scmp_arg_cmp above = SCMP_CMP64(0, SCMP_CMP_GT, AF_NETLINK);
		if (refuse(ctx, calls[c], EAFNOSUPPORT, 1, &above) < 0)
			return -1;
	}
	/* NETLINK_ROUTE is how libc lists interfaces; the rest is kernel surface. */
	const struct scmp_arg_cmp netlink[] = {
		SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, LOW32, AF_NETLINK),
		SCMP_CMP64(2, SCMP_CMP_NE, 0),
	};
	if (refuse(ctx, "socket", EPERM, 2, netlink) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(inet); i++) {
		const struct scmp_arg_cmp raw[] = {
			SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, LOW32, (uint64_t)inet[i]),
			SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, 0xf, SOCK_RAW),
		};
		if (refuse(ctx, "socket", EPERM, 2, raw) < 0)
			return -1;
	}
	return 0;
}

/*
 * Without a network and an IPC namespace: no socket at all (a path may lead to
 * one that answers to our uid) but connected pairs, no System V IPC, no queues,
 * and the scheduling of nobody else.
 */
static int
rules_bare(scmp_filter_ctx ctx)
{
	static const char *const calls[] = {
		"shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl",
		"msgget", "msgsnd", "msgrcv", "msgctl", "ipc", "mq_open", "mq_unlink",
		"sched_setscheduler", "sched_setparam", "sched_setattr", "ioprio_set",
		"process_mrelease", "setpriority",
	};
	const struct scmp_arg_cmp not_self = SCMP_CMP64(0, SCMP_CMP_NE, 0);
	const struct scmp_arg_cmp not_unix = SCMP_CMP64(0, SCMP_CMP_NE, AF_UNIX);

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (refuse(ctx, calls[i], EPERM, 0, NULL) < 0)
			return -1;
	if (refuse(ctx, "socket", EACCES, 0, NULL) < 0 ||
	    refuse(ctx, "socketpair", EAFNOSUPPORT, 1, &not_unix) < 0)
		return -1;
	return refuse(ctx, "sched_setaffinity", EPERM, 1, &not_self);
}

static int
rules_arguments(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp not_query = SCMP_CMP64(0, SCMP_CMP_NE, LOW32);
	const struct scmp_arg_cmp not_self = SCMP_CMP64(0, SCMP_CMP_NE, 0);

	/* Typing into a terminal that others read. Masked: high bits of the
	 * request are ignored by the kernel, too. */
	if (refuse_masked(ctx, "ioctl", 1, LOW32, TIOCSTI) < 0 ||
	    refuse_masked(ctx, "ioctl", 1, LOW32, TIOCLINUX) < 0)
		return -1;
	/* Devices; fifos, sockets and files stay possible. */
	if (refuse_masked(ctx, "mknod", 1, S_IFMT, S_IFCHR) < 0 ||
	    refuse_masked(ctx, "mknod", 1, S_IFMT, S_IFBLK) < 0 ||
	    refuse_masked(ctx, "mknodat", 2, S_IFMT, S_IFCHR) < 0 ||
	    refuse_masked(ctx, "mknodat", 2, S_IFMT, S_IFBLK) < 0)
		return -1;
	/* Limits of another process: PID 1 of the command has our uid. */
	if (refuse(ctx, "prlimit64", EPERM, 1, &not_self) < 0)
		return -1;
	return refuse(ctx, "personality", EPERM, 1, &not_query);
}

static int
rules_all(scmp_filter_ctx ctx, enum box_level level)
{
	if (seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (refuse(ctx, refused[i], EPERM, 0, NULL) < 0)
			return -1;
	if (level == BOX_BARE ? rules_bare(ctx) < 0 : rules_sockets(ctx) < 0)
		return -1;
	return rules_namespaces(ctx) < 0 || rules_arguments(ctx) < 0 ? -1 : 0;
}

static unsigned
highest_known(uint32_t arch)
{
	unsigned highest = 0;

	for (int nr = 0; nr < SYSCALLS_END; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(arch, nr);
		if (name)
			highest = (unsigned)nr;
		free(name);
	}
	return highest;
}

/* libseccomp writes to a descriptor only. */
static size_t
export_program(scmp_filter_ctx ctx, struct sock_filter *out, size_t max)
{
	int fd = memfd_create("seccomp", MFD_CLOEXEC);
	ssize_t n = -1;

	if (fd < 0)
		return 0;
	if (seccomp_export_bpf(ctx, fd) == 0)
		n = pread(fd, out, max * sizeof(*out), 0);
	close(fd);
	return n > 0 && (size_t)n < max * sizeof(*out) ? (size_t)n / sizeof(*out) : 0;
}

void *
native_seccomp_build(enum box_level level, size_t *ret_len, struct err *err)
{
	uint32_t arch = seccomp_arch_native();
	unsigned highest = highest_known(arch);
	const struct sock_filter head[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, highest, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};
	struct sock_filter *program = mem_array(PROGRAM_MAX / sizeof(*program),
		sizeof(*program));
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	size_t n = 0;

	if (ctx && highest && rules_all(ctx, level) == 0)
		n = export_program(ctx, program + ARRAY_LEN(head),
			PROGRAM_MAX / sizeof(*program) - ARRAY_LEN(head));
	if (ctx)
		seccomp_release(ctx);
	if (n == 0) {
		mem_free(program);
		err_set(err, ERR_INTERNAL, "the system call filter of the native "
			"sandbox could not be built with this libseccomp");
		return NULL;
	}
	memcpy(program, head, sizeof(head));
	*ret_len = (n + ARRAY_LEN(head)) * sizeof(*program);
	return program;
}
