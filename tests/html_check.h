/*
 * A strict reader of Telegram's HTML, written from the description of the
 * format and not from our renderer: unknown or crossing tags, nested quotes or
 * links, bare & < > are errors.
 */
#ifndef GATEHOUSE_TESTS_HTML_CHECK_H
#define GATEHOUSE_TESTS_HTML_CHECK_H

#include <stdbool.h>

#include "base/buf.h"

/* NULL and the visible text in `visible` (may be NULL), or what is wrong. */
const char *html_check(const char *html, struct buf *visible);

#endif
