/*
 * One way to fail: a function that can fail takes `struct err *err` last,
 * returns 0 or -1 (or NULL) and leaves *err untouched on success.  The text
 * says what was tried, on what, and what to do.
 */
#ifndef GATEHOUSE_ERR_H
#define GATEHOUSE_ERR_H

enum err_code {
	ERR_NONE,
	ERR_INVALID,		/* the caller's or a peer's data is wrong */
	ERR_CONFIG,		/* the operator must change something */
	ERR_NOT_FOUND,
	ERR_EXISTS,
	ERR_DENIED,		/* refused by policy or by the system */
	ERR_UNAVAILABLE,	/* may work later */
	ERR_TIMEOUT,
	ERR_LIMIT,		/* a bound was reached */
	ERR_IO,			/* a system call failed */
	ERR_PROTOCOL,		/* a peer broke its protocol */
	ERR_LOST,		/* the outcome is unknown */
	ERR_INTERNAL,
};

#define ERR_TEXT_MAX 512

struct err {
	enum err_code code;
	char text[ERR_TEXT_MAX];	/* valid UTF-8, cut with "..." */
};

/* Both return -1, so that `return err_set(err, ...)` reads well. err may be NULL. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int err_set_errno(struct err *err, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));	/* appends ": strerror" */
int err_wrap(struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));	/* "outer: inner" */

#endif
