/* git: what is lost, what runs, where it goes. */
#include <string.h>

#include "gateway/gate/rules.h"

#define LOST(w, key, ...) walk_ask(w, GATE_CLASS_FILES, key, __VA_ARGS__)
#define RUNS(w, ...) walk_ask(w, GATE_CLASS_CODE, "git runs a program", __VA_ARGS__)

/* Settings that make git run something or talk to another place. */
static bool
setting_is_harmless(const char *s)
{
	static const char *const starts[] = { "user.", "color.", "advice.",
		"init.", "pull.", "push.default", "push.autosetupremote",
		"push.followtags", "fetch.", "merge.conflictstyle", "merge.ff",
		"rebase.", "branch.", "core.quotepath", "core.autocrlf",
		"core.eol", "core.ignorecase", "core.filemode", "core.longpaths",
		"core.safecrlf", "core.abbrev", "core.whitespace", "diff.algorithm",
		"diff.renames", "diff.mnemonicprefix", "diff.colormoved",
		"log.", "status.", "tag.sort", "commit.gpgsign",
		"commit.verbose", "tag.gpgsign", "rerere.", "help.", "column.",
		"safe.directory", "gc.auto", "stash.", "blame.", "format.pretty",
		"http.postbuffer", "http.lowspeed", "protocol.version",
		"submodule.recurse", "versionsort.", "i18n.", "transfer.",
		"feature.manyfiles", "core.untrackedcache", "core.preloadindex",
		"index.", "pack.", "lfs.concurrenttransfers", "apply.", "grep.",
		"core.commentchar", "interactive.singlekey", "worktree." };
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncasecmp(s, starts[i], strlen(starts[i])) == 0)
			return true;
	if (strncasecmp(s, "core.pager", 10) == 0 || strncasecmp(s, "pager.", 6) == 0 ||
	    strncasecmp(s, "core.editor", 11) == 0) {
		const char *eq = strchr(s, '=');
		return eq && (word_in(eq + 1, strlen(eq + 1), "cat less true : vim "
			"nano false more"));
	}
	return false;
}

static bool
is_url(const char *s)
{
	return strstr(s, "://") || strstr(s, "::") ||
		(strchr(s, ':') && strchr(s, '@'));
}

/* "name::address" starts git-remote-name; ext's is a command line. */
static void
check_transport(struct walk *w, const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789+-");
	if ((n > 0 && s[n] == ':' && s[n + 1] == ':') || strstr(s, "://-"))
		RUNS(w, "the address %s makes git run a program", s);
}

/* Options of any subcommand that name programs. */
static void
check_programs(struct walk *w, const struct gate_cmd *c, const char *sub)
{
	struct opts o;
	int k;
	bool packs = word_in(sub, strlen(sub), "archive bundle format-patch");
	opts_init(&o, c, packs ? "o:" : "", "output output-directory remote");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == OPT_WORD || o.val)
			check_transport(w, k == OPT_WORD ? o.word->s : o.val);
		if (k == OPT_WORD && o.word->s[0] == '/')
			path_check_read(w, o.word);
		if (o.val && (k == 'o' || (k == OPT_LONG && (opts_long(&o, "output", 3) ||
		    word_in(o.name, o.name_len, "output-directory separate-git-dir directory")))))
			path_check_write(w, &o.val_field, "writes");
		if (k == OPT_LONG && (opts_long(&o, "upload-pack", 8) ||
		    opts_long(&o, "receive-pack", 8) || opts_long(&o, "ext-diff", 5) ||
		    opts_long(&o, "exec", 4) || opts_long(&o, "extcmd", 4) ||
		    opts_long(&o, "open-files-in-pager", 4) ||
		    opts_long(&o, "sendmail-cmd", 8) || opts_long(&o, "template", 5) ||
		    opts_long(&o, "to-cmd", 4) || opts_long(&o, "cc-cmd", 4)))
			if (o.name_len < 5 || strncmp(o.name, "exec-batch", 10))
				RUNS(w, "--%.*s names a program", (int)o.name_len,
					o.name);
	}
}

