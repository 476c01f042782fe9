/* The shell's own: what runs text, keeps text for later, or changes the shell. */
#include <string.h>

#include "gateway/gate/rules.h"

/* Words joined by blanks, if all are known. */
static bool
join_fields(struct walk *w, const struct gate_cmd *c, size_t from,
	const char **ret, size_t *ret_len)
{
	size_t n = 1, len = 0;
	for (size_t i = from; i < c->n; i++)
		n += c->v[i].len + 1;
	char *s = arena_alloc(w->arena, n);
	for (size_t i = from; i < c->n; i++) {
		if (c->v[i].flags & FIELD_ANY)
			return false;
		if (i > from)
			s[len++] = ' ';
		memcpy(s + len, c->v[i].s, c->v[i].len);
		len += c->v[i].len;
	}
	*ret = gate_unmark(w->arena, s);
	*ret_len = len;
	return true;
}

static void
ask_fetched(struct walk *w, unsigned flags, const char *key, const char *what)
{
	if (flags & FIELD_FETCHED)
		walk_ask_severe(w, GATE_CLASS_CODE, key,
			"%s runs what the network sends", what);
}

static void
rule_eval(struct walk *w, struct gate_cmd *c, const char *arg)
{
	const char *s;
	size_t len;
	unsigned flags = 0;
	(void)arg;
	for (size_t i = 1; i < c->n; i++)
		flags |= c->v[i].flags;
	ask_fetched(w, flags, "remote content via eval/source", "eval");
	if (flags & FIELD_DECODED)
		walk_ask(w, GATE_CLASS_CODE, "decoded content to shell",
			"eval runs decoded text");
	if (!join_fields(w, c, 1, &s, &len)) {
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"eval runs text that is only known at run time");
		return;
	}
	if (flags & (FIELD_SUBST | FIELD_GLOB))
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"eval runs what another command prints");
	walk_text(w, s, len, &c->in, &c->out);
}

static void
rule_source(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (c->n < 2)
		return;
	const struct gate_field *f = &c->v[cmd_arg_is(c, 1, "--") && c->n > 2 ? 2 : 1];
	if (f->flags & FIELD_PROC) {
		ask_fetched(w, f->flags, "remote content via eval/source", "source");
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"source runs what a command prints");
		return;
	}
	path_check_read(w, f);
	rule_run_script(w, c, f);
}

static void
note_script(struct walk *w, const struct gate_field *f, const struct path *p)
{
	struct gate_verdict *v = w->out;
	bool known = p->norm && p->norm[0] == '/' && p->zone != ZONE_UNKNOWN &&
		!(f->flags & (FIELD_ANY | FIELD_GLOB | FIELD_PROC | FIELD_NAME));
	for (size_t i = 0; known && i < v->nscripts; i++)
		known = strcmp(v->scripts[i], p->norm) != 0;
	if (known && v->nscripts < GATE_SCRIPTS_MAX)
		v->scripts[v->nscripts++] = p->norm;
	else if (known)
		walk_too_complex(w, "it runs more script files than can be kept apart");
}

/* A script file that an interpreter or the shell reads. */
void
rule_run_script(struct walk *w, struct gate_cmd *c, const struct gate_field *f)
{
	struct path p = path_of(w, f);
	(void)c;
	if (w->in_container && !(f->flags & (FIELD_PROC | FIELD_ANY)))
		return;
	note_script(w, f, &p);
	if (f->flags & FIELD_PROC)
		walk_ask_severe(w, GATE_CLASS_CODE, f->flags & FIELD_FETCHED ?
			"remote script via process substitution" :
			"code that can't be read", "it runs what a command prints");
	else if ((f->flags & FIELD_ANY) || ((f->flags & FIELD_GLOB) &&
	    ((f->flags & FIELD_DATA) || p.zone != ZONE_INSIDE || w->nwritten > 0)) ||
	    ((f->flags & FIELD_NAME) && (f->flags & FIELD_DATA)))
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"which script runs (%s) is only known at run time", f->s);
	else if (strncmp(f->s, "/dev/", 5) == 0 || strncmp(f->s, "/proc/", 6) == 0)
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"it runs code from %s", f->s);
	else if (path_was_written(w, f) || w->tree_fetched)
		walk_ask(w, GATE_CLASS_CODE, "run of what was just written",
			"%s was written or fetched by this same command", f->s);
	else if (w->made_executable && p.zone == ZONE_INSIDE &&
	    path_was_written(w, f))
		walk_ask(w, GATE_CLASS_CODE, "chmod +x followed by immediate execution",
			"%s was just made executable", f->s);
	else if (p.zone != ZONE_INSIDE)
		walk_ask(w, GATE_CLASS_CODE, "script outside the workspace",
			"%s isn't in the workspace", f->s);
}

