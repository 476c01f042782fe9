/* See walk.h. */
#include "gateway/gate/walk.h"

#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "gateway/gate/rules.h"
#include "gateway/gate/simple.h"

#define TEXT_DEPTH_MAX 24
#define LOOP_WORDS_MAX 8

static void
add_rule(struct walk *w, struct gate_rule rule)
{
	struct gate_verdict *v = w->out;
	if ((w->excused || w->never_only) && rule.level == GATE_ASK)
		return;
	if (rule.level > v->level)
		v->level = rule.level;
	for (size_t i = 0; i < v->nrules; i++)
		if (strcmp(v->rules[i].key, rule.key) == 0 &&
		    strcmp(v->rules[i].why, rule.why) == 0)
			return;
	if (v->nrules < GATE_RULES_MAX) {
		v->rules[v->nrules++] = rule;
		return;
	}
	for (size_t i = 0; i < v->nrules; i++) {
		if (v->rules[i].level < rule.level) {
			v->rules[i] = rule;
			return;
		}
	}
}

/* A readable copy: markers become what they stand for. */
static const char *
why_text(struct walk *w, const char *fmt, va_list ap)
{
	struct buf b;
	buf_init(&b, 2048);
	buf_vprintf(&b, fmt, ap);
	const char *s = b.over ? "the reason is too long to show" :
		arena_strn(w->arena, b.data, b.len);
	buf_done(&b);
	return gate_readable(w->arena, s);
}

void
walk_ask(struct walk *w, enum gate_class class, const char *key,
	const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	struct gate_rule r = { .key = key, .level = GATE_ASK, .class = class };
	r.why = why_text(w, fmt, ap);
	va_end(ap);
	add_rule(w, r);
}

void
walk_ask_severe(struct walk *w, enum gate_class class, const char *key,
	const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	struct gate_rule r = { .key = key, .level = GATE_ASK, .class = class,
		.severe = true };
	r.why = why_text(w, fmt, ap);
	va_end(ap);
	add_rule(w, r);
}

void
walk_never(struct walk *w, const char *key, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	struct gate_rule r = { .key = key, .level = GATE_NEVER, .severe = true };
	r.why = why_text(w, fmt, ap);
	va_end(ap);
	add_rule(w, r);
}

void
walk_deny(struct walk *w, const char *glob)
{
	struct gate_rule r = { .key = "approvals.deny", .level = GATE_NEVER,
		.severe = true, .denied = true };
	r.why = arena_join(w->arena, "approvals.deny holds ", glob, "");
	add_rule(w, r);
}

void
walk_too_complex(struct walk *w, const char *why)
{
	if (!w->stop)
		walk_ask(w, GATE_CLASS_CODE, "too complex to check",
			"too complex to check: %s", why);
	w->stop = true;
}

void
walk_text(struct walk *w, const char *text, size_t len,
	const struct gate_flow *in, struct gate_flow *ret_out)
{
	struct sh_text t;
	if (w->stop)
		return;
	if (w->depth >= TEXT_DEPTH_MAX) {
		walk_too_complex(w, "commands in commands, too deep");
		return;
	}
	w->depth++;
	shell_parse(text, len, w->depth, w->arena, &t);
	w->out->steps += t.steps;
	if (t.error)
		walk_ask(w, GATE_CLASS_CODE, "command can't be parsed",
			"part of the command can't be read: %s", t.error);
	if (w->arena->over)
		walk_too_complex(w, "it needs too much memory");
	walk_node(w, t.root, in, ret_out);
	w->depth--;
}

void
walk_enter_shell(struct walk *w)
{
	w->s.hidden = w->s.vars;
	w->s.funcs = NULL;
	w->s.dirs = NULL;
	w->s.args = NULL;
}

void
walk_new_shell(struct walk *w, const char *text, size_t len,
	const struct gate_flow *in, struct gate_flow *ret_out)
{
	struct walk_scope outer = w->s;
	walk_enter_shell(w);
	walk_text(w, text, len, in, ret_out);
	w->s = outer;
}

/* One more part wrote to the same output. */
static void
flow_add(struct gate_flow *out, const struct gate_flow *part)
{
	if (!out || !part->present)
		return;
	if (!out->present) {
		*out = *part;
		return;
	}
	out->text = NULL;
	out->base = out->base ? out->base : part->base;
	out->flags = ((out->flags | part->flags) & FIELD_TAINT) |
		(out->flags & part->flags & FIELD_NAME);
}

