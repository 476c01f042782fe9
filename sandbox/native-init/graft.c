/*
 * What a sandbox's file system is made of: the workspace, the configured
 * binds, the system's (or an image's) directories, some devices.  Each is taken
 * as a detached mount with its flags set; root.c puts them in their places, so
 * nothing is ever reachable with weaker flags.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define WRITABLE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* Top directories of a system; links among them (/bin) are kept as links. */
const char *const graft_dirs[] = {
	"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32",
};
/* The parts of /etc that programs need and that hold no secret. */
const char *const graft_etc[] = {
	"alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf",
	"debian_version", "fonts", "gai.conf", "host.conf", "inputrc", "java-11-openjdk",
	"java-17-openjdk", "java-21-openjdk", "ld.so.cache", "ld.so.conf",
	"ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "login.defs",
	"magic", "mailcap", "mime.types", "networks", "os-release", "perl", "pki",
	"profile", "profile.d", "protocols", "python3", "rpc", "services", "shells",
	"skel", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone", "vimrc", "xml",
};
const char *const graft_devices[] = {
	"null", "zero", "full", "random", "urandom", "tty",
};

const size_t graft_ndirs = sizeof(graft_dirs) / sizeof(graft_dirs[0]);
const size_t graft_netc = sizeof(graft_etc) / sizeof(graft_etc[0]);
const size_t graft_ndevices = sizeof(graft_devices) / sizeof(graft_devices[0]);

static char image_dirs[32][64];

static void
graft_add(struct box *box, int fd, const char *target, bool dir, bool writable)
{
	if (box->ngrafts == GRAFTS_MAX) {
		errno = E2BIG;
		box_fail(box, BOX_STEP_SYSTEM);
	}
	box->grafts[box->ngrafts++] = (struct graft){ fd, target, dir, writable };
}

/* Takes what `fd` (O_PATH, consumed) names as a detached, private mount. */
static void
graft_take(struct box *box, int fd, const char *target, bool writable,
	uint64_t attrs, enum box_step step)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		box_fail(box, step);
	bool dir = S_ISDIR(st.st_mode);
	int tree = sys_open_tree(fd, "", AT_EMPTY_PATH | (dir ? AT_RECURSIVE : 0));
	if (tree < 0 || sys_mount_attr(tree, attrs, MS_PRIVATE, dir) < 0)
		box_fail(box, step);
	close(fd);
	graft_add(box, tree, target, dir, writable);
}

static void
grab_workspace(struct box *box)
{
	const struct seal *seal = box->seal;
	struct stat st;

	box->detail = seal->state_dir;
	int state = seal_open_state(seal);
	if (state < 0)
		box_fail(box, BOX_STEP_STATE);
	box->detail = box->workspace;
	int fd = sys_open_beneath(state, box->workspace, O_PATH | O_DIRECTORY);
	if (fd < 0 || fstat(fd, &st) < 0)
		box_fail(box, BOX_STEP_WORKSPACE);
	close(state);
	/* Safe to give away: it is a directory beneath the sealed one, reached
	 * through no link, and the descriptor can't be exchanged any more. */
	if (box->ids.change &&
	    (st.st_uid != box->ids.uid || st.st_gid != box->ids.gid) &&
	    fchownat(fd, "", box->ids.uid, box->ids.gid, AT_EMPTY_PATH) < 0)
		box_fail(box, BOX_STEP_WORKSPACE);
	graft_take(box, fd, "workspace", true, WRITABLE, BOX_STEP_WORKSPACE);
}

