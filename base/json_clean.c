#include "base/json_priv.h"

#include "base/json.h"

#define REPLACEMENT_ESCAPE "\\uFFFD"

/* The code unit of \uXXXX at s, or -1. */
static int
unit_at(const char *s, const char *end)
{
	int unit = 0;

	if (end - s < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		char c = s[i];
		int digit = c >= '0' && c <= '9' ? c - '0' :
		    c >= 'a' && c <= 'f' ? c - 'a' + 10 :
		    c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/*
 * Copies the escape at s; one that a C string of UTF-8 cannot hold (half a
 * surrogate pair, NUL) becomes U+FFFD. Returns the bytes read.
 */
static size_t
copy_escape(struct buf *clean, const char *s, const char *end)
{
	int unit = unit_at(s, end);
	size_t n = unit >= 0 ? 6 : end - s >= 2 ? 2 : 1;

	if (unit >= 0xD800 && unit <= 0xDBFF) {
		int low = unit_at(s + 6, end);

		if (low >= 0xDC00 && low <= 0xDFFF) {
			buf_add(clean, s, 12);
			return 12;
		}
	}
	if (unit == 0 || (unit >= 0xD800 && unit <= 0xDFFF))
		buf_add_str(clean, REPLACEMENT_ESCAPE);
	else
		buf_add(clean, s, n);
	return n;
}

/* Copies the string whose quote is at s. Returns the bytes read. */
static size_t
copy_string(struct buf *clean, const char *s, const char *end)
{
	const char *p = s + 1, *from = s;

	while (p < end && *p != '"') {
		if (*p != '\\' && *p != '\0') {
			p++;
			continue;
		}
		buf_add(clean, from, (size_t)(p - from));
		if (*p == '\\') {
			p += copy_escape(clean, p, end);
		} else {
			buf_add_str(clean, REPLACEMENT_ESCAPE);
			p++;
		}
		from = p;
	}
	if (p < end)
		p++;
	buf_add(clean, from, (size_t)(p - from));
	return (size_t)(p - s);
}

int
json_clean(struct buf *clean, const char *text, size_t len, struct err *err)
{
	const char *end = text + len, *from = text;
	size_t depth = 0, nodes = 1;

	for (const char *p = text; p < end;) {
		if (*p == '"') {
			buf_add(clean, from, (size_t)(p - from));
			p += copy_string(clean, p, end);
			from = p;
			continue;
		}
		if (*p == '[' || *p == '{') {
			nodes++;
			if (++depth > JSON_DEPTH_MAX)
				return err_set(err, ERR_LIMIT,
				    "JSON is nested deeper than %d levels",
				    JSON_DEPTH_MAX);
		} else if ((*p == ']' || *p == '}') && depth > 0) {
			depth--;
		} else if (*p == ',') {
			nodes++;
		} else if ((unsigned char)*p < ' ' && *p != '\n' &&
		    *p != '\t' && *p != '\r') {
			return err_set(err, ERR_INVALID,
			    "JSON has a control byte at byte %zu",
			    (size_t)(p - text));
		}
		if (nodes > JSON_NODES_MAX)
			return err_set(err, ERR_LIMIT,
			    "JSON has more than %d values", JSON_NODES_MAX);
		p++;
	}
	buf_add(clean, from, (size_t)(end - from));
	return 0;
}
