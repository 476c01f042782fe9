/*
 * A command's own /proc: mounted for its PID namespace, so it shows no other
 * command; kernel settings read-only; what tells about the host is covered.
 * Done again for each command, as mounts below the session's /proc don't show
 * up below a new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

int mount(const char *source, const char *target, const char *type,
	unsigned long flags, const void *data);

static const char *const read_only[] = {
	"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs",
};
static const char *const masked_files[] = {
	"/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kmsg",
	"/proc/kallsyms", "/proc/timer_list", "/proc/latency_stats",
	"/proc/sched_debug", "/proc/kpagecount", "/proc/kpageflags",
	"/proc/vmallocinfo", "/proc/slabinfo",
};
static const char *const masked_dirs[] = {
	"/proc/acpi", "/proc/scsi", "/proc/asound",
};

static int
make_read_only(const char *path)
{
	int tree = sys_open_tree(AT_FDCWD, path, AT_RECURSIVE);

	if (tree < 0)
		return errno == ENOENT ? 0 : -1;
	if (sys_mount_attr(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
	    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, 0, true) < 0 ||
	    sys_move_mount(tree, path) < 0)
		return -1;
	return close(tree);
}

/* Covers each path that exists with `with`. */
static int
cover(const char *const *paths, size_t n, const char *with)
{
	for (size_t i = 0; i < n; i++)
		if (mount(with, paths[i], NULL, MS_BIND, NULL) < 0 &&
		    errno != ENOENT)
			return -1;
	return 0;
}

enum box_step
proc_mount_private(void)
{
	/* Safe: CAP_SYS_ADMIN here is over our own user namespace only, and
	 * this mount namespace ends with the command. */
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
	    NULL) < 0)
		return BOX_STEP_PROC;
	for (size_t i = 0; i < sizeof(read_only) / sizeof(read_only[0]); i++)
		if (make_read_only(read_only[i]) < 0)
			return BOX_STEP_MASK;
	/* /sys is our own empty, read-only directory. */
	if (cover(masked_files, sizeof(masked_files) / sizeof(masked_files[0]),
	    "/dev/null") < 0 ||
	    cover(masked_dirs, sizeof(masked_dirs) / sizeof(masked_dirs[0]),
	    "/sys") < 0)
		return BOX_STEP_MASK;
	return BOX_STEP_NONE;
}
