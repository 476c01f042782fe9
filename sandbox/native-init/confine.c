/* What a command may not do: capabilities, resource limits, system calls. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

int
confine_caps(bool keep_sys_admin)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];
	unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
		SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
		SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
		SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	/* Once, by init, while it may: no exec ever gains a capability or an
	 * id again, for it and for all below it. */
	if (keep_sys_admin) {
		for (unsigned long cap = 0; cap < 64; cap++)
			if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
				return -1;
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
		    prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
			return -1;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			return -1;
	}
	memset(data, 0, sizeof(data));
	if (keep_sys_admin) {
		data[0].permitted = 1u << CAP_SYS_ADMIN;
		data[0].effective = 1u << CAP_SYS_ADMIN;
	}
	return (int)syscall(SYS_capset, &header, data);
}

static int
limit(int resource, uint64_t max)
{
	struct rlimit now, want = { .rlim_cur = max, .rlim_max = max };

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return -1;
	/* Never above what we were started with: raising needs a right. */
	if (now.rlim_max < want.rlim_max)
		want.rlim_cur = want.rlim_max = now.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &want);
}

int
confine_rlimits(const struct box *box)
{
	const struct seal *seal = box->seal;

	if (limit(RLIMIT_CORE, 0) < 0 ||
	    limit(RLIMIT_NOFILE, seal->files_max) < 0 ||
	    limit(RLIMIT_FSIZE, seal->file_size_max) < 0)
		return -1;
	/* Counted per user namespace, so this is the sandbox's own sum. */
	if (limit(RLIMIT_NPROC, seal->pids_max) < 0)
		return -1;
	/* Without a cgroup at least each process is bounded. */
	if (!box->cpu_limited && limit(RLIMIT_CPU, seal->cpu_seconds) < 0)
		return -1;
	/* DATA, not AS: run-times reserve far more address space than they use. */
	if (!box->memory_limited && limit(RLIMIT_DATA, seal->memory_max) < 0)
		return -1;
	return 0;
}

int
confine_no_new_privs(void)
{
	/* Dropping needs a right that an ordinary user lacks; without new
	 * privileges the set bounds nothing. */
	for (unsigned long cap = 0; cap < 64; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int
confine_seccomp(const struct box *box)
{
	const struct seal_filter *filter = &box->seal->filters[box->level];
	struct sock_fprog program = {
		.len = (unsigned short)(filter->len / sizeof(struct sock_filter)),
		.filter = filter->program,
	};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
