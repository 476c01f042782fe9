#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"

/* A pipe takes this much in one piece or not at all. */
_Static_assert(LOG_LINE_MAX <= PIPE_BUF, "a log line must fit a pipe's write");

/* Masked before it is cut: more than a line, so that a mask sees whole secrets. */
#define RAW_MAX (4 * LOG_LINE_MAX)
#define DEPTH_MAX 8

static const char *const names[] = {
	[LOG_ERROR] = "ERROR", [LOG_WARN] = "WARN", [LOG_INFO] = "INFO",
	[LOG_DEBUG] = "DEBUG", [LOG_TRACE] = "TRACE",
};

static atomic_int out_fd = STDERR_FILENO;
static atomic_int out_level = LOG_INFO;
static atomic_bool out_socket;
static atomic_uint_fast64_t dropped;

void
log_open(int fd, enum log_level level)
{
	struct stat st;
	bool known = fstat(fd, &st) == 0;

	/*
	 * A reader that sleeps must not stop the loop. Only pipes: a terminal's
	 * description is shared with the shell that started us.
	 */
	if (known && S_ISFIFO(st.st_mode)) {
		int flags = fcntl(fd, F_GETFL);

		if (flags >= 0)
			fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	}
	out_socket = known && S_ISSOCK(st.st_mode);
	out_fd = fd;
	out_level = (int)level;
}

bool
log_level_parse(const char *name, enum log_level *ret_level)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcasecmp(name, names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return true;
		}
	}
	if (strcasecmp(name, "warning") == 0) {
		*ret_level = LOG_WARN;
		return true;
	}
	return false;
}

uint64_t
log_dropped(void)
{
	return atomic_load(&dropped);
}

void
log_ctx_set(struct log_ctx *ctx, const struct log_ctx *parent,
	const char *fmt, ...)
{
	static const char dots[] = "...";
	va_list ap;

	ctx->parent = parent;
	va_start(ap, fmt);
	int n = vsnprintf(ctx->text, sizeof(ctx->text), fmt, ap);
	va_end(ap);
	if (n < 0)
		ctx->text[0] = '\0';
	if (n < (int)sizeof(ctx->text))
		return;
	size_t keep = utf8_cut(ctx->text, sizeof(ctx->text) - 1,
	    sizeof(ctx->text) - sizeof(dots));

	memcpy(ctx->text + keep, dots, sizeof(dots));
}

/* "key=value key=value ", outermost first. */
static void
add_ctx(struct buf *raw, const struct log_ctx *ctx)
{
	const struct log_ctx *chain[DEPTH_MAX];
	size_t n = 0;

	for (; ctx && n < DEPTH_MAX; ctx = ctx->parent)
		chain[n++] = ctx;
	while (n-- > 0) {
		if (chain[n]->text[0] != '\0')
			buf_printf(raw, "%s ", chain[n]->text);
	}
}

/* A text too long to be formatted loses its end at a word, not in a secret. */
static void __attribute__((format(printf, 2, 0)))
add_text(struct buf *raw, const char *fmt, va_list ap)
{
	char text[RAW_MAX / 2];
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	if (n < 0) {
		buf_add_str(raw, "text could not be formatted");
		return;
	}
	if ((size_t)n < sizeof(text)) {
		buf_add(raw, text, (size_t)n);
		return;
	}
	size_t keep = sizeof(text) - 1;

	while (keep > 0 && text[keep - 1] != ' ' && text[keep - 1] != '\n')
		keep--;
	buf_add(raw, text, keep);
	buf_printf(raw, "[%zu bytes not shown]", (size_t)n - keep);
}

/* One character, escaped if it could move a cursor or forge a line. */
static void
add_escaped(struct buf *line, const char *s, size_t n, uint32_t cp)
{
	if (n == 0)
		buf_printf(line, "\\x%02x", (unsigned char)*s);
	else if (cp == '\n')
		buf_add_str(line, "\\n");
	else if (cp == '\t')
		buf_add_str(line, "\\t");
	else if (cp == '\r')
		buf_add_str(line, "\\r");
	else if (cp < 0x20 || cp == 0x7f)
		buf_printf(line, "\\x%02x", cp);
	else if ((cp >= 0x80 && cp <= 0x9f) || (cp >= 0x200e && cp <= 0x200f) ||
	    (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069))
		buf_printf(line, "\\u%04x", cp);
	else
		buf_add(line, s, n);
}

/* Fills line (empty) up to its maximum, which leaves room for the end. */
static void
escape(struct buf *line, const struct buf *text)
{
	static const char dots[] = "...\n";

	line->max -= sizeof(dots) - 1;
	for (size_t i = 0; i < text->len && !line->over;) {
		uint32_t cp = 0;
		size_t n = utf8_next(text->data + i, text->len - i, &cp);

		add_escaped(line, text->data + i, n, cp);
		i += n > 0 ? n : 1;
	}
	line->max += sizeof(dots) - 1;
	buf_add_str(line, line->over ? dots : "\n");
}

static void
put(const char *line, size_t len)
{
	int fd = atomic_load(&out_fd), saved = errno;
	ssize_t n;

	do {
		n = atomic_load(&out_socket) ?
		    send(fd, line, len, MSG_DONTWAIT | MSG_NOSIGNAL) :
		    write(fd, line, len);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)len)
		atomic_fetch_add(&dropped, 1);
	errno = saved;
}

void
log_write(enum log_level level, const char *area, const struct log_ctx *ctx,
	const char *fmt, ...)
{
	if ((int)level > atomic_load(&out_level))
		return;

	CLEANUP_BUF struct buf raw, masked, line;
	va_list ap;

	buf_init(&raw, RAW_MAX);
	buf_init(&masked, (size_t)16 * RAW_MAX);
	buf_init(&line, LOG_LINE_MAX);
	buf_printf(&raw, "%s %s ", names[level], area);
	add_ctx(&raw, ctx);
	va_start(ap, fmt);
	add_text(&raw, fmt, ap);
	va_end(ap);
	redact_text(&masked, raw.data, raw.len);
	escape(&line, &masked);
	put(line.data, line.len);
}
