/*
 * The file system of a sandbox: a read-only tmpfs with the grafts (graft.c) in
 * their places, private /tmp, /dev/shm, /dev/pts and /proc, and an /etc with
 * just enough users.  The old root is gone at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

int mount(const char *source, const char *target, const char *type,
	unsigned long flags, const void *data);

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

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
	/* Look-ups of names end at once: there is no DNS inside, unless there
	 * is a whole network. */
	bool dns = box->seal->network == BOX_NETWORK_FULL;
	make_file(box, "etc/nsswitch.conf", dns ?
		"passwd: files\ngroup: files\nhosts: files dns\nservices: files\n"
		"protocols: files\n" :
		"passwd: files\ngroup: files\nhosts: files\nservices: files\n"
		"protocols: files\n");
	make_file(box, "etc/hosts",
		"127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost\n");
	make_file(box, "etc/hostname", "sandbox\n");
	/* Where slirp4netns answers for the host's resolver. */
	make_file(box, "etc/resolv.conf", dns ? "nameserver 10.0.2.3\n" : "");
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
	for (size_t i = 0; i < box->nlinks; i++) {
		make_parents(box, box->links[i].path);
		if (symlink(box->links[i].to, box->links[i].path) < 0 && errno != EEXIST)
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
