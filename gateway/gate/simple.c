/* See simple.h. Also where a command's name is looked up. */
#include "gateway/gate/simple.h"

#include <fnmatch.h>
#include <string.h>

#include "base/buf.h"
#include "gateway/gate/rules.h"

#define WALK_COMMANDS_MAX 1000	/* with loops and calls unrolled */

/* Markers as what they stand for; for prompts and the command list. */
const char *
gate_readable(struct arena *a, const char *s)
{
	size_t n = 0;
	for (const char *p = s; *p; p++)
		n += *p == MARK_ANY ? 5 : *p == MARK_NAME ? 6 : 1;
	char *out = arena_alloc(a, n + 1), *at = out;
	for (; *s; s++) {
		const char *t = *s == MARK_ANY ? "<any>" : *s == MARK_NAME ?
			"<name>" : *s == MARK_STAR ? "*" : *s == MARK_QUEST ? "?" :
			*s == MARK_BRACKET ? "[" : NULL;
		if (!t) {
			*at++ = *s;
			continue;
		}
		memcpy(at, t, strlen(t));
		at += strlen(t);
	}
	return out;
}

const char *
gate_unmark(struct arena *a, const char *s)
{
	char *out = arena_str(a, s);
	for (char *p = out; *p; p++)
		*p = *p == MARK_STAR ? '*' : *p == MARK_QUEST ? '?' :
			*p == MARK_BRACKET ? '[' : *p == MARK_NAME ? '1' : *p;
	return out;
}

static const char *
base_name(const char *s)
{
	const char *slash = strrchr(s, '/');
	return slash && slash[1] ? slash + 1 : s;
}

/* A field as a shell would have to be given it. */
static void
add_quoted(struct buf *b, const struct gate_field *f)
{
	bool plain = f->len > 0;
	for (const char *p = f->s; *p && plain; p++)
		plain = strchr(" \t\n'\"\\$`;&|<>(){}#!~*?[]", *p) == NULL;
	if (plain) {
		buf_add(b, f->s, f->len);
		return;
	}
	buf_add_char(b, '\'');
	for (const char *p = f->s; *p; p++) {
		if (*p == '\'')
			buf_add_str(b, "'\\''");
		else
			buf_add_char(b, *p);
	}
	buf_add_char(b, '\'');
}

/* The command as resolved, to be shown and matched. */
static const char *
command_text(struct walk *w, const struct gate_cmd *c)
{
	struct buf b;
	buf_init(&b, 8 * GATE_PARSE_MAX);
	for (size_t i = 0; i < c->n; i++) {
		if (i > 0)
			buf_add_char(&b, ' ');
		add_quoted(&b, &c->v[i]);
	}
	const char *s = gate_readable(w->arena, arena_strn(w->arena, b.data, b.len));
	buf_done(&b);
	return s;
}

/* A pattern of an allow list counts only if it names its command. */
static bool
pattern_counts(const char *glob)
{
	size_t n = strcspn(glob, " ");
	if (n == 0 || strcspn(glob, "*?[") < n)
		return false;
	if (strspn(glob + n, " *?") < strlen(glob + n))
		return true;
	char name[64];
	if (n >= sizeof(name))
		return true;
	memcpy(name, glob, n);
	name[n] = '\0';
	return !kind_runs_others(base_name(name));
}

static bool
list_matches(const char *const *globs, size_t n, const char *text,
	const char *bare, bool allow)
{
	for (size_t i = 0; i < n; i++)
		if ((!allow || pattern_counts(globs[i])) &&
		    (fnmatch(globs[i], text, 0) == 0 ||
		    (bare && fnmatch(globs[i], bare, 0) == 0)))
			return true;
	return false;
}

