/* Text that wouldn't look to a person like what it does. See spoof.h. */
#include "gateway/gate/spoof.h"

#include "base/utf8.h"

#define BLANKS_MAX 64	/* in a row, before more text of the same line */
#define NEWLINES_MAX 24	/* in a row */

static bool
in_ranges(uint32_t cp, const uint32_t (*r)[2], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cp >= r[i][0] && cp <= r[i][1])
			return true;
	return false;
}

/* Unicode's format characters and other default-ignorables. */
static bool
is_invisible(uint32_t cp)
{
	static const uint32_t ranges[][2] = {
		{ 0xad, 0xad }, { 0x34f, 0x34f }, { 0x600, 0x605 },
		{ 0x61c, 0x61c }, { 0x6dd, 0x6dd }, { 0x70f, 0x70f },
		{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
		{ 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};
	return in_ranges(cp, ranges, sizeof(ranges) / sizeof(ranges[0]));
}

static bool
is_odd_space(uint32_t cp)
{
	static const uint32_t ranges[][2] = {
		{ 0xa0, 0xa0 }, { 0x1680, 0x1680 }, { 0x2000, 0x200a },
		{ 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 },
	};
	return in_ranges(cp, ranges, sizeof(ranges) / sizeof(ranges[0]));
}

static const char *
look(uint32_t cp, uint32_t before)
{
	bool joiner = (cp == 0x200d || cp == 0xfe0f) && before >= 0x2100;
	if ((cp < 0x20 && cp != '\t' && cp != '\n') || cp == 0x7f ||
	    (cp >= 0x80 && cp < 0xa0))
		return "it holds control characters";
	if (!joiner && is_invisible(cp))
		return "it holds invisible or direction-changing characters";
	if (is_odd_space(cp) && before < 0x2e80)
		return "it holds blanks that a shell doesn't take for blanks";
	return NULL;
}

const char *
spoof_find(const char *s, size_t len)
{
	uint32_t before = 0;
	size_t blanks = 0, newlines = 0;
	for (size_t i = 0; i < len;) {
		uint32_t cp = 0;
		bool plain = s[i] >= 0x20 && s[i] < 0x7f;
		size_t n = plain ? 1 : utf8_next(s + i, len - i, &cp);
		if (n == 0)
			return "it isn't valid UTF-8";
		if (plain)
			cp = (unsigned char)s[i];
		const char *why = plain ? NULL : look(cp, before);
		if (why)
			return why;
		if (blanks >= BLANKS_MAX && cp != ' ' && cp != '\t' && cp != '\n')
			return "a long run of blanks pushes text out of view";
		blanks = cp == ' ' || cp == '\t' ? blanks + 1 : 0;
		newlines = cp == '\n' ? newlines + 1 :
			cp == ' ' || cp == '\t' ? newlines : 0;
		if (newlines > NEWLINES_MAX)
			return "a long run of empty lines pushes text out of view";
		before = cp;
		i += n;
	}
	return NULL;
}
