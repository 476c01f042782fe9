/*
 * no_userns PROGRAM ARG...: runs it as in a container with an engine's usual
 * filter, in which nobody makes namespaces or mounts.
 */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *const refused[] = {
	"mount", "umount2", "pivot_root", "setns", "open_tree", "move_mount",
	"fsopen", "fsmount", "mount_setattr",
};

int
main(int argc, char **argv)
{
	static const unsigned namespaces = CLONE_NEWNS | CLONE_NEWCGROUP |
		CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
		CLONE_NEWNET;
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	/* Of other architectures it knows nothing and says nothing. */
	int failed = ctx == NULL || argc < 2 ||
		seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);

	for (size_t i = 0; !failed && i < sizeof(refused) / sizeof(refused[0]); i++)
		failed = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
			seccomp_syscall_resolve_name(refused[i]), 0);
	for (unsigned bit = 1u << 17; !failed && bit; bit <<= 1) {
		if (!(namespaces & bit))
			continue;
		failed = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare),
			1, SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit)) ||
			seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit));
	}
	if (failed || seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS),
	    SCMP_SYS(clone3), 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    seccomp_load(ctx)) {
		fprintf(stderr, "no_userns: the filter could not be set\n");
		return 125;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 126;
}
