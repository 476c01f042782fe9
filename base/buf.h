/*
 * A growing byte buffer whose maximum is stated at birth.  data is never NULL
 * and always followed by a NUL that len does not count.  Going over the
 * maximum sets `over` and drops the bytes; nothing is ever cut silently.
 */
#ifndef GATEHOUSE_BUF_H
#define GATEHOUSE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data;
	size_t len;
	size_t size;		/* allocated */
	size_t max;		/* len never exceeds this */
	bool over;		/* something did not fit */
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);		/* frees; usable again after buf_init */
void buf_clear(struct buf *b);		/* keeps memory, resets over */
bool buf_add(struct buf *b, const void *data, size_t len);	/* all or nothing */
bool buf_add_str(struct buf *b, const char *s);
bool buf_add_char(struct buf *b, char c);
bool buf_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool buf_vprintf(struct buf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
void buf_drain(struct buf *b, size_t n);	/* removes n bytes from the front */
char *buf_take(struct buf *b);		/* the string is yours; b is empty again */
void buf_cleanup(struct buf *b);
#define CLEANUP_BUF __attribute__((cleanup(buf_cleanup)))

#endif
