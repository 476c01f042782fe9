/* Words: quoting, expansions and what nests in them. See shell_scan.h. */
#include <ctype.h>
#include <string.h>

#include "gateway/gate/shell_scan.h"

static struct sh_part *scan_dollar(struct sh_scan *p, bool quoted);
static struct sh_part *scan_backtick(struct sh_scan *p, bool quoted);
static struct sh_part *scan_expanding(struct sh_scan *p, const char *stop,
	bool dquote);

void
scan_fail(struct sh_scan *p, const char *why)
{
	if (!p->error)
		p->error = why;
	p->pos = p->len;
}

bool
scan_enter(struct sh_scan *p)
{
	if (p->depth >= SHELL_DEPTH_MAX) {
		scan_fail(p, "nested more than 64 deep");
		return false;
	}
	p->depth++;
	return true;
}

void
scan_leave(struct sh_scan *p)
{
	p->depth--;
}

char
scan_peek(const struct sh_scan *p, size_t ahead)
{
	return ahead < p->len - p->pos ? p->s[p->pos + ahead] : '\0';
}

bool
scan_is_meta(char c)
{
	return c == '\0' || strchr(" \t\n;&|()<>", c) != NULL;
}

void
scan_blanks(struct sh_scan *p)
{
	for (;;) {
		char c = scan_peek(p, 0);
		p->steps++;
		if (c == ' ' || c == '\t') {
			p->pos++;
		} else if (c == '\\' && scan_peek(p, 1) == '\n') {
			p->pos += 2;
		} else if (c == '#' && p->pos < p->len) {
			const char *nl = memchr(p->s + p->pos, '\n', p->len - p->pos);
			size_t end = nl ? (size_t)(nl - p->s) : p->len;
			p->steps += end - p->pos;
			p->pos = end;
			return;
		} else {
			return;
		}
	}
}

static struct sh_part *
part_new(struct sh_scan *p, enum sh_part_type type, bool quoted)
{
	struct sh_part *part = arena_alloc(p->arena, sizeof(*part));
	part->type = type;
	part->quoted = quoted;
	part->op = "";
	part->text = "";
	return part;
}

static struct sh_part *
part_text(struct sh_scan *p, const char *s, size_t len, bool quoted)
{
	struct sh_part *part = part_new(p, SH_LIT, quoted);
	part->text = s;
	part->len = len;
	p->steps += len;
	return part;
}

static struct sh_part *
scan_single_quote(struct sh_scan *p)
{
	size_t start = ++p->pos;
	const char *q = memchr(p->s + start, '\'', p->len - start);
	if (!q) {
		scan_fail(p, "a quote that is never closed");
		return part_text(p, "", 0, true);
	}
	p->pos = (size_t)(q - p->s) + 1;
	return part_text(p, p->s + start, (size_t)(q - p->s) - start, true);
}

/* Hangs a chain at tail; returns where the next goes. */
static struct sh_part **
append(struct sh_part **tail, struct sh_part *part)
{
	*tail = part;
	while (*tail)
		tail = &(*tail)->next;
	return tail;
}

/* A backslash at p->pos; *run is where unread literal text goes on. */
static struct sh_part *
scan_escape(struct sh_scan *p, bool dquote, size_t *run)
{
	struct sh_part *part = NULL;
	char n = scan_peek(p, 1);
	if (p->pos + 1 >= p->len) {
		*run = p->pos++;
	} else if (n == '\n') {
		p->pos += 2;
		*run = p->pos;
	} else if (!dquote) {
		part = part_text(p, p->s + p->pos + 1, 1, true);
		p->pos += 2;
		*run = p->pos;
	} else if (strchr("$`\\\"", n)) {
		*run = p->pos + 1;
		p->pos += 2;
	} else {
		*run = p->pos++;
	}
	return part;
}

static struct sh_part *
scan_double_quote(struct sh_scan *p)
{
	p->pos++;
	struct sh_part *part = scan_expanding(p, "\"", true);
	if (p->pos >= p->len)
		scan_fail(p, "a quote that is never closed");
	else
		p->pos++;
	return part ? part : part_text(p, "", 0, true);
}

/*
 * Text with expansions until an unescaped byte of `stop` (not consumed).  In
 * double quotes and here-documents a backslash protects only $ ` \ and ", and
 * single quotes are text; inside "${x:-...}" (stop "}") double quotes nest.
 */
