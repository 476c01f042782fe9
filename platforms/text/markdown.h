/*
 * Markdown as models write it, parsed into lines and inline spans that point
 * into the source.  Nothing is lost: what is no markup is text.  Fences follow
 * CommonMark (any indent), emphasis too, with ASCII punctuation only, so that
 * Chinese and Japanese closings work.  HTML is text.  Linear in the input.
 */
#ifndef GATEHOUSE_TEXT_MARKDOWN_H
#define GATEHOUSE_TEXT_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum md_line_kind {
	MD_BLANK,
	MD_PARA,		/* neighbours form one paragraph */
	MD_HEADING,
	MD_ITEM,		/* "- x", "1. x": the marker is before content */
	MD_QUOTE,
	MD_RULE,		/* "---" */
	MD_FENCE_OPEN,		/* content..content_end: the info string */
	MD_FENCE_CODE,
	MD_FENCE_CLOSE,
	MD_TABLE_HEAD,
	MD_TABLE_RULE,
	MD_TABLE_ROW,
};

/* Offsets into the source. */
struct md_line {
	uint32_t start;
	uint32_t end;		/* before the line break */
	uint32_t content;	/* behind the marker of the line */
	uint32_t content_end;	/* a heading's closing ### is behind it */
	uint32_t block;		/* index of the block's first line */
	uint8_t kind;		/* enum md_line_kind */
	bool bullet;		/* item with -, * or + */
};

enum md_span_kind { MD_BOLD, MD_ITALIC, MD_STRIKE, MD_CODE, MD_LINK, MD_KINDS };

/* Spans nest properly; [start, text) and [text_end, end) are their markers. */
struct md_span {
	uint32_t start;
	uint32_t text;
	uint32_t text_end;
	uint32_t end;
	uint32_t url;		/* links: raw, with backslashes */
	uint32_t url_end;
	uint8_t kind;		/* enum md_span_kind */
};

struct md {
	const char *text;	/* borrowed */
	size_t len;
	struct md_line *lines;
	size_t nlines;
	struct md_span *spans;	/* by start, outer before inner */
	size_t nspans;
};

#define MD_TEXT_MAX (16u << 20)

void md_parse(struct md *md, const char *text, size_t len);	/* len <= MD_TEXT_MAX */
void md_done(struct md *md);

/* Index of the line that holds source offset at. */
size_t md_line_at(const struct md *md, size_t at);
/* First span that starts at or behind at. */
size_t md_span_from(const struct md *md, size_t at);
/* Next cell of a table line from *at on; false at its end. */
bool md_cell(const struct md *md, const struct md_line *line, uint32_t *at,
	uint32_t *ret_start, uint32_t *ret_end);

#endif
