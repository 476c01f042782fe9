/*
 * The text of a file on its way to the model and back: line numbers, bounds,
 * line ends, byte-order mark, what can't be text.  Pure.
 */
#ifndef GATEHOUSE_FILE_TEXT_H
#define GATEHOUSE_FILE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

#define FILE_LINE_MAX 2000	/* characters of a line that are shown */
#define FILE_RESULT_MAX 100000	/* bytes of one result */

/* "a picture", "an archive": what the name says it is, or NULL for text. */
const char *file_text_binary(const char *path);

struct file_window {
	uint64_t shown;		/* lines in out */
	uint64_t cut;		/* of these: so many were cut */
};
/*
 * Numbers lines first..first+limit-1 of text, whose first line is number
 * `from`: "7|content".  Bytes that are no UTF-8 are replaced, a CR before the
 * line feed is left out.
 */
struct file_window file_text_number(struct buf *out, const char *text, size_t len,
	uint64_t from, uint64_t first, uint64_t limit);

/* What a file's text is like besides its lines. */
struct file_style {
	bool bom;		/* UTF-8 byte-order mark */
	bool crlf;		/* lines end with CR LF (more than half) */
};
struct file_style file_style_of(const char *text, size_t len);
/* Without the mark and with LF only. */
void file_style_strip(struct buf *out, const char *text, size_t len,
	struct file_style style);
/* As the file had it. LF in text that has CR LF already stays right. */
void file_style_apply(struct buf *out, const char *text, size_t len,
	struct file_style style);

/*
 * Why this can't be meant as a file's content: it holds a sentinel that stands
 * for a secret, or line numbers of read_file.  NULL: it can.
 */
const char *file_text_fault(const char *text, size_t len);

/* Names from a listing (a line each) that are like the one asked for. */
struct json *file_similar(const char *dir, const char *name, const char *listing,
	size_t len);

#endif
