/* $'...': escapes decoded as Bash does. See shell_scan.h. */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "gateway/gate/shell_scan.h"

/* One escape of $'...' at p->pos (after the backslash); appends to out. */
static size_t
ansi_escape(struct sh_scan *p, char *out)
{
	static const char from[] = "abeEfnrtv\\'\"?";
	static const char to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	char c = scan_peek(p, 0);
	const char *at = c ? strchr(from, c) : NULL;
	if (at) {
		p->pos++;
		out[0] = to[at - from];
		return 1;
	}
	size_t max = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
	uint32_t v = 0;
	if (max > 0 && isxdigit((unsigned char)scan_peek(p, 1))) {
		p->pos++;
		for (; max > 0 && isxdigit((unsigned char)scan_peek(p, 0)); max--) {
			char d = (char)tolower((unsigned char)p->s[p->pos++]);
			v = v * 16 + (uint32_t)(d <= '9' ? d - '0' : d - 'a' + 10);
		}
		if (c != 'x')
			return utf8_encode(v, out);
		out[0] = (char)v;
		return 1;
	}
	if (c >= '0' && c <= '7') {
		for (max = 3; max > 0 && scan_peek(p, 0) >= '0' &&
		    scan_peek(p, 0) <= '7'; max--)
			v = v * 8 + (uint32_t)(p->s[p->pos++] - '0');
		out[0] = (char)v;
		return 1;
	}
	if (c == 'c' && p->pos + 1 < p->len) {
		out[0] = (char)(p->s[p->pos + 1] & 0x1f);
		p->pos += 2;
		return 1;
	}
	out[0] = '\\';
	return 1;
}

/* After $' up to the closing quote. */
const char *
scan_ansi_quote(struct sh_scan *p, size_t *ret_len)
{
	size_t start = p->pos, n = 0;
	while (p->pos < p->len && p->s[p->pos] != '\'')
		p->pos += p->s[p->pos] == '\\' ? 2 : 1;
	if (p->pos >= p->len) {
		scan_fail(p, "a quote that is never closed");
		*ret_len = 0;
		return "";
	}
	size_t end = p->pos;
	char *out = arena_alloc(p->arena, end - start + 8);
	for (p->pos = start; p->pos < end;) {
		char c = p->s[p->pos++];
		if (c == '\\')
			n += ansi_escape(p, out + n);
		else
			out[n++] = c;
	}
	p->pos = end + 1;
	const char *nul = memchr(out, '\0', n);	/* Bash cuts there */
	*ret_len = nul ? (size_t)(nul - out) : n;
	p->steps += n;
	return out;
}
