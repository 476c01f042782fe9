/*
 * The typing sign of one chat while a run works.  Stops when delivery of the
 * answer begins, on any end of the run, and after a hard maximum (case: a sign
 * that went on for hours).
 */
#ifndef GATEHOUSE_TYPING_H
#define GATEHOUSE_TYPING_H

#include "base/loop.h"
#include "platforms/platform.h"

struct typing {
	struct loop *loop;
	const struct platform *platform;
	struct platform_instance *inst;
	struct chat_ref to;		/* strings are the owner's */
	struct timer *timer;
	struct op *waiting;
	msec_t until;
};

/* inst NULL or no such ability: does nothing. */
void typing_start(struct typing *t, struct loop *loop,
	const struct platform *platform, struct platform_instance *inst,
	const struct chat_ref *to);
void typing_stop(struct typing *t);

#endif
