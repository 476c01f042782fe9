#include "sandbox/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/sandbox_priv.h"

#define KEY_MAX 8192

static int
make_dirs(const char *path, size_t base, struct err *err)
{
	char *copy CLEANUP_FREE = mem_str(path);

	for (char *p = copy + base; p;) {
		char *slash = strchr(p + 1, '/');
		if (slash)
			*slash = 0;
		/* What leads there lets a sandbox of another uid pass, if the
		 * state directory does; nobody may list it. */
		mode_t mode = slash ? 0711 : 0700;
		bool made = mkdir(copy, mode) == 0;
		/* Whatever the umask. */
		if (made ? chmod(copy, mode) < 0 : errno != EEXIST)
			return err_set_errno(err, errno,
			    "making the workspace %s", copy);
		if (slash)
			*slash = '/';
		p = slash;
	}
	return 0;
}

static char *
key_path(const struct cell *cell)
{
	return mem_printf("%s/sandboxes/%s/key", cell->sb->opts.state_dir,
	    cell->id);
}

int
workspace_make(const struct cell *cell, struct err *err)
{
	char *path CLEANUP_FREE = key_path(cell);
	size_t len = strlen(cell->key);

	if (make_dirs(cell->host_dir, strlen(cell->sb->opts.state_dir), err) < 0)
		return -1;
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC |
	    O_NOFOLLOW, 0600);
	if (fd < 0 || ftruncate(fd, 0) < 0 ||
	    write(fd, cell->key, len) != (ssize_t)len)
		return err_set_errno(err, errno, "writing %s", path);
	workspace_used(cell);
	return 0;
}

void
workspace_used(const struct cell *cell)
{
	char *path CLEANUP_FREE = key_path(cell);
	msec_t now = loop_wall(cell->sb->loop);
	const struct timespec at = { .tv_sec = now / 1000,
		.tv_nsec = now % 1000 * 1000000 };
	const struct timespec times[2] = { at, at };

	/* Absent: nothing was ever opened there. */
	(void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

msec_t
workspace_last_used(const char *dir)
{
	char *key CLEANUP_FREE = mem_printf("%s/key", dir);
	char *workspace CLEANUP_FREE = mem_printf("%s/workspace", dir);
	struct stat st;

	/* Those of older versions have no key. */
	if (lstat(key, &st) < 0 && lstat(workspace, &st) < 0)
		return 0;
	return (msec_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
}

struct slot *
workspace_slot(struct sandboxes *sb, const char *dir)
{
	char *path CLEANUP_FREE = mem_printf("%s/key", dir);
	char text[KEY_MAX];
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = 0;
	return sandboxes_slot_of(sb, text);
}

/* ---- removing --------------------------------------------------------------- */

struct removal {
	struct op op;
	const struct slot *slot;
	char *dir, *trash;	/* trash: the whole path; NULL: nothing was there */
	struct op *emptying;
	struct timer *ending;
	struct box_usage usage;
	struct err err;
	box_usage_cb *cb;
	void *arg;
};

static void
removal_free(struct removal *r)
{
	op_cancel(&r->emptying);
	loop_cancel(&r->ending);
	mem_free(r->dir);
	mem_free(r->trash);
	mem_free(r);
}

static void
removal_cancel(struct op *op)
{
	removal_free((struct removal *)(void *)op);
}

static const struct op_type removal_type = { "workspace removal",
	removal_cancel };

static void
drop_dir(const struct removal *r)
{
	char *key CLEANUP_FREE = mem_printf("%s/key", r->dir);
	char *workspace CLEANUP_FREE = mem_printf("%s/workspace", r->dir);

	/* A new workspace has begun meanwhile: it stays, with its key. */
	if (access(workspace, F_OK) == 0)
		return;
	(void)unlink(key);
	(void)rmdir(r->dir);	/* fails where other trash is left */
}

static void
removal_end(void *arg)
{
	struct removal *r = arg;

	r->ending = NULL;
	if (!r->err.code && r->trash && rmdir(r->trash) < 0 && errno != ENOENT)
		err_set_errno(&r->err, errno, "removing %s%s%s", r->trash,
		    r->slot->inst ? "" : "; ", r->slot->inst ? "" :
		    r->slot->err.text);
	if (!r->err.code)
		drop_dir(r);
	struct err err = r->err;
	struct box_usage usage = r->usage;
	box_usage_cb *cb = r->cb;
	void *cb_arg = r->arg;

	op_finish(&r->op);
	removal_free(r);
	cb(cb_arg, &usage, err.code ? &err : NULL);
}

static void
on_emptied(void *arg, const struct box_usage *usage, const struct err *err)
{
	struct removal *r = arg;

	r->emptying = NULL;
	r->usage = *usage;
	if (err)
		r->err = *err;
	removal_end(r);
}

static int
move_away(struct removal *r)
{
	char *from CLEANUP_FREE = mem_printf("%s/workspace", r->dir);
	char hex[ID_HEX_MAX];

	ids_hex(hex, 12);
	r->trash = mem_printf("%s/" WORKSPACE_TRASH "%s", r->dir, hex);
	if (rename(from, r->trash) == 0)
		return 0;
	if (errno != ENOENT)
		return err_set_errno(&r->err, errno, "moving %s away", from);
	mem_free(STEAL(r->trash));
	return 0;
}

struct op *
workspace_remove(struct sandboxes *sb, struct slot *slot, const char *dir,
	const char *trash, box_usage_cb *cb, void *arg)
{
	struct removal *r = mem_alloc(sizeof(*r));

	op_init(&r->op, &removal_type);
	r->slot = slot;
	r->dir = mem_str(dir);
	r->cb = cb;
	r->arg = arg;
	if (trash)
		r->trash = mem_printf("%s/%s", dir, trash);
	int moved = trash ? 0 : move_away(r);
	/* A backend that leaves nothing there needs no more than the rmdir. */
	if (moved == 0 && r->trash && slot->inst && slot->backend->empty)
		r->emptying = slot->backend->empty(slot->inst, r->trash,
		    on_emptied, r);
	else
		r->ending = loop_defer(sb->loop, "workspace removal",
		    removal_end, r);
	return &r->op;
}
