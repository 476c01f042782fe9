/*
 * What the native backend may ask of the helper for this process's life: ids,
 * paths, limits, filter.  Checked here with words for the operator; the helper
 * checks again what concerns safety.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mem.h"
#include "sandbox/native.h"
#include "sandbox/native_priv.h"

#define DEFAULT_UID 64500
#define MIB (1024ull * 1024)

static int
pick_uid(const struct launcher *launcher, uid_t wanted, uid_t *ret_uid,
	gid_t *ret_gid, struct err *err)
{
	struct passwd pw, *found = NULL;
	char buf[4096];

	if (!launcher_is_root(launcher)) {
		*ret_uid = geteuid();
		*ret_gid = getegid();
		return 0;
	}
	uid_t uid = wanted ? wanted : DEFAULT_UID;
	if (getpwuid_r(uid, &pw, buf, sizeof(buf), &found) == 0 && found)
		return err_set(err, ERR_CONFIG, "native.uid %u belongs to the user "
			"\"%s\"; set native.uid to a uid that nobody has", uid,
			found->pw_name);
	*ret_uid = uid;
	*ret_gid = uid;
	return 0;
}

/* Is `path` `dir` itself or below it? Both real paths. */
static bool
beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == 0 || path[n] == '/' ||
		(n && dir[n - 1] == '/'));
}

/* Does the image have this program, as seen from inside? */
static bool
image_has(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT,
	};
	struct stat st;
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd < 0)
		return false;
	bool good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		(st.st_mode & 0111);
	close(fd);
	return good;
}