static void
rule_trap(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct gate_flow out = { .present = false };
	size_t i = cmd_arg_is(c, 1, "--") ? 2 : 1;
	(void)arg;
	w->keeps_trap = true;
	if (i >= c->n || c->v[i].s[0] == '-' || c->n - i < 2)
		return;
	if (c->v[i].flags & FIELD_ANY)
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"trap keeps text that is only known at run time");
	else
		walk_text(w, c->v[i].s, c->v[i].len, &c->in, &out);
}

static void
rule_alias(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	for (size_t i = 1; i < c->n; i++) {
		const char *eq = strchr(c->v[i].s, '=');
		if (!eq)
			continue;
		if (c->v[i].flags & FIELD_ANY) {
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"alias keeps text that is only known at run time");
			continue;
		}
		struct walk_func *f = arena_alloc(w->arena, sizeof(*f));
		f->name = arena_strn(w->arena, c->v[i].s, (size_t)(eq - c->v[i].s));
		f->text = arena_str(w->arena, eq + 1);
		walk_define(w, f);
		/* `alias rm='ls'` hides nothing: both meanings are looked at */
	}
}

/* Is that directory there for certain? */
static bool
surely_there(const struct walk *w, const char *dir)
{
	return (w->s.cwd && path_beneath(w->s.cwd, dir)) ||
		path_beneath(w->ctx->workspace, dir);
}

/* Where the shell is if this cd, or one before it, fails. */
static const char *
directory_else(struct walk *w, const char *name, const char *to)
{
	const char *other = w->s.cwd_else;
	if (other && name[0] != '/') {	/* cd .. may lead further up from there */
		const char *up = path_from(w, other, name);
		other = path_beneath(other, up) ? up : other;
	} else if (surely_there(w, to) || w->s.errexit) {
		other = NULL;
	} else if (!other) {
		other = w->s.cwd;
	}
	return other && strcmp(other, to) != 0 ? other : NULL;
}

static void
go_to(struct walk *w, const char *to, const char *other)
{
	w->s.cwd_before = w->s.cwd;
	w->s.cwd = to;
	w->s.cwd_else = other;
}

static void
rule_cd(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	const struct gate_field *to = NULL;
	bool push = strcmp(c->name, "pushd") == 0, turns = push;
	(void)arg;
	opts_init(&o, c, "+", "");
	while ((k = opts_next(&o)) != OPT_END)
		if (k == OPT_WORD && !to)
			to = o.word;
	if (push) {
		struct walk_dir *d = arena_alloc(w->arena, sizeof(*d));
		turns = c->n != 2 || (to && to->s[0] == '+');
		d->path = w->s.cwd;
		d->next = w->s.dirs;
		w->s.dirs = d;
	}
	if (turns) {
		go_to(w, NULL, NULL);
	} else if (!to) {
		go_to(w, w->ctx->home, NULL);
	} else if (field_is(to, "-")) {
		go_to(w, w->s.cwd_before, w->s.cwd_else);
	} else {
		struct path p = path_of(w, to);
		bool known = p.norm && p.zone != ZONE_UNKNOWN;
		go_to(w, known ? p.norm : NULL, known ?
			directory_else(w, to->s, p.norm) : NULL);
	}
}

static void
rule_popd(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	go_to(w, c->n == 1 && w->s.dirs ? w->s.dirs->path : NULL, w->s.cwd_else);
	w->s.dirs = w->s.dirs ? w->s.dirs->next : NULL;
}

static void
note_errexit(struct walk *w, const struct gate_cmd *c, size_t i)
{
	const char *s = c->v[i].s;
	if (strchr(s, 'e') || (strchr(s, 'o') && cmd_arg_is(c, i + 1, "errexit")))
		w->s.errexit = s[0] == '-';
}

static void
rule_set(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (c->n == 1)
		c->out.flags |= FIELD_SECRET;	/* it lists all variables */
	for (size_t i = 1; i < c->n; i++) {
		bool dashes = field_is(&c->v[i], "--");
		if (!dashes && (c->v[i].s[0] == '-' || c->v[i].s[0] == '+')) {
			note_errexit(w, c, i);
			if (c->v[i].len > 1 && strchr(c->v[i].s, 'o'))
				i++;
			continue;
		}
		w->s.args = c->v + i + (dashes ? 1 : 0);
		w->s.nargs = c->n - i - (dashes ? 1 : 0);
		return;
	}
}

/* Whether it ran, and how often, isn't followed: what is left is not known. */
static void
rule_shift(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)c;
	(void)arg;
	w->s.args = NULL;
}

/* read, mapfile: the names become unknown; mapfile -C runs a command. */
static void
rule_read_names(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "");
	var_set(w, strcmp(c->name, "read") == 0 ? "REPLY" : "MAPFILE", NULL);
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == OPT_WORD && strpbrk(o.word->s, "[") == NULL)
			var_set(w, o.word->s, NULL);
		else if (k == 'a' && o.val)
			var_set(w, o.val, NULL);
		else if (k == 'C' && o.val)
			walk_text(w, o.val_field.s, o.val_field.len, &c->in, &c->out);
		else if (k == OPT_WORD)
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"a subscript is run as arithmetic");
	}
}