static bool
has(const struct gate_cmd *c, const char *letters, const char *longs)
{
	return opts_has(c, "", letters, longs);
}

static const struct gate_field *
operand(const struct gate_cmd *c, size_t n)
{
	struct opts o;
	int k;
	opts_init(&o, c, "", "");
	while ((k = opts_next(&o)) != OPT_END)
		if (k == OPT_WORD && n-- == 0)
			return o.word;
	return NULL;
}

static bool
operand_in(const struct gate_cmd *c, size_t n, const char *list)
{
	const struct gate_field *f = operand(c, n);
	return f && word_in(f->s, f->len, list);
}

static void
git_push(struct walk *w, const struct gate_cmd *c)
{
	struct opts o;
	int k;
	size_t words = 0;
	bool dry = has(c, "n", "dry-run");
	opts_init(&o, c, "o:", "push-option repo receive-pack exec");
	while ((k = opts_next(&o)) != OPT_END) {
		if (!dry && (k == 'f' || (k == OPT_LONG && opts_long(&o, "force-with-lease", 2))))
			LOST(w, "git force push (rewrites remote history)",
				"it overwrites what others may have pushed");
		else if (!dry && (k == 'd' || (k == OPT_LONG && (opts_long(&o, "delete", 2) ||
		    opts_long(&o, "mirror", 2) || opts_long(&o, "prune", 3)))))
			LOST(w, "git push that deletes", "it deletes remote branches");
		if (k != OPT_WORD)
			continue;
		words++;
		const char *s = o.word->s;
		if (words == 1 && (is_url(s) || strchr(s, '/') || (o.word->flags &
		    FIELD_ANY)))
			walk_ask(w, GATE_CLASS_NETWORK, "git push to an address",
				"it sends the repository to %s", s);
		else if (words > 1 && s[0] == '+' && !dry)
			LOST(w, "git force push (rewrites remote history)",
				"+ overwrites what others may have pushed");
		else if (words > 1 && s[0] == ':' && !dry)
			LOST(w, "git push that deletes", "it deletes %s there", s + 1);
		else if (words > 1 && (o.word->flags & FIELD_ANY))
			walk_ask(w, GATE_CLASS_NETWORK, "git push to an address",
				"what is pushed is only known at run time");
	}
	for (const struct walk_path *p = w->written; p; p = p->next)
		if (strcmp(p->path, "/git-remote") == 0)
			walk_ask(w, GATE_CLASS_NETWORK, "git push to an address",
				"it pushes to a remote made by this same command");
}

/* Does this operand of checkout look like a file? */
static bool
looks_like_path(const char *s)
{
	const char *dot = strrchr(s, '.');
	size_t n = strlen(s);
	return s[0] == '.' ||
		strpbrk(s, "\x03\x04\x05") || (n > 0 && s[n - 1] == '/') ||
		(dot && dot > s && dot[1] && dot[1] >= 'a' && dot[1] <= 'z' &&
		strlen(dot) <= 6);
}

static void
git_checkout(struct walk *w, const struct gate_cmd *c)
{
	struct opts o;
	int k;
	bool branch = has(c, "bB", "orphan detach track");
	opts_init(&o, c, "b:B:", "orphan conflict pathspec-from-file");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 'f' || (k == OPT_LONG && (opts_long(&o, "force", 2) ||
		    opts_long(&o, "pathspec-from-file", 4) ||
		    opts_long(&o, "ours", 3) || opts_long(&o, "theirs", 3))))
			LOST(w, "git discards changes", "it throws changes away");
		if (k == OPT_WORD && (o.ended || (!branch && looks_like_path(o.word->s))))
			LOST(w, "git discards changes",
				"it throws changes to %s away", o.word->s);
		else if (k == OPT_WORD && (o.word->flags & FIELD_ANY) && !branch)
			LOST(w, "git discards changes",
				"what is checked out is only known at run time");
		if (k == 'B')
			LOST(w, "git moves a branch", "a branch loses its place");
	}
	for (size_t i = 1; i + 1 < c->n; i++)
		if (field_is(&c->v[i], "--"))
			LOST(w, "git discards changes", "it throws changes away");
}

