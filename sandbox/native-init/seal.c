/*
 * The seal: what this launcher may do, read once from the first frame.  All
 * that a later frame asks for is compared with it; nothing can widen it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

/* A path inside, relative to the new root: no empty, "." or ".." component. */
static bool
target_ok(const char *path)
{
	/* What a command may write: a link there could lead the mount astray. */
	static const char *const writable[] = { "workspace", "tmp", "dev" };
	size_t first = strcspn(path, "/");

	for (size_t i = 0; i < sizeof(writable) / sizeof(writable[0]); i++)
		if (strlen(writable[i]) == first &&
		    memcmp(path, writable[i], first) == 0)
			return false;
	if (*path == 0 || *path == '/')
		return false;
	while (*path) {
		size_t n = strcspn(path, "/");
		if (n == 0 || (n == 1 && path[0] == '.') ||
		    (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += n;
		if (*path == '/' && *++path == 0)
			return false;
	}
	return true;
}

static void
parse_local(struct seal *seal, struct wire_in *in)
{
	seal->local = wire_get_u32(in) == 1;
	seal->local_user = wire_get_u32(in) == 1;
	seal->local_uid = wire_get_u32(in);
	seal->local_gid = wire_get_u32(in);
	uint32_t n = wire_get_u32(in);
	if (n > HELPER_GROUPS_MAX) {
		in->bad = true;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		seal->local_groups[i] = wire_get_u32(in);
	seal->local_ngroups = n;
	/* A change is never to root, whoever sent the seal. */
	if (seal->local_user && seal->local_uid == 0)
		in->bad = true;
}

static void
parse_binds(struct seal *seal, struct wire_in *in)
{
	uint32_t n = wire_get_u32(in);

	if (n > BOX_BINDS_MAX) {
		in->bad = true;
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct seal_bind *bind = &seal->binds[i];
		const char *source = wire_get_str(in);
		const char *target = wire_get_str(in);
		bind->writable = wire_get_u32(in) == 1;
		if (source[0] != '/' || !target_ok(target))
			in->bad = true;
		struct stat st = { .st_dev = 0 };
		if (stat(source, &st) < 0)
			in->bad = true;
		bind->dev = st.st_dev;
		bind->ino = st.st_ino;
		bind->source = strdup(source);
		bind->target = strdup(target);
		if (!bind->source || !bind->target)
			in->bad = true;
	}
	seal->nbinds = n;
}

/* A program that nobody but root can have put there. */
static bool
uplink_ok(struct seal *seal)
{
	struct stat st;

	if (!seal->uplink || seal->uplink[0] != '/' || stat(seal->uplink, &st) < 0 ||
	    !S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022))
		return false;
	seal->uplink_dev = st.st_dev;
	seal->uplink_ino = st.st_ino;
	return true;
}

static void
parse_filter(struct seal_filter *filter, struct wire_in *in)
{
	size_t len;
	const void *program = wire_get_bytes(in, &len);

	if (len == 0 || len % sizeof(struct sock_filter))
		return;
	filter->program = malloc(len);
	if (!filter->program)
		return;
	memcpy(filter->program, program, len);
	filter->len = len;
}

static void
parse_native(struct seal *seal, const void *data, size_t len)
{
	struct wire_in in = { data, len, false };
	struct stat st;

	seal->uid = wire_get_u32(&in);
	seal->gid = wire_get_u32(&in);
	seal->state_dir = strdup(wire_get_str(&in));
	seal->image = strdup(wire_get_str(&in));
	seal->memory_max = wire_get_u64(&in);
	seal->file_size_max = wire_get_u64(&in);
	seal->tmp_max = wire_get_u64(&in);
	seal->pids_max = wire_get_u32(&in);
	seal->files_max = wire_get_u32(&in);
	seal->cpu_permille = wire_get_u32(&in);
	seal->cpu_seconds = wire_get_u32(&in);
	uint32_t network = wire_get_u32(&in);
	seal->uplink = strdup(wire_get_str(&in));
	parse_binds(seal, &in);
	seal->bare = wire_get_u32(&in) == 1;
	for (int i = 0; i < BOX_NLEVELS; i++)
		parse_filter(&seal->filters[i], &in);
	/* Host uid 0 is never what a sandbox runs as. */
	if (!wire_in_end(&in) || seal->uid == 0 || seal->gid == 0 ||
	    !seal->state_dir || seal->state_dir[0] != '/' || !seal->image ||
	    seal->cpu_seconds == 0 || network >= BOX_NETWORK_END || !seal->filters[BOX_FULL].program ||
	    (seal->bare && !seal->filters[BOX_BARE].program) ||
	    stat(seal->state_dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	seal->state_dev = st.st_dev;
	seal->state_ino = st.st_ino;
	seal->network = (enum box_network)network;
	if (network == BOX_NETWORK_FULL && !uplink_ok(seal))
		return;
	seal->native = true;
}

int
seal_open_state(const struct seal *seal)
{
	struct stat st;
	int fd = open(seal->state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_dev == seal->state_dev &&
	    st.st_ino == seal->state_ino)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

bool
seal_parse(struct seal *seal, struct wire_in *in)
{
	size_t len;

	if (seal->sealed)
		return false;
	seal->sealed = true;
	parse_local(seal, in);
	const void *native = wire_get_bytes(in, &len);
	if (!wire_in_end(in)) {
		seal->local = false;
		return false;
	}
	if (len)
		parse_native(seal, native, len);
	return true;
}
