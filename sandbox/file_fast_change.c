/* Files written, deleted and moved beneath a workspace: see file_fast.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "sandbox/file_fast_priv.h"

/* One edit under way: its directory is open, its content in a temporary file. */
struct place {
	int dir, to_dir;		/* -1: none */
	const char *name, *to_name;	/* last part; into clean/to_clean */
	char *clean, *to_clean;
	char temp[40];			/* "" none */
};

struct change {
	struct fast *f;
	const struct file_act *act;
	struct place places[FILE_EDITS_MAX];
	bool made_dirs;
	const char *state;
	bool not_ours;
};

/* Makes what is missing of the way to dir, and opens it; -1. */
static int
open_dir(struct change *c, char *dir, bool make)
{
	const struct stat *owner = &c->f->root_stat;
	int at = fast_open(c->f->root, "", O_RDONLY | O_DIRECTORY);
	char *rest = dir;

	while (at >= 0 && *rest) {
		char *part = rest;
		rest += strcspn(rest, "/");
		if (*rest)
			*rest++ = '\0';
		int next = fast_open(at, part, O_RDONLY | O_DIRECTORY);
		if (next < 0 && errno == ENOENT && make &&
		    mkdirat(at, part, 0755) == 0) {
			next = fast_open(at, part, O_RDONLY | O_DIRECTORY);
			if (next >= 0 && geteuid() == 0 &&
			    fchown(next, owner->st_uid, owner->st_gid) < 0)
				c->not_ours = true;
			c->made_dirs = true;
		}
		int errnum = errno;
		close(at);
		errno = errnum;
		at = next;
	}
	return at;
}

static int
open_place(struct change *c, const char *path, char **ret_clean,
	const char **ret_name, bool make)
{
	char *clean = *ret_clean = file_path_clean(path);
	CLEANUP_FREE char *dir = mem_str(fast_beneath(c->f, clean));
	char *slash = strrchr(dir, '/');

	*ret_name = strrchr(clean, '/') + 1;
	if (slash)
		*slash = '\0';
	else
		dir[0] = '\0';
	return open_dir(c, dir, make);
}

/* NULL, or why not. A link anywhere: the shell's business. */
static const char *
check_place(struct change *c, size_t i, bool make)
{
	const struct file_edit *e = &c->act->edits[i];
	struct place *p = &c->places[i];
	struct stat st;
	char version[96];

	p->dir = open_place(c, e->path, &p->clean, &p->name, make);
	if (p->dir < 0) {
		c->not_ours |= errno != ENOENT && errno != ENOTDIR;
		if (make)
			return "its directory cannot be made";
		return e->version ? "it changed since it was read" : NULL;
	}
	if (!*p->name) {
		c->not_ours = true;
		return "it is the workspace";
	}
	int rc = fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW);
	if (rc == 0 && S_ISLNK(st.st_mode)) {
		c->not_ours = true;
		return "it is a link";
	}
	if (!e->version)
		return rc == 0 ? "it exists already" : NULL;
	if (rc < 0 || !S_ISREG(st.st_mode))
		return "it changed since it was read";
	fast_version(&st, version);
	return strcmp(version, e->version) == 0 ? NULL :
	    "it changed since it was read";
}

