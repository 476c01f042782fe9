#include "gateway/agent/surrogate.h"

#include <string.h>

#include "base/utf8.h"

/*
 * A mark is U+FDE0 and three of U+FDD0..U+FDDF for the 11 bits of a half.  A
 * peer that writes a mark by itself gets what a half would give.
 */
#define MARK_LEAD "\xEF\xB7\xA0"
#define MARK_LEN 12
#define REPLACEMENT "\xEF\xBF\xBD"

static bool
is_high(int unit)
{
	return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool
is_low(int unit)
{
	return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* The unit of \uXXXX at s, or -1. */
static int
escape_at(const char *s, size_t len)
{
	int unit = 0;

	if (len < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int c = s[i] | 0x20;
		int digit = s[i] >= '0' && s[i] <= '9' ? s[i] - '0' :
		    c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

static void
add_mark(struct buf *out, int unit)
{
	int bits = unit - 0xD800;
	char mark[MARK_LEN + 1] = MARK_LEAD;

	for (int i = 0; i < 3; i++) {
		mark[3 + 3 * i] = '\xEF';
		mark[4 + 3 * i] = '\xB7';
		mark[5 + 3 * i] = (char)(0x90 | (bits >> (8 - 4 * i) & 15));
	}
	buf_add(out, mark, MARK_LEN);
}

/* The half marked at s, or -1. */
static int
mark_at(const char *s, size_t len)
{
	int bits = 0;

	if (len < MARK_LEN || memcmp(s, MARK_LEAD, 3) != 0)
		return -1;
	for (int i = 0; i < 3; i++) {
		const unsigned char *p = (const unsigned char *)s + 3 + 3 * i;

		if (p[0] != 0xEF || p[1] != 0xB7 || p[2] < 0x90 || p[2] > 0x9F)
			return -1;
		bits = bits << 4 | (p[2] & 15);
	}
	return bits < 0x800 ? 0xD800 + bits : -1;
}

bool
surrogate_mark(struct buf *out, const char *json, size_t len)
{
	const char *end = json + len, *from = json, *p = json;
	bool found = false;

	while ((p = memchr(p, '\\', (size_t)(end - p))) != NULL) {
		int unit = escape_at(p, (size_t)(end - p));

		if (is_high(unit) &&
		    is_low(escape_at(p + 6, (size_t)(end - p) - 6))) {
			p += 12;
		} else if (is_high(unit) || is_low(unit)) {
			buf_add(out, from, (size_t)(p - from));
			add_mark(out, unit);
			p += 6;
			from = p;
			found = true;
		} else {
			p += unit >= 0 ? 6 : end - p >= 2 ? 2 : 1;
		}
	}
	if (found)
		buf_add(out, from, (size_t)(end - from));
	return found;
}

static void
take_half(struct surrogate *s, int unit, struct buf *out)
{
	char utf8[4];

	if (is_high(unit)) {
		surrogate_end(s, out);
		s->high = (uint16_t)unit;
	} else if (s->high) {
		uint32_t cp = 0x10000 + (((uint32_t)s->high - 0xD800) << 10) +
		    ((uint32_t)unit - 0xDC00);

		buf_add(out, utf8, utf8_encode(cp, utf8));
		s->high = 0;
	} else {
		buf_add_str(out, REPLACEMENT);
	}
}

bool
surrogate_join(struct surrogate *s, const char *text, size_t len,
	struct buf *out)
{
	const char *end = text + len;

	while (text < end) {
		int unit = mark_at(text, (size_t)(end - text));

		if (unit >= 0) {
			take_half(s, unit, out);
			text += MARK_LEN;
			continue;
		}
		const char *next = memmem(text + 1, (size_t)(end - text) - 1,
		    MARK_LEAD, 3);
		size_t n = (size_t)((next ? next : end) - text);

		surrogate_end(s, out);
		buf_add(out, text, n);
		text += n;
	}
	return !out->over;
}

bool
surrogate_end(struct surrogate *s, struct buf *out)
{
	bool held = s->high != 0;

	s->high = 0;
	return held ? buf_add_str(out, REPLACEMENT) : true;
}
