#include "sandbox/proxy_body.h"

#include <string.h>

static void
proxy_body_none(struct proxy_body *b)
{
	memset(b, 0, sizeof(*b));
}

void
proxy_body_length(struct proxy_body *b, uint64_t len)
{
	proxy_body_none(b);
	b->state = len ? PROXY_BODY_LENGTH : PROXY_BODY_END;
	b->left = len;
}

void
proxy_body_chunked(struct proxy_body *b)
{
	proxy_body_none(b);
	b->state = PROXY_BODY_SIZE;
}

bool
proxy_body_ended(const struct proxy_body *b)
{
	return b->state == PROXY_BODY_END;
}

static int
hex(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
printable(unsigned char c)
{
	return c == '\t' || (c >= 32 && c != 127);
}

static bool
on_size(struct proxy_body *b, unsigned char c)
{
	int digit = hex(c);

	if (digit >= 0) {
		/* 15 digits: what every reader holds in 64 bits. */
		b->left = b->left * 16 + (unsigned)digit;
		return ++b->digits <= 15;
	}
	if (b->digits == 0)
		return false;
	b->line = 0;
	b->state = c == ';' ? PROXY_BODY_EXTENSION : PROXY_BODY_SIZE_LF;
	return c == ';' || c == '\r';
}

static bool
on_size_end(struct proxy_body *b, unsigned char c)
{
	b->digits = 0;
	b->line = 0;
	b->state = b->left ? PROXY_BODY_DATA : PROXY_BODY_TRAILER;
	return c == '\n';
}

static bool
on_trailer(struct proxy_body *b, unsigned char c)
{
	if (c == '\r') {
		b->state = PROXY_BODY_TRAILER_LF;
		return true;
	}
	/* A line that goes on the one before could hide a field. */
	if (b->line == 0 && (c == ' ' || c == '\t'))
		return false;
	return printable(c) && ++b->line <= PROXY_CHUNK_LINE_MAX;
}

static bool
on_byte(struct proxy_body *b, unsigned char c)
{
	switch (b->state) {
	case PROXY_BODY_SIZE:
		return on_size(b, c);
	case PROXY_BODY_EXTENSION:
		if (c == '\r')
			b->state = PROXY_BODY_SIZE_LF;
		return c == '\r' || (printable(c) &&
			++b->line <= PROXY_CHUNK_LINE_MAX);
	case PROXY_BODY_SIZE_LF:
		return on_size_end(b, c);
	case PROXY_BODY_DATA_CR:
		b->state = PROXY_BODY_DATA_LF;
		return c == '\r';
	case PROXY_BODY_DATA_LF:
		b->state = PROXY_BODY_SIZE;
		return c == '\n';
	case PROXY_BODY_TRAILER:
		return on_trailer(b, c);
	case PROXY_BODY_TRAILER_LF:
		b->state = b->line ? PROXY_BODY_TRAILER : PROXY_BODY_END;
		b->line = 0;
		return c == '\n' && ++b->trailers <= PROXY_TRAILERS_MAX;
	case PROXY_BODY_END:
	case PROXY_BODY_LENGTH:
	case PROXY_BODY_DATA:
		break;
	}
	return false;
}

ptrdiff_t
proxy_body_feed(struct proxy_body *b, const char *data, size_t len)
{
	size_t at = 0;

	while (at < len && b->state != PROXY_BODY_END) {
		if (b->state == PROXY_BODY_LENGTH || b->state == PROXY_BODY_DATA) {
			size_t n = len - at < b->left ? len - at : (size_t)b->left;
			at += n;
			b->left -= n;
			if (b->left == 0)
				b->state = b->state == PROXY_BODY_LENGTH ?
					PROXY_BODY_END : PROXY_BODY_DATA_CR;
		} else if (!on_byte(b, (unsigned char)data[at++])) {
			return -1;
		}
	}
	return (ptrdiff_t)at;
}