static const char *
check_target(struct change *c, size_t i)
{
	const struct file_edit *e = &c->act->edits[i];
	struct place *p = &c->places[i];
	struct stat st;

	if (e->kind != FILE_MOVE)
		return NULL;
	p->to_dir = open_place(c, e->to, &p->to_clean, &p->to_name, true);
	if (p->to_dir < 0 || !*p->to_name) {
		c->not_ours |= p->to_dir >= 0 || errno != ENOENT;
		return "its directory cannot be made";
	}
	return fstatat(p->to_dir, p->to_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ?
	    "it exists already" : NULL;
}

static bool
write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

/* The old file's owner and mode, or the workspace's owner. */
static bool
set_rights(struct change *c, const struct place *p, const struct file_edit *e,
	int fd)
{
	struct stat st = c->f->root_stat;

	if (e->version && fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (geteuid() == 0 && fchown(fd, st.st_uid, st.st_gid) < 0)
		return false;
	return fchmod(fd, e->mode ? e->mode : 0644) == 0;
}

static const char *
make_temp(struct change *c, size_t i)
{
	const struct file_edit *e = &c->act->edits[i];
	struct place *p = &c->places[i];
	char hex[13];

	if (e->kind != FILE_PUT)
		return NULL;
	if (p->dir < 0)
		return "its directory cannot be made";
	ids_hex(hex, 12);
	if (mem_format(p->temp, sizeof(p->temp), ".gatehouse-tmp.%s", hex) < 0)
		return "no file can be made in its directory";
	int fd = openat(p->dir, p->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd < 0) {
		p->temp[0] = '\0';
		return "no file can be made in its directory";
	}
	bool whole = write_all(fd, e->data, e->len);
	bool rights = set_rights(c, p, e, fd);

	close(fd);
	if (!whole)
		return "it cannot be written whole (disk full?)";
	return rights ? NULL : "its owner or mode cannot be kept";
}

static const char *
change_name(struct change *c, size_t i)
{
	struct place *p = &c->places[i];

	switch (c->act->edits[i].kind) {
	case FILE_PUT:
		if (renameat(p->dir, p->temp, p->dir, p->name) < 0)
			return "it cannot be replaced";
		p->temp[0] = '\0';
		break;
	case FILE_DELETE:
		if (unlinkat(p->dir, p->name, 0) < 0)
			return "it cannot be deleted";
		break;
	case FILE_MOVE:
		if (renameat2(p->dir, p->name, p->to_dir, p->to_name,
		    RENAME_NOREPLACE) < 0)
			return "it cannot be moved";
		break;
	}
	c->state = "partly";
	return NULL;
}

static void
clean_up(struct change *c)
{
	for (size_t i = 0; i < c->act->nedits; i++) {
		struct place *p = &c->places[i];
		if (p->temp[0])
			(void)unlinkat(p->dir, p->temp, 0);
		if (p->dir >= 0)
			close(p->dir);
		if (p->to_dir >= 0)
			close(p->to_dir);
		mem_free(p->clean);
		mem_free(p->to_clean);
	}
}

static void
report_done(struct change *c)
{
	struct buf *out = c->f->out;
	struct stat st;
	char version[96];

	fast_field(out, "ok");
	fast_field(out, c->made_dirs ? "1" : "");
	for (size_t i = 0; i < c->act->nedits; i++) {
		struct place *p = &c->places[i];
		version[0] = '\0';
		if (c->act->edits[i].kind == FILE_PUT &&
		    fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			fast_version(&st, version);
		fast_field(out, version);
	}
}

/* The same order as the shell's: all checks, all contents, all names. */
static const char *
do_change(struct change *c, size_t *ret_at)
{
	const char *why = NULL;
	size_t *i = ret_at, n = c->act->nedits;

	for (*i = 0; *i < n; ++*i) {
		if ((why = check_place(c, *i, false)) || c->not_ours)
			return why;
	}
	for (*i = 0; *i < n; ++*i) {
		struct place *p = &c->places[*i];
		if (p->dir < 0) {	/* only now may directories be made */
			mem_free(p->clean);
			p->clean = NULL;
			why = check_place(c, *i, true);
		}
		if (!why)
			why = make_temp(c, *i);
		if (!why)
			why = check_target(c, *i);
		if (why || c->not_ours)
			return why;
	}
	for (*i = 0; *i < n; ++*i) {
		if ((why = change_name(c, *i)))
			return why;
	}
	return NULL;
}

enum fast_result
fast_change(struct fast *f, const struct file_act *act)
{
	struct change c = { .f = f, .act = act, .state = "no" };
	size_t at = 0;

	for (size_t i = 0; i < act->nedits; i++)
		c.places[i].dir = c.places[i].to_dir = -1;
	const char *why = do_change(&c, &at);

	if (!why && !c.not_ours)
		report_done(&c);
	clean_up(&c);
	if (c.not_ours)
		return FAST_NOT_OURS;
	if (why) {
		fast_field(f->out, c.state);
		buf_printf(f->out, "%zu", at);
		buf_add_char(f->out, 0);
		fast_field(f->out, why);
	}
	return FAST_DONE;
}