/* Lists it, and finds what the operator said about it. True: allowed. */
static bool
note_command(struct walk *w, struct gate_cmd *c)
{
	struct gate_verdict *v = w->out;
	const struct gate_ctx *ctx = w->ctx;
	const char *text = command_text(w, c);
	bool seen = false;
	for (size_t i = 0; i < v->ncommands && !seen; i++)
		seen = strcmp(v->commands[i], text) == 0;
	if (!seen && !w->never_only && v->ncommands < GATE_COMMANDS_MAX)
		v->commands[v->ncommands++] = text;
	/* path-qualified names don't get around a deny glob */
	const char *slash = c->name > c->v[0].s && c->v[0].s[0] != '\0' ?
		strstr(text, c->name) : NULL;
	if (list_matches(ctx->deny, ctx->ndeny, text, slash, false))
		walk_deny(w, text);
	if (!c->wrapped && !kind_runs_others(c->name) && !strpbrk(text, "*?[<"))
		v->always = text;
	return list_matches(ctx->allow, ctx->nallow, text, NULL, true);
}

/* A word of the snapshot: its body is what runs (rules 4.2). True if it was a
 * function: then nothing else does. */
static bool
run_snapshot_word(struct walk *w, struct gate_cmd *c, bool *aliased)
{
	for (size_t i = 0; i < w->ctx->nwords; i++) {
		const struct gate_word *word = &w->ctx->words[i];
		if (strcmp(word->name, c->v[0].s) != 0)
			continue;
		*aliased |= word->is_alias;
		if (w->calls >= 8)
			return !word->is_alias && !c->wrapped;
		w->calls++;
		const struct gate_field *args = w->s.args;
		size_t nargs = w->s.nargs;
		w->s.args = c->v + 1;
		w->s.nargs = c->n - 1;
		struct buf b;
		buf_init(&b, GATE_PARSE_MAX);
		buf_add_str(&b, word->body);
		if (word->is_alias)
			buf_add_str(&b, " \"$@\"");
		char *text = arena_strn(w->arena, b.data, b.len);
		walk_text(w, text, b.len, &c->in, &c->out);
		buf_done(&b);
		w->s.args = args;
		w->s.nargs = nargs;
		w->calls--;
		return !word->is_alias && !c->wrapped;
	}
	return false;
}

/* An alias made in this text: its words stand in for the name. */
static void
run_alias(struct walk *w, struct gate_cmd *c, const struct walk_func *f)
{
	size_t n = strlen(f->text);
	struct walk_scope outer = w->s;
	if (w->calls >= 8)
		return;
	char *text = arena_join(w->arena, f->text, " \"$@\"", "");
	w->s.args = c->v + 1;
	w->s.nargs = c->n - 1;
	w->calls++;
	w->s.funcs = f->next;	/* an alias isn't expanded in itself */
	struct walk_func *below = w->s.funcs;
	walk_text(w, text, n + 5, &c->in, &c->out);
	if (w->s.funcs == below)
		w->s.funcs = outer.funcs;
	w->calls--;
	w->s.args = outer.args;
	w->s.nargs = outer.nargs;
}

/* Functions and aliases of that name, the newest first. True: nothing else can
 * be what runs. A non-interactive shell may not expand aliases: both meanings
 * count. */
static bool
run_defined(struct walk *w, struct gate_cmd *c, bool *aliased)
{
	for (struct walk_func *f = w->s.funcs; f; f = f->next) {
		if (strcmp(f->name, c->v[0].s) != 0)
			continue;
		*aliased |= f->text != NULL;
		if (f->text)
			run_alias(w, c, f);
		else
			walk_call(w, f, c);
		if (!f->text && !f->unsure)
			return true;
	}
	return false;
}

static bool
strange_name(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s >= 0x80)
			return true;
	return false;
}

static bool
asks_version(const struct gate_cmd *c)
{
	return c->n == 2 && (field_is(&c->v[1], "--version") ||
		field_is(&c->v[1], "--help") || field_is(&c->v[1], "-V") ||
		field_is(&c->v[1], "-h"));
}

