#include "sandbox/giveback.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/cwd.h"
#include "sandbox/env_refuse.h"

#define TEXT_MAX (256 * 1024)	/* functions, and aliases */

struct reader {
	const char *p, *end;
	struct buf word;
};

static bool
at(const struct reader *r, const char *s)
{
	size_t n = strlen(s);

	return (size_t)(r->end - r->p) >= n && memcmp(r->p, s, n) == 0;
}

static bool
skip(struct reader *r, const char *s)
{
	if (!at(r, s))
		return false;
	r->p += strlen(s);
	return true;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Up to max digits of the base; -1 if there is none. */
static int
number(struct reader *r, int base, int max)
{
	int value = -1;

	for (int i = 0; i < max && r->p < r->end; i++) {
		int d = hex_digit(*r->p);
		if (d < 0 || d >= base)
			break;
		value = (value < 0 ? 0 : value) * base + d;
		r->p++;
	}
	return value;
}

/* After the backslash, inside $'...'. A NUL can be no part of a value. */
static bool
ansi_escape(struct reader *r)
{
	static const char from[] = "abeEfnrtv\\'\"?";
	static const char to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	char utf8[4];
	int value;

	if (r->p == r->end)
		return false;
	char c = *r->p;
	const char *known = c ? strchr(from, c) : NULL;
	if (known) {
		r->p++;
		return buf_add_char(&r->word, to[known - from]);
	}
	if (c >= '0' && c <= '7') {
		value = number(r, 8, 3);
		return value > 0 && value < 256 &&
		    buf_add_char(&r->word, (char)value);
	}
	r->p++;
	if (c == 'x') {
		value = number(r, 16, 2);
		return value > 0 && buf_add_char(&r->word, (char)value);
	}
	if (c == 'u' || c == 'U') {
		value = number(r, 16, c == 'u' ? 4 : 7);
		return value > 0 && buf_add(&r->word, utf8,
		    utf8_encode((uint32_t)value, utf8));
	}
	return false;
}

static bool
quoted(struct reader *r, char end)
{
	while (r->p < r->end) {
		char c = *r->p++;
		if (c == end)
			return true;
		if (c == '\\' && end == '"') {
			if (r->p == r->end)
				return false;
			c = *r->p++;
			if (c == '\n')
				continue;
			if (!strchr("\"\\$`!", c) &&
			    !buf_add_char(&r->word, '\\'))
				return false;
		} else if (end == '"' && (c == '$' || c == '`')) {
			return false;	/* never printed by a shell */
		}
		if (!buf_add_char(&r->word, c))
			return false;
	}
	return false;
}

static bool
ansi_quoted(struct reader *r)
{
	while (r->p < r->end) {
		char c = *r->p++;
		if (c == '\'')
			return true;
		if (c == '\\' ? !ansi_escape(r) : !buf_add_char(&r->word, c))
			return false;
	}
	return false;
}

/* A value as a shell prints it: pieces that are quoted, or need no quotes. */
static bool
value(struct reader *r)
{
	buf_clear(&r->word);
	while (r->p < r->end && *r->p != '\n') {
		bool ok;
		if (skip(r, "$'"))
			ok = ansi_quoted(r);
		else if (skip(r, "'"))
			ok = quoted(r, '\'');
		else if (skip(r, "\""))
			ok = quoted(r, '"');
		else if (isalnum((unsigned char)*r->p) || *r->p < 0 ||
		    strchr("_-./:,+=@%^", *r->p))
			ok = buf_add_char(&r->word, *r->p++);
		else if (skip(r, "\\"))	/* outside quotes: the next as it is */
			ok = r->p < r->end && buf_add_char(&r->word, *r->p++);
		else
			return false;
		if (!ok)
			return false;
	}
	return true;
}

/* An exported array, `([0]="x" [1]="y")`: read over, not kept. */
static bool
array(struct reader *r)
{
	buf_clear(&r->word);
	while (r->p < r->end) {
		buf_clear(&r->word);
		if (skip(r, ")"))
			return r->p == r->end || *r->p == '\n';
		if (skip(r, "$'")) {
			if (!ansi_quoted(r))
				return false;
		} else if (skip(r, "\"")) {
			if (!quoted(r, '"'))
				return false;
		} else if (*r->p == '\n') {
			return false;
		} else {
			r->p++;
		}
	}
	return false;
}

/* "declare -x " with any attributes, or "export ". */
static bool
prefix(struct reader *r)
{
	if (skip(r, "export "))
		return true;
	if (!skip(r, "declare -"))
		return false;
	while (r->p < r->end && isalpha((unsigned char)*r->p))
		r->p++;
	return skip(r, " ");
}

static bool
line(struct reader *r, bool with_path, struct vars *vars)
{
	char name[VARS_NAME_MAX + 1];
	const char *start;

	if (!prefix(r))
		return false;
	start = r->p;
	while (r->p < r->end && (isalnum((unsigned char)*r->p) || *r->p == '_'))
		r->p++;
	size_t n = (size_t)(r->p - start);
	if (n == 0 || n > VARS_NAME_MAX)
		return false;
	memcpy(name, start, n);
	name[n] = 0;
	if (skip(r, "=")) {
		if (skip(r, "("))
			return array(r) && (r->p == r->end || skip(r, "\n"));
		if (!value(r) || r->word.over)
			return false;
		bool keep = env_may_persist(name) ||
		    (with_path && strcmp(name, "PATH") == 0);
		if (keep && !vars_set(vars, name, r->word.data))
			return false;
	}
	return r->p == r->end || skip(r, "\n");
}

/* `export -p` of bash or dash into vars (which gets VARS_MAX as its bound). */
static int
parse_exports(const char *text, size_t len, bool with_path,
	struct vars *ret_vars)
{
	struct reader r = { text, text + len, { 0 } };
	bool ok = memchr(text, 0, len) == NULL;

	vars_init(ret_vars, VARS_MAX);
	buf_init(&r.word, VARS_MAX);
	while (ok && r.p < r.end)
		ok = line(&r, with_path, ret_vars);
	buf_done(&r.word);
	if (ok)
		return 0;
	vars_done(ret_vars);
	return -1;
}

static void
text_of(char **ret, const char *data, size_t len)
{
	if (len > 0 && len <= TEXT_MAX) {
		mem_free(*ret);
		*ret = mem_strn(data, len);
	}
}

static void
directory(struct giveback *gb, const char *data, size_t len)
{
	if (len < 2 || data[len - 1] != '\n' || len > CWD_MAX)
		return;
	char *dir = mem_strn(data, len - 1);

	if (cwd_plausible(dir)) {
		mem_free(gb->dir);
		gb->dir = STEAL(dir);
	}
	mem_free(dir);
}

static void
record(struct giveback *gb, const char *data, size_t len, bool snapshot)
{
	switch (data[0]) {
	case 'D':
		gb->dir_gone = true;
		break;
	case 'X':
		gb->dir_refused = true;
		break;
	case 'S':
		gb->not_bash = true;
		break;
	case 'P':
		directory(gb, data + 1, len - 1);
		break;
	case 'E':
		vars_done(&gb->exports);
		gb->has_exports = parse_exports(data + 1, len - 1, snapshot,
		    &gb->exports) == 0;
		gb->note = gb->has_exports ? NULL :
		    "exported variables were not kept: they are over 64 KiB "
		    "together or were not printed by a shell";
		break;
	case 'F':
		if (snapshot)
			text_of(&gb->functions, data + 1, len - 1);
		break;
	case 'A':
		if (snapshot)
			text_of(&gb->aliases, data + 1, len - 1);
		break;
	case '.':
		gb->whole = true;
		break;
	default:
		break;
	}
}

void
giveback_parse(struct giveback *gb, const char *data, size_t len, bool snapshot)
{
	const char *p = data, *end = data + len;

	memset(gb, 0, sizeof(*gb));
	vars_init(&gb->exports, VARS_MAX);
	while (p < end && !gb->whole) {
		const char *nul = memchr(p, 0, (size_t)(end - p));
		if (!nul) {
			if (*p == 'E')
				gb->note = "exported variables were not kept: "
				    "they are over 64 KiB together";
			break;
		}
		if (nul > p)
			record(gb, p, (size_t)(nul - p), snapshot);
		p = nul + 1;
	}
}

void
giveback_done(struct giveback *gb)
{
	vars_done(&gb->exports);
	mem_free(gb->dir);
	mem_free(gb->functions);
	mem_free(gb->aliases);
	memset(gb, 0, sizeof(*gb));
}
