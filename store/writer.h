/*
 * Private to store/: the engine on the writer's thread.  Owns the writing
 * connection, group commit, the reserve against a full disk, and what is done
 * with a damaged file.  Knows no table.
 */
#ifndef GATEHOUSE_STORE_WRITER_H
#define GATEHOUSE_STORE_WRITER_H

#include "store/kept.h"
#include "store/store_job.h"

#define WRITER_RESERVE ((off_t)8 << 20)	/* bytes kept for closing marks */

struct writer {
	/* Set before the thread starts. */
	char *path, *profile;
	char stamp[24];			/* suffix of a file set aside */
	/* The thread's own. */
	struct db *db;
	enum trouble trouble;
	struct kept kept;
	/* Written by init before the store reads it. */
	char *notice;			/* what happened at opening, or NULL */
	/* For db_interrupt() only; set while no job is queued. */
	struct db *reader;
};

extern const struct worker_ops writer_ops;

/* Called by jobs with JOB_PROBES: tries to get out of trouble. */
int writer_probe(struct writer *w, struct err *err);
/* A check found the file whole (true) or damaged. */
int writer_checked(struct writer *w, bool whole, struct err *err);

#endif