/* "docker rm --help" shows and does nothing; only for tools known to. */
static bool
asks_help(const struct gate_cmd *c)
{
	static const char tools[] = "docker podman kubectl helm terraform tofu gh glab "
		"aws gcloud az git apt apt-get dnf brew systemctl doctl heroku fly "
		"flyctl vercel netlify pulumi vault cargo pip docker-compose gem npm "
		"pnpm yarn poetry uv composer bundle";
	const struct gate_field *last = &c->v[c->n - 1];
	if (c->n < 3 || c->n > 5 || !word_in(c->name, strlen(c->name), tools) ||
	    !(field_is(last, "--help") || field_is(last, "-help")))
		return false;
	for (size_t i = 1; i + 1 < c->n; i++)
		if (c->v[i].s[0] < 'a' || c->v[i].s[0] > 'z' ||
		    strspn(c->v[i].s, "abcdefghijklmnopqrstuvwxyz-") != c->v[i].len ||
		    word_in(c->v[i].s, c->v[i].len, "exec run x dlx create init tool"))
			return false;
	return true;
}

/* A program of the workspace whose name only happens to be a system tool's. */
static bool
own_name(struct walk *w, const struct gate_cmd *c)
{
	return path_of(w, &c->v[0]).zone == ZONE_INSIDE && kind_is_system(c->name);
}

static void
check_ours(struct walk *w, const struct gate_cmd *c)
{
	if (!w->ctx->state_dir)
		return;
	for (size_t i = 1; i < c->n; i++) {
		const char *eq = strchr(c->v[i].s, '=');
		struct gate_field f = c->v[i];
		if (path_of(w, &f).ours)
			walk_never(w, "gatehouse's own files",
				"%s is inside gatehouse's own state", f.s);
		if (eq) {
			f.s = eq + 1;
			f.len -= (size_t)(f.s - c->v[i].s);
			if (path_of(w, &f).ours)
				walk_never(w, "gatehouse's own files",
					"%s is inside gatehouse's own state", f.s);
		}
	}
}

/* By function, alias, snapshot, kind; in this order. */
static void
dispatch(struct walk *w, struct gate_cmd *c)
{
	const struct gate_field *head = &c->v[0];
	bool path = strchr(head->s, '/') != NULL;
	if (head->flags & (FIELD_ANY | FIELD_GLOB | FIELD_NAME)) {
		walk_ask(w, GATE_CLASS_CODE, "command name can't be resolved",
			"which command runs is only known at run time (%s)", head->s);
		return;
	}
	if (strange_name(head->s))
		walk_ask(w, GATE_CLASS_DISPLAY, "look-alike command name",
			"the command's name holds letters that look like others");
	const struct gate_kind *kind = kind_find(c->name);
	bool aliased = false;	/* what another program runs is neither */
	if (!c->wrapped && run_defined(w, c, &aliased))
		return;
	if (run_snapshot_word(w, c, &aliased) || (aliased && !kind && !path))
		return;
	check_ours(w, c);
	if (path)
		rule_program(w, c);
	else if (asks_version(c) || asks_help(c))
		return;
	if (kind && !(path && own_name(w, c)))
		kind->rule(w, c, kind->arg);
	else if (!path)
		walk_ask(w, GATE_CLASS_CODE, "unknown program",
			"%s is a program that the gate doesn't know", head->s);
}

void
walk_command(struct walk *w, struct gate_cmd *c)
{
	bool excused = w->excused;
	if (c->n == 0 || w->stop)
		return;
	if (++w->commands > WALK_COMMANDS_MAX) {
		walk_too_complex(w, "too many commands");
		return;
	}
	c->name = base_name(c->v[0].s);
	c->out.present = true;
	c->out.flags |= c->in.flags & FIELD_TAINT;
	if (note_command(w, c))
		w->excused = true;
	dispatch(w, c);
	w->excused = excused;
}