static void
walk_pipe(struct walk *w, const struct sh_node *n, const struct gate_flow *in,
	struct gate_flow *out)
{
	struct gate_flow now = *in;
	bool many = n->kids && n->kids->next;
	struct walk_scope outer = w->s;
	w->compound |= many;
	for (const struct sh_node *k = n->kids; k && !w->stop; k = k->next) {
		struct gate_flow next = { .present = false };
		walk_node(w, k, &now, &next);
		now = next;
		now.present = now.present || k->next;
		if (many)	/* each part is a subshell */
			w->s = outer;
	}
	flow_add(out, &now);
}

/* Does it leave the shell or the function, so that what follows isn't reached? */
static bool
leaves(const struct sh_node *n)
{
	if (n->type == SH_GROUP || n->type == SH_SEQ || n->type == SH_PIPE ||
	    n->type == SH_ANDOR) {
		const struct sh_node *last = n->kids;
		while (last && last->next)
			last = last->next;
		return last && !n->background && leaves(last);
	}
	const struct sh_part *p = n->words ? n->words->parts : NULL;
	return n->type == SH_SIMPLE && p && p->type == SH_LIT && !p->next &&
		word_in(p->text, p->len, "exit return");
}

/* Which directories are possible after this part of a list. `tried` is where
 * the parts before it wanted to be, if one of them failed. */
static void
settle_directory(struct walk *w, const struct walk_scope *before,
	const struct sh_node *k, const char *tried)
{
	const char *other = before->cwd_else ? before->cwd_else : before->cwd;
	if (tried && leaves(k)) {	/* cd there || exit */
		w->s.cwd = tried;
		w->s.cwd_else = before->cwd_else;
	} else if (tried) {
		w->s.cwd = w->s.cwd == before->cwd ? tried : NULL;
		w->s.cwd_else = other;
	} else if (w->s.cwd != before->cwd && k->next && k->next->join == '&') {
		w->s.cwd_else = before->cwd_else;
	} else if (w->s.cwd != before->cwd && k->join) {
		w->s.cwd_else = other;
	}
}

static void
walk_andor(struct walk *w, const struct sh_node *n, const struct gate_flow *in,
	struct gate_flow *out)
{
	struct walk_scope outer = w->s, first = outer;
	for (const struct sh_node *k = n->kids; k && !w->stop; k = k->next) {
		struct walk_var *start = w->s.vars;
		const char *tried = NULL;
		if (k->join == '|') {	/* what came before it failed somewhere */
			var_forget_since(w, first.vars);
			tried = w->s.cwd != outer.cwd ? w->s.cwd : NULL;
			w->s.cwd = outer.cwd;
		}
		walk_node(w, k, in, out);
		settle_directory(w, &outer, k, tried);
		if (k == n->kids)
			first = w->s;
		if (w->s.args != first.args)	/* it may not have run */
			w->s.args = NULL;
		if (k->join == '|')
			var_forget_since(w, start);
		walk_doubt_functions(w, first.funcs);
	}
	if (n->kids && n->kids->next) {
		w->compound = true;
		var_forget_since(w, first.vars);
	}
	if (n->background)
		w->s = outer;
}

/* Names that a loop's body assigns are unknown from its second round on. */
static void
forget_assigned(struct walk *w, const struct sh_node *n)
{
	for (; n && !w->stop; n = n->next) {
		for (const struct sh_assign *a = n->assigns; a; a = a->next)
			var_set(w, a->name, NULL);
		const struct sh_part *head = n->words ? n->words->parts : NULL;
		bool sets = n->type == SH_SIMPLE && head && head->type == SH_LIT &&
			word_in(head->text, head->len,
			"read mapfile readarray printf getopts let unset export");
		for (const struct sh_word *v = sets ? n->words->next : NULL; v;
		    v = v->next)
			if (v->parts && v->parts->type == SH_LIT && !v->parts->next)
				var_set(w, arena_strn(w->arena, v->parts->text,
					v->parts->len), NULL);
		if (n->type == SH_SIMPLE && head && head->type == SH_LIT &&
		    word_in(head->text, head->len, "set shift"))
			w->s.args = NULL;
		if (n->type == SH_FOR)
			var_set(w, n->name, NULL);
		forget_assigned(w, n->kids);
	}
}

/* Text that is expanded for what it runs: tests, case patterns, (( )). */
static void
expand_all(struct walk *w, const struct sh_word *words)
{
	for (; words && !w->stop; words = words->next) {
		struct gate_field f = expand_one(w, words);
		rule_subscript(w, &f);
	}
}

