#include "sandbox/clean.h"

#include "base/mem.h"

#define CSI_MAX 64
#define STRING_MAX 4096		/* then it was no string but binary data */

/* ECMA-48: after ESC; ESC with intermediates; CSI; OSC, DCS, PM, APC, SOS. */
enum { TEXT, ESC, ESC_NF, CSI, STRING, STRING_ESC };

void
clean_init(struct clean *c)
{
	*c = (struct clean){ .state = TEXT };
	buf_init(&c->text, 3 * CLEAN_PIECE + 16);
	buf_init(&c->line, CLEAN_LINE);
}

void
clean_done(struct clean *c)
{
	buf_done(&c->text);
	buf_done(&c->line);
}

static void
add(struct clean *c, const char *s, size_t n, struct buf *out)
{
	if (n == 0)
		return;
	if (c->cr) {
		c->cr = false;
		if (c->flushed)
			buf_add_char(out, '\n');
		else
			buf_clear(&c->line);
		c->flushed = false;
	}
	if (!c->flushed && c->line.len + n > CLEAN_LINE) {
		buf_add(out, c->line.data, c->line.len);
		buf_clear(&c->line);
		c->flushed = true;
	}
	if (c->flushed)
		buf_add(out, s, n);
	else
		buf_add(&c->line, s, n);
}

static void
newline(struct clean *c, struct buf *out)
{
	buf_add(out, c->line.data, c->line.len);
	buf_add_char(out, '\n');
	buf_clear(&c->line);
	c->flushed = c->cr = false;
}

void
clean_flush(struct clean *c, struct buf *out)
{
	if (!c->line.len)
		return;
	buf_add(out, c->line.data, c->line.len);
	buf_clear(&c->line);
	c->flushed = true;
}

/* One byte in TEXT that is not printable ASCII or part of a printable letter. */
static void
control(struct clean *c, unsigned char b, struct buf *out)
{
	if (b == '\n')
		newline(c, out);
	else if (b == '\r')
		c->cr = true;
	else if (b == '\t')
		add(c, "\t", 1, out);
	else if (b == 033)
		c->state = ESC;
	c->seq = 0;
}

/* U+0080 to U+009F: 8-bit controls; b is their second byte. */
static void
control_c1(struct clean *c, unsigned char b)
{
	c->seq = 0;
	if (b == 0x9b)
		c->state = CSI;
	else if (b == 0x90 || b == 0x98 || (b >= 0x9d && b <= 0x9f))
		c->state = STRING;
}

static void
after_esc(struct clean *c, unsigned char b)
{
	if (b == '[')
		c->state = CSI;
	else if (b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_')
		c->state = STRING;
	else if (b >= 0x20 && b <= 0x2f)
		c->state = ESC_NF;
	else
		c->state = TEXT;
	c->seq = 0;
}

/* Inside a sequence; false: the byte is not part of it and is text again. */
static bool
sequence(struct clean *c, unsigned char b)
{
	bool string = c->state == STRING || c->state == STRING_ESC;

	if (++c->seq > (string ? STRING_MAX : CSI_MAX) || b == '\n') {
		c->state = TEXT;
		return false;
	}
	if (string && c->state == STRING_ESC) {
		if (b == '\\')
			c->state = TEXT;
		else
			after_esc(c, b);
		return true;
	}
	if (b == 033) {
		c->state = string ? STRING_ESC : ESC;
		return true;
	}
	if (b == 0x18 || b == 0x1a) {
		c->state = TEXT;
		return true;
	}
	if (string) {
		if (b == 007)
			c->state = TEXT;
		return true;
	}
	if (c->state == ESC && b >= 0x20 && b < 0x7f) {
		after_esc(c, b);
		return true;
	}
	if (b >= 0x20 && b <= 0x2f)
		return true;
	if (c->state == CSI && b >= 0x30 && b <= 0x3f)
		return true;
	c->state = TEXT;
	return b >= 0x30 && b < 0x7f;	/* the final byte */
}

static void
strip(struct clean *c, const char *s, size_t n, struct buf *out)
{
	size_t i = 0;

	while (i < n) {
		unsigned char b = (unsigned char)s[i];
		bool c1 = b == 0xc2 && i + 1 < n && (unsigned char)s[i + 1] < 0xa0;
		if (c->state == STRING && c1 && (unsigned char)s[i + 1] == 0x9c) {
			c->state = TEXT;
			i += 2;
		} else if (c->state != TEXT) {
			/* Letters are passed over whole, never half. */
			if (sequence(c, b))
				i += b < 0x80 ? 1 : utf8_next(s + i, n - i, NULL);
		} else if (c1) {
			control_c1(c, (unsigned char)s[i + 1]);
			i += 2;
		} else if (b < 0x20 || b == 0x7f) {
			control(c, b, out);
			i++;
		} else {
			size_t from = i;
			do
				i++;
			while (i < n && (unsigned char)s[i] >= 0x20 &&
			    s[i] != 0x7f && (unsigned char)s[i] != 0xc2);
			add(c, s + from, i - from, out);
		}
	}
}

void
clean_feed(struct clean *c, const char *data, size_t len, struct buf *out)
{
	REQUIRE(len <= CLEAN_PIECE);
	buf_clear(&c->text);
	(void)utf8_stream_feed(&c->utf8, data, len, &c->text);
	strip(c, c->text.data, c->text.len, out);
}

void
clean_end(struct clean *c, struct buf *out)
{
	buf_clear(&c->text);
	(void)utf8_stream_end(&c->utf8, &c->text);
	strip(c, c->text.data, c->text.len, out);
	clean_flush(c, out);
	c->state = TEXT;
	c->cr = c->flushed = false;
}