/* fetch and pull that move local branches over what they held. */
static void
git_fetch(struct walk *w, const struct gate_cmd *c)
{
	bool force = has(c, "f", "force");
	for (size_t i = 1; i < c->n; i++) {
		const char *s = c->v[i].s, *to = strchr(s, ':');
		force |= s[0] == '+' && to && strncmp(to, ":refs/remotes/", 14) != 0;
	}
	if (force)
		LOST(w, "git moves a branch", "a branch or tag loses its place");
}

static void
git_stash(struct walk *w, const struct gate_cmd *c)
{
	const struct gate_field *sub = operand(c, 0);
	if (sub && word_in(sub->s, sub->len, "drop clear"))
		LOST(w, "git stash dropped", "stashed changes are deleted");
}

static void
git_config(struct walk *w, const struct gate_cmd *c)
{
	bool read = has(c, "l", "get get-all get-regexp list get-urlmatch "
		"show-origin name-only get-color");
	const struct gate_field *key = operand(c, 0), *value = operand(c, 1);
	bool wide = has(c, "f", "global system file");
	for (size_t i = 1; i < c->n; i++)
		if (strcasestr(c->v[i].s, "extraheader"))
			walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
				"passwords are kept in %s", c->v[i].s);
	if (key && word_in(key->s, key->len, "get list"))
		return;
	if (key && word_in(key->s, key->len, "set unset edit rename-section "
	    "remove-section")) {
		key = value;
		value = operand(c, 2);
	}
	if (has(c, "e", "edit") && !read)
		RUNS(w, "it opens an editor on git's configuration");
	if (read || (!value && !has(c, "", "unset unset-all add replace-all "
	    "remove-section rename-section")))
		return;
	if (wide)
		LOST(w, "overwrite git configuration",
			"it changes git's configuration outside the workspace");
	const char *name = key ? key->s : "", *to = value ? value->s : "";
	const char *set = arena_join(w->arena, name ? name : "", "=", to ? to : "");
	if (!setting_is_harmless(name) && !setting_is_harmless(set))
		RUNS(w, "the setting %s can make git run programs", name);
}

static void
git_clone(struct walk *w, const struct gate_cmd *c)
{
	struct opts o;
	int k;
	size_t words = 0;
	opts_init(&o, c, "b:o:u:c:j:", "depth branch origin upload-pack config "
		"reference template jobs filter separate-git-dir server-option");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 'u')
			RUNS(w, "-u names a program");
		if ((k == 'c' || (k == OPT_LONG && opts_long(&o, "config", 4))) &&
		    o.val && !setting_is_harmless(o.val))
			RUNS(w, "the setting %s can make git run programs", o.val);
		if (k == OPT_LONG && opts_long(&o, "upload-pack", 1) &&
		    o.name_len > 1)
			RUNS(w, "--upload-pack names a program");
		if (k == OPT_LONG && opts_long(&o, "template", 1))
			RUNS(w, "a template brings hooks");
		if (k == OPT_WORD && words++ == 1) {
			path_check_write(w, o.word, "clones into");
			path_note_written(w, o.word, true);
		}
	}
	w->tree_fetched = true;
}

static void
git_remote(struct walk *w, const struct gate_cmd *c)
{
	const struct gate_field *sub = operand(c, 0);
	if (!sub)
		return;
	if (word_in(sub->s, sub->len, "add set-url")) {
		struct gate_field mark = field_text(w, "/git-remote", 11, 0);
		path_note_written(w, &mark, false);
		for (size_t i = 1; i < c->n; i++)
			check_transport(w, c->v[i].s);
	}
}

