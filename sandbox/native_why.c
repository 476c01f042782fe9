/*
 * Why the sandbox could not be set up, and what to do: from the step that
 * failed, its errno, and the kernel's settings.  Words for people.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/native_priv.h"

static const char *const steps[] = {
	"nothing",
#define X(name, text) text,
	BOX_STEPS(X)
#undef X
};

/* A number in a file under /proc/sys; -1 if there is none. */
static long
setting(const char *path)
{
	char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = 0;
	return strtol(text, NULL, 10);
}

/* Are we under someone else's filter, as in a stock container? */
static bool
filtered(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	const char *line = strstr(text, "\nSeccomp:");
	return line && strtol(line + 9, NULL, 10) != 0;
}

static const char *
why_userns(int errnum)
{
	if (errnum == ENOSPC || setting("/proc/sys/user/max_user_namespaces") == 0)
		return "the limit of user namespaces is 0 or used up; raise it: "
			"sysctl -w user.max_user_namespaces=15000";
	if (setting("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return "user namespaces are switched off for ordinary users; "
			"allow them: sysctl -w kernel.unprivileged_userns_clone=1";
	if (filtered())
		return "a seccomp filter, probably of the container we run in, "
			"forbids user namespaces; start the container with a profile "
			"that allows them (docker: --security-opt seccomp=PROFILE), run "
			"gatehouse outside, or accept less (native.minimum: landlock)";
	if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		return "AppArmor forbids user namespaces to programs without a "
			"profile; install one for gatehouse-helper with the rule "
			"`userns,`, or: sysctl -w "
			"kernel.apparmor_restrict_unprivileged_userns=0";
	if (errnum == EPERM)
		return "the kernel refuses user namespaces here; inside a chroot it "
			"always does: run gatehouse outside, or in a container with its "
			"own root (pivot_root)";
	return "this kernel has no user namespaces (CONFIG_USER_NS)";
}

static const char *
why_map(void)
{
	if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		return "AppArmor takes the rights away inside user namespaces; "
			"install a profile for gatehouse-helper with the rule `userns,`, "
			"or: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
	return "the uid is not ours to map; in a container give it a range of "
		"uids, or set native.uid to one it has";
}

static const char *
why(enum box_step step, int errnum)
{
	if (step == BOX_STEP_USERNS)
		return why_userns(errnum);
	if (step == BOX_STEP_UIDMAP && (errnum == EPERM || errnum == EACCES))
		return why_map();
	if (step == BOX_STEP_PROC && errnum == EPERM)
		return "the /proc here is partly masked, as in a stock container, and "
			"the kernel then allows no new one; start the container with it "
			"unmasked (docker: --security-opt systempaths=unmasked, podman: "
			"--security-opt unmask=ALL), or run gatehouse outside";
	if (step >= BOX_STEP_MOUNTNS && step <= BOX_STEP_PIDNS) {
		if (errnum == ENOSPC)
			return "a limit of namespaces is used up: see `sysctl user`";
		if (errnum == EPERM || errnum == EACCES)
			return "rights are taken away inside user namespaces here, by "
				"AppArmor or another security module; allow "
				"gatehouse-helper there";
		return "this kernel lacks that kind of namespace";
	}
	if ((step == BOX_STEP_STATE || step == BOX_STEP_BIND) && errnum == ESTALE)
		return "it was replaced while gatehouse ran; restart gatehouse";
	if (step == BOX_STEP_WORKSPACE && (errnum == ELOOP || errnum == EXDEV))
		return "a link leads out of the state directory; remove it";
	if ((step == BOX_STEP_WORKSPACE || step == BOX_STEP_BIND) && errnum == EPERM)
		return "gatehouse runs as root but without CAP_SYS_ADMIN, as in a "
			"stock container; start it there as an ordinary user (docker: "
			"--user), give the container that capability, or accept less "
			"(native.minimum: landlock)";
	if (step == BOX_STEP_REQUEST && errnum == EMFILE)
		return "too many sandboxes are open";
	if (step == BOX_STEP_LANDLOCK && errnum == ENOSYS)
		return "this kernel's Landlock does not keep a command's signals from "
			"gatehouse itself; Linux 6.12 or newer does, or start gatehouse "
			"as root, so that commands get a uid of their own";
	if (step == BOX_STEP_REACH)
		return "every directory above it must let others pass; keep the state "
			"in a place like /var/lib/gatehouse (--home) and allow it: "
			"chmod 711 DIRECTORY, or start gatehouse as an ordinary user";
	if (step == BOX_STEP_USER)
		return "gatehouse runs as root but may not change its uid; give it "
			"CAP_SETUID and CAP_SETGID, or run it as an ordinary user";
	if (step == BOX_STEP_UPLINK)
		return "the full network needs /dev/net/tun, usable by the sandbox's "
			"uid (modprobe tun; chmod 666 /dev/net/tun, as systems have it); "
			"else set native.network to none or filtered";
	if (errnum == ENOSYS)
		return "this kernel is too old for it; 5.12 or newer is needed";
	if (step == BOX_STEP_EXEC && errnum == ENOENT)
		return "the root file system has no /bin/bash";
	return NULL;
}

void
native_why(struct err *err, enum box_step step, int errnum, const char *detail)
{
	const char *text = step < BOX_STEP_END ? steps[step] : "an unknown step";
	const char *cause = why(step, errnum);
	bool colon = detail && *detail;

	err_set(err, errnum == ENOENT ? ERR_NOT_FOUND : ERR_UNAVAILABLE,
		"native sandbox: could not %s%s%s (%s)%s%s", text,
		colon ? " " : "", colon ? detail : "", strerror(errnum),
		cause ? ": " : "", cause ? cause : "");
}
