/*
 * Landlock, the second lock on files: even if a mount were writable by
 * mistake, only the workspace, /tmp, /dev/shm and writable binds may change.
 * Uses what the kernel offers (ABI 1 to 6); the ABI is told to the gateway,
 * which decides whether it is enough.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

/* Newer than Debian 12's kernel headers. */
#define FS_EXECUTE	(1ull << 0)
#define FS_WRITE_FILE	(1ull << 1)
#define FS_READ_FILE	(1ull << 2)
#define FS_READ_DIR	(1ull << 3)
#define FS_MAKE_CHAR	(1ull << 6)
#define FS_MAKE_BLOCK	(1ull << 11)
#define FS_REFER	(1ull << 13)	/* ABI 2 */
#define FS_TRUNCATE	(1ull << 14)	/* ABI 3 */
#define FS_IOCTL_DEV	(1ull << 15)	/* ABI 5 */
#define SCOPE_ABSTRACT	(1ull << 0)	/* ABI 6 */
#define SCOPE_SIGNAL	(1ull << 1)
#define FS_ABI1		((1ull << 13) - 1)
#define FS_OF_A_FILE	(FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | \
	FS_TRUNCATE | FS_IOCTL_DEV)

struct ruleset {
	uint64_t fs, net, scoped;
};

int
landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
		LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static int
allow(int ruleset, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access };
	struct stat st;
	int result;

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= FS_OF_A_FILE;
	result = (int)syscall(SYS_landlock_add_rule, ruleset,
		LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	close(rule.parent_fd);
	return result;
}

/* Of the root that was made for it. */
static int
allow_full(const struct box *box, int ruleset, uint64_t full, uint64_t use)
{
	static const char *const writable[] = { "/workspace", "/tmp", "/dev/shm" };

	/* On / of the pivoted root: a rule on the session's /proc would not
	 * cover the one mounted over it. */
	if (allow(ruleset, "/", FS_EXECUTE | FS_READ_FILE | FS_READ_DIR) < 0 ||
	    allow(ruleset, "/dev", use) < 0 || allow(ruleset, "/proc", use) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(writable) / sizeof(writable[0]); i++)
		if (allow(ruleset, writable[i], full) < 0)
			return -1;
	for (size_t i = 0; i < box->seal->nbinds; i++) {
		char path[PATH_MAX];
		if (!box->seal->binds[i].writable)
			continue;
		if (sys_format(path, sizeof(path), "/%s", box->seal->binds[i].target) < 0 ||
		    allow(ruleset, path, full) < 0)
			return -1;
	}
	return 0;
}

static int
allow_names(int ruleset, const char *dir, const char *const *names, size_t n,
	uint64_t access)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < n; i++)
		if (sys_format(path, sizeof(path), "%s%s", dir, names[i]) < 0 ||
		    allow(ruleset, path, access) < 0)
			return -1;
	return 0;
}

/* Of the host's own root: what full would show, each where it is. */
static int
allow_bare(const struct box *box, int ruleset, uint64_t full, uint64_t use)
{
	const uint64_t read = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR;
	static const char *const more[] = { "etc/passwd", "etc/group",
		"etc/nsswitch.conf", "etc/hosts" };

	if (allow_names(ruleset, "/", graft_dirs, graft_ndirs, read) < 0 ||
	    allow_names(ruleset, "/etc/", graft_etc, graft_netc, read) < 0 ||
	    allow_names(ruleset, "/", more, sizeof(more) / sizeof(more[0]), read) < 0 ||
	    allow_names(ruleset, "/dev/", graft_devices, graft_ndevices, use) < 0)
		return -1;
	/* /proc/self is another directory in each process, so it is all of it;
	 * what is behind a ptrace check stays closed by Landlock itself. */
	if (allow(ruleset, "/proc", FS_READ_FILE | FS_READ_DIR) < 0 ||
	    allow(ruleset, box->home, full) < 0)
		return -1;
	for (size_t i = 0; i < box->seal->nbinds; i++)
		if (allow(ruleset, box->seal->binds[i].source,
		    box->seal->binds[i].writable ? full : read) < 0)
			return -1;
	return 0;
}

static int
allow_all(const struct box *box, int ruleset, uint64_t handled)
{
	uint64_t full = handled & ~(FS_MAKE_CHAR | FS_MAKE_BLOCK);
	uint64_t use = handled & (FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE |
		FS_TRUNCATE | FS_IOCTL_DEV);

	return box->level == BOX_BARE ? allow_bare(box, ruleset, full, use) :
		allow_full(box, ruleset, full, use);
}

int
landlock_confine(const struct box *box)
{
	int abi = box->landlock_abi;
	struct ruleset attr = { .fs = FS_ABI1 };
	size_t size = sizeof(attr.fs);

	if (abi == 0 && box->level == BOX_FULL)
		return 0;
	if (abi >= 2)
		attr.fs |= FS_REFER;
	if (abi >= 3)
		attr.fs |= FS_TRUNCATE;
	if (abi >= 4)
		size = 2 * sizeof(uint64_t);
	if (abi >= 5)
		attr.fs |= FS_IOCTL_DEV;
	if (abi >= 6) {
		size = sizeof(attr);
		attr.scoped = SCOPE_ABSTRACT | SCOPE_SIGNAL;
	}
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (ruleset < 0)
		return -1;
	int result = allow_all(box, ruleset, attr.fs);
	if (result == 0)
		result = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
	close(ruleset);
	return result;
}