static int
check_image(const char *image, const char *state_dir, char **ret_real,
	struct err *err)
{
	if (!image || !*image) {
		*ret_real = mem_str("");
		return 0;
	}
	if (image[0] != '/')
		return err_set(err, ERR_CONFIG, "the native sandbox takes as image the "
			"path of a directory with a root file system, not \"%s\"; leave "
			"it out to use this system's own programs, or choose a container "
			"backend for images of a registry", image);
	CLEANUP_CLOSE int root = open(image, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_set_errno(err, errno, "the sandbox image %s is not a "
			"directory that can be opened", image);
	if (!image_has(root, "bin/sh") || !image_has(root, "bin/bash"))
		return err_set(err, ERR_CONFIG, "the sandbox image %s has no /bin/%s",
			image, image_has(root, "bin/sh") ? "bash; commands are run by it" :
			"sh, so it is no root file system");
	char *real = realpath(image, NULL);
	if (!real)
		return err_set_errno(err, errno, "the sandbox image %s", image);
	*ret_real = mem_str(real);
	free(real);
	if (beneath(state_dir, *ret_real))
		return err_set(err, ERR_CONFIG, "the sandbox image %s holds "
			"gatehouse's own state (%s); an image is a root file system of "
			"its own", image, state_dir);
	return 0;
}

/* Where nothing may be bound: what the sandbox itself lays out. */
static bool
target_reserved(const char *target)
{
	static const char *const own[] = {
		"/proc", "/sys", "/dev", "/usr", "/bin", "/sbin", "/lib", "/lib64",
		"/etc",
	};

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (beneath(target, own[i]))
			return true;
	return beneath(target, "/workspace") || beneath(target, "/tmp") ||
		strcmp(target, "/") == 0;
}

static int
check_bind(const struct native_bind *bind, const char *state_dir, struct err *err)
{
	static const char *const host[] = { "/proc", "/sys", "/dev", "/run/docker.sock",
		"/var/run/docker.sock" };
	struct stat st;
	char *real = realpath(bind->source, NULL);

	if (!real)
		return err_set_errno(err, errno, "the bind source %s", bind->source);
	CLEANUP_FREE char *source = mem_str(real);
	free(real);
	if (beneath(source, state_dir) || beneath(state_dir, source))
		return err_set(err, ERR_CONFIG, "the bind source %s holds gatehouse's "
			"own state or lies in it; nothing of that may reach a sandbox",
			bind->source);
	for (size_t i = 0; i < ARRAY_LEN(host); i++)
		if (beneath(source, host[i]))
			return err_set(err, ERR_CONFIG, "the bind source %s would give the "
				"sandbox power over the host", bind->source);
	if (stat(source, &st) < 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return err_set(err, ERR_CONFIG, "the bind source %s is neither a "
			"directory nor a regular file (sockets and devices are never "
			"bound)", bind->source);
	if (bind->target[0] != '/' || target_reserved(bind->target) ||
	    strstr(bind->target, "/.."))
		return err_set(err, ERR_CONFIG, "the bind target %s is not a free place "
			"inside the sandbox; choose a path such as /data/NAME",
			bind->target);
	return 0;
}

static int
put_binds(struct wire_out *out, const struct native_opts *opts,
	struct backend_inst *inst, struct err *err)
{
	if (opts->nbinds > BOX_BINDS_MAX)
		return err_set(err, ERR_CONFIG, "at most %d binds are possible",
			BOX_BINDS_MAX);
	wire_put_u32(out, opts->nbinds);
	for (unsigned i = 0; i < opts->nbinds; i++) {
		const struct native_bind *bind = &opts->binds[i];
		if (check_bind(bind, inst->state_dir, err) < 0)
			return -1;
		wire_put_str(out, bind->source);
		wire_put_str(out, bind->target + 1);
		wire_put_u32(out, bind->writable);
		inst->writable_bind = inst->writable_bind || bind->writable;
		inst->moved_bind = inst->moved_bind ||
			strcmp(bind->source, bind->target) != 0;
	}
	return 0;
}

enum box_network
native_network(const struct native_opts *opts)
{
	static const char *const names[] = { "none", "filtered", "full" };

	for (size_t i = 0; opts->network && i < ARRAY_LEN(names); i++)
		if (strcmp(opts->network, names[i]) == 0)
			return (enum box_network)i;
	return opts->network ? BOX_NETWORK_END : BOX_NETWORK_NONE;
}

/* Of the full network; NULL: it isn't installed. */
static const char *
find_uplink(void)
{
	static const char *const places[] = {
		"/usr/bin/slirp4netns", "/usr/local/bin/slirp4netns", "/bin/slirp4netns",
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

static int
put_network(struct wire_out *out, const struct native_opts *opts, struct err *err)
{
	bool full = native_network(opts) == BOX_NETWORK_FULL;
	const char *uplink = full ? find_uplink() : "";

	if (!uplink)
		return err_set(err, ERR_CONFIG, "native.network: full needs the program "
			"slirp4netns; install the package slirp4netns, or set "
			"native.network to none or filtered");
	wire_put_u32(out, native_network(opts));
	wire_put_str(out, uplink);
	return 0;
}

static int
check_opts(const struct native_opts *opts, struct err *err)
{
	if (native_network(opts) == BOX_NETWORK_END)
		return err_set(err, ERR_CONFIG, "native.network is \"%s\"; it is none, "
			"filtered or full", opts->network);
	if (native_network(opts) == BOX_NETWORK_FILTERED && opts->upstream)
		return err_set(err, ERR_CONFIG, "native.network: filtered connects "
			"directly, which network.proxy (or HTTPS_PROXY) forbids; unset "
			"that, or set native.network to none");
	if (opts->minimum && strcmp(opts->minimum, "full") != 0 &&
	    strcmp(opts->minimum, "landlock") != 0)
		return err_set(err, ERR_CONFIG, "native.minimum is \"%s\"; there are "
			"full and landlock", opts->minimum);
	return 0;
}

static uint64_t
tmp_max(const struct native_opts *o)
{
	return o->tmp_max ? o->tmp_max : 512 * MIB;
}

/*
 * What is in a tmpfs is memory: all of it together is bounded by how many
 * sandboxes are open at a time (rules 5.8).  By default half of the memory,
 * and on a small machine still eight sandboxes.
 */
static int
bound_boxes(struct backend_inst *inst, const struct native_opts *o, struct err *err)
{
	uint64_t each = tmp_max(o) + tmp_max(o) / 8;	/* /dev/shm: root.c */
	uint64_t total = o->tmp_total;

	if (!total) {
		total = (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 *
			(uint64_t)sysconf(_SC_PAGESIZE);
		total = total < 8 * each ? 8 * each : total;
	}
	if (total < each)
		return err_set(err, ERR_CONFIG, "native.tmp_total is %llu MiB, but one "
			"sandbox may take %llu MiB (native.tmp_max and an eighth for "
			"/dev/shm): raise the one or lower the other",
			(unsigned long long)(total / MIB),
			(unsigned long long)(each / MIB));
	inst->boxes_max = total / each < BOX_MAX ? (unsigned)(total / each) : BOX_MAX;
	return 0;
}

static void
put_limits(struct wire_out *out, const struct native_opts *o)
{
	wire_put_u64(out, o->memory_max ? o->memory_max : 2048 * MIB);
	wire_put_u64(out, o->file_size_max ? o->file_size_max : 4096 * MIB);
	wire_put_u64(out, tmp_max(o));
	wire_put_u32(out, o->pids_max ? o->pids_max : 256);
	wire_put_u32(out, o->files_max ? o->files_max : 1024);
	wire_put_u32(out, o->cpu_milli);
	wire_put_u32(out, o->cpu_seconds ? o->cpu_seconds : 3600);
}

static int
put_filters(struct wire_out *out, const struct backend_inst *inst,
	struct err *err)
{
	wire_put_u32(out, inst->may_bare);
	for (int level = BOX_FULL; level < BOX_NLEVELS; level++) {
		size_t len = 0;
		CLEANUP_FREE void *filter = level == BOX_BARE && !inst->may_bare ?
			NULL : native_seccomp_build((enum box_level)level, &len, err);

		if (!filter && (level == BOX_FULL || inst->may_bare))
			return -1;
		wire_put_bytes(out, filter, len);
	}
	return 0;
}

void *
native_seal_build(const struct backend_env *env, struct backend_inst *inst,
	size_t *ret_len, struct err *err)
{
	const struct native_opts *opts = env->opts;
	struct wire_out out;
	uid_t uid;
	gid_t gid;

	if (check_opts(opts, err) < 0 || bound_boxes(inst, opts, err) < 0 ||
	    pick_uid(env->launcher, opts->uid, &uid, &gid, err) < 0 ||
	    check_image(env->image, inst->state_dir, &inst->image, err) < 0)
		return NULL;
	inst->may_bare = opts->minimum && strcmp(opts->minimum, "landlock") == 0;
	wire_out_init(&out, uid);
	wire_put_u32(&out, gid);
	wire_put_str(&out, inst->state_dir);
	wire_put_str(&out, inst->image);
	put_limits(&out, opts);
	void *terms = NULL;
	if (put_network(&out, opts, err) == 0 &&
	    put_binds(&out, opts, inst, err) == 0 &&
	    put_filters(&out, inst, err) == 0) {
		if (out.bad) {
			err_set(err, ERR_LIMIT, "the configured binds are too many or "
				"too long for the launcher");
		} else {
			terms = mem_dup(out.data, out.len);
			*ret_len = out.len;
		}
	}
	wire_out_done(&out);
	return terms;
}
