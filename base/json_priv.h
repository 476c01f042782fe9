/*
 * The pass over foreign JSON before it is parsed, for json.c only.  The parser
 * recurses and allocates per node: this bounds the depth and the number of
 * nodes, and rewrites what a C string of UTF-8 cannot hold. Pure; linear.
 */
#ifndef GATEHOUSE_JSON_PRIV_H
#define GATEHOUSE_JSON_PRIV_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends the clean text; it is not checked to be JSON beyond the bounds. */
int json_clean(struct buf *clean, const char *text, size_t len, struct err *err);

#endif