void
rule_subscript(struct walk *w, const struct gate_field *f)
{
	const char *at = strchr(f->s, '[');
	if (at && (strstr(at, "$(") || strchr(at, '`')))
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"a subscript is run as arithmetic (%s)", f->s);
}

/* let, test -v: a subscript in an operand is run as arithmetic. */
static void
rule_arith(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool runs = arg == NULL;
	if (w->code_in_values && !strcmp(c->name, "let"))
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"arithmetic over a value that holds a command");
	for (size_t i = 1; i < c->n; i++) {
		if (field_is(&c->v[i - 1], "-p") && strcmp(c->name, "wait") == 0)
			var_set(w, c->v[i].s, NULL);
		runs |= arg && field_is(&c->v[i], arg);
		if (runs)
			rule_subscript(w, &c->v[i]);
	}
}

/* A variable, or a function; what the name then is depends on both. */
static void
unset_name(struct walk *w, const char *name)
{
	var_set(w, name, NULL);
	for (struct walk_func *f = w->s.funcs; f; f = f->next)
		if (strcmp(f->name, name) == 0 || strchr(name, MARK_ANY)) {
			f->unsure = true;
			if (w->keeps_trap)
				walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
					"%s is unset, and a trap may run it", name);
		}
}

/* export, declare: assignments were made by the walker. */
static void
rule_declare(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool functions = false, integer = false;
	(void)arg;
	for (size_t i = 1; i < c->n; i++) {
		const char *s = c->v[i].s, *eq = strchr(s, '=');
		if (s[0] == '-' && strchr(s, 'f') && strcmp(c->name, "export") == 0)
			functions = true;
		rule_subscript(w, &c->v[i]);
		integer |= s[0] == '-' && strchr(s, 'i');
		if (s[0] == '-' && strchr(s, 'p') && strcmp(c->name, "unset"))
			c->out.flags |= FIELD_SECRET;
		if (integer && eq && (strchr(eq, '[') || (c->v[i].flags & FIELD_ANY)))
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"the value is run as arithmetic (%s)", s);
		if (s[0] == '-' && strchr(s, 'n') && strcmp(c->name, "export") != 0)
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"%s %s makes a variable stand for something else",
				c->name, s);
		if (!eq) {
			if (s[0] != '-' && strcmp(c->name, "unset") == 0)
				unset_name(w, s);
			continue;
		}
		struct gate_field v = field_text(w, eq + 1, strlen(eq + 1),
			c->v[i].flags);
		const char *name = arena_strn(w->arena, s, (size_t)(eq - s));
		rule_env(w, name, &v, true);
		var_set(w, name, &v);
	}
	if (integer && w->code_in_values)
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"arithmetic over a value that holds a command");
	if (functions)
		walk_ask(w, GATE_CLASS_CODE, "environment that runs code",
			"exported functions replace commands in later programs");
}

static void
rule_hash(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (opts_has(c, "+p:", arg, ""))
		walk_ask(w, GATE_CLASS_CODE, "command replaced by another",
			"%s makes a name run something else", c->name);
}

static void
rule_always_code(struct walk *w, struct gate_cmd *c, const char *arg)
{
	walk_ask(w, GATE_CLASS_CODE, "code that can't be read", "%s %s", c->name, arg);
}

static void
rule_complete(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "");
	while ((k = opts_next(&o)) != OPT_END)
		if ((k == 'C' || k == 'F') && o.val)
			walk_text(w, o.val_field.s, o.val_field.len, &c->in, &c->out);
}

static void
rule_history(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (opts_has(c, "", arg, ""))
		walk_ask(w, GATE_CLASS_FILES, "logs deleted",
			"it changes the history of commands");
}

const struct gate_kind kinds_shell[] = {
	{ "eval", rule_eval, NULL },
	{ "source .", rule_source, NULL },
	{ "trap", rule_trap, NULL },
	{ "alias", rule_alias, NULL },
	{ "unalias", rule_set, NULL },
	{ "cd chdir pushd", rule_cd, NULL },
	{ "popd", rule_popd, NULL },
	{ "set", rule_set, NULL },
	{ "shift", rule_shift, NULL },
	{ "read", rule_read_names, "a:d:i:n:N:p:t:u:" },
	{ "mapfile readarray", rule_read_names, "d:n:O:s:u:C:c:" },
	{ "export declare typeset local readonly unset", rule_declare, NULL },
	{ "hash", rule_hash, "p" },
	{ "enable", rule_hash, "fd" },
	{ "bind", rule_always_code, "makes keys run commands" },
	{ "complete compgen", rule_complete, "A:G:W:F:C:X:P:S:o:" },
	{ "let wait getopts", rule_arith, NULL },
	{ "test [", rule_arith, "-v" },
	{ "history", rule_history, "cdw" },
	{ "fc", rule_always_code, "runs commands from the history" },
	{ NULL, NULL, NULL },
};
