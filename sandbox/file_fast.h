/*
 * A file act done by ourselves beneath a workspace that lies on this host,
 * with the answer the shell would have given (file_act.h).  No link is ever
 * followed (openat2: beneath, no links, no other mounts), so nothing inside can
 * lead it out, however fast names are swapped.  What isn't plain (a link on
 * the way, another owner's rules) is left to the shell.  Blocks: on a worker's
 * thread only.
 */
#ifndef GATEHOUSE_FILE_FAST_H
#define GATEHOUSE_FILE_FAST_H

#include <stdbool.h>

#include "base/buf.h"
#include "sandbox/file_act.h"

/* Whether every path lies below the workspace (as commands see it). */
bool file_fast_covers(const struct file_act *act, const char *workspace);
/*
 * host_dir: the workspace on this host. False: not done, nothing was changed,
 * the shell must do it.
 */
bool file_fast_do(const struct file_act *act, const char *workspace,
	const char *host_dir, struct buf *out);

#endif
