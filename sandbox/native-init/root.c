/*
 * The file system of a sandbox: a read-only tmpfs with the system's (or an
 * image's) directories bound into it read-only, private /tmp, /dev/shm and
 * /dev, the workspace, the configured binds.  Everything is first taken as a
 * detached mount with its flags set, then put in its place, so nothing is ever
 * reachable with weaker flags.
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

int mount(const char *source, const char *target, const char *type,
	unsigned long flags, const void *data);

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define WRITABLE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* Top directories of a system; links among them (/bin) are kept as links. */
static const char *const system_dirs[] = {
	"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32",
};
/* The parts of /etc that programs need and that hold no secret. */
static const char *const system_etc[] = {
	"alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf",
	"debian_version", "fonts", "gai.conf", "host.conf", "inputrc", "java-11-openjdk",
	"java-17-openjdk", "java-21-openjdk", "ld.so.cache", "ld.so.conf",
	"ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "login.defs",
	"magic", "mailcap", "mime.types", "networks", "os-release", "perl", "pki",
	"profile", "profile.d", "protocols", "python3", "rpc", "services", "shells",
	"skel", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone", "vimrc", "xml",
};
static const char *const devices[] = {
	"null", "zero", "full", "random", "urandom", "tty",
};

/* Links met among the system's entries: made again inside. */
struct link {
	const char *path;
	char to[256];
};
static struct link links[32];
static size_t nlinks;
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
	int state = open(seal->state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (state < 0 || fstat(state, &st) < 0)
		box_fail(box, BOX_STEP_STATE);
	if (st.st_dev != seal->state_dev || st.st_ino != seal->state_ino) {
		errno = ESTALE;		/* another directory than was sealed */
		box_fail(box, BOX_STEP_STATE);
	}
	box->detail = box->workspace;
	int fd = sys_open_beneath(state, box->workspace, O_PATH | O_DIRECTORY);
	if (fd < 0 || fstat(fd, &st) < 0)
		box_fail(box, BOX_STEP_WORKSPACE);
	close(state);
	/* Safe to give away: it is a directory beneath the sealed one, reached
	 * through no link, and the descriptor can't be exchanged any more. */
	if (box->root && (st.st_uid != seal->uid || st.st_gid != seal->gid) &&
	    fchownat(fd, "", seal->uid, seal->gid, AT_EMPTY_PATH) < 0)
		box_fail(box, BOX_STEP_WORKSPACE);
	graft_take(box, fd, "workspace", true, WRITABLE, BOX_STEP_WORKSPACE);
}

void
root_grab_private(struct box *box)
{
	const struct seal *seal = box->seal;

	grab_workspace(box);
	for (size_t i = 0; i < seal->nbinds; i++) {
		const struct seal_bind *bind = &seal->binds[i];
		box->detail = bind->source;
		/* The operator's own configuration: links in it are his. */
		int fd = open(bind->source, O_PATH | O_CLOEXEC);
		if (fd < 0)
			box_fail(box, BOX_STEP_BIND);
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
		if (nlinks == sizeof(links) / sizeof(links[0]))
			return;
		struct link *link = &links[nlinks];
		ssize_t n = readlinkat(root, path, link->to, sizeof(link->to) - 1);
		if (n > 0 && (size_t)n < sizeof(link->to) - 1) {
			link->to[n] = 0;
			link->path = path;
			nlinks++;
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
	static char etc[sizeof(system_etc) / sizeof(system_etc[0])][40];
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		box_fail(box, BOX_STEP_SYSTEM);
	for (size_t i = 0; i < sizeof(system_dirs) / sizeof(system_dirs[0]); i++)
		grab_entry(box, root, system_dirs[i]);
	for (size_t i = 0; i < sizeof(system_etc) / sizeof(system_etc[0]); i++)
		if (sys_format(etc[i], sizeof(etc[i]), "etc/%s", system_etc[i]) == 0)
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
	static char paths[sizeof(devices) / sizeof(devices[0])][16];

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		if (sys_format(paths[i], sizeof(paths[i]), "dev/%s", devices[i]) < 0)
			continue;
		int dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
		int fd = openat(dev, devices[i], O_PATH | O_CLOEXEC);
		box->detail = paths[i];
		if (fd < 0)
			box_fail(box, BOX_STEP_SYSTEM);
		graft_take(box, fd, paths[i], false,
			MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, BOX_STEP_SYSTEM);
		close(dev);
	}
}

void
root_grab_system(struct box *box)
{
	if (box->seal->image[0])
		grab_image(box);
	else
		grab_host(box);
	grab_devices(box);
	box->detail = "";
}

/* mkdir -p below the current directory for all but the last component. */
static void
make_parents(struct box *box, const char *path)
{
	char part[PATH_MAX];

	for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		if (sys_format(part, sizeof(part), "%.*s", (int)(p - path), path) < 0 ||
		    (mkdir(part, 0755) < 0 && errno != EEXIST))
			box_fail(box, BOX_STEP_ROOT);
	}
}

static void
make_file(struct box *box, const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		box_fail(box, BOX_STEP_ROOT);
	close(fd);
}

