#include "gateway/agent/v4a.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/agent/lines.h"

#define PATH_LEN_MAX 2000
#define TEXT_MAX (4u << 20)

struct parser {
	struct v4a *out;
	struct v4a_file *file;	/* NULL: none begun */
	struct v4a_hunk *hunk;
	size_t line, hunks;
	struct err *err;
};

static void
hunk_done(struct v4a_hunk *h)
{
	mem_free(h->hint);
	buf_done(&h->old);
	buf_done(&h->new);
}

void
v4a_done(struct v4a *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct v4a_file *f = &p->files[i];

		for (size_t k = 0; k < f->nhunks; k++)
			hunk_done(&f->hunks[k]);
		mem_free(f->hunks);
		mem_free(f->path);
		mem_free(f->to);
	}
	mem_free(p->files);
	memset(p, 0, sizeof(*p));
}

static int
wrong(struct parser *p, const char *what)
{
	return err_set(p->err, ERR_INVALID, "line %zu of the patch: %s", p->line,
	    what);
}

/* Behind the keyword, if the line begins with it. */
static bool
keyword(struct line line, const char *word, struct line *ret_rest)
{
	size_t n = strlen(word);

	if (line.len < n || memcmp(line.p, word, n) != 0)
		return false;
	*ret_rest = line_trim((struct line){ line.p + n, line.len - n });
	return true;
}

/* NULL with the error. */
static char *
take_path(struct parser *p, struct line path)
{
	if (path.len == 0 || path.len > PATH_LEN_MAX || memchr(path.p, 0, path.len)) {
		wrong(p, "a path is missing or too long");
		return NULL;
	}
	char *s = mem_strn(path.p, path.len);

	for (const char *q = s; q; q = strchr(q, '/')) {
		q += *q == '/';
		if (strncmp(q, "..", 2) == 0 && (q[2] == '/' || !q[2])) {
			wrong(p, "\"..\" is not allowed in a path");
			mem_free(s);
			return NULL;
		}
	}
	return s;
}

static struct v4a_hunk *
add_hunk(struct parser *p, struct line hint)
{
	struct v4a_file *f = p->file;

	if (++p->hunks > V4A_HUNKS_MAX) {
		wrong(p, "too many hunks for one patch");
		return NULL;
	}
	f->hunks = mem_grow(f->hunks, f->nhunks + 1, sizeof(*f->hunks));
	struct v4a_hunk *h = &f->hunks[f->nhunks++];

	memset(h, 0, sizeof(*h));
	buf_init(&h->old, TEXT_MAX);
	buf_init(&h->new, TEXT_MAX);
	h->hint = hint.len > 0 ? mem_strn(hint.p, hint.len) : NULL;
	return h;
}

static int
add_file(struct parser *p, enum v4a_kind kind, struct line path)
{
	struct v4a *v = p->out;
	char *s;

	if (v->n == V4A_FILES_MAX)
		return wrong(p, "too many files for one patch");
	if (!(s = take_path(p, path)))
		return -1;
	v->files = mem_grow(v->files, v->n + 1, sizeof(*v->files));
	p->file = &v->files[v->n++];
	*p->file = (struct v4a_file){ .kind = kind, .path = s };
	p->hunk = NULL;
	if (kind == V4A_ADD && !(p->hunk = add_hunk(p, (struct line){ "", 0 })))
		return -1;
	return 0;
}

static int
add_move(struct parser *p, struct line rest)
{
	const char *arrow = memmem(rest.p, rest.len, " -> ", 4);

	if (!arrow)
		return wrong(p, "write it as: *** Move File: FROM -> TO");
	size_t n = (size_t)(arrow - rest.p);

	if (add_file(p, V4A_MOVE, line_trim((struct line){ rest.p, n })) < 0)
		return -1;
	p->file->to = take_path(p, line_trim((struct line){ arrow + 4,
	    rest.len - n - 4 }));
	return p->file->to ? 0 : -1;
}

/* A line that begins with "***". */
static int
take_header(struct parser *p, struct line line)
{
	struct line rest;

	if (keyword(line, "*** Update File:", &rest))
		return add_file(p, V4A_UPDATE, rest);
	if (keyword(line, "*** Add File:", &rest))
		return add_file(p, V4A_ADD, rest);
	if (keyword(line, "*** Delete File:", &rest))
		return add_file(p, V4A_DELETE, rest);
	if (keyword(line, "*** Move File:", &rest))
		return add_move(p, rest);
	if (keyword(line, "*** Move to:", &rest)) {
		if (!p->file || p->file->kind != V4A_UPDATE || p->file->to ||
		    p->file->nhunks > 0)
			return wrong(p, "\"*** Move to:\" belongs right below "
			    "\"*** Update File:\"");
		return (p->file->to = take_path(p, rest)) ? 0 : -1;
	}
	if (keyword(line, "*** End of File", &rest)) {
		if (!p->hunk)
			return wrong(p, "\"*** End of File\" outside a hunk");
		p->hunk->at_end = true;
		return 0;
	}
	return wrong(p, "it begins with *** but is none of Update File, Add File, "
	    "Delete File, Move File, Move to, End of File, End Patch");
}

