/* Compound commands: if, loops, case, tests, groups, functions. */
#include <string.h>

#include "gateway/gate/shell_scan.h"

/* A list up to a reserved word, which is consumed. */
static struct sh_node *
list_until(struct sh_scan *p, const char *word)
{
	struct sh_node *list = scan_list(p, '\0');
	if (list && !list->kids && !p->error)
		scan_fail(p, "a command is missing");
	scan_expect(p, word);
	return list;
}

static void
add_kid(struct sh_node *n, struct sh_node *kid)
{
	struct sh_node **tail = &n->kids;
	while (*tail)
		tail = &(*tail)->next;
	*tail = kid;
}

static struct sh_node *
scan_if(struct sh_scan *p)
{
	struct sh_node *n = scan_node(p, SH_IF);
	for (;;) {
		add_kid(n, list_until(p, "then"));
		struct sh_node *body = scan_list(p, '\0');
		add_kid(n, body);
		if (p->error || scan_accept(p, "fi"))
			return n;
		if (scan_accept(p, "else")) {
			add_kid(n, list_until(p, "fi"));
			return n;
		}
		scan_expect(p, "elif");
	}
}

static struct sh_node *
scan_loop(struct sh_scan *p)
{
	struct sh_node *n = scan_node(p, SH_LOOP);
	add_kid(n, list_until(p, "do"));
	add_kid(n, list_until(p, "done"));
	return n;
}

static void
loop_body(struct sh_scan *p, struct sh_node *n)
{
	scan_newlines(p);
	if (scan_peek(p, 0) == ';')
		p->pos++;
	scan_newlines(p);
	if (scan_accept(p, "{")) {
		add_kid(n, list_until(p, "}"));
		return;
	}
	scan_expect(p, "do");
	add_kid(n, list_until(p, "done"));
}

static struct sh_node *
scan_for(struct sh_scan *p)
{
	struct sh_node *n = scan_node(p, SH_FOR);
	scan_blanks(p);
	if (scan_peek(p, 0) == '(' && scan_peek(p, 1) == '(') {
		p->pos += 2;
		n->type = SH_LOOP;
		n->words = scan_arith(p);
		loop_body(p, n);
		return n;
	}
	size_t start = p->pos;
	struct sh_word *name = scan_word(p, SH_WORD_PLAIN);
	if (!name || !name->parts || name->parts->type != SH_LIT ||
	    name->parts->next) {
		scan_fail(p, "a loop without a name");
		return n;
	}
	n->name = arena_strn(p->arena, p->s + start, p->pos - start);
	scan_newlines(p);
	n->in_args = !scan_accept(p, "in");
	struct sh_word **tail = &n->words;
	while (!n->in_args && !p->error) {
		scan_blanks(p);
		struct sh_word *w = scan_word(p, SH_WORD_PLAIN);
		if (!w)
			break;
		*tail = w;
		tail = &w->next;
	}
	loop_body(p, n);
	return n;
}

/* One "pattern | pattern) list ;;"; false after the last. */
static bool
scan_clause(struct sh_scan *p, struct sh_node *n)
{
	struct sh_node *clause = scan_node(p, SH_CLAUSE);
	struct sh_word **tail = &clause->words;
	if (scan_peek(p, 0) == '(')
		p->pos++;
	for (;;) {
		scan_blanks(p);
		struct sh_word *w = scan_word(p, SH_WORD_PLAIN);
		scan_blanks(p);
		char c = scan_peek(p, 0);
		if (!w || p->error || (c != '|' && c != ')')) {
			scan_fail(p, "a case that can't be read");
			return false;
		}
		*tail = w;
		tail = &w->next;
		p->pos++;
		if (c == ')')
			break;
	}
	clause->kids = scan_list(p, '\0');
	add_kid(n, clause);
	if (scan_at_reserved(p, "esac"))
		return true;
	if (scan_peek(p, 0) != ';') {
		scan_fail(p, "a case that can't be read");
		return false;
	}
	while (scan_peek(p, 0) == ';' || scan_peek(p, 0) == '&')
		p->pos++;
	return true;
}

static struct sh_node *
scan_case(struct sh_scan *p)
{
	struct sh_node *n = scan_node(p, SH_CASE);
	scan_blanks(p);
	n->words = scan_word(p, SH_WORD_PLAIN);
	scan_newlines(p);
	if (!n->words)
		scan_fail(p, "a case that can't be read");
	scan_expect(p, "in");
	do
		scan_newlines(p);
	while (!p->error && !scan_accept(p, "esac") && scan_clause(p, n));
	return n;
}