static void
git_lossy(struct walk *w, struct gate_cmd *c, const char *sub)
{
	if (!strcmp(sub, "reset") && has(c, "", "hard merge har ha"))
		LOST(w, "git reset --hard (destroys uncommitted changes)",
			"it throws uncommitted changes away");
	if (!strcmp(sub, "clean") && !has(c, "n", "dry-run") )
		LOST(w, "git clean with force (deletes untracked files)",
			"it deletes files that git doesn't know");
	if (!strcmp(sub, "branch") && (has(c, "DMC", "") || (has(c, "f", "force") &&
	    has(c, "dmc", "delete move copy")) || has(c, "f", "force")))
		LOST(w, "git branch force delete", "a branch loses its commits");
	if (!strcmp(sub, "restore") && (!has(c, "S", "staged") ||
	    has(c, "W", "worktree")))
		LOST(w, "git discards changes", "it throws changes away");
	if (!strcmp(sub, "switch") && has(c, "fC", "force discard-changes "
	    "force-create"))
		LOST(w, "git discards changes", "it throws changes away");
	if (word_in(sub, strlen(sub), "filter-branch filter-repo replace"))
		LOST(w, "git history rewrite", "it rewrites the history");
	if (!strcmp(sub, "reflog") && operand_in(c, 0, "expire delete"))
		LOST(w, "git history rewrite", "the way back is deleted");
	if ((!strcmp(sub, "gc") && has(c, "", "prune aggressive")) ||
	    !strcmp(sub, "prune") || !strcmp(sub, "prune-packed"))
		LOST(w, "git history rewrite", "unreachable commits are deleted");
	if (!strcmp(sub, "update-ref") || !strcmp(sub, "symbolic-ref")) {
		if (has(c, "d", "delete stdin") || operand(c, 1))
			LOST(w, "git history rewrite", "a reference is changed by hand");
	}
	if (!strcmp(sub, "read-tree") && has(c, "u", "reset"))
		LOST(w, "git discards changes", "it throws changes away");
	if (word_in(sub, strlen(sub), "lfs notes") && operand_in(c, 0, "prune remove"))
		LOST(w, "git history rewrite", "what git keeps is deleted");
	if (!strcmp(sub, "subtree") && operand_in(c, 0, "push"))
		walk_ask(w, GATE_CLASS_NETWORK, "git push to an address",
			"it sends a part of the repository");
	if (!strcmp(sub, "tag") && has(c, "df", "delete force"))
		LOST(w, "git tag deleted", "a tag is deleted or moved");
	if (!strcmp(sub, "rm") && has(c, "r", "") && !has(c, "n", "cached dry-run"))
		LOST(w, "recursive delete", "it deletes directories");
	if (!strcmp(sub, "worktree") && operand_in(c, 0, "remove") && has(c, "f", "force"))
		LOST(w, "git discards changes", "a worktree is deleted with its changes");
	if (!strcmp(sub, "submodule") && operand_in(c, 0, "deinit"))
		LOST(w, "git discards changes", "a submodule is emptied");
	if (!strcmp(sub, "rebase") && has(c, "i", "interactive root") &&
	    has(c, "", "root"))
		LOST(w, "git history rewrite", "it rewrites the whole history");
	if (!strcmp(sub, "svn") || !strcmp(sub, "p4") || !strcmp(sub, "send-email") ||
	    !strcmp(sub, "daemon") || !strcmp(sub, "instaweb") ||
	    !strcmp(sub, "http-backend") || !strcmp(sub, "imap-send"))
		walk_ask(w, GATE_CLASS_NETWORK, "git sends or serves",
			"git %s sends or serves the repository", sub);
}

