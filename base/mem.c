#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Straight to the descriptor: nothing here may need memory. */
static void
say(const char *s)
{
	size_t len = strlen(s);

	while (len > 0) {
		ssize_t n = write(STDERR_FILENO, s, len);

		if (n <= 0)
			return;
		s += n;
		len -= (size_t)n;
	}
}

static noreturn void
out_of_memory(void)
{
	say("ERROR mem out of memory\n");
	abort();
}

void
mem_require_failed(const char *cond, const char *file, int line)
{
	char text[400];
	int n = snprintf(text, sizeof(text),
	    "ERROR mem broken rule: %s at %s:%d\n", cond, file, line);

	say(n > 0 ? text : "ERROR mem broken rule\n");
	abort();
}

void *
mem_alloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *
mem_array(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *
mem_grow(void *p, size_t n, size_t size)
{
	void *q = reallocarray(p, n ? n : 1, size ? size : 1);

	if (!q)
		out_of_memory();
	return q;
}

void *
mem_dup(const void *p, size_t size)
{
	void *q = mem_alloc(size);

	if (size > 0)
		memcpy(q, p, size);
	return q;
}

char *
mem_str(const char *s)
{
	return s ? mem_strn(s, strlen(s)) : NULL;
}

char *
mem_strn(const char *s, size_t n)
{
	if (n == SIZE_MAX)
		out_of_memory();
	char *copy = mem_alloc(n + 1);

	if (n > 0)
		memcpy(copy, s, n);
	return copy;
}

char *
mem_printf(const char *fmt, ...)
{
	char *s;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory();
	return s;
}

void
mem_free(void *p)
{
	free(p);
}

void
mem_free_secret(char **s)
{
	if (!s || !*s)
		return;
	explicit_bzero(*s, strlen(*s));
	free(*s);
	*s = NULL;
}

int
mem_copy_str(char *dst, size_t dst_size, const char *src)
{
	size_t len = strlen(src);

	REQUIRE(dst_size > 0);
	if (len >= dst_size) {
		dst[0] = '\0';
		return -1;
	}
	memcpy(dst, src, len + 1);
	return 0;
}

int
mem_format(char *dst, size_t dst_size, const char *fmt, ...)
{
	va_list ap;

	REQUIRE(dst_size > 0);
	va_start(ap, fmt);
	int n = vsnprintf(dst, dst_size, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= dst_size) {
		dst[0] = '\0';
		return -1;
	}
	return 0;
}

void
mem_cleanup_free(void *pp)
{
	void *p;

	/* pp points to some T *; reading it through void ** would alias. */
	memcpy(&p, pp, sizeof(p));
	free(p);
}

void
mem_cleanup_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}
