/* Where an operand points, and what it means to read, write or lose it. */
#include <fnmatch.h>
#include <string.h>

#include "gateway/gate/guards.h"

#define WRITTEN_MAX 256

/* dir is path or an ancestor of it. */
bool
path_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	if (n == 1)
		return path[0] == '/';
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Lexically: "." and ".." and "//" resolved; relative ones against cwd. */
static const char *
normalise(struct walk *w, const char *s)
{
	size_t base = s[0] == '/' ? 0 : strlen(w->s.cwd), n = 0;
	char *out = arena_alloc(w->arena, base + strlen(s) + 3);
	if (s[0] != '/') {
		memcpy(out, w->s.cwd, base);
		n = base;
		while (n > 0 && out[n - 1] == '/')
			n--;
	}
	while (*s) {
		size_t k = strcspn(s, "/");
		if (k == 2 && s[0] == '.' && s[1] == '.') {
			while (n > 0 && out[n - 1] != '/')
				n--;
			n -= n > 0;
		} else if (k > 0 && !(k == 1 && s[0] == '.')) {
			out[n++] = '/';
			memcpy(out + n, s, k);
			n += k;
		}
		s += k + (s[k] == '/');
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return out;
}

/* The last component, if it is a glob that takes (nearly) everything. */
static bool
takes_all(const char *name)
{
	bool star = false;
	for (const char *p = name; *p; p++) {
		if (*p == MARK_STAR)
			star = true;
		else if (*p == MARK_BRACKET && strchr(p, ']'))
			p = strchr(p, ']');
		else if (*p != MARK_QUEST && *p != '.')
			return false;
	}
	return star;
}

static bool
is_vital_dir(const char *p)
{
	static const char list[] = "/ /bin /boot /dev /etc /home /lib /lib32 "
		"/lib64 /libx32 /media /mnt /opt /proc /root /run /sbin /srv "
		"/sys /usr /var /usr/bin /usr/lib /usr/lib64 /usr/local "
		"/usr/sbin /usr/share /usr/local/bin /usr/local/lib /var/lib "
		"/System /Library /Users /Applications /Volumes /private "
		"/private/etc /private/var /boot/efi /boot/grub /etc/ssh "
		"/var/lib/dpkg /lib/modules /usr/lib/modules /lib/x86_64-linux-gnu "
		"/usr/lib/x86_64-linux-gnu /lib/systemd /usr/lib/systemd "
		"/etc/systemd /etc/pam.d /usr/include /usr/libexec /nix /snap";
	return word_in(p, strlen(p), list);
}

/* Could this pattern (with markers) stand for a vital directory? */
static bool
glob_hits_vital(struct walk *w, const char *norm)
{
	static const char *const dirs[] = { "/bin", "/boot", "/etc", "/home",
		"/lib", "/opt", "/root", "/sbin", "/srv", "/usr", "/var",
		"/usr/bin", "/usr/lib", "/var/lib" };
	char *glob = arena_str(w->arena, norm);
	for (char *p = glob; *p; p++)
		*p = *p == MARK_STAR ? '*' : *p == MARK_QUEST ? '?' :
			*p == MARK_BRACKET ? '[' : *p;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (fnmatch(glob, dirs[i], FNM_PATHNAME) == 0)
			return true;
	return fnmatch(glob, w->ctx->home, FNM_PATHNAME) == 0;
}

static bool
is_home_dir(struct walk *w, const char *p)
{
	if (strcmp(p, w->ctx->home) == 0 || strcmp(p, "/root") == 0)
		return true;
	const char *rest = strncmp(p, "/home/", 6) == 0 ? p + 6 :
		strncmp(p, "/Users/", 7) == 0 ? p + 7 : NULL;
	/* an ancestor of the workspace that is no home is only a directory */
	return rest && *rest && !strchr(rest, '/') && !strchr(rest, MARK_NAME) &&
		strcmp(p, w->ctx->workspace) != 0;
}

static bool
is_block_device(const char *p)
{
	static const char *const globs[] = { "/dev/sd[a-z]*", "/dev/hd[a-z]*",
		"/dev/vd[a-z]*", "/dev/xvd*", "/dev/nvme*", "/dev/mmcblk*",
		"/dev/md[0-9]*", "/dev/dm-*", "/dev/loop[0-9]*", "/dev/nbd*",
		"/dev/disk*", "/dev/rdisk*", "/dev/mapper/*", "/dev/disk/*",
		"/dev/sr[0-9]*", "/dev/mtd*", "/dev/pmem*", "/dev/zram*",
		"/dev/vg*", "/dev/ram*" };
	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++)
		if (fnmatch(globs[i], p, 0) == 0)
			return true;
	return strncmp(p, "/dev/", 5) == 0 && strpbrk(p, "\x01\x03\x04\x05");
}

static enum path_zone
zone_of(struct walk *w, const char *p)
{
	static const char streams[] = "/dev/null /dev/stdout /dev/stderr "
		"/dev/stdin /dev/tty /dev/zero /dev/full /dev/random /dev/urandom";
	if (word_in(p, strlen(p), streams) || path_beneath(p, "/dev/fd"))
		return ZONE_STREAM;
	if (path_beneath(p, w->ctx->workspace))
		return ZONE_INSIDE;
	if (path_beneath(p, "/tmp") || path_beneath(p, "/var/tmp") || path_beneath(p, "/dev/shm"))
		return ZONE_TMP;
	if (is_block_device(p))
		return ZONE_BLOCK;
	if (path_beneath(p, "/dev"))
		return ZONE_DEVICE;
	if (path_beneath(p, "/proc") || path_beneath(p, "/sys"))
		return ZONE_PROC;
	if (path_beneath(p, w->ctx->home) || path_beneath(p, "/root") || path_beneath(p, "/home"))
		return ZONE_HOME;
	return ZONE_SYSTEM;
}

