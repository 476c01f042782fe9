/* grep and its kind: what is searched, and what an option would run. */
#include <string.h>

#include "gateway/gate/rules.h"

static bool
names_secret(const char *s)
{
	static const char *const parts[] = { "secret", "token", "pass", "key",
		"credential" };
	for (size_t i = 0; s && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcasestr(s, parts[i]))
			return true;
	return false;
}

/* A home, or one of its directories below which programs keep credentials. */
static bool
holds_secrets(const struct walk *w, const char *norm)
{
	size_t n = strlen(w->ctx->home);
	if (strcmp(norm, w->ctx->home) == 0)
		return true;
	return strncmp(norm, w->ctx->home, n) == 0 && word_in(norm + n,
		strlen(norm + n), "/.config /.local /.local/share /.cache /.mozilla");
}

/* pattern, then files: grep and its kind. Trees may hold credentials. */
static void
rule_grep(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool outside = !w->s.cwd, pattern = false;
	bool recursive = strcmp(c->name, "rg") == 0 ||
		strcmp(c->name, "ag") == 0 || strcmp(c->name, "ack") == 0 ||
		strcmp(c->name, "rgrep") == 0;
	opts_init(&o, c, arg, "regexp file max-count context after-context "
		"before-context include exclude exclude-dir color colour glob iglob "
		"type type-not max-depth threads sort ignore-file pre pre-glob "
		"hostname-bin pager engine encoding replace max-columns");
	while ((k = opts_next(&o)) != OPT_END) {
		pattern |= k == 'e' || k == 'f' || (k == OPT_LONG &&
			(opts_long(&o, "regexp", 3) || opts_long(&o, "files", 5) ||
			opts_long(&o, "file", 4)));
		recursive |= k == 'r' || k == 'R' || k == 'd' ||
			(k == OPT_LONG && opts_long(&o, "recursive", 3));
		if (k == OPT_LONG && (opts_long(&o, "pre", 3) ||
		    opts_long(&o, "hostname-bin", 5) || (opts_long(&o, "pager", 5) &&
		    strcmp(c->name, "rg") != 0)))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"--%.*s makes it run a program", (int)o.name_len, o.name);
		if ((c->in.flags & FIELD_SECRET) && (k == OPT_WORD ? !pattern : k == 'e') &&
		    names_secret(k == OPT_WORD ? o.word->s : o.val))
			walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
				"it looks for credentials in the environment");
		if (k == OPT_WORD && !pattern) {
			pattern = true;
		} else if (k == OPT_WORD) {
			struct path p = path_of(w, o.word);
			path_check_read(w, o.word);
			outside |= p.zone != ZONE_INSIDE;
			if (recursive && (p.vital ||
			    (p.zone == ZONE_HOME && holds_secrets(w, p.norm))))
				walk_ask(w, GATE_CLASS_CREDENTIALS, "credential read",
					"it searches all of %s, credentials included",
					o.word->s);
		}
	}
	/* only names of files below the workspace */
	if (!outside && opts_has(c, arg, "lL", "files-with-matches files "
	    "files-without-match"))
		c->out.flags |= FIELD_NAME;
}

const struct gate_kind kinds_grep[] = {
	{ "grep egrep fgrep zegrep rgrep", rule_grep, "e:f:m:A:B:C:d:D:" },
	{ "rg", rule_grep, "e:f:m:A:B:C:g:t:T:j:d:M:r:E:" },
	{ "ag ack ugrep", rule_grep, "G:m:A:B:C:g:" },
	{ NULL, NULL, NULL },
};