void
graft_private(struct box *box)
{
	const struct seal *seal = box->seal;

	grab_workspace(box);
	for (size_t i = 0; i < seal->nbinds; i++) {
		const struct seal_bind *bind = &seal->binds[i];
		box->detail = bind->source;
		/* Links are the operator's own, but what they lead to must be what
		 * was sealed: a command with a writable bind may exchange things. */
		int fd = open(bind->source, O_PATH | O_CLOEXEC);
		struct stat st;
		if (fd < 0 || fstat(fd, &st) < 0)
			box_fail(box, BOX_STEP_BIND);
		if (st.st_dev != bind->dev || st.st_ino != bind->ino) {
			errno = ESTALE;
			box_fail(box, BOX_STEP_BIND);
		}
		graft_take(box, fd, bind->target, bind->writable,
			bind->writable ? WRITABLE : READ_ONLY, BOX_STEP_BIND);
	}
	box->detail = "";
}

/* One entry of the system: a link is remembered, absence is nothing. */
static void
grab_entry(struct box *box, int root, const char *path)
{
	struct stat st;

	if (fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISLNK(st.st_mode)) {
		if (box->nlinks == LINKS_MAX)
			return;
		struct link *link = &box->links[box->nlinks];
		ssize_t n = readlinkat(root, path, link->to, sizeof(link->to) - 1);
		if (n > 0 && (size_t)n < sizeof(link->to) - 1) {
			link->to[n] = 0;
			link->path = path;
			box->nlinks++;
		}
		return;
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return;
	box->detail = path;
	int fd = openat(root, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES)
		return;		/* what we may not see, a command may not either */
	if (fd < 0)
		box_fail(box, BOX_STEP_SYSTEM);
	graft_take(box, fd, path, false, READ_ONLY, BOX_STEP_SYSTEM);
}

static void
grab_host(struct box *box)
{
	static char etc[sizeof(graft_etc) / sizeof(graft_etc[0])][40];
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		box_fail(box, BOX_STEP_SYSTEM);
	for (size_t i = 0; i < graft_ndirs; i++)
		grab_entry(box, root, graft_dirs[i]);
	for (size_t i = 0; i < sizeof(graft_etc) / sizeof(graft_etc[0]); i++)
		if (sys_format(etc[i], sizeof(etc[i]), "etc/%s", graft_etc[i]) == 0)
			grab_entry(box, root, etc[i]);
	close(root);
}

/* Every top entry of an image but those that are ours. */
static void
grab_image(struct box *box)
{
	static const char *const own[] = {
		".", "..", "proc", "sys", "dev", "tmp", "run", "workspace",
	};
	size_t n = 0;
	struct dirent *e;

	box->detail = box->seal->image;
	int root = open(box->seal->image, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = root < 0 ? NULL : fdopendir(root);
	if (!dir)
		box_fail(box, BOX_STEP_IMAGE);
	while ((e = readdir(dir)) && n < sizeof(image_dirs) / sizeof(image_dirs[0])) {
		bool ours = strlen(e->d_name) >= sizeof(image_dirs[0]);
		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			ours = ours || strcmp(e->d_name, own[i]) == 0;
		if (ours)
			continue;
		memcpy(image_dirs[n], e->d_name, strlen(e->d_name) + 1);
		grab_entry(box, root, image_dirs[n++]);
	}
	closedir(dir);
}

static void
grab_devices(struct box *box)
{
	static char paths[sizeof(graft_devices) / sizeof(graft_devices[0])][16];

	for (size_t i = 0; i < sizeof(graft_devices) / sizeof(graft_devices[0]); i++) {
		if (sys_format(paths[i], sizeof(paths[i]), "dev/%s", graft_devices[i]) < 0)
			continue;
		int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
		int fd = openat(dev, graft_devices[i], O_PATH | O_CLOEXEC);
		box->detail = paths[i];
		if (fd < 0)
			box_fail(box, BOX_STEP_SYSTEM);
		graft_take(box, fd, paths[i], false,
			MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, BOX_STEP_SYSTEM);
		close(dev);
	}
}

void
graft_system(struct box *box)
{
	if (box->seal->image[0])
		grab_image(box);
	else
		grab_host(box);
	grab_devices(box);
	box->detail = "";
}
