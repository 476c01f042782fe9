#include "gateway/dotenv.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/env.h"

struct reader {
	const char *file;
	const char *p, *end;
	unsigned line;
	struct report *rep;
};

void
dotenv_init(struct dotenv *env)
{
	memset(env, 0, sizeof(*env));
}

void
dotenv_done(struct dotenv *env)
{
	for (size_t i = 0; i < env->n; i++) {
		mem_free(env->vars[i].name);
		mem_free_secret(&env->vars[i].value);
	}
	mem_free(env->vars);
	dotenv_init(env);
}

const struct dotenv_var *
dotenv_find(const struct dotenv *env, const char *name)
{
	for (size_t i = env->n; i-- > 0; )
		if (strcmp(env->vars[i].name, name) == 0)
			return &env->vars[i];
	return NULL;
}

static bool
blank(char c)
{
	return c == ' ' || c == '\t';
}

static void
skip_blanks(struct reader *r)
{
	while (r->p < r->end && blank(*r->p))
		r->p++;
}

static bool
at_line_end(const struct reader *r)
{
	return r->p == r->end || *r->p == '\n' ||
		(*r->p == '\r' && (r->p + 1 == r->end || r->p[1] == '\n'));
}

static void
skip_line(struct reader *r)
{
	while (r->p < r->end && *r->p != '\n')
		r->p++;
	if (r->p < r->end)
		r->p++;
	r->line++;
}

static char *
read_plain(struct reader *r)
{
	const char *start = r->p;
	const char *last = r->p;	/* after the last byte that belongs */

	for (; !at_line_end(r); r->p++) {
		if (*r->p == '#' && (r->p == start || blank(r->p[-1])))
			break;
		if (!blank(*r->p))
			last = r->p + 1;
	}
	return mem_strn(start, (size_t)(last - start));
}

/* What backslash + c stands for; 0 = no escape: both bytes are kept. */
static char
unescape(char quote, char c)
{
	if (c == quote || c == '\\')
		return c;
	if (quote == '\'')
		return 0;
	return c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : 0;
}

static char *
read_quoted(struct reader *r, const char *name)
{
	struct buf value;
	unsigned first = r->line;
	char quote = *r->p++;

	buf_init(&value, DOTENV_FILE_MAX);
	for (; r->p < r->end && *r->p != quote; r->p++) {
		char c = r->p + 1 < r->end && *r->p == '\\' ?
			unescape(quote, r->p[1]) : 0;

		r->line += *r->p == '\n';
		if (c)
			r->p++;
		else if (*r->p == '\r' && r->p + 1 < r->end && r->p[1] == '\n')
			continue;
		buf_add_char(&value, c ? c : *r->p);
	}
	if (r->p == r->end) {
		report_add(r->rep, REPORT_ERROR, r->file, first, 0,
			"the quote that opens the value of %s is never closed", name);
		buf_done(&value);
		return NULL;
	}
	r->p++;
	skip_blanks(r);
	if (!at_line_end(r) && *r->p != '#') {
		report_add(r->rep, REPORT_ERROR, r->file, r->line, 0,
			"something follows the closing quote of %s", name);
		mem_free(buf_take(&value));
		return NULL;
	}
	return buf_take(&value);
}

static void
add_var(struct dotenv *env, struct reader *r, char *name, char *value,
	unsigned line)
{
	const struct dotenv_var *old = dotenv_find(env, name);

	if (old)
		report_add(r->rep, REPORT_WARN, r->file, line, 0,
			"%s is set again (first on line %u); this line counts",
			name, old->line);
	env->vars = mem_grow(env->vars, env->n + 1, sizeof(*env->vars));
	env->vars[env->n++] = (struct dotenv_var){ name, value, line };
}

static void
read_line(struct dotenv *env, struct reader *r)
{
	unsigned line = r->line;

	skip_blanks(r);
	if (at_line_end(r) || *r->p == '#')
		return;
	if (r->end - r->p > 7 && memcmp(r->p, "export", 6) == 0 && blank(r->p[6])) {
		r->p += 6;
		skip_blanks(r);
	}
	const char *start = r->p;
	while (!at_line_end(r) && *r->p != '=' && !blank(*r->p))
		r->p++;
	size_t len = (size_t)(r->p - start);
	skip_blanks(r);
	if (at_line_end(r) || *r->p != '=' || !env_name_valid(start, len)) {
		report_add(r->rep, REPORT_ERROR, r->file, line, 0,
			"expected NAME=value");
		return;
	}
	r->p++;
	skip_blanks(r);
	CLEANUP_FREE char *name = mem_strn(start, len);
	bool quoted = !at_line_end(r) && (*r->p == '"' || *r->p == '\'');
	char *value = quoted ? read_quoted(r, name) : read_plain(r);
	if (value)
		add_var(env, r, STEAL(name), value, line);
}

void
dotenv_parse(struct dotenv *env, const char *file, const char *text,
	size_t len, struct report *rep)
{
	struct reader r = { file, text, text + len, 1, rep };

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.p += 3;
	if (memchr(text, '\0', len) || (len >= 2 &&
	    (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))) {
		report_add(rep, REPORT_ERROR, file, 0, 0,
			"this is not UTF-8 text (UTF-16?): save it as UTF-8");
		return;
	}
	if (!utf8_valid(r.p, (size_t)(r.end - r.p))) {
		report_add(rep, REPORT_ERROR, file, 0, 0, "this is not UTF-8 text");
		return;
	}
	while (r.p < r.end) {
		read_line(env, &r);
		skip_line(&r);
	}
}
