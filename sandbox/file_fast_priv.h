/* Shared by file_fast.c and file_fast_change.c only. */
#ifndef GATEHOUSE_FILE_FAST_PRIV_H
#define GATEHOUSE_FILE_FAST_PRIV_H

#include <sys/stat.h>

#include "sandbox/file_fast.h"

struct fast {
	int root;		/* the workspace */
	struct stat root_stat;
	const char *workspace;	/* as commands see it */
	struct buf *out;
};

enum fast_result { FAST_DONE, FAST_NOT_OURS };

/* path: absolute; "" for the workspace itself. */
const char *fast_beneath(const struct fast *f, const char *path);
/* openat2 beneath dir without following anything; -1 with errno. */
int fast_open(int dir, const char *path, int flags);
/* As `stat -c %i:%s:%y` prints it in UTC. */
void fast_version(const struct stat *st, char out[96]);
void fast_field(struct buf *out, const char *s);

enum fast_result fast_change(struct fast *f, const struct file_act *act);

#endif
