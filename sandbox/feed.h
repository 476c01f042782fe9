/*
 * What is written to a program under way: never blocks, in order, bounded.
 * The backends use it for their side of a command's standard input.
 */
#ifndef GATEHOUSE_FEED_H
#define GATEHOUSE_FEED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"

#define FEED_MAX (256 * 1024)	/* bytes that wait for their reader */

struct feed {
	struct loop *loop;
	int fd;			/* -1: closed, or not open yet */
	struct watch *watch;
	struct buf data;	/* what did not fit into the pipe yet */
	bool ending;		/* to be closed behind the data */
	char last;		/* byte that was written */
};

void feed_init(struct feed *f, struct loop *loop);
void feed_open(struct feed *f, int fd);		/* takes fd */
/* All or nothing. -1: closed by either side, or more than FEED_MAX waits. */
int feed_write(struct feed *f, const void *data, size_t len, struct err *err);
/* The reader meets the end behind what was written. */
void feed_end(struct feed *f);
/* The same for a terminal, which goes on: it means Ctrl-D by that. */
void feed_terminal_end(struct feed *f);
void feed_done(struct feed *f);			/* what waits is dropped */

#endif