static struct sh_part *
scan_expanding(struct sh_scan *p, const char *stop, bool dquote)
{
	struct sh_part *head = NULL, **tail = &head;
	size_t run = p->pos;
	while (p->pos < p->len && !strchr(stop, p->s[p->pos])) {
		char c = p->s[p->pos];
		size_t at = p->pos;
		bool special = c == '\\' || c == '$' || c == '`' ||
			(c == '\'' && !dquote) ||
			(c == '"' && (!dquote || stop[0] == '}'));
		if (!special) {
			p->pos++;
			continue;
		}
		if (p->pos > run)
			tail = append(tail, part_text(p, p->s + run, p->pos - run,
				dquote));
		if (c == '\\') {
			tail = append(tail, scan_escape(p, dquote, &run));
			continue;
		}
		if (c == '$')
			tail = append(tail, scan_dollar(p, dquote));
		else if (c == '`')
			tail = append(tail, scan_backtick(p, dquote));
		else if (c == '\'')
			tail = append(tail, scan_single_quote(p));
		else
			tail = append(tail, scan_double_quote(p));
		/* Bash doesn't say which quotes a \" in there belongs to */
		if (c == '"' && dquote && memchr(p->s + at, '`', p->pos - at) &&
		    memmem(p->s + at, p->pos - at, "\\\"", 2))
			scan_fail(p, "escaped quotes in a back-tick in an expansion");
		run = p->pos;
	}
	if (p->pos > run)
		append(tail, part_text(p, p->s + run, p->pos - run, dquote));
	return head;
}

struct sh_word *
scan_until(struct sh_scan *p, const char *stop)
{
	struct sh_word *w = arena_alloc(p->arena, sizeof(*w));
	w->start = p->pos;
	if (!scan_enter(p))
		return w;
	w->parts = scan_expanding(p, stop, false);
	scan_leave(p);
	w->end = p->pos;
	if (p->pos >= p->len)
		scan_fail(p, "an expansion that is never closed");
	return w;
}

struct sh_word *
scan_arith(struct sh_scan *p)
{
	struct sh_word *w = arena_alloc(p->arena, sizeof(*w));
	struct sh_part **tail = &w->parts;
	size_t open = 0;
	w->start = p->pos;
	if (!scan_enter(p))
		return w;
	for (;;) {
		tail = append(tail, scan_expanding(p, "()", true));
		if (p->pos >= p->len) {
			scan_fail(p, "arithmetic that is never closed");
			break;
		}
		char c = p->s[p->pos];
		if (c == ')' && open == 0) {
			if (scan_peek(p, 1) != ')')
				scan_fail(p, "arithmetic or a subshell: unclear");
			else
				p->pos += 2;
			break;
		}
		open = c == '(' ? open + 1 : open - 1;
		tail = append(tail, part_text(p, p->s + p->pos++, 1, true));
	}
	w->end = p->pos;
	scan_leave(p);
	return w;
}

static struct sh_part *
scan_backtick(struct sh_scan *p, bool quoted)
{
	size_t start = ++p->pos, n = 0;
	struct sh_part *part = part_new(p, SH_SUBST, quoted);
	while (p->pos < p->len && p->s[p->pos] != '`')
		p->pos += p->s[p->pos] == '\\' ? 2 : 1;
	if (p->pos >= p->len || !scan_enter(p)) {
		scan_fail(p, "a backtick that is never closed");
		return part;
	}
	char *text = arena_alloc(p->arena, p->pos - start + 1);
	for (size_t i = start; i < p->pos; i++) {
		if (p->s[i] == '\\' && i + 1 < p->pos &&
		    (strchr("$`\\", p->s[i + 1]) || (quoted && p->s[i + 1] == '"')))
			i++;
		text[n++] = p->s[i];
	}
	struct sh_text inner;
	shell_parse(text, n, p->depth, p->arena, &inner);
	scan_leave(p);
	p->pos++;
	part->script = inner.root;
	p->steps += inner.steps + n;
	p->commands += inner.commands;
	if (inner.error)
		scan_fail(p, inner.error);
	return part;
}

/* The operator in ${name OP...}; arg is read by the caller. */
static const char *
param_op(struct sh_scan *p)
{
	static const char *const ops[] = { ":-", ":=", ":?", ":+", "-", "=", "?", "+" };
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		size_t n = strlen(ops[i]);
		if (p->len - p->pos >= n && memcmp(p->s + p->pos, ops[i], n) == 0) {
			p->pos += n;
			return ops[i];
		}
	}
	/* "#<" is the removal, "#" the length */
	static const char *const trims[] = { "%%", "%", "##", "#" };
	static const char *const names[] = { "%%", "%", "##", "#<" };
	for (size_t i = 0; i < sizeof(trims) / sizeof(trims[0]); i++) {
		size_t n = strlen(trims[i]);
		if (p->len - p->pos >= n && memcmp(p->s + p->pos, trims[i], n) == 0) {
			p->pos += n;
			return names[i];
		}
	}
	if (scan_peek(p, 0) == '@') {
		bool prompt = scan_peek(p, 1) == 'P';
		return prompt ? "@P" : "*";
	}
	return "*";
}

static size_t
name_len(const char *s, size_t len)
{
	size_t n = 0;
	if (len > 0 && (isalpha((unsigned char)s[0]) || s[0] == '_'))
		while (n < len && (isalnum((unsigned char)s[n]) || s[n] == '_'))
			n++;
	return n;
}

