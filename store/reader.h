/*
 * Private to store/: the reader's thread with its read-only connection, and
 * the checks of the file that run there.
 */
#ifndef GATEHOUSE_STORE_READER_H
#define GATEHOUSE_STORE_READER_H

#include "store/store_job.h"

struct reader {
	char *path, *profile;
	struct db *db;		/* the thread's; db_interrupt() from the writer */
	bool owner;		/* a writer lives in this process */
	struct words *words;	/* the thread's */
};

extern const struct worker_ops reader_ops;

/*
 * Looks at one table (its name), or at the whole file (NULL).  *ret_next: the
 * table to look at next, to be freed, or NULL: done.  ERR_INVALID: damaged.
 */
int reader_check(struct db *db, const char *table, char **ret_next,
	struct err *err);

#endif
