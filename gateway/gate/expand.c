/* Words to fields, as far as they can be known without running anything. */
#include <ctype.h>
#include <string.h>

#include "gateway/gate/walk.h"

#define FIELD_MAX (128 * 1024)
#define FIELDS_MAX 4096

/* The field being built. */
struct builder {
	struct walk *w;
	struct field_list *list;
	bool split;
	char *s;
	size_t len, size;
	unsigned flags;
	bool started;		/* a field exists even if empty */
};

static void expand_part(struct builder *b, const struct sh_part *part, bool first);

void
field_push(struct walk *w, struct field_list *list, struct gate_field f)
{
	if (list->n >= FIELDS_MAX) {
		walk_too_complex(w, "a word list that is too long");
		return;
	}
	if (list->n == list->size) {
		size_t size = list->size ? list->size * 2 : 8;
		struct gate_field *v = arena_alloc(w->arena, size * sizeof(*v));
		if (list->n > 0)
			memcpy(v, list->v, list->n * sizeof(*v));
		list->v = v;
		list->size = size;
	}
	list->v[list->n++] = f;
}

struct gate_field
field_text(struct walk *w, const char *s, size_t len, unsigned flags)
{
	return (struct gate_field){ .s = arena_strn(w->arena, s, len),
		.len = len, .flags = flags };
}

static void
put(struct builder *b, char c)
{
	if (b->len + 1 >= b->size) {
		size_t size = b->size ? b->size * 2 : 32;
		char *s = arena_alloc(b->w->arena, size);
		if (b->len > 0)
			memcpy(s, b->s, b->len);
		b->s = s;
		b->size = size;
	}
	if (b->len >= FIELD_MAX) {
		walk_too_complex(b->w, "a word that is too long");
		return;
	}
	b->s[b->len++] = c;
	b->s[b->len] = '\0';
	b->started = true;
}

static void
mark(struct builder *b, char m)
{
	put(b, m);
	b->flags |= m == MARK_ANY ? FIELD_ANY : m == MARK_NAME ? FIELD_NAME :
		FIELD_GLOB;
}

static void
put_byte(struct builder *b, char c, bool quoted)
{
	if (!quoted && (c == '*' || c == '?' || c == '['))
		mark(b, c == '*' ? MARK_STAR : c == '?' ? MARK_QUEST :
			MARK_BRACKET);
	else
		put(b, c >= MARK_ANY && c <= MARK_BRACKET ? '\x06' : c);
}

/* A [ that no ] closes is only a bracket. */
static void
settle_brackets(struct builder *b)
{
	char *close = b->s ? strrchr(b->s, ']') : NULL;
	bool glob = false;
	for (char *p = b->s; p && *p; p++) {
		if (*p == MARK_BRACKET && (!close || p > close))
			*p = '[';
		glob |= *p >= MARK_STAR && *p <= MARK_BRACKET;
	}
	if (!glob)
		b->flags &= ~(unsigned)FIELD_GLOB;
}

static void
finish(struct builder *b)
{
	if (!b->started)
		return;
	if (b->flags & FIELD_GLOB)
		settle_brackets(b);
	struct gate_field f = { .s = b->s ? b->s : "", .len = b->len,
		.flags = b->flags };
	field_push(b->w, b->list, f);
	b->s = NULL;
	b->len = b->size = 0;
	b->flags = 0;
	b->started = false;
}

