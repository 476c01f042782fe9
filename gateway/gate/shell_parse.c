/* Commands: lists, pipes, compounds, redirections. See shell_scan.h. */
#include <ctype.h>
#include <string.h>

#include "gateway/gate/shell_scan.h"

static struct sh_node *scan_command(struct sh_scan *p);

static struct sh_node *
node_new(struct sh_scan *p, enum sh_node_type type)
{
	struct sh_node *n = arena_alloc(p->arena, sizeof(*n));
	n->type = type;
	n->start = p->pos;
	return n;
}

/* The plain word at pos if it equals a reserved word, which must end there. */
static bool
at_reserved(const struct sh_scan *p, const char *word)
{
	size_t n = strlen(word);
	return p->len - p->pos >= n && memcmp(p->s + p->pos, word, n) == 0 &&
		(p->pos + n == p->len || scan_is_meta(p->s[p->pos + n]));
}

static bool
accept_reserved(struct sh_scan *p, const char *word)
{
	if (!at_reserved(p, word))
		return false;
	p->pos += strlen(word);
	return true;
}

static void
expect_reserved(struct sh_scan *p, const char *word)
{
	if (!p->error && !accept_reserved(p, word))
		scan_fail(p, "a compound command that is never closed");
}

static void
newline(struct sh_scan *p)
{
	p->pos++;
	if (p->heredocs)
		scan_heredocs(p);
}

static void
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
		if (at_reserved(p, words[i]))
			return true;
	return false;
}

/* The literal text of a delimiter, quotes removed. */
static const char *
delimiter(struct sh_scan *p, const struct sh_word *w, bool *ret_quoted)
{
	size_t n = w->end - w->start, len = 0;
	const char *raw = p->s + w->start;
	char *out = arena_alloc(p->arena, n + 1);
	*ret_quoted = memchr(raw, '\\', n) || memchr(raw, '\'', n) ||
		memchr(raw, '"', n);
	for (const struct sh_part *part = w->parts; part; part = part->next) {
		if (part->type != SH_LIT) {
			scan_fail(p, "a here-document delimiter that can't be read");
			break;
		}
		memcpy(out + len, part->text, part->len);
		len += part->len;
	}
	return out;
}

static void
add_heredoc(struct sh_scan *p, struct sh_redir *r, bool strip_tabs)
{
	struct sh_heredoc *h = arena_alloc(p->arena, sizeof(*h));
	struct sh_heredoc **tail = &p->heredocs;
	h->delim = delimiter(p, r->target, &r->quoted);
	h->delim_len = strlen(h->delim);
	h->redir = r;
	h->strip_tabs = strip_tabs;
	while (*tail)
		tail = &(*tail)->next;
	*tail = h;
	r->target = NULL;
}

/* Length of the operator at pos, 0 if none; sets its meaning. */
static size_t
redir_operator(const struct sh_scan *p, struct sh_redir *r, bool *ret_tabs)
{
	static const struct {
		const char *text;
		enum sh_redir_type type;
	} ops[] = {
		{ "&>>", SH_OUT_BOTH }, { "&>", SH_OUT_BOTH }, { "<<<", SH_HERESTRING },
		{ "<<-", SH_HEREDOC }, { "<<", SH_HEREDOC }, { "<>", SH_INOUT },
		{ "<&", SH_DUP }, { "<", SH_IN }, { ">>", SH_APPEND },
		{ ">|", SH_OUT }, { ">&", SH_DUP }, { ">", SH_OUT },
	};
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		size_t n = strlen(ops[i].text);
		if (p->len - p->pos < n || memcmp(p->s + p->pos, ops[i].text, n) != 0)
			continue;
		if (n == 1 && scan_peek(p, 1) == '(')
			return 0;	/* a process substitution */
		r->type = ops[i].type;
		*ret_tabs = strcmp(ops[i].text, "<<-") == 0;
		return n;
	}
	return 0;
}

