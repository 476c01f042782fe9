#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

/* Formatting room; what does not fit is cut from the text anyway. */
#define RAW_MAX (2 * ERR_TEXT_MAX)

/* Makes raw valid and puts it into err->text, cut with "...". */
static void
put_text(struct err *err, const char *raw)
{
	static const char dots[] = "...";
	CLEANUP_BUF struct buf clean;

	buf_init(&clean, (size_t)4 * RAW_MAX);
	utf8_repair(&clean, raw, strlen(raw));
	if (clean.len < sizeof(err->text)) {
		memcpy(err->text, clean.data, clean.len + 1);
		return;
	}
	size_t n = utf8_cut(clean.data, clean.len,
	    sizeof(err->text) - sizeof(dots));

	memcpy(err->text, clean.data, n);
	memcpy(err->text + n, dots, sizeof(dots));
}

int
err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	char raw[RAW_MAX];
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	int n = vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	err->code = code;
	put_text(err, n < 0 ? "error text could not be formatted" : raw);
	return -1;
}

static enum err_code
code_of_errno(int errnum)
{
	switch (errnum) {
	case ENOENT:
		return ERR_NOT_FOUND;
	case EEXIST:
		return ERR_EXISTS;
	case EACCES:
	case EPERM:
		return ERR_DENIED;
	case ETIMEDOUT:
		return ERR_TIMEOUT;
	default:
		return ERR_IO;
	}
}

int
err_set_errno(struct err *err, int errnum, const char *fmt, ...)
{
	char raw[RAW_MAX], name[128];
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	int n = vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	err_set(err, code_of_errno(errnum), "%s: %s",
	    n < 0 ? "system call" : raw,
	    strerror_r(errnum, name, sizeof(name)));
	return -1;
}

int
err_wrap(struct err *err, const char *fmt, ...)
{
	char raw[RAW_MAX];
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	int n = vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	if (n >= 0) {
		struct err inner = *err;

		err_set(err, inner.code, "%s: %s", raw, inner.text);
	}
	return -1;
}