static void
doubt_directory(struct walk *w, const struct walk_scope *before)
{
	const char *now = w->s.cwd;
	if (now != before->cwd && (!now || !before->cwd || strcmp(now, before->cwd)))
		w->s.cwd = NULL;
}

static void
walk_branches(struct walk *w, const struct sh_node *n, const struct gate_flow *in,
	struct gate_flow *out)
{
	struct walk_scope before = w->s;
	if (n->type == SH_LOOP)
		forget_assigned(w, n->kids);
	expand_all(w, n->words);
	for (const struct sh_node *k = n->kids; k && !w->stop; k = k->next) {
		expand_all(w, k->type == SH_CLAUSE ? k->words : NULL);
		walk_node(w, k->type == SH_CLAUSE ? k->kids : k, in, out);
		if (n->type == SH_CASE)
			w->s.cwd = before.cwd;
		if (w->s.args != before.args)
			w->s.args = NULL;
		walk_doubt_functions(w, before.funcs);
	}
	var_forget_since(w, before.vars);
	doubt_directory(w, &before);
}

static void
walk_for(struct walk *w, const struct sh_node *n, const struct gate_flow *in,
	struct gate_flow *out)
{
	struct field_list list = { .n = 0 };
	struct walk_scope before = w->s;
	for (const struct sh_word *v = n->words; v && !w->stop; v = v->next)
		expand_word(w, v, true, &list);
	forget_assigned(w, n->kids);
	bool harmless = list.n > 0;
	for (size_t i = 0; i < list.n; i++)
		harmless = harmless && !(list.v[i].flags & (FIELD_ANY | FIELD_GLOB)) &&
			!strpbrk(list.v[i].s, "/-~. ");
	if (n->in_args || list.n > LOOP_WORDS_MAX) {
		static const char mark[] = { MARK_NAME, '\0' };
		struct gate_field name = { mark, 1, FIELD_NAME };
		var_set(w, n->name, harmless && !n->in_args ? &name : NULL);
		walk_node(w, n->kids, in, out);
	}
	for (size_t i = 0; i < list.n && list.n <= LOOP_WORDS_MAX && !w->stop; i++) {
		struct gate_field f = list.v[i];
		f.flags |= FIELD_VAR;
		var_set(w, n->name, &f);
		walk_node(w, n->kids, in, out);
	}
	var_forget_since(w, before.vars);
	walk_doubt_functions(w, before.funcs);
	doubt_directory(w, &before);
}

/* The input that the redirections of a compound give to what is in it. */
static struct gate_flow
compound_input(struct walk *w, const struct sh_node *n, const struct gate_flow *in)
{
	struct gate_flow now = *in;
	simple_redirections(w, n->redirs, &now);
	return now;
}

static void
walk_subshell(struct walk *w, const struct sh_node *n, const struct gate_flow *in,
	struct gate_flow *out)
{
	struct walk_scope outer = w->s;
	walk_node(w, n->kids, in, out);
	w->s = outer;
}

void
walk_node(struct walk *w, const struct sh_node *n, const struct gate_flow *in,
	struct gate_flow *out)
{
	struct gate_flow now;
	if (!n || w->stop)
		return;
	if (++w->out->steps > 64 * 1024 * 1024)
		walk_too_complex(w, "too many steps");
	if (n->type != SH_SEQ && n->type != SH_ANDOR && n->type != SH_PIPE &&
	    n->type != SH_SIMPLE)
		w->compound = true;
	now = n->type == SH_SIMPLE ? *in : compound_input(w, n, in);
	switch (n->type) {
	case SH_SIMPLE:
		simple_walk(w, n, in, out);
		break;
	case SH_PIPE:
		walk_pipe(w, n, &now, out);
		break;
	case SH_ANDOR:
		walk_andor(w, n, &now, out);
		break;
	case SH_SEQ:
		w->compound |= n->kids && n->kids->next;
		for (const struct sh_node *k = n->kids; k; k = k->next)
			walk_node(w, k, &now, out);
		break;
	case SH_SUBSHELL:
	case SH_COPROC:
		walk_subshell(w, n, &now, out);
		break;
	case SH_GROUP:
	case SH_CLAUSE:
		walk_node(w, n->kids, &now, out);
		break;
	case SH_IF:
	case SH_LOOP:
	case SH_CASE:
		walk_branches(w, n, &now, out);
		break;
	case SH_FOR:
		walk_for(w, n, &now, out);
		break;
	case SH_FUNC:
		walk_function(w, n);
		break;
	case SH_TEST:
	case SH_ARITH_CMD:
		expand_all(w, n->words);
		if (w->code_in_values)
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"arithmetic over a value that holds a command");
		break;
	}
}
