/* Copying, moving, linking, deleting, modes and owners, archives. */
#include <ctype.h>
#include <string.h>

#include "gateway/gate/rules.h"

static void
rule_rm(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool recursive = strcmp(c->name, "rimraf") == 0 ||
		opts_has(c, "", "rR", "recursive recursiv recursi recurs recur "
			"recu rec re r");
	struct opts o;
	int k;
	size_t words = 0;
	opts_init(&o, c, arg, "");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == OPT_LONG && opts_long(&o, "help", 2))
			return;
		if (k != OPT_WORD)
			continue;
		words++;
		/* unquoted and unknown: it may bring options of its own */
		path_check_delete(w, o.word, recursive);
	}
	if (recursive && words == 0)
		walk_ask(w, GATE_CLASS_FILES, "recursive delete",
			"it deletes directories with all that is in them");
}

static void
rule_shred(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "iterations size random-source");
	walk_ask(w, GATE_CLASS_FILES, "file destroyed beyond recovery",
		"%s overwrites what it deletes", c->name);
	while ((k = opts_next(&o)) != OPT_END) {
		if (k != OPT_WORD)
			continue;
		path_check_write(w, o.word, "destroys");
		if (path_of(w, o.word).zone == ZONE_SYSTEM)
			walk_never(w, "delete in root path",
				"destroying %s loses the machine", o.word->s);
	}
}

static bool
mode_is_open(const char *m)
{
	size_t n = strlen(m);
	if (n >= 3 && n <= 5 && strspn(m, "01234567") == n)
		return strchr("2367", m[n - 1]) != NULL;
	for (; *m; m += *m == ',') {
		bool others = false, any = true;
		for (; strchr("ugoa", *m) && *m; m++) {
			any = false;
			others |= *m == 'o' || *m == 'a';
		}
		(void)any;
		bool adds = *m == '+' || *m == '=';
		for (; *m && *m != ','; m++)
			if (adds && others && *m == 'w')
				return true;
	}
	return false;
}

static bool
mode_is_special(const char *m)
{
	size_t n = strlen(m);
	if (n >= 4 && strspn(m, "01234567") == n)
		return strchr("4652371", m[n - 4]) != NULL && m[n - 4] != '0' &&
			m[n - 4] != '1';
	const char *s = strpbrk(m, "+=");
	return s && strchr(s, 's') != NULL;
}

/* cp, mv, install: the last operand (or -t) is written; mv also takes away. */
struct copy {
	struct field_list from;
	struct gate_field to;
	bool have_to, recursive, directory;
};

static void
copy_read(struct walk *w, struct gate_cmd *c, const char *shorts, struct copy *cp)
{
	struct opts o;
	int k;
	*cp = (struct copy){ .have_to = false };
	opts_init(&o, c, shorts, "target-directory suffix mode owner group backup-dir");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 't' || (k == OPT_LONG && opts_long(&o, "target-directory", 2))) {
			cp->to = o.val_field;
			cp->have_to = true;
		} else if (k == OPT_WORD) {
			field_push(w, &cp->from, *o.word);
		}
		if ((k == 'm' || (k == OPT_LONG && opts_long(&o, "mode", 2))) && o.val &&
		    !strcmp(c->name, "install") && (mode_is_special(o.val) ||
		    mode_is_open(o.val)))
			walk_ask(w, GATE_CLASS_FILES, "set-user-id bit",
				"programs then run with other rights (%s)", o.val);
		cp->recursive |= k == 'r' || k == 'R' || k == 'a';
		cp->directory |= k == 'd';
	}
	if (!cp->have_to && cp->from.n > 0 &&
	    !(cp->directory && !strcmp(c->name, "install"))) {
		cp->to = cp->from.v[--cp->from.n];
		cp->have_to = true;
	}
}

/* Where a file lands: into a directory it keeps its name. */
static void
check_landing(struct walk *w, const struct gate_field *from,
	const struct gate_field *to, const char *verb)
{
	const char *slash = strrchr(from->s, '/');
	const char *name = slash ? slash + 1 : from->s;
	path_check_replace(w, to, verb);
	if (!*name || (from->flags & FIELD_ANY))
		return;
	const char *in = arena_join(w->arena, to->s, "/", name);
	struct gate_field f = { in, strlen(in), to->flags | from->flags };
	struct path p = path_of(w, &f);
	if (to->s[0] && (to->s[to->len - 1] == '/' || field_is(to, ".") ||
	    field_is(to, "..") || strcmp(p.norm ? p.norm : "", "") == 0 ||
	    field_is(to, w->ctx->home)) && p.guarded)
		path_check_write(w, &f, verb);
	path_note_written(w, &f, false);
}

