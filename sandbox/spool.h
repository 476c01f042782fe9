/*
 * The whole output of a command in a private file, when memory keeps only its
 * ends: bounded, masked, created exclusively (0600).  The oldest are removed
 * when there are too many.  Writes are small and go to the page cache.
 */
#ifndef GATEHOUSE_SPOOL_H
#define GATEHOUSE_SPOOL_H

#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"

#define SPOOL_FILES_MAX 100

struct spool;

/* dir is made if it is missing (0700). NULL with the reason. */
struct spool *spool_open(const char *dir, msec_t now_wall, size_t max,
	struct err *err);
void spool_add(struct spool *s, const char *text, size_t len);
/* The file's path, complete on disk; NULL: it could not be written, see err. */
const char *spool_end(struct spool *s, struct err *err);
void spool_free(struct spool **s);	/* the file stays */

#endif