/* Follows links that this same command made. */
static const char *
follow(struct walk *w, const char *norm)
{
	for (const struct walk_path *l = w->written; l; l = l->next) {
		if (!l->target || !path_beneath(norm, l->path))
			continue;
		return normalise(w, arena_join(w->arena, l->target,
			norm + strlen(l->path), ""));
	}
	return norm;
}

/* A fixed prefix of a path with unknown parts tells where it can't leave. */
static bool
unknown_part(const char *s)
{
	return strchr(s, MARK_ANY) != NULL;
}

/* A file without which nobody logs in or nothing starts. */
static bool
is_vital_file(const char *p)
{
	static const char list[] = "/etc/passwd /etc/shadow /etc/group /etc/fstab "
		"/bin/sh /bin/bash /usr/bin/bash /usr/bin/sh /usr/bin/dash /bin/dash "
		"/sbin/init /usr/sbin/init /etc/inittab "
		"/usr/lib/systemd/systemd /lib/systemd/systemd";
	static const char *const globs[] = { "/boot/vmlinu*", "/boot/init*",
		"/boot/grub*", "/boot/efi/*", "*/ld-linux*.so*", "*/libc.so*",
		"*/ld-musl*.so*", "*/libc-2*.so" };
	if (word_in(p, strlen(p), list))
		return true;
	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++)
		if ((strncmp(p, "/boot", 5) == 0 || strncmp(p, "/lib", 4) == 0 ||
		    strncmp(p, "/usr/lib", 8) == 0) && fnmatch(globs[i], p, 0) == 0)
			return true;
	return false;
}

struct path
path_of(struct walk *w, const struct gate_field *f)
{
	struct path p = { .zone = ZONE_UNKNOWN };
	const char *s = f->s;
	if (f->flags & FIELD_PROC) {
		p.zone = ZONE_STREAM;
		return p;
	}
	if (s[0] != '/' && !w->s.cwd) {
		p.norm = arena_join(w->arena, "/", s, "");
		guard_path(w, &p);
		return p;
	}
	if (unknown_part(s)) {
		/* known secrets stay secrets whatever comes before or after */
		p.norm = s[0] == '/' || s[0] == MARK_ANY ? s : normalise(w, s);
		guard_path(w, &p);
		return p;
	}
	p.norm = follow(w, normalise(w, s));
	p.glob = strpbrk(p.norm, "\x03\x04\x05") != NULL;
	const char *last = strrchr(p.norm, '/') + 1;
	if (takes_all(last)) {
		size_t n = (size_t)(last - p.norm) - 1;
		p.norm = n == 0 ? "/" : arena_strn(w->arena, p.norm, n);
		p.all = true;
	}
	p.zone = zone_of(w, p.norm);
	p.vital = is_vital_dir(p.norm) || is_home_dir(w, p.norm) ||
		(p.glob && !p.all && glob_hits_vital(w, p.norm));
	if (p.zone == ZONE_INSIDE && strcmp(p.norm, w->ctx->home) != 0)
		p.vital = false;
	p.vital_file = p.zone == ZONE_SYSTEM && is_vital_file(p.norm);
	p.ours = w->ctx->state_dir && path_beneath(p.norm, w->ctx->state_dir);
	guard_path(w, &p);
	return p;
}

const char *
path_from(struct walk *w, const char *dir, const char *name)
{
	const char *cwd = w->s.cwd;
	w->s.cwd = dir;
	const char *norm = normalise(w, name);
	w->s.cwd = cwd;
	return norm;
}

const char *
path_known(struct walk *w, const struct gate_field *f)
{
	struct path p = path_of(w, f);
	return p.zone == ZONE_UNKNOWN ? NULL : p.norm;
}

void
path_note_written(struct walk *w, const struct gate_field *f, bool fetched)
{
	if (w->nwritten >= WRITTEN_MAX || (f->flags & FIELD_ANY) ||
	    (f->s[0] != '/' && !w->s.cwd))
		return;
	struct walk_path *l = arena_alloc(w->arena, sizeof(*l));
	l->path = normalise(w, f->s);
	l->fetched = fetched;
	l->next = w->written;
	w->written = l;
	w->nwritten++;
}

void
path_note_link(struct walk *w, const char *link, const char *target)
{
	if (!w->s.cwd || w->nwritten >= WRITTEN_MAX)
		return;
	struct walk_path *l = arena_alloc(w->arena, sizeof(*l));
	l->path = normalise(w, link);
	l->target = arena_str(w->arena, target);
	l->next = w->written;
	w->written = l;
	w->nwritten++;
}

bool
path_was_written(struct walk *w, const struct gate_field *f)
{
	if ((f->flags & FIELD_ANY) || (f->s[0] != '/' && !w->s.cwd))
		return w->nwritten > 0;
	const char *norm = normalise(w, f->s);
	for (const struct walk_path *l = w->written; l; l = l->next)
		if (path_beneath(norm, l->path) ||
		    (strpbrk(l->path, "\x02\x03\x04\x05") && l->fetched))
			return true;
	return false;
}