/* A value that an expansion gave; markers in it stay markers. */
static void
put_value(struct builder *b, const char *s, size_t len, unsigned flags, bool quoted)
{
	bool split = b->split && !quoted;
	const struct walk_var *ifs = b->w->ifs_changed ? var_get(b->w, "IFS", 3) : NULL;
	const char *blanks = ifs && ifs->known ? ifs->value : " \t\n";
	if (split && ifs && !ifs->known) {
		walk_ask(b->w, GATE_CLASS_CODE, "words that can't be told apart",
			"IFS is only known at run time");
		mark(b, MARK_ANY);
		return;
	}
	b->flags |= flags & ~(unsigned)FIELD_QUOTED;
	for (size_t i = 0; i < len; i++) {
		char c = s[i];
		if (split && c && strchr(blanks, c)) {
			finish(b);
			b->flags |= flags & FIELD_TAINT;
		} else if (c >= MARK_ANY && c <= MARK_BRACKET) {
			mark(b, c);
		} else {
			put_byte(b, c, !split);
		}
	}
	if (quoted)
		b->started = true;
}

static bool
is_number_param(const char *s, size_t len)
{
	static const char *const names[] = { "?", "#", "$", "RANDOM", "SECONDS",
		"UID", "EUID", "PPID", "LINENO", "BASHPID", "HOSTNAME", "USER",
		"LOGNAME", "SHLVL", "COLUMNS", "LINES", "EPOCHSECONDS", "OSTYPE",
		"HOSTTYPE", "MACHTYPE", "BASH_VERSION", "SRANDOM" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && memcmp(names[i], s, len) == 0)
			return true;
	return false;
}

static bool
is_name(const struct sh_part *part, const char *name)
{
	return part->len == strlen(name) && memcmp(part->text, name, part->len) == 0;
}

/* $@ and $*: each argument a field where they are known. */
static void
expand_args(struct builder *b, bool quoted)
{
	struct walk *w = b->w;
	if (!w->s.args) {
		mark(b, MARK_ANY);
		return;
	}
	for (size_t i = 0; i < w->s.nargs; i++) {
		if (i > 0) {
			if (b->split)
				finish(b);
			else
				put(b, ' ');
		}
		put_value(b, w->s.args[i].s, w->s.args[i].len, w->s.args[i].flags, quoted);
	}
}

/* The plain value of a parameter; false: not known. */
static bool
param_value(struct builder *b, const struct sh_part *part, struct gate_field *ret)
{
	struct walk *w = b->w;
	static const char name[] = { MARK_NAME, '\0' };
	const struct walk_var *v = var_get(w, part->text, part->len);
	if (v) {
		*ret = (struct gate_field){ v->value, v->len, v->flags };
		return v->known;
	}
	if (isdigit((unsigned char)part->text[0])) {
		size_t i = (size_t)(part->text[0] - '0');
		if (!w->s.args || part->len > 1 || i == 0 || i > w->s.nargs) {
			bool empty = w->s.args && i > w->s.nargs && part->len == 1;
			*ret = (struct gate_field){ "", 0, 0 };
			return empty;
		}
		*ret = w->s.args[i - 1];
		return !(ret->flags & FIELD_ANY);
	}
	const char *text = NULL;
	unsigned flags = 0;
	if (is_name(part, "HOME"))
		text = w->ctx->home;
	else if (is_name(part, "PWD"))
		text = w->s.cwd;
	else if (is_name(part, "IFS"))
		text = " \t\n";
	else if (is_name(part, "TMPDIR"))
		text = "/tmp";
	else if (is_name(part, "!"))
		text = name, flags = FIELD_NAME | FIELD_OWN_PID;
	else if (is_number_param(part->text, part->len))
		text = name, flags = FIELD_NAME;
	if (!text)
		return false;
	*ret = (struct gate_field){ text, strlen(text), flags };
	return true;
}

/* By its name a variable of the environment that holds a credential. */
static bool
names_secret(const char *s, size_t len)
{
	static const char *const parts[] = { "SECRET", "TOKEN", "PASSWORD", "PASSWD",
		"API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL" };
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (memmem(s, len, parts[i], strlen(parts[i])))
			return true;
	return false;
}