static void
git_running(struct walk *w, struct gate_cmd *c, const char *sub)
{
	const struct gate_field *first = operand(c, 0);
	if (!strcmp(sub, "rebase") && opts_has(c, "x:", "x", "exec exe ex"))
		RUNS(w, "rebase --exec runs a command");
	if (!strcmp(sub, "bisect") && first && field_is(first, "run"))
		RUNS(w, "bisect run runs a command");
	if ((!strcmp(sub, "submodule") || !strcmp(sub, "for-each-repo")) && first &&
	    field_is(first, "foreach"))
		RUNS(w, "submodule foreach runs a command");
	if (!strcmp(sub, "grep") && opts_has(c, "e:f:A:B:C:m:", "O", ""))
		RUNS(w, "grep -O opens a program");
	if (word_in(sub, strlen(sub), "difftool mergetool") && !has(c, "", "tool-help"))
		RUNS(w, "%s starts a tool", sub);
	if (!strcmp(sub, "difftool") || !strcmp(sub, "filter-branch")) {
		struct gate_flow in = { .present = false }, out = in;
		for (size_t i = 2; i < c->n; i++)
			if (strchr(c->v[i].s, ' '))
				walk_new_shell(w, c->v[i].s, c->v[i].len, &in, &out);
	}
	if (!strcmp(sub, "hook") || !strcmp(sub, "fast-import") ||
	    !strcmp(sub, "maintenance"))
		RUNS(w, "%s runs or installs programs", sub);
	if (!strcmp(sub, "credential") || !strcmp(sub, "credential-store") ||
	    !strcmp(sub, "credential-cache"))
		walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
			"it hands out stored passwords");
}

static void
git_out(struct gate_cmd *c, const char *sub)
{
	if (word_in(sub, strlen(sub), "branch rev-parse describe ls-files "
	    "rev-list merge-base symbolic-ref tag status diff"))
		c->out.flags |= FIELD_NAME;
	if (!strcmp(sub, "diff") && !has(c, "", "name-only name-status"))
		c->out.flags &= ~(unsigned)FIELD_NAME;
}

static bool
known_subcommand(const char *s)
{
	return word_in(s, strlen(s), "add am annotate apply archive bisect blame "
		"branch bundle cat-file check-attr check-ignore check-mailmap "
		"check-ref-format checkout cherry cherry-pick citool clean clone "
		"column commit commit-graph commit-tree config count-objects "
		"credential credential-cache credential-store daemon describe diff "
		"diff-files diff-index diff-tree difftool fast-export fast-import "
		"fetch filter-branch filter-repo flow for-each-ref for-each-repo "
		"format-patch fsck gc grep hash-object help hook http-backend "
		"imap-send index-pack init instaweb interpret-trailers lfs log "
		"ls-files ls-remote ls-tree mailinfo maintenance merge merge-base "
		"merge-file merge-tree mergetool mktag mktree mv name-rev notes "
		"pack-objects pack-refs p4 prune prune-packed pull push range-diff "
		"read-tree rebase reflog remote repack replace request-pull rerere subtree "
		"reset restore rev-list rev-parse revert rm send-email shortlog "
		"show show-branch show-index show-ref sparse-checkout stage stash "
		"status stripspace submodule svn switch symbolic-ref tag "
		"unpack-objects update-index update-ref update-server-info "
		"upload-pack var verify-commit verify-pack verify-tag version "
		"whatchanged worktree write-tree");
}

/* REVISION:PATH is a read of PATH. */
static void
show_file(struct walk *w, const struct gate_field *f)
{
	const char *colon = strchr(f->s, ':');
	if (!colon || f->s[0] == '-')
		return;
	struct gate_field file = field_text(w, colon + 1, strlen(colon + 1), f->flags);
	path_check_read(w, &file);
}