void
walk_fields(struct walk *w, struct gate_cmd *c, size_t from)
{
	struct gate_cmd sub = { .in = c->in, .wrapped = true, .piped = c->piped };
	if (from >= c->n)
		return;
	sub.v = c->v + from;
	sub.n = c->n - from;
	w->compound = true;
	walk_command(w, &sub);
	c->out = sub.out;
}

static void
redirect_out(struct walk *w, const struct gate_field *f, bool append,
	bool *ret_file)
{
	if (append)
		path_check_write(w, f, "writes");
	else
		path_check_replace(w, f, "writes");
	path_note_written(w, f, false);
	if (path_of(w, f).zone != ZONE_STREAM)
		*ret_file = true;
}

bool
simple_redirections(struct walk *w, const struct sh_redir *r,
	struct gate_flow *in)
{
	bool file = false;
	for (; r && !w->stop; r = r->next) {
		struct gate_field f = expand_one(w, r->target);
		switch (r->type) {
		case SH_IN:
			path_check_read(w, &f);
			*in = (struct gate_flow){ .present = true,
				.flags = f.flags & FIELD_TAINT };
			if (path_of(w, &f).cred)
				in->flags |= FIELD_SECRET;
			if (field_is(&f, "/dev/null"))
				in->text = "";
			break;
		case SH_INOUT:
		case SH_OUT:
		case SH_APPEND:
		case SH_OUT_BOTH:
			redirect_out(w, &f, r->type == SH_APPEND ||
				r->type == SH_INOUT, &file);
			break;
		case SH_DUP:
			if (f.s[strspn(f.s, "0123456789-")] != '\0')
				redirect_out(w, &f, r->type == SH_APPEND ||
				r->type == SH_INOUT, &file);
			break;
		case SH_HEREDOC:
		case SH_HERESTRING:
			*in = (struct gate_flow){ .present = true, .heredoc = true,
				.flags = f.flags & FIELD_TAINT };
			if (!(f.flags & FIELD_ANY)) {
				in->text = f.s;
				in->len = f.len;
			}
			break;
		}
	}
	return file;
}

static void
assign_all(struct walk *w, const struct sh_node *n, bool prefix)
{
	for (const struct sh_assign *a = n->assigns; a && !w->stop; a = a->next) {
		struct gate_field v = { "", 0, 0 };
		if (a->operand == prefix)
			continue;
		if (a->index)
			(void)expand_one(w, a->index);
		if (a->array) {
			struct field_list list = { .n = 0 };
			for (const struct sh_word *e = a->value; e; e = e->next)
				expand_word(w, e, true, &list);
			v.flags = FIELD_ANY;
		} else {
			v = expand_one(w, a->value);
		}
		rule_env(w, a->name, &v, a->operand || n->words);
		if (n->words && prefix)
			continue;	/* only for that command */
		if (a->append || a->subscript)
			v.flags |= FIELD_ANY;
		var_set(w, a->name, &v);
	}
}

void
simple_walk(struct walk *w, const struct sh_node *n, const struct gate_flow *in,
	struct gate_flow *ret_out)
{
	struct field_list list = { .n = 0 };
	struct gate_cmd c = { .in = *in };
	assign_all(w, n, true);
	for (const struct sh_word *v = n->words; v && !w->stop; v = v->next)
		expand_word(w, v, true, &list);
	assign_all(w, n, false);
	bool to_file = simple_redirections(w, n->redirs, &c.in);
	if (w->arena->over)
		walk_too_complex(w, "it needs too much memory");
	if (n->assigns || n->redirs)
		w->compound = true;
	c.v = list.v;
	c.n = list.n;
	if (list.n > 0)
		walk_command(w, &c);
	if (to_file)
		c.out = (struct gate_flow){ .present = false };
	if (!ret_out || !c.out.present)
		return;
	if (ret_out->present) {
		ret_out->text = NULL;
		ret_out->flags = ((ret_out->flags | c.out.flags) & FIELD_TAINT) |
			(ret_out->flags & c.out.flags & FIELD_NAME);
	} else {
		*ret_out = c.out;
	}
}