static void
expand_param(struct builder *b, const struct sh_part *part)
{
	struct gate_field v = { "", 0, 0 }, arg = { "", 0, 0 };
	bool plain = part->op[0] == '\0';
	for (const struct sh_word *a = part->arg; a; a = a->next)
		arg = a == part->arg ? expand_one(b->w, a) : arg;
	for (const struct sh_word *a = part->arg ? part->arg->next : NULL; a;
	    a = a->next)
		(void)expand_one(b->w, a);	/* what an index runs */
	b->flags |= FIELD_VAR | (arg.flags & FIELD_TAINT);
	if (strcmp(part->op, "@P") == 0)
		walk_ask(b->w, GATE_CLASS_CODE, "code that can't be read",
			"${...@P} runs what the variable holds");
	if (plain && (is_name(part, "@") || is_name(part, "*"))) {
		expand_args(b, part->quoted);
		return;
	}
	bool known = param_value(b, part, &v);
	if (!known && strcmp(part->op, "#") != 0 && names_secret(part->text,
	    part->len) && !var_get(b->w, part->text, part->len))
		b->flags |= FIELD_SECRET;
	bool trims = part->op[0] == '%' || (part->op[0] == '#' && part->op[1]);
	if (part->arg && (part->arg->next || !strcmp(part->op, "*")) &&
	    b->w->code_in_values)
		walk_ask(b->w, GATE_CLASS_CODE, "code that can't be read",
			"arithmetic over a value that holds a command");
	if (strcmp(part->op, "#") == 0) {
		mark(b, MARK_NAME);
	} else if (trims && known && !(arg.flags & FIELD_ANY) &&
	    expand_trim(b->w, part, &arg, &v)) {
		put_value(b, arena_strn(b->w->arena, v.s, v.len), v.len, v.flags,
			part->quoted);
	} else if (trims || (strchr("!*@", part->op[0]) && !plain)) {
		bool harmless = known && (trims || part->op[0] == '*') &&
			!memchr(v.s, '/', v.len) && !memchr(v.s, ' ', v.len) &&
			(v.len == 0 || v.s[0] != '-') &&
			!(arg.flags & FIELD_ANY) && !strpbrk(arg.s, "/ ");
		mark(b, harmless && v.len > 0 ? MARK_NAME : MARK_ANY);
		b->flags |= v.flags & FIELD_TAINT;
	} else if (known && strchr(part->op, '+')) {
		put_value(b, arg.s, arg.len, arg.flags, part->quoted);
	} else if (known && v.len == 0 && strchr(part->op, ':') && !plain) {
		put_value(b, arg.s, arg.len, arg.flags, part->quoted);
	} else if (known) {
		put_value(b, v.s, v.len, v.flags, part->quoted);
	} else {
		/* an environment variable: its value or the default */
		mark(b, MARK_ANY);
		b->flags |= v.flags & (FIELD_TAINT | FIELD_DATA);
	}
	if (part->quoted)
		b->started = true;
}

static void
expand_subst(struct builder *b, const struct sh_part *part)
{
	struct walk *w = b->w;
	struct gate_flow out = { .present = false };
	struct gate_flow in = { .present = false };
	struct walk_scope outer = w->s;
	walk_node(w, part->script, &in, &out);
	w->s = outer;
	b->flags |= FIELD_SUBST;
	if (out.text) {
		size_t n = out.len;
		while (n > 0 && out.text[n - 1] == '\n')
			n--;
		put_value(b, out.text, n, (out.flags & FIELD_TAINT) | FIELD_SUBST,
			part->quoted);
	} else {
		mark(b, out.flags & FIELD_NAME ? MARK_NAME : MARK_ANY);
		b->flags |= (out.flags & FIELD_TAINT) | FIELD_DATA;
	}
	if (part->quoted)
		b->started = true;
}