/* After ${ */
static struct sh_part *
scan_braced(struct sh_scan *p, bool quoted)
{
	struct sh_part *part = part_new(p, SH_PARAM, quoted);
	const char *op = "";
	char c = scan_peek(p, 0);
	if ((c == '!' || c == '#') && scan_peek(p, 1) != '}') {
		op = c == '!' ? "!" : "#";
		p->pos++;
	}
	size_t n = name_len(p->s + p->pos, p->len - p->pos);
	if (n == 0 && isdigit((unsigned char)scan_peek(p, 0)))
		while (isdigit((unsigned char)scan_peek(p, n)))
			n++;
	else if (n == 0 && scan_peek(p, 0) && strchr("@*#?-$!", scan_peek(p, 0)))
		n = 1;
	if (n == 0) {
		scan_fail(p, "a parameter expansion that can't be read");
		return part;
	}
	part->text = p->s + p->pos;
	part->len = n;
	p->pos += n;
	if (scan_peek(p, 0) == '[') {
		p->pos++;
		part->arg = scan_until(p, "]");
		p->pos++;
		op = "*";
	}
	if (scan_peek(p, 0) != '}') {
		const char *own = param_op(p);
		struct sh_word *index = part->arg;
		if (op[0] == '\0')
			op = own;
		else if (strcmp(own, "@P") == 0)
			op = own;
		part->arg = arena_alloc(p->arena, sizeof(*part->arg));
		part->arg->next = index;
		part->arg->start = p->pos;
		if (scan_enter(p)) {
			part->arg->parts = scan_expanding(p, "}", quoted);
			scan_leave(p);
		}
		if (p->pos >= p->len)
			scan_fail(p, "an expansion that is never closed");
	}
	part->op = op;
	p->pos++;
	if (p->pos > p->len)
		p->pos = p->len;
	return part;
}

static struct sh_part *
scan_subst(struct sh_scan *p, enum sh_part_type type, bool quoted)
{
	struct sh_part *part = part_new(p, type, quoted);
	if (!scan_enter(p))
		return part;
	part->script = scan_list(p, ')');
	scan_leave(p);
	if (p->pos >= p->len)
		scan_fail(p, "a substitution that is never closed");
	else
		p->pos++;
	return part;
}

static struct sh_part *
scan_dollar(struct sh_scan *p, bool quoted)
{
	size_t start = p->pos++;
	char c = scan_peek(p, 0);
	size_t n = name_len(p->s + p->pos, p->len - p->pos);
	p->steps++;
	if (n == 0 && c && strchr("@*#?-$!0123456789", c))
		n = 1;
	if (n > 0) {
		struct sh_part *part = part_new(p, SH_PARAM, quoted);
		part->text = p->s + p->pos;
		part->len = n;
		p->pos += n;
		return part;
	}
	if (c == '{') {
		p->pos++;
		return scan_braced(p, quoted);
	}
	if (c == '(' && scan_peek(p, 1) == '(') {
		struct sh_part *part = part_new(p, SH_ARITH, quoted);
		p->pos += 2;
		part->arg = scan_arith(p);
		return part;
	}
	if (c == '(') {
		p->pos++;
		return scan_subst(p, SH_SUBST, quoted);
	}
	if (c == '[') {
		struct sh_part *part = part_new(p, SH_ARITH, quoted);
		p->pos++;
		part->arg = scan_until(p, "]");
		p->pos++;
		return part;
	}
	if (!quoted && c == '\'') {
		size_t len;
		p->pos++;
		const char *s = scan_ansi_quote(p, &len);
		return part_text(p, s, len, true);
	}
	if (!quoted && c == '"')
		return part_text(p, p->s + p->pos, 0, false);
	return part_text(p, p->s + start, 1, quoted);
}

struct sh_word *
scan_word(struct sh_scan *p, enum sh_word_mode mode)
{
	struct sh_word *w = arena_alloc(p->arena, sizeof(*w));
	struct sh_part **tail = &w->parts;
	w->start = p->pos;
	while (p->pos < p->len) {
		char c = p->s[p->pos];
		bool proc = (c == '<' || c == '>') && scan_peek(p, 1) == '(' &&
			mode == SH_WORD_PLAIN;
		if (proc) {
			p->pos += 2;
			struct sh_part *part = scan_subst(p, SH_PROC, true);
			part->proc_dir = c;
			tail = append(tail, part);
			continue;
		}
		if (mode == SH_WORD_PLAIN && c == '(' && p->pos > w->start) {
			scan_fail(p, "an extended pattern");
			break;
		}
		if (mode == SH_WORD_PLAIN ? scan_is_meta(c) :
		    strchr(" \t\n", c) != NULL)
			break;
		const char *stop = mode == SH_WORD_PLAIN ? " \t\n;&|()<>" :
			" \t\n";
		tail = append(tail, scan_expanding(p, stop, false));
	}
	w->end = p->pos;
	return w->parts || w->end > w->start ? w : NULL;
}

/* A here-document's body as a word. */
struct sh_word *
scan_body(struct sh_scan *p, const char *body, size_t len, bool quoted)
{
	struct sh_word *w = arena_alloc(p->arena, sizeof(*w));
	if (quoted) {
		w->parts = part_text(p, body, len, true);
		return w;
	}
	struct sh_scan inner = { .s = body, .len = len, .depth = p->depth,
		.arena = p->arena };
	w->parts = scan_expanding(&inner, "", true);
	p->steps += inner.steps;
	p->commands += inner.commands;
	if (inner.error)
		scan_fail(p, inner.error);
	return w;
}