static int
take_hunk_line(struct parser *p, struct line line)
{
	char op = line.len > 0 ? line.p[0] : ' ';
	struct line text = line.len > 0 ?
	    (struct line){ line.p + 1, line.len - 1 } : line;

	if (!p->file)
		return line_trim(line).len == 0 ? 0 : wrong(p, "a file header "
		    "such as \"*** Update File: PATH\" must come first");
	if (p->file->kind == V4A_DELETE || p->file->kind == V4A_MOVE)
		return line_trim(line).len == 0 ? 0 : wrong(p, "deleting or moving "
		    "a file takes no lines");
	if (p->file->kind == V4A_ADD && op != '+')
		return line_trim(line).len == 0 ? 0 : wrong(p, "each line of a new "
		    "file begins with +");
	if (op != ' ' && op != '-' && op != '+')
		return wrong(p, "it must begin with a blank, - or +");
	if (!p->hunk && !(p->hunk = add_hunk(p, (struct line){ "", 0 })))
		return -1;
	if (op != '+') {
		buf_add(&p->hunk->old, text.p, text.len);
		buf_add_char(&p->hunk->old, '\n');
	}
	if (op != '-') {
		buf_add(&p->hunk->new, text.p, text.len);
		buf_add_char(&p->hunk->new, '\n');
	}
	return p->hunk->old.over || p->hunk->new.over ?
	    wrong(p, "too much text") : 0;
}

/* "@@ hint", or "@@ -1,2 +1,2 @@ hint" as in a unified diff. */
static int
take_mark(struct parser *p, struct line line)
{
	struct line hint = line_trim((struct line){ line.p + 2, line.len - 2 });
	const char *second = memmem(hint.p, hint.len, "@@", 2);

	if (!p->file || p->file->kind != V4A_UPDATE)
		return wrong(p, "@@ belongs below \"*** Update File:\"");
	if (second) {
		size_t n = (size_t)(second + 2 - hint.p);
		bool numbers = hint.p[0] == '-';

		hint = numbers ? (struct line){ second + 2, hint.len - n } :
		    (struct line){ hint.p, n - 2 };
		hint = line_trim(hint);
	}
	return (p->hunk = add_hunk(p, hint)) ? 0 : -1;
}

static int
check_files(struct parser *p)
{
	for (size_t i = 0; i < p->out->n; i++) {
		const struct v4a_file *f = &p->out->files[i];
		size_t changes = 0;

		for (size_t k = 0; k < f->nhunks; k++)
			changes += f->hunks[k].old.len != f->hunks[k].new.len ||
			    memcmp(f->hunks[k].old.data, f->hunks[k].new.data,
			    f->hunks[k].old.len) != 0;
		if (f->kind == V4A_UPDATE && changes == 0 && !f->to)
			return err_set(p->err, ERR_INVALID, "the update of %.200s "
			    "changes nothing: it has no - and no + lines", f->path);
		for (size_t k = 0; k < i; k++)
			if (strcmp(p->out->files[k].path, f->path) == 0)
				return err_set(p->err, ERR_INVALID, "%.200s is there "
				    "twice: put all its hunks below one header",
				    f->path);
	}
	return p->out->n > 0 ? 0 : err_set(p->err, ERR_INVALID, "the patch names "
	    "no file; write it between \"*** Begin Patch\" and \"*** End Patch\"");
}

int
v4a_parse(struct v4a *ret, const char *text, size_t len, struct err *err)
{
	struct parser p = { .out = ret, .err = err };
	struct lines l;
	struct line rest;
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	lines_split(&l, text, len);
	for (size_t i = 0; i < l.n && rc == 0; i++) {
		struct line line = l.v[i];

		p.line = i + 1;
		if (line.len > 0 && line.p[line.len - 1] == '\r')
			line.len--;
		if (keyword(line, "*** Begin Patch", &rest) && !p.file)
			continue;
		if (keyword(line, "*** End Patch", &rest))
			break;
		if (keyword(line, "***", &rest))
			rc = take_header(&p, line);
		else if (keyword(line, "@@", &rest))
			rc = take_mark(&p, line);
		else if (line.len > 0 || (i + 1 < l.n && p.hunk))
			rc = take_hunk_line(&p, line);
	}
	lines_done(&l);
	return rc == 0 ? check_files(&p) : -1;
}
