/* Commands: lists, pipes, compounds, redirections. See shell_scan.h. */
#include <ctype.h>
#include <string.h>

#include "gateway/gate/shell_scan.h"

struct sh_node *
scan_node(struct sh_scan *p, enum sh_node_type type)
{
	struct sh_node *n = arena_alloc(p->arena, sizeof(*n));
	n->type = type;
	n->start = p->pos;
	return n;
}

/* The plain word at pos if it equals a reserved word, which must end there. */
bool
scan_at_reserved(const struct sh_scan *p, const char *word)
{
	size_t n = strlen(word);
	return p->len - p->pos >= n && memcmp(p->s + p->pos, word, n) == 0 &&
		(p->pos + n == p->len || scan_is_meta(p->s[p->pos + n]));
}

bool
scan_accept(struct sh_scan *p, const char *word)
{
	if (!scan_at_reserved(p, word))
		return false;
	p->pos += strlen(word);
	return true;
}

void
scan_expect(struct sh_scan *p, const char *word)
{
	if (!p->error && !scan_accept(p, word))
		scan_fail(p, "a compound command that is never closed");
}

static void
newline(struct sh_scan *p)
{
	p->pos++;
	if (p->heredocs)
		scan_heredocs(p);
}

void
scan_newlines(struct sh_scan *p)
{
	scan_blanks(p);
	while (scan_peek(p, 0) == '\n') {
		newline(p);
		scan_blanks(p);
	}
}

static bool
is_closing_word(const struct sh_scan *p)
{
	static const char *const words[] = { "then", "else", "elif", "fi", "do",
		"done", "esac", "}" };
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (scan_at_reserved(p, words[i]))
			return true;
	return false;
}

static bool
take_redir(struct sh_scan *p, struct sh_node *n)
{
	struct sh_redir *r = scan_redir(p), **tail = &n->redirs;
	if (!r)
		return false;
	while (*tail)
		tail = &(*tail)->next;
	*tail = r;
	return true;
}

static void
scan_array(struct sh_scan *p, struct sh_assign *as)
{
	struct sh_word **tail = &as->value;
	as->array = true;
	p->pos++;
	for (;;) {
		scan_newlines(p);
		if (p->error || scan_peek(p, 0) == ')')
			break;
		struct sh_word *w = scan_word(p, SH_WORD_PLAIN);
		if (!w) {
			scan_fail(p, "an array that can't be read");
			return;
		}
		*tail = w;
		tail = &w->next;
	}
	p->pos += p->error ? 0 : 1;
}

/* NAME=, NAME+=, NAME[..]= at pos; NULL (and pos unmoved) if none. */
static struct sh_assign *
scan_assign(struct sh_scan *p)
{
	size_t start = p->pos, n = 0;
	while (isalnum((unsigned char)scan_peek(p, n)) || scan_peek(p, n) == '_')
		n++;
	if (n == 0 || isdigit((unsigned char)p->s[start]))
		return NULL;
	char after = scan_peek(p, n);
	if (after != '=' && after != '[' &&
	    !(after == '+' && scan_peek(p, n + 1) == '='))
		return NULL;
	struct sh_assign as = { .name = NULL };
	p->pos += n;
	if (after == '[') {
		const char *nl = memchr(p->s + p->pos, ']',
			p->len - p->pos < 1024 ? p->len - p->pos : 1024);
		if (!nl) {
			p->pos = start;
			return NULL;
		}
		p->pos++;
		as.subscript = true;
		as.index = scan_until(p, "]");
		p->pos += p->error ? 0 : 1;
		if (scan_peek(p, 0) != '=' && scan_peek(p, 0) != '+') {
			/* a glob such as a[bc]: what it holds was read */
			if (as.index->parts && as.index->parts->type != SH_LIT)
				scan_fail(p, "a subscript that can't be read");
			p->pos = p->error ? p->len : start;
			return NULL;
		}
	}
	if (scan_peek(p, 0) == '+') {
		as.append = true;
		p->pos++;
	}
	p->pos++;
	as.name = arena_strn(p->arena, p->s + start, n);
	if (scan_peek(p, 0) == '(')
		scan_array(p, &as);
	else
		as.value = scan_word(p, SH_WORD_PLAIN);
	struct sh_assign *ret = arena_alloc(p->arena, sizeof(*ret));
	*ret = as;
	return ret;
}

/* declare and its kind take assignments as operands. */
static bool
is_declaration(const struct sh_word *w)
{
	static const char *const words[] = { "declare", "typeset", "local",
		"export", "readonly" };
	const struct sh_part *part = w->parts;
	for (size_t i = 0; part && i < sizeof(words) / sizeof(words[0]); i++)
		if (part->type == SH_LIT && !part->next &&
		    part->len == strlen(words[i]) &&
		    memcmp(part->text, words[i], part->len) == 0)
			return true;
	return false;
}