static void
rule_copy(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct copy cp;
	bool move = strcmp(c->name, "mv") == 0;
	copy_read(w, c, arg, &cp);
	for (size_t i = 0; i < cp.from.n; i++) {
		struct path p = path_of(w, &cp.from.v[i]);
		if (!move)
			path_check_read(w, &cp.from.v[i]);
		if (move && (p.vital || p.vital_file))
			walk_never(w, "delete in root path",
				"moving %s away loses the machine or a home",
				cp.from.v[i].s);
		else if (move && p.zone != ZONE_INSIDE && p.zone != ZONE_TMP)
			walk_ask(w, GATE_CLASS_FILES, "write outside the workspace",
				"it takes %s away, outside the workspace",
				cp.from.v[i].s);
		else if (move && (p.guarded || p.cred))
			walk_ask(w, GATE_CLASS_FILES, "delete of a guarded file",
				"it takes %s away", cp.from.v[i].s);
		if (cp.have_to)
			check_landing(w, &cp.from.v[i], &cp.to, "writes");
	}
	if (!cp.have_to)
		return;
	struct path to = path_of(w, &cp.to);
	if (move && (to.zone == ZONE_TMP || field_is(&cp.to, "/dev/null")))
		walk_ask(w, GATE_CLASS_FILES, "moved out of the workspace",
			"%s is where things get lost", cp.to.s);
	path_note_written(w, &cp.to, false);
	if (cp.from.n == 0)
		path_check_write(w, &cp.to, "makes");
}

static void
rule_ln(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct copy cp;
	copy_read(w, c, arg, &cp);
	if (cp.from.n == 0 && cp.have_to) {
		cp.from.v = &cp.to;
		cp.from.n = 1;
	} else if (cp.have_to) {
		path_check_replace(w, &cp.to, "makes the link");
	}
	for (size_t i = 0; i < cp.from.n; i++) {
		struct path p = path_of(w, &cp.from.v[i]);
		if (p.cred || p.vital || p.guarded || p.zone == ZONE_SYSTEM ||
		    p.zone == ZONE_PROC || p.zone == ZONE_BLOCK)
			walk_ask(w, GATE_CLASS_FILES, "link out of the workspace",
				"the link leads to %s", cp.from.v[i].s);
		if (p.norm && cp.have_to && cp.to.s != cp.from.v[i].s)
			path_note_link(w, cp.to.s, p.norm);
	}
}

/* Operands are made or written: mkdir, touch, tee, truncate. */
static void
rule_write(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "size reference mode date");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k != OPT_WORD)
			continue;
		if (word_in(c->name, strlen(c->name), "truncate sponge"))
			path_check_replace(w, o.word, "writes");
		else
			path_check_write(w, o.word, strcmp(c->name, "mkdir") == 0 ?
				"makes" : "writes");
		path_note_written(w, o.word, false);
	}
	if (strcmp(c->name, "tee") == 0) {
		c->out.text = c->in.text;
		c->out.len = c->in.len;
	} else if (strcmp(c->name, "mkfifo") == 0 || strcmp(c->name, "mknod") == 0) {
		c->out.present = false;
	}
}

static void
rule_chmod(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool recursive = opts_has(c, "", "R", "recursive"), mode = false;
	bool closed = false;
	(void)arg;
	for (size_t i = 1; i < c->n; i++) {
		const struct gate_field *f = &c->v[i];
		bool option = f->s[0] == '-' && f->s[1] &&
			!strchr("rwxst", f->s[1]);
		if (option) {
			mode |= field_starts(f, "--reference");
			continue;
		}
		if (!mode) {
			mode = true;
			closed = word_in(f->s, f->len, "0 00 000 0000 a-x a-rwx -x "
				"-rwx ugo-rwx ugo-x a= u-x u-rwx");
			if (mode_is_open(f->s))
				walk_ask(w, GATE_CLASS_FILES,
					"world/other-writable permissions",
					"everybody may then write (%s)", f->s);
			if (mode_is_special(f->s) || (f->flags & FIELD_ANY))
				walk_ask(w, GATE_CLASS_FILES, "set-user-id bit",
					"programs then run with other rights (%s)",
					f->s);
			w->made_executable |= strchr(f->s, 'x') || strchr("7531",
				f->len > 0 ? f->s[0] : ' ');
			continue;
		}
		if (recursive)
			path_check_tree(w, f, "changes the mode of all in");
		else if (closed && (path_of(w, f).vital || path_of(w, f).vital_file))
			walk_never(w, "change of a whole system tree",
				"nothing works when nobody may use %s", f->s);
		else if (strcmp(path_of(w, f).norm ? path_of(w, f).norm : "", "/") == 0)
			walk_never(w, "change of a whole system tree",
				"nothing works when / can't be entered");
		else
			path_check_write(w, f, "changes the mode of");
		if (w->made_executable)
			path_note_written(w, f, false);
	}
}