/* A redirection at pos, with its descriptor; NULL if there is none. */
static struct sh_redir *
scan_redir(struct sh_scan *p)
{
	struct sh_redir r = { .fd = -1 };
	size_t start = p->pos, n = 0;
	bool tabs = false;
	while (n < 4 && isdigit((unsigned char)scan_peek(p, n)))
		n++;
	if (n > 0) {
		r.fd = 0;
		for (size_t i = 0; i < n; i++)
			r.fd = r.fd * 10 + (p->s[p->pos + i] - '0');
	} else if (scan_peek(p, 0) == '{') {
		const char *close = memchr(p->s + p->pos, '}',
			p->len - p->pos < 64 ? p->len - p->pos : 64);
		size_t k = close ? (size_t)(close - p->s) - p->pos : 0;
		for (n = 1; n < k && (isalnum((unsigned char)scan_peek(p, n)) ||
		    scan_peek(p, n) == '_'); n++)
			;
		n = k > 1 && n == k ? k + 1 : 0;
		r.fd = 10;
	}
	p->pos += n;
	size_t op = redir_operator(p, &r, &tabs);
	if (op == 0) {
		p->pos = start;
		return NULL;
	}
	p->pos += op;
	scan_blanks(p);
	r.target = scan_word(p, SH_WORD_PLAIN);
	if (!r.target) {
		scan_fail(p, "a redirection without a target");
		return NULL;
	}
	struct sh_redir *ret = arena_alloc(p->arena, sizeof(*ret));
	*ret = r;
	if (r.type == SH_HEREDOC)
		add_heredoc(p, ret, tabs);
	return ret;
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
	struct sh_node *n = node_new(p, SH_SIMPLE);
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

/* A list up to a reserved word, which is consumed. */
static struct sh_node *
list_until(struct sh_scan *p, const char *word)
{
	struct sh_node *list = scan_list(p, '\0');
	if (list && !list->kids && !p->error)
		scan_fail(p, "a command is missing");
	expect_reserved(p, word);
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
	struct sh_node *n = node_new(p, SH_IF);
	for (;;) {
		add_kid(n, list_until(p, "then"));
		struct sh_node *body = scan_list(p, '\0');
		add_kid(n, body);
		if (p->error || accept_reserved(p, "fi"))
			return n;
		if (accept_reserved(p, "else")) {
			add_kid(n, list_until(p, "fi"));
			return n;
		}
		expect_reserved(p, "elif");
	}
}

static struct sh_node *
scan_loop(struct sh_scan *p)
{
	struct sh_node *n = node_new(p, SH_LOOP);
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
	if (accept_reserved(p, "{")) {
		add_kid(n, list_until(p, "}"));
		return;
	}
	expect_reserved(p, "do");
	add_kid(n, list_until(p, "done"));
}

static struct sh_node *
scan_for(struct sh_scan *p)
{
	struct sh_node *n = node_new(p, SH_FOR);
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
	n->in_args = !accept_reserved(p, "in");
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
	struct sh_node *clause = node_new(p, SH_CLAUSE);
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
	if (at_reserved(p, "esac"))
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
	struct sh_node *n = node_new(p, SH_CASE);
	scan_blanks(p);
	n->words = scan_word(p, SH_WORD_PLAIN);
	scan_newlines(p);
	if (!n->words)
		scan_fail(p, "a case that can't be read");
	expect_reserved(p, "in");
	do
		scan_newlines(p);
	while (!p->error && !accept_reserved(p, "esac") && scan_clause(p, n));
	return n;
}

/* After [[ up to ]]; the words are kept for what they expand. */
static struct sh_node *
scan_test(struct sh_scan *p)
{
	struct sh_node *n = node_new(p, SH_TEST);
	struct sh_word **tail = &n->words;
	enum sh_word_mode mode = SH_WORD_PLAIN;
	while (!p->error) {
		scan_newlines(p);
		if (p->pos >= p->len) {
			scan_fail(p, "a test that is never closed");
		} else if (accept_reserved(p, "]]")) {
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

static struct sh_node *
scan_function(struct sh_scan *p, size_t name_start, size_t name_end)
{
	struct sh_node *n = node_new(p, SH_FUNC);
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
static size_t
function_head(const struct sh_scan *p, size_t *ret_name)
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
	struct sh_node *n = node_new(p, type);
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

static struct sh_node *
scan_compound(struct sh_scan *p)
{
	if (scan_peek(p, 0) == '(' && scan_peek(p, 1) == '(') {
		struct sh_node *n = node_new(p, SH_ARITH_CMD);
		p->pos += 2;
		n->words = scan_arith(p);
		return n;
	}
	if (scan_peek(p, 0) == '(') {
		p->pos++;
		return scan_group(p, SH_SUBSHELL);
	}
	if (accept_reserved(p, "{"))
		return scan_group(p, SH_GROUP);
	if (accept_reserved(p, "if"))
		return scan_if(p);
	if (accept_reserved(p, "while") || accept_reserved(p, "until"))
		return scan_loop(p);
	if (accept_reserved(p, "for") || accept_reserved(p, "select"))
		return scan_for(p);
	if (accept_reserved(p, "case"))
		return scan_case(p);
	if (accept_reserved(p, "[["))
		return scan_test(p);
	if (accept_reserved(p, "function"))
		return scan_function_keyword(p);
	return NULL;
}

/* One command with its redirections. */
static struct sh_node *
scan_command(struct sh_scan *p)
{
	size_t name;
	if (!scan_enter(p))
		return NULL;
	struct sh_node *n = NULL;
	size_t head = function_head(p, &name);
	if (accept_reserved(p, "coproc")) {
		n = node_new(p, SH_COPROC);
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
	struct sh_node *n = node_new(p, SH_PIPE);
	for (;;) {
		scan_blanks(p);
		if (accept_reserved(p, "!"))
			continue;
		if (accept_reserved(p, "time")) {
			scan_blanks(p);
			if (!accept_reserved(p, "-p"))
				accept_reserved(p, "--");
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
	struct sh_node *n = node_new(p, SH_ANDOR), **tail = &n->kids;
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
	struct sh_node *list = node_new(p, SH_SEQ), **tail = &list->kids;
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