static void
put_graft(struct box *box, const struct graft *graft)
{
	struct stat st;

	box->detail = graft->target;
	make_parents(box, graft->target);
	/* A place that is there already (a bind into the workspace) is used. */
	if (stat(graft->target, &st) < 0) {
		if (graft->dir && mkdir(graft->target, 0755) < 0)
			box_fail(box, BOX_STEP_ROOT);
		if (!graft->dir)
			make_file(box, graft->target, "");
	}
	if (sys_move_mount(graft->fd, graft->target) < 0)
		box_fail(box, BOX_STEP_ROOT);
	close(graft->fd);
	box->detail = "";
}

static void
put_tmpfs(struct box *box, const char *path, uint64_t size, const char *mode)
{
	char options[128];

	/* Inodes cost kernel memory, too: one per 8 KiB of the size. */
	if (sys_format(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=%s",
	    (unsigned long long)size, (unsigned long long)(size / 8192 + 64), mode) < 0 ||
	    (mkdir(path, 0755) < 0 && errno != EEXIST) ||
	    mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0) {
		box->detail = path;
		box_fail(box, BOX_STEP_ROOT);
	}
}

static void
put_etc(struct box *box)
{
	static const char passwd[] =
		"root:x:0:0:root:/root:/usr/sbin/nologin\n"
		"sandbox:x:1000:1000:sandbox:/workspace:/bin/bash\n"
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
	static const char group[] =
		"root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n";

	if (box->seal->image[0])
		return;		/* an image brings its own */
	make_file(box, "etc/passwd", passwd);
	make_file(box, "etc/group", group);
	/* Look-ups of names end at once: there is no DNS inside. */
	make_file(box, "etc/nsswitch.conf",
		"passwd: files\ngroup: files\nhosts: files\nservices: files\n"
		"protocols: files\n");
	make_file(box, "etc/hosts",
		"127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost\n");
	make_file(box, "etc/hostname", "sandbox\n");
	make_file(box, "etc/resolv.conf", "");
}

static void
put_dev(struct box *box)
{
	static const char *const dev_links[][2] = {
		{ "/proc/self/fd", "dev/fd" },
		{ "/proc/self/fd/0", "dev/stdin" },
		{ "/proc/self/fd/1", "dev/stdout" },
		{ "/proc/self/fd/2", "dev/stderr" },
		{ "pts/ptmx", "dev/ptmx" },
	};

	if (mkdir("dev/pts", 0755) < 0 ||
	    mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
	    "newinstance,ptmxmode=0666,mode=0620") < 0)
		box_fail(box, BOX_STEP_ROOT);
	for (size_t i = 0; i < sizeof(dev_links) / sizeof(dev_links[0]); i++)
		if (symlink(dev_links[i][0], dev_links[i][1]) < 0)
			box_fail(box, BOX_STEP_ROOT);
	put_tmpfs(box, "dev/shm", box->seal->tmp_max / 8, "1777");
}

static void
put_all(struct box *box)
{
	static const char *const dirs[] = { "etc", "run", "sys", "var", "home", "dev", "proc" };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (mkdir(dirs[i], 0755) < 0 && errno != EEXIST)
			box_fail(box, BOX_STEP_ROOT);
	put_tmpfs(box, "tmp", box->seal->tmp_max, "1777");
	/* System entries were taken last; binds may lie above them. */
	for (size_t i = 1 + box->seal->nbinds; i < box->ngrafts; i++)
		put_graft(box, &box->grafts[i]);
	for (size_t i = 0; i < nlinks; i++) {
		make_parents(box, links[i].path);
		if (symlink(links[i].to, links[i].path) < 0 && errno != EEXIST)
			box_fail(box, BOX_STEP_ROOT);
	}
	put_etc(box);
	put_dev(box);
	if (symlink("/tmp", "var/tmp") < 0 && errno != EEXIST && errno != EROFS)
		box_fail(box, BOX_STEP_ROOT);
	for (size_t i = 0; i < 1 + box->seal->nbinds; i++)
		put_graft(box, &box->grafts[i]);
}

void
root_build(struct box *box)
{
	/* Nothing we mount may reach the outside, nor the reverse. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		box_fail(box, BOX_STEP_ROOT);
	/* Any directory will do as the place: all we need of it is taken. */
	put_tmpfs(box, "/usr", 8u << 20, "0755");
	if (chdir("/usr") < 0)
		box_fail(box, BOX_STEP_ROOT);
	put_all(box);
	/*
	 * The session's own /proc: the kernel lets the commands' namespaces
	 * mount theirs only while one is fully visible.  No command sees it,
	 * each has its own on top, which it can't take off.
	 */
	if (mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
	    NULL) < 0)
		box_fail(box, BOX_STEP_PROC);
	if (sys_pivot_root() < 0)
		box_fail(box, BOX_STEP_PIVOT);
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || sys_mount_attr(root, READ_ONLY, 0, false) < 0)
		box_fail(box, BOX_STEP_PIVOT);
	close(root);
}