static void
rule_chown(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool recursive = opts_has(c, arg, "R", "recursive"), owner = false;
	struct opts o;
	int k;
	opts_init(&o, c, arg, "from");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k != OPT_WORD)
			continue;
		if (!owner) {
			owner = true;
			walk_ask(w, GATE_CLASS_FILES, recursive &&
				field_starts(o.word, "root") ?
				"recursive chown to root" : "change of owner",
				"files get another owner (%s)", o.word->s);
		} else if (recursive) {
			path_check_tree(w, o.word, "changes the owner of all in");
		} else {
			path_check_write(w, o.word, "changes the owner of");
		}
	}
}

static void
rule_setfacl(struct walk *w, struct gate_cmd *c, const char *arg)
{
	walk_ask(w, GATE_CLASS_FILES, "change of owner",
		"%s changes who may do what with files", c->name);
	if (opts_has(c, arg, "R", "recursive"))
		for (size_t i = 2; i < c->n; i++)
			if (c->v[i].s[0] != '-' && !strchr(c->v[i].s, ':'))
				path_check_tree(w, &c->v[i], "changes the rights in");
}

/* ---- archives ---- */
static void
tar_option(struct walk *w, struct gate_cmd *c, struct opts *o, int k)
{
	static const char *const runs[] = { "use-compress-program", "to-command",
		"checkpoint-action", "info-script", "new-volume-script",
		"rsh-command", "rmt-command" };
	for (size_t i = 0; k == OPT_LONG && i < sizeof(runs) / sizeof(runs[0]); i++)
		if (o->name_len >= 4 && opts_long(o, runs[i], 4) &&
		    !(i == 2 && o->val && strncmp(o->val, "exec", 4)) &&
		    !(i == 0 && o->val && word_in(o->val, strcspn(o->val, " "),
		    "zstd gzip pigz xz bzip2 lz4 pbzip2 pixz zstdmt lbzip2")))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"tar runs %s", o->val ? o->val : "a program");
	if ((k == 'I' && o->val && !word_in(o->val, strcspn(o->val, " "),
	    "zstd gzip pigz xz bzip2 lz4 pbzip2 pixz zstdmt lbzip2")) || k == 'F')
		walk_ask(w, GATE_CLASS_CODE, "program run through an option",
			"tar runs %s", o->val ? o->val : "a program");
	if (k == OPT_LONG && opts_long(o, "remove-files", 4))
		walk_ask(w, GATE_CLASS_FILES, "recursive delete",
			"tar deletes what it packs");
	if (k == 'P' || (k == OPT_LONG && opts_long(o, "absolute-names", 3)))
		walk_ask(w, GATE_CLASS_FILES, "write outside the workspace",
			"the archive decides where files go");
	(void)c;
}

static void
rule_tar(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	struct gate_cmd own = *c;
	int k;
	bool extract = false, create = false, list = false;
	struct gate_field file = { "", 0, 0 }, dir = { ".", 1, 0 };
	/* "tar xzf a" is "tar -xzf a" */
	if (c->n > 1 && c->v[1].s[0] != '-') {
		struct gate_field *v = arena_alloc(w->arena, c->n * sizeof(*v));
		memcpy(v, c->v, c->n * sizeof(*v));
		v[1].s = arena_join(w->arena, "-", c->v[1].s, "");
		v[1].len++;
		own.v = v;
	}
	opts_init(&o, &own, arg, "file directory exclude use-compress-program "
		"to-command files-from info-script new-volume-script rsh-command "
		"rmt-command transform strip-components owner group mode "
		"exclude-from checkpoint-action");
	while ((k = opts_next(&o)) != OPT_END) {
		extract |= k == 'x' || (k == OPT_LONG && opts_long(&o, "extract", 3));
		create |= k == 'c' || k == 'r' || k == 'u' ||
			(k == OPT_LONG && opts_long(&o, "create", 2));
		list |= k == 't';
		if (k == 'f' || (k == OPT_LONG && opts_long(&o, "file", 4)))
			file = o.val_field;
		else if (k == 'C' || (k == OPT_LONG && opts_long(&o, "directory", 2)))
			dir = o.val_field;
		else if (k == OPT_WORD && !extract && !list)
			path_check_read(w, o.word);
		if (k == OPT_WORD && create && path_of(w, o.word).vital &&
		    opts_has(&own, "f:C:", "", "remove-files"))
			walk_never(w, "delete in root path",
				"tar deletes %s after packing it", o.word->s);
		if (k == OPT_WORD && path_of(w, o.word).cred)
			c->out.flags |= FIELD_SECRET;
		tar_option(w, c, &o, k);
	}
	if (create && file.len > 0 && !field_is(&file, "-"))
		path_check_write(w, &file, "writes");
	if (extract)
		path_check_write(w, &dir, "unpacks into");
	if (extract && (path_was_written(w, &file) || w->archive_fetched ||
	    (c->in.flags & FIELD_FETCHED)))
		w->tree_fetched = true;
}

