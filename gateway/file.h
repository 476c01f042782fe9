/*
 * Whole small files: bounded reading, and replacing so that a crash leaves
 * either the old or the new content.  Blocks: for start-up and commands only.
 */
#ifndef GATEHOUSE_FILE_H
#define GATEHOUSE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* ERR_NOT_FOUND, ERR_LIMIT, or what the system said. Regular files only. */
int file_read(const char *path, struct buf *out, mode_t *ret_mode, struct err *err);

/*
 * Temporary file in the same directory, fsync, rename, fsync of the directory.
 * A symbolic link stays one (its target is replaced); mode and owner of an
 * existing file are kept, a new one gets `mode`.  Where rename is impossible
 * (a bind-mounted file) the content is copied in place.
 */
int file_replace(const char *path, const void *data, size_t len, mode_t mode,
	struct err *err);

#endif