/* After [[ up to ]]; the words are kept for what they expand. */
static struct sh_node *
scan_test(struct sh_scan *p)
{
	struct sh_node *n = scan_node(p, SH_TEST);
	struct sh_word **tail = &n->words;
	enum sh_word_mode mode = SH_WORD_PLAIN;
	while (!p->error) {
		scan_newlines(p);
		if (p->pos >= p->len) {
			scan_fail(p, "a test that is never closed");
		} else if (scan_accept(p, "]]")) {
			break;
		} else if (mode == SH_WORD_PLAIN && strchr("()<>&|;", p->s[p->pos])) {
			p->pos++;
		} else {
			struct sh_word *w = scan_word(p, mode);
			if (!w) {
				scan_fail(p, "a test that can't be read");
				break;
			}
			size_t len = w->end - w->start;
			const char *s = p->s + w->start;
			mode = (len == 2 && (!memcmp(s, "=~", 2) ||
				!memcmp(s, "==", 2) || !memcmp(s, "!=", 2))) ||
				(len == 1 && *s == '=') ? SH_WORD_PATTERN :
				SH_WORD_PLAIN;
			*tail = w;
			tail = &w->next;
		}
	}
	return n;
}

struct sh_node *
scan_function(struct sh_scan *p, size_t name_start, size_t name_end)
{
	struct sh_node *n = scan_node(p, SH_FUNC);
	n->name = arena_strn(p->arena, p->s + name_start, name_end - name_start);
	scan_newlines(p);
	if (scan_enter(p)) {
		n->kids = scan_command(p);
		scan_leave(p);
	}
	if (!n->kids)
		scan_fail(p, "a function without a body");
	return n;
}

/* "name ()" at pos: the length up to and with the parentheses, else 0. */
size_t
scan_function_head(const struct sh_scan *p, size_t *ret_name)
{
	size_t n = 0, k;
	while (p->pos + n < p->len && !scan_is_meta(p->s[p->pos + n]) &&
	    !strchr("'\"\\$`=", p->s[p->pos + n]))
		n++;
	k = n;
	while (scan_peek(p, k) == ' ' || scan_peek(p, k) == '\t')
		k++;
	if (n == 0 || scan_peek(p, k) != '(')
		return 0;
	k++;
	while (scan_peek(p, k) == ' ' || scan_peek(p, k) == '\t')
		k++;
	*ret_name = n;
	return scan_peek(p, k) == ')' ? k + 1 : 0;
}

static struct sh_node *
scan_group(struct sh_scan *p, enum sh_node_type type)
{
	struct sh_node *n = scan_node(p, type);
	if (type == SH_GROUP) {
		n->kids = list_until(p, "}");
		return n;
	}
	n->kids = scan_list(p, ')');
	if (p->pos >= p->len)
		scan_fail(p, "a subshell that is never closed");
	else
		p->pos++;
	return n;
}

static struct sh_node *
scan_function_keyword(struct sh_scan *p)
{
	scan_blanks(p);
	size_t start = p->pos;
	while (!scan_is_meta(scan_peek(p, 0)))
		p->pos++;
	size_t end = p->pos;
	scan_blanks(p);
	if (scan_peek(p, 0) == '(') {
		p->pos++;
		scan_blanks(p);
		if (scan_peek(p, 0) != ')')
			scan_fail(p, "a function that can't be read");
		p->pos++;
	}
	return scan_function(p, start, end);
}

struct sh_node *
scan_compound(struct sh_scan *p)
{
	if (scan_peek(p, 0) == '(' && scan_peek(p, 1) == '(') {
		struct sh_node *n = scan_node(p, SH_ARITH_CMD);
		p->pos += 2;
		n->words = scan_arith(p);
		return n;
	}
	if (scan_peek(p, 0) == '(') {
		p->pos++;
		return scan_group(p, SH_SUBSHELL);
	}
	if (scan_accept(p, "{"))
		return scan_group(p, SH_GROUP);
	if (scan_accept(p, "if"))
		return scan_if(p);
	if (scan_accept(p, "while") || scan_accept(p, "until"))
		return scan_loop(p);
	if (scan_accept(p, "for") || scan_accept(p, "select"))
		return scan_for(p);
	if (scan_accept(p, "case"))
		return scan_case(p);
	if (scan_accept(p, "[["))
		return scan_test(p);
	if (scan_accept(p, "function"))
		return scan_function_keyword(p);
	return NULL;
}