/* unzip -d, 7z x -o, gunzip: into the workspace. */
static void
rule_unpack(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	size_t words = 0;
	opts_init(&o, c, arg, "");
	while ((k = opts_next(&o)) != OPT_END) {
		if ((k == 'd' || k == 'o') && o.val)
			path_check_write(w, &o.val_field, "unpacks into");
		if (k == 's' && c->name[0] == '7' && opts_has(c, arg, "d", ""))
			walk_ask(w, GATE_CLASS_FILES, "recursive delete",
				"%s deletes what it packs", c->name);
		if (k == OPT_WORD && words++ == 0 &&
		    (w->archive_fetched || path_was_written(w, o.word)))
			w->tree_fetched = true;
		if (k == OPT_WORD && words > 2 && strstr(c->name, "rar"))
			path_check_write(w, o.word, "unpacks into");
		else if (k == OPT_WORD)
			path_check_read(w, o.word);
	}
}

static void
rule_zip(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	size_t words = 0;
	opts_init(&o, c, arg, "unzip-command test-command");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 'T' || k == OPT_LONG) {
			for (size_t i = 1; i < c->n; i++)
				if (strstr(c->v[i].s, "TT") ||
				    field_starts(&c->v[i], "--unzip-command"))
					walk_ask(w, GATE_CLASS_CODE,
						"program run through an option",
						"zip runs a test command");
		}
		if (k == 'm')
			walk_ask(w, GATE_CLASS_FILES, "recursive delete",
				"zip deletes what it packs");
		if (k == OPT_WORD && words++ == 0)
			path_check_write(w, o.word, "writes");
		else if (k == OPT_WORD)
			path_check_read(w, o.word);
	}
}

/* gzip and its kind replace the file next to it. */
static void
rule_compress(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool to_stdout = opts_has(c, arg, "ctl", "stdout test list to-stdout");
	bool decode = strncmp(c->name, "un", 2) == 0 || strncmp(c->name, "gun", 3) == 0 ||
		strncmp(c->name, "bun", 3) == 0 || opts_has(c, arg, "d", "decompress");
	opts_init(&o, c, arg, "");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == OPT_WORD && to_stdout)
			path_check_read(w, o.word);
		else if (k == OPT_WORD)
			path_check_write(w, o.word, "replaces");
	}
	if (decode)
		c->out.flags |= FIELD_DECODED;
}

static void
rule_patch(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "input output directory");
	while ((k = opts_next(&o)) != OPT_END)
		if (k == OPT_WORD || k == 'o' || k == 'd')
			path_check_write(w, k == OPT_WORD ? o.word : &o.val_field,
				"changes");
	if (c->in.flags & FIELD_FETCHED)
		w->tree_fetched = true;
}

static void
rule_cpio(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (opts_has(c, "F:D:E:H:C:I:O:", "ip", "extract"))
		walk_ask(w, GATE_CLASS_FILES, "write to an unknown place",
			"the archive decides where %s puts files", c->name);
}

const struct gate_kind kinds_files[] = {
	{ "rm rimraf del-cli", rule_rm, "" },
	{ "unlink trash trash-put gio", rule_rm, "" },
	{ "rmdir", rule_write, "" },
	{ "shred srm wipe", rule_shred, "n:s:" },
	{ "trash-empty", rule_says, "files|recursive delete|empties the trash for good" },
	{ "cp gcp mv gmv rename mmv", rule_copy, "t:S:" },
	{ "install ginstall", rule_copy, "t:S:m:o:g:" },
	{ "ln gln link symlink", rule_ln, "t:S:" },
	{ "mkdir touch tee truncate mkfifo fallocate sponge", rule_write,
	  "m:d:t:r:s:l:o:" },
	{ "chmod", rule_chmod, NULL },
	{ "chown chgrp", rule_chown, "" },
	{ "setfacl", rule_setfacl, "m:x:b::" },
	{ "chattr", rule_says, "files|change of owner|changes who may do what with files" },
	{ "tar gtar bsdtar", rule_tar, "f:C:T:X:I:F:L:b:g:H:K:N:V:" },
	{ "unzip 7z 7za 7zr rar unrar unrar-free ar dtrx unar", rule_unpack, "d:o:x:" },
	{ "zip", rule_zip, "b:n:t:" },
	{ "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 unlz4 lzma compress "
	  "uncompress pigz unpigz brotli lzop", rule_compress, "S:o:T:" },
	{ "patch", rule_patch, "i:o:d:p:F:B:D:r:V:z:" },
	{ "cpio pax", rule_cpio, NULL },
	{ NULL, NULL, NULL },
};