static struct sh_node *
scan_simple(struct sh_scan *p)
{
	struct sh_node *n = scan_node(p, SH_SIMPLE);
	struct sh_assign **atail = &n->assigns;
	struct sh_word **wtail = &n->words;
	if (++p->commands > SHELL_COMMANDS_MAX) {
		scan_fail(p, "more than 200 commands");
		return NULL;
	}
	while (!p->error) {
		scan_blanks(p);
		p->steps++;
		if (take_redir(p, n))
			continue;
		struct sh_assign *as = NULL;
		if (!n->words || is_declaration(n->words))
			as = scan_assign(p);
		if (as) {
			as->operand = n->words != NULL;
			*atail = as;
			atail = &as->next;
			continue;
		}
		if (p->error)
			break;
		struct sh_word *w = scan_word(p, SH_WORD_PLAIN);
		if (!w)
			break;
		*wtail = w;
		wtail = &w->next;
	}
	n->end = p->pos;
	if (!n->words && !n->assigns && !n->redirs) {
		scan_fail(p, "a command is missing");
		return NULL;
	}
	return n;
}

/* One command with its redirections. */
struct sh_node *
scan_command(struct sh_scan *p)
{
	size_t name;
	if (!scan_enter(p))
		return NULL;
	struct sh_node *n = NULL;
	size_t head = scan_function_head(p, &name);
	if (scan_accept(p, "coproc")) {
		n = scan_node(p, SH_COPROC);
		scan_blanks(p);
		n->kids = scan_command(p);
	} else if (head > 0) {
		size_t start = p->pos;
		p->pos += head;
		n = scan_function(p, start, start + name);
	} else {
		n = scan_compound(p);
		if (n) {
			do
				scan_blanks(p);
			while (!p->error && take_redir(p, n));
		} else if (is_closing_word(p)) {
			scan_fail(p, "a reserved word in the wrong place");
		} else {
			n = scan_simple(p);
		}
	}
	scan_leave(p);
	return n;
}

/* [!] [time [-p]] command | command ... */
static struct sh_node *
scan_pipeline(struct sh_scan *p)
{
	struct sh_node *n = scan_node(p, SH_PIPE);
	for (;;) {
		scan_blanks(p);
		if (scan_accept(p, "!"))
			continue;
		if (scan_accept(p, "time")) {
			scan_blanks(p);
			if (!scan_accept(p, "-p"))
				scan_accept(p, "--");
			scan_blanks(p);
			if (p->pos >= p->len || strchr(";\n&", p->s[p->pos]))
				return n;
			continue;
		}
		break;
	}
	struct sh_node **tail = &n->kids;
	for (;;) {
		struct sh_node *kid = scan_command(p);
		if (!kid)
			return n;
		*tail = kid;
		tail = &kid->next;
		scan_blanks(p);
		if (scan_peek(p, 0) != '|' || scan_peek(p, 1) == '|')
			return n;
		p->pos += scan_peek(p, 1) == '&' ? 2 : 1;
		scan_newlines(p);
	}
}

static struct sh_node *
scan_andor(struct sh_scan *p)
{
	struct sh_node *n = scan_node(p, SH_ANDOR), **tail = &n->kids;
	char join = 0;
	for (;;) {
		struct sh_node *kid = scan_pipeline(p);
		kid->join = join;
		*tail = kid;
		tail = &kid->next;
		scan_blanks(p);
		join = scan_peek(p, 0);
		if (p->error || (join != '&' && join != '|') ||
		    scan_peek(p, 1) != join)
			return n;
		p->pos += 2;
		scan_newlines(p);
	}
}

struct sh_node *
scan_list(struct sh_scan *p, char stop)
{
	struct sh_node *list = scan_node(p, SH_SEQ), **tail = &list->kids;
	for (;;) {
		scan_newlines(p);
		char c = scan_peek(p, 0);
		if (p->error || p->pos >= p->len || (c == ')' && stop == ')'))
			return list;
		if (stop == '\0' && (is_closing_word(p) || c == ';'))
			return list;
		struct sh_node *n = scan_andor(p);
		*tail = n;
		tail = &n->next;
		scan_blanks(p);
		c = scan_peek(p, 0);
		if (c == ';' && scan_peek(p, 1) != ';' && scan_peek(p, 1) != '&') {
			p->pos++;
		} else if (c == '&' && scan_peek(p, 1) != '&') {
			n->background = true;
			p->pos++;
		} else if (c == '\n') {
			continue;
		} else if (p->pos < p->len && c != ')' && c != ';') {
			/* a compound that ends right before a closing word */
			if (!(stop == '\0' && is_closing_word(p)))
				scan_fail(p, "text that can't be read");
		} else if (c == ')' && stop != ')') {
			return list;
		}
	}
}

void
shell_parse(const char *text, size_t len, unsigned depth, struct arena *a,
	struct sh_text *ret)
{
	struct sh_scan p = { .s = text, .len = len, .depth = depth, .arena = a };
	if (memchr(text, '\0', len))
		scan_fail(&p, "a NUL byte");
	struct sh_node *root = scan_list(&p, '\0');
	if (!p.error && p.pos < p.len)
		scan_fail(&p, "an unexpected closing word or bracket");
	if (!p.error && p.heredocs)
		scan_fail(&p, "a here-document that is never closed");
	*ret = (struct sh_text){ .root = root, .error = p.error,
		.commands = p.commands, .steps = p.steps + len };
}
