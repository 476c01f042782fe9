/*
 * Log lines on stderr: `LEVEL area key=value ... text`.  One write a line,
 * control bytes escaped, known secrets masked, at most LOG_LINE_MAX bytes.
 * A struct log_ctx carries inherited context ("session=... run=...").
 * Any thread.
 */
#ifndef GATEHOUSE_LOG_H
#define GATEHOUSE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };
#define LOG_LINE_MAX 4096

struct log_ctx {
	const struct log_ctx *parent;
	char text[120];		/* "key=value key=value", made by log_ctx_set */
};

void log_open(int fd, enum log_level level);	/* default: stderr, info */
bool log_level_parse(const char *name, enum log_level *ret_level);
uint64_t log_dropped(void);	/* lines lost to a full pipe */
void log_ctx_set(struct log_ctx *ctx, const struct log_ctx *parent,
	const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void log_write(enum log_level level, const char *area,
	const struct log_ctx *ctx, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#define log_error(area, ctx, ...) log_write(LOG_ERROR, area, ctx, __VA_ARGS__)
#define log_warn(area, ctx, ...) log_write(LOG_WARN, area, ctx, __VA_ARGS__)
#define log_info(area, ctx, ...) log_write(LOG_INFO, area, ctx, __VA_ARGS__)
#define log_debug(area, ctx, ...) log_write(LOG_DEBUG, area, ctx, __VA_ARGS__)

#endif
