/* Redirections and here-documents. See shell_scan.h. */
#include <ctype.h>
#include <string.h>

#include "gateway/gate/shell_scan.h"

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
	char c = scan_peek(p, 0);
	if (c != '<' && c != '>' && !(c == '&' && scan_peek(p, 1) == '>'))
		return 0;
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
struct sh_redir *
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

/* The body of one here-document; p->pos is at the start of its first line. */
static void
heredoc_body(struct sh_scan *p, struct sh_heredoc *h)
{
	size_t n = 0;
	size_t start = p->pos;
	bool found = false;
	while (p->pos < p->len && !found) {
		const char *nl = memchr(p->s + p->pos, '\n', p->len - p->pos);
		size_t end = nl ? (size_t)(nl - p->s) : p->len;
		size_t from = p->pos;
		while (h->strip_tabs && from < end && p->s[from] == '\t')
			from++;
		found = end - from == h->delim_len &&
			memcmp(p->s + from, h->delim, h->delim_len) == 0;
		if (!found)
			n = end + (nl ? 1 : 0) - start;
		p->steps += end - p->pos + 1;
		p->pos = nl ? end + 1 : end;
	}
	if (!found) {
		scan_fail(p, "a here-document that is never closed");
		return;
	}
	size_t len = 0;
	char *body = arena_alloc(p->arena, n + 1);
	bool line_start = true;
	for (size_t i = start; i < start + n; i++) {
		if (h->strip_tabs && line_start && p->s[i] == '\t')
			continue;
		line_start = p->s[i] == '\n';
		body[len++] = p->s[i];
	}
	h->redir->target = scan_body(p, body, len, h->redir->quoted);
}

void
scan_heredocs(struct sh_scan *p)
{
	struct sh_heredoc *h = p->heredocs;
	p->heredocs = NULL;
	for (; h && !p->error; h = h->next)
		heredoc_body(p, h);
}
