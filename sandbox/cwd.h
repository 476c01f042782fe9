/*
 * Directories of commands: what a caller may ask for and how it is joined with
 * the tracked one.  Pure text; nothing is looked up on the host, because the
 * path means something only inside the sandbox.
 */
#ifndef GATEHOUSE_CWD_H
#define GATEHOUSE_CWD_H

#include <stdbool.h>

#include "base/err.h"

#define CWD_MAX 4096	/* bytes of a directory's path */

/* Whether text is accepted as a workdir. */
int cwd_check(const char *workdir, struct err *err);

/*
 * The directory meant by workdir: "" the tracked one, relative ones below it,
 * "~" and "~/x" below home.  Caller frees.
 */
char *cwd_resolve(const char *tracked, const char *home, const char *workdir);

/* Whether a path given back by a command can be kept. */
bool cwd_plausible(const char *path);

#endif
