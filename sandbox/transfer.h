/*
 * Files into and out of a sandbox as tar archives, which `tar` there unpacks or
 * makes: commands like any other, so any backend that runs a shell can do it.
 *
 * What is packed are directories, regular files and links that stay within
 * what is packed. What is unpacked comes from a sandbox, so it is foreign: it
 * can name nothing but what lies below one new directory.  All of it blocks, and
 * is for one-shot processes.
 */
#ifndef GATEHOUSE_TRANSFER_H
#define GATEHOUSE_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define TRANSFER_BYTES_MAX (1ull << 30)	/* of all files together */
#define TRANSFER_ENTRIES_MAX 100000u
#define TRANSFER_DEPTH_MAX 100u		/* directories in one another */
#define TRANSFER_PATH_MAX 4096u
/* An archive that came is longer than its files: headers, names, padding. */
#define TRANSFER_ARCHIVE_MAX (TRANSFER_BYTES_MAX + (256ull << 20))
#define TRANSFER_PIECE (8u << 20)	/* of an archive, one command's input */

/*
 * The last part of a path that names a file or a directory to be moved; -1 for
 * "", "/", "." and "..". The other is where it lies ("." if it says nothing).
 * Caller frees both.
 */
int transfer_split(const char *path, char **ret_dir, char **ret_name);

/* ---- commands, as shell text --------------------------------------------------- */

/* An archive of path on standard output. -1: transfer_split() can't. */
int transfer_get_text(struct buf *out, const char *path);
/* Adds standard input to a file in dir, which is made. */
void transfer_piece_text(struct buf *out, const char *dir, const char *part);
/* Unpacks standard input, or part in dir, which is removed then. */
void transfer_put_text(struct buf *out, const char *dir, const char *part);
void transfer_drop_text(struct buf *out, const char *dir, const char *part);

/* ---- archives on this side -------------------------------------------------------- */

/* An archive of path, under its last part, to fd. */
int transfer_pack(const char *path, int fd, struct err *err);
/*
 * An archive on fd (from where it stands) that holds name and nothing beside it, to
 * dir/name, which must not exist; -1: nothing was left there.
 */
int transfer_unpack(int fd, const char *dir, const char *name, struct err *err);
/* Where a link at path (relative, plain) may lead: within its tree. Pure. */
bool transfer_link_stays(const char *path, const char *target);

#endif
