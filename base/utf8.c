#include "base/utf8.h"

#include <string.h>

#define BAD UINT32_MAX
#define REPLACEMENT "\xEF\xBF\xBD"

/*
 * One step of decoding at s (len >= 1): returns the bytes it covers. *cp is
 * BAD for something invalid, which then covers the longest prefix of a valid
 * sequence (Unicode 3.9, "maximal subpart": one U+FFFD each).  *cut says that
 * more bytes could still make it valid.
 */
static size_t
step(const char *str, size_t len, uint32_t *cp, bool *cut)
{
	const unsigned char *s = (const unsigned char *)str;
	unsigned char low = 0x80, high = 0xBF;	/* of the second byte */
	size_t want;

	*cut = false;
	*cp = BAD;
	if (s[0] < 0x80) {
		*cp = s[0];
		return 1;
	}
	if (s[0] < 0xC2 || s[0] > 0xF4)
		return 1;
	want = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
	if (s[0] == 0xE0)
		low = 0xA0;		/* overlong */
	else if (s[0] == 0xED)
		high = 0x9F;		/* surrogates */
	else if (s[0] == 0xF0)
		low = 0x90;		/* overlong */
	else if (s[0] == 0xF4)
		high = 0x8F;		/* above 10FFFF */

	uint32_t value = s[0] & (0xFFu >> (want + 1));

	for (size_t i = 1; i < want; i++) {
		if (i == len) {
			*cut = true;
			return i;
		}
		if (s[i] < low || s[i] > high)
			return i;
		value = value << 6 | (s[i] & 0x3F);
		low = 0x80;
		high = 0xBF;
	}
	*cp = value;
	return want;
}

size_t
utf8_next(const char *s, size_t len, uint32_t *ret_cp)
{
	uint32_t cp;
	bool cut;

	if (len == 0)
		return 0;
	size_t n = step(s, len, &cp, &cut);

	if (cp == BAD)
		return 0;
	if (ret_cp)
		*ret_cp = cp;
	return n;
}

bool
utf8_valid(const char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = utf8_next(s + i, len - i, NULL);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

size_t
utf8_encode(uint32_t cp, char out[4])
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xC0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3F));
		return 2;
	}
	if (cp < 0x10000) {
		if (cp >= 0xD800 && cp <= 0xDFFF)
			return 0;
		out[0] = (char)(0xE0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
		out[2] = (char)(0x80 | (cp & 0x3F));
		return 3;
	}
	if (cp > 0x10FFFF)
		return 0;
	out[0] = (char)(0xF0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
	out[3] = (char)(0x80 | (cp & 0x3F));
	return 4;
}

size_t
utf8_points(const char *s, size_t len)
{
	size_t points = 0;
	uint32_t cp;
	bool cut;

	for (size_t i = 0; i < len; points++)
		i += step(s + i, len - i, &cp, &cut);
	return points;
}

/* What is invalid counts as the one unit that U+FFFD takes. */
static size_t
units_of(uint32_t cp)
{
	return cp != BAD && cp > 0xFFFF ? 2 : 1;
}

size_t
utf8_units16(const char *s, size_t len)
{
	size_t units = 0;
	uint32_t cp;
	bool cut;

	for (size_t i = 0; i < len;) {
		i += step(s + i, len - i, &cp, &cut);
		units += units_of(cp);
	}
	return units;
}

size_t
utf8_offset16(const char *s, size_t len, size_t unit)
{
	size_t seen = 0, i = 0;
	uint32_t cp;
	bool cut;

	while (i < len) {
		size_t n = step(s + i, len - i, &cp, &cut);

		seen += units_of(cp);
		if (seen > unit)
			break;
		i += n;
	}
	return i;
}

size_t
utf8_cut(const char *s, size_t len, size_t max)
{
	if (len <= max)
		return len;
	for (size_t back = 0; back < 4 && back <= max; back++) {
		size_t at = max - back;
		size_t n = utf8_next(s + at, len - at, NULL);

		if (n > 0)		/* a sequence starts here */
			return n > back ? at : max;
	}
	return max;
}

bool
utf8_repair(struct buf *out, const char *s, size_t len)
{
	struct utf8_stream st = { .held_len = 0 };
	bool ok = utf8_stream_feed(&st, s, len, out);

	return utf8_stream_end(&st, out) && ok;
}

/* Appends the whole of s but an unfinished end, whose length is returned. */
static size_t
repair_most(struct buf *out, const char *s, size_t len, bool *ok)
{
	size_t good = 0;	/* start of valid bytes not yet appended */

	for (size_t i = 0; i < len;) {
		uint32_t cp;
		bool cut;
		size_t n = step(s + i, len - i, &cp, &cut);

		if (cp != BAD) {
			i += n;
			continue;
		}
		*ok = buf_add(out, s + good, i - good) && *ok;
		if (cut)
			return n;
		*ok = buf_add_str(out, REPLACEMENT) && *ok;
		i += n;
		good = i;
	}
	*ok = buf_add(out, s + good, len - good) && *ok;
	return 0;
}

bool
utf8_stream_feed(struct utf8_stream *st, const char *s, size_t len,
	struct buf *out)
{
	bool ok = true;

	/* What is held (1-3 bytes) is finished byte by byte, then forgotten. */
	while (st->held_len > 0 && len > 0) {
		uint32_t cp;
		bool cut;

		st->held[st->held_len] = *s;
		size_t n = step(st->held, st->held_len + 1, &cp, &cut);

		if (cp == BAD && !cut) {
			/* *s does not belong to it and is looked at afresh */
			ok = buf_add_str(out, REPLACEMENT) && ok;
			st->held_len = 0;
			break;
		}
		s++;
		len--;
		st->held_len++;
		if (cut)
			continue;
		ok = buf_add(out, st->held, n) && ok;
		st->held_len = 0;
	}
	if (len == 0)
		return ok;
	st->held_len = repair_most(out, s, len, &ok);
	memcpy(st->held, s + len - st->held_len, st->held_len);
	return ok;
}

bool
utf8_stream_end(struct utf8_stream *st, struct buf *out)
{
	if (st->held_len == 0)
		return true;
	st->held_len = 0;
	return buf_add_str(out, REPLACEMENT);
}

bool
utf8_for_terminal(struct buf *out, const char *s, size_t len, bool one_line)
{
	bool whole = true;

	while (len > 0) {
		uint32_t cp = 0;
		size_t n = utf8_next(s, len, &cp);

		if (n == 0)
			n = 1;
		else if (cp == '\n' || cp == '\t')
			whole &= buf_add_char(out, one_line ? ' ' : (char)cp);
		else if (cp >= 0x20 && (cp < 0x7f || cp >= 0xa0))
			whole &= buf_add(out, s, n);
		s += n;
		len -= n;
	}
	return whole;
}