/* ~ and ~user at the start of a word or of an assigned value. */
static size_t
expand_tilde(struct builder *b, const struct sh_part *part)
{
	const char *home = b->w->ctx->home;
	size_t n = 1;
	while (n < part->len && (isalnum((unsigned char)part->text[n]) ||
	    part->text[n] == '_' || part->text[n] == '-' || part->text[n] == '+'))
		n++;
	if (n < part->len && part->text[n] != '/')
		return 0;
	if (n == part->len && part->next)
		return 0;
	if (n == 1) {
		put_value(b, home ? home : "/root", strlen(home ? home : "/root"),
			0, true);
	} else if (n == 2 && strchr("+-", part->text[1])) {
		mark(b, MARK_ANY);
	} else if (n == 5 && memcmp(part->text, "~root", 5) == 0) {
		put_value(b, "/root", 5, 0, true);
	} else {
		put_value(b, "/home/", 6, 0, true);
		put_value(b, part->text + 1, n - 1, 0, true);
	}
	return n;
}

/* The length of "NAME=" at the start of a word, else 0. */
static size_t
name_before_equals(const struct sh_part *part)
{
	size_t n = 0;
	while (n < part->len && (isalnum((unsigned char)part->text[n]) ||
	    part->text[n] == '_'))
		n++;
	bool name = n > 0 && n < part->len && part->text[n] == '=' &&
		!isdigit((unsigned char)part->text[0]);
	return name ? n + 1 : 0;
}

static void
expand_literal(struct builder *b, const struct sh_part *part, bool first)
{
	size_t i = 0;
	if (part->quoted) {
		b->started = true;
		b->flags |= FIELD_QUOTED;
	} else if (first && part->len > 0) {
		/* Bash expands the tilde of NAME=~ in any word */
		size_t eq = name_before_equals(part);
		struct sh_part rest = *part;
		rest.text += eq;
		rest.len -= eq;
		for (; i < eq; i++)
			put_byte(b, part->text[i], false);
		if (rest.len > 0 && rest.text[0] == '~')
			i += expand_tilde(b, &rest);
	}
	for (; i < part->len; i++)
		put_byte(b, part->text[i], part->quoted);
}

static void
expand_proc(struct builder *b, const struct sh_part *part)
{
	struct gate_flow in = { .present = part->proc_dir == '>' };
	struct gate_flow out = { .present = false };
	struct walk_scope outer = b->w->s;
	walk_node(b->w, part->script, &in, &out);
	b->w->s = outer;
	put_value(b, "/dev/fd/63", 10, FIELD_PROC | (out.flags & FIELD_TAINT), true);
}

static void
expand_part(struct builder *b, const struct sh_part *part, bool first)
{
	switch (part->type) {
	case SH_LIT:
		expand_literal(b, part, first);
		break;
	case SH_PARAM:
		expand_param(b, part);
		break;
	case SH_SUBST:
		expand_subst(b, part);
		break;
	case SH_ARITH:
		(void)expand_one(b->w, part->arg);
		if (b->w->code_in_values)
			walk_ask(b->w, GATE_CLASS_CODE, "code that can't be read",
				"arithmetic over a value that holds a command");
		mark(b, MARK_NAME);
		break;
	case SH_PROC:
		expand_proc(b, part);
		break;
	}
}

static void
expand_plain(struct walk *w, const struct sh_word *word, bool split,
	struct field_list *out)
{
	struct builder b = { .w = w, .list = out, .split = split };
	for (const struct sh_part *p = word->parts; p && !w->stop; p = p->next)
		expand_part(&b, p, p == word->parts);
	finish(&b);
}

void
expand_word(struct walk *w, const struct sh_word *word, bool split,
	struct field_list *out)
{
	struct sh_word *words = NULL;
	if (!split || !brace_expand(w, word, &words)) {
		expand_plain(w, word, split, out);
		return;
	}
	for (; words; words = words->next)
		expand_plain(w, words, split, out);
}

struct gate_field
expand_one(struct walk *w, const struct sh_word *word)
{
	struct field_list list = { .n = 0 };
	if (word)
		expand_plain(w, word, false, &list);
	return list.n > 0 ? list.v[0] : (struct gate_field){ "", 0, 0 };
}
