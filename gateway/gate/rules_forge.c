/* Clients of code hosts, and version control other than git. */
#include <string.h>

#include "gateway/gate/rules.h"

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

/* gh and glab: reading is fine; what changes the remote asks. */
static void
rule_gh(struct walk *w, struct gate_cmd *c, const char *arg)
{
	const struct gate_field *noun = operand(c, 0), *verb = operand(c, 1);
	static const char bad[] = "delete merge close lock unlock archive "
		"transfer rename revoke disable enable remove edit-secret set "
		"clone-all publish ready-to-merge rerun cancel ban sync upload "
		"logout login refresh token setup-git fork import delete-asset "
		"unarchive develop-delete review update-branch";
	(void)arg;
	if (!noun)
		return;
	const char *v = verb ? verb->s : "";
	if (word_in(noun->s, noun->len, "auth")) {
		if (!word_in(v, strlen(v), "status"))
			walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
				"it shows or changes stored credentials");
		return;
	}
	if (word_in(noun->s, noun->len, "secret variable ssh-key gpg-key extension "
	    "alias config codespace") && !word_in(v, strlen(v), "list get view"))
		walk_ask(w, GATE_CLASS_NETWORK, "change of a remote",
			"%s %s changes what others rely on", c->name, noun->s);
	else if (word_in(noun->s, noun->len, "gist") &&
	    !word_in(v, strlen(v), "list view"))
		walk_ask(w, GATE_CLASS_NETWORK, "data sent out", "a gist is published");
	else if ((word_in(v, strlen(v), bad) && !(!strcmp(v, "review") &&
	    opts_has(c, "", "c", "comment"))) ||
	    (word_in(noun->s, noun->len, "workflow") && !strcmp(v, "run")) ||
	    (word_in(noun->s, noun->len, "release repo") &&
	    word_in(v, strlen(v), "create edit")))
		walk_ask(w, GATE_CLASS_NETWORK, "change of a remote",
			"%s %s %s changes what others rely on", c->name, noun->s, v);
	bool get = false;
	for (size_t i = 1; i < c->n; i++)
		get |= field_is(&c->v[i], "GET") || field_is(&c->v[i], "-XGET");
	if (field_is(noun, "api") && !get && opts_has(c, "X:f:F:H:q:t:", "XfF",
	    "method field raw-field input"))
		walk_ask(w, GATE_CLASS_NETWORK, "change of a remote",
			"the call changes something at the remote");
}

/* Other version control: looking and local commits; arg as in rule_unless. */
static void
rule_vcs(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (opts_has(c, "", "C", "clean force remove"))
		rule_says(w, c, "files|other version control|throws work away");
	rule_unless(w, c, arg);
}

const struct gate_kind kinds_forge[] = {
	{ "gh glab hub tea", rule_gh, NULL },
	{ "svn bzr", rule_vcs, "status st stat info log diff di cat blame annotate list "
	  "ls proplist propget add mkdir update up help|files|other version control|"
	  "may change or throw away work" },
	{ "hg", rule_vcs, "status st log summary diff cat annotate blame branches "
	  "branch tags heads id identify parents files manifest root paths outgoing "
	  "incoming commit ci add update up pull bookmarks grep help|files|"
	  "other version control|may change or throw away work" },
	{ "jj", rule_vcs, "- log st status show diff evolog obslog file files op new "
	  "describe desc commit bookmark branch root help|files|other version "
	  "control|may change or throw away work" },
	{ "fossil", rule_vcs, "status info timeline diff cat ls extras changes add "
	  "commit|files|other version control|may change or throw away work" },
	{ NULL, NULL, NULL },
};