/* worktree add DIR, init DIR, bundle create FILE: made there. */
static void
git_makes(struct walk *w, const struct gate_cmd *c, const char *sub)
{
	const struct gate_field *f = NULL;
	if (!strcmp(sub, "init"))
		f = operand(c, 0);
	else if ((!strcmp(sub, "worktree") && operand_in(c, 0, "add")) ||
	    (!strcmp(sub, "bundle") && operand_in(c, 0, "create")))
		f = operand(c, 1);
	if (f && f->s[0] == '/')
		path_check_write(w, f, "makes");
}

static void
git_sub(struct walk *w, struct gate_cmd *c, const char *sub)
{
	static const struct {
		const char *names;
		void (*rule)(struct walk *w, const struct gate_cmd *c);
	} subs[] = { { "push", git_push }, { "checkout", git_checkout },
		{ "stash", git_stash }, { "config", git_config }, { "fetch pull",
		git_fetch }, { "clone", git_clone }, { "remote", git_remote } };
	if (!known_subcommand(sub))
		RUNS(w, "git %s is an alias or another program", sub);
	check_programs(w, c, sub);
	git_lossy(w, c, sub);
	git_running(w, c, sub);
	git_out(c, sub);
	git_makes(w, c, sub);
	if (!strcmp(sub, "apply") && has(c, "", "unsafe-paths"))
		LOST(w, "write outside the workspace", "the patch may change any file");
	if (word_in(sub, strlen(sub), "apply am") && (c->in.flags & FIELD_FETCHED))
		w->tree_fetched = true;
	for (size_t i = 0; i < sizeof(subs) / sizeof(subs[0]); i++)
		if (word_in(sub, strlen(sub), subs[i].names))
			subs[i].rule(w, c);
	if (!strcmp(sub, "rm") || !strcmp(sub, "mv")) {
		struct opts o;
		int k;
		if (!strcmp(sub, "rm") && has(c, "f", "force") &&
		    !has(c, "n", "cached dry-run"))
			LOST(w, "git discards changes", "git rm -f deletes changed files");
		opts_init(&o, c, "", "");
		while ((k = opts_next(&o)) != OPT_END)
			if (k == OPT_WORD && !has(c, "n", "cached dry-run"))
				path_check_delete(w, o.word, false);
	} else if (!strcmp(sub, "show") || !strcmp(sub, "cat-file")) {
		for (size_t i = 1; i < c->n; i++)
			show_file(w, &c->v[i]);
	} else if (!strcmp(sub, "diff") && has(c, "", "no-index")) {
		rule_readers(w, c, 1);
	}
}

static void
rule_git(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	const char *cwd = w->s.cwd;
	opts_init(&o, c, arg, "git-dir work-tree namespace super-prefix "
		"config-env");
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD) {
		if (k == 'c' && o.val && !setting_is_harmless(o.val))
			RUNS(w, "the setting %s can make git run programs", o.val);
		if (k == 'C' && o.val)
			w->s.cwd = path_known(w, &o.val_field);
		if (k == OPT_LONG && (opts_long(&o, "exec-path", 6) ||
		    opts_long(&o, "config-env", 4) || opts_long(&o, "git-dir", 4) ||
		    opts_long(&o, "work-tree", 4)) && o.val &&
		    !(o.name[0] != 'e' && word_in(o.val, strlen(o.val),
		    ". .git ./.git")))
			RUNS(w, "--%.*s points git elsewhere", (int)o.name_len, o.name);
	}
	if (k == OPT_WORD) {
		struct gate_cmd sub = *c;
		sub.v += o.word_at;
		sub.n -= o.word_at;
		if (o.word->flags & (FIELD_ANY | FIELD_NAME))
			RUNS(w, "what git does is only known at run time");
		else
			git_sub(w, &sub, o.word->s);
		c->out = sub.out;
	}
	w->s.cwd = cwd;
}

const struct gate_kind kinds_git[] = {
	{ "git", rule_git, "+c:C:" },
	{ NULL, NULL, NULL },
};
