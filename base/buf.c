#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_SIZE 64

/* What data points to before the first byte; size 0 tells it apart. */
static char empty[1];

void
buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .data = empty, .max = max };
}

void
buf_done(struct buf *b)
{
	if (b->size > 0)
		mem_free(b->data);
	buf_init(b, b->max);
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
	b->over = false;
	if (b->size > 0)
		b->data[0] = '\0';
}

/* Room for `extra` more bytes and the NUL; the caller checked the maximum. */
static void
reserve(struct buf *b, size_t extra)
{
	size_t need = b->len + extra;

	REQUIRE(need < SIZE_MAX);
	if (need < b->size)
		return;
	size_t size = b->size > 0 ? b->size : FIRST_SIZE;

	while (size <= need)
		size = size > SIZE_MAX / 2 ? need + 1 : size * 2;
	if (size > b->max)	/* need <= max, so max + 1 is enough */
		size = b->max + 1;
	b->data = mem_grow(b->size > 0 ? b->data : NULL, size, 1);
	b->size = size;
}

static bool
fits(struct buf *b, size_t extra)
{
	if (extra <= b->max - b->len)
		return true;
	b->over = true;
	return false;
}

bool
buf_add(struct buf *b, const void *data, size_t len)
{
	if (!fits(b, len))
		return false;
	if (len == 0)
		return true;
	reserve(b, len);
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return true;
}

bool
buf_add_str(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

bool
buf_add_char(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

bool
buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list measure;

	va_copy(measure, ap);
	int n = vsnprintf(NULL, 0, fmt, measure);
	va_end(measure);
	REQUIRE(n >= 0);
	if (!fits(b, (size_t)n))
		return false;
	if (n == 0)
		return true;
	reserve(b, (size_t)n);
	n = vsnprintf(b->data + b->len, b->size - b->len, fmt, ap);
	REQUIRE(n >= 0 && (size_t)n < b->size - b->len);
	b->len += (size_t)n;
	return true;
}

bool
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	bool ok = buf_vprintf(b, fmt, ap);
	va_end(ap);
	return ok;
}

void
buf_drain(struct buf *b, size_t n)
{
	REQUIRE(n <= b->len);
	if (n == 0)
		return;
	b->len -= n;
	memmove(b->data, b->data + n, b->len);
	b->data[b->len] = '\0';
}

char *
buf_take(struct buf *b)
{
	char *s = b->size > 0 ? b->data : mem_strn("", 0);

	buf_init(b, b->max);
	return s;
}

void
buf_cleanup(struct buf *b)
{
	buf_done(b);
}
