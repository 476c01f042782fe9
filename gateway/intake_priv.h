/* What intake.c and intake_batch.c share. */
#ifndef GATEHOUSE_INTAKE_PRIV_H
#define GATEHOUSE_INTAKE_PRIV_H

#include <sys/queue.h>

#include "base/map.h"
#include "gateway/intake.h"
#include "store/store.h"

/*
 * A platform's batch is committed in one piece, or in several where words
 * follow a /new or /stop of the same session: what acts after its commit must
 * not touch what was said after it.
 */

/* A session that the batch has words for. */
struct part {
	char *key;
	struct origin origin;
	struct session_plan plan;
};

struct batch {			/* a piece */
	struct intake *in;
	TAILQ_ENTRY(batch) link;
	char *platform, *account, *cursor;
	uint64_t id;
	bool last;			/* of the platform's batch */
	bool submitted;
	struct op *waiting;
	struct timer *timer;		/* told the platform of a failure */
	struct inbox_event *events;	/* strings owned by the arrays below */
	size_t nevents;
	char **strings;
	size_t nstrings;
	struct part *parts;
	size_t nparts;
	struct control **controls;	/* one an event, or NULL */
	bool *acted;			/* the control has acted at once */
};

/* An answer to a press: nobody waits for it. */
struct ack {
	struct intake *in;
	TAILQ_ENTRY(ack) link;
	struct op *op;
};

struct intake {
	struct intake_env env;
	TAILQ_HEAD(, batch) open;
	TAILQ_HEAD(, ack) acks;
	size_t nopen;
	struct map recent;
	struct map told;		/* chats that know of the store's trouble */
};

struct batch *batch_new(struct intake *in, const char *platform,
	const char *account, uint64_t id, const char *cursor, size_t max);
void batch_free(struct batch *b);
void batch_add(struct batch *b, const struct msg *msg);
/* Words that follow a control of their session which acts after the commit? */
bool batch_must_split(const struct batch *b, const struct msg *msg);
/* What comes later waits until this has acted. */
bool batch_is_barrier(const struct batch *b);
/* The string lives as long as the batch. */
const char *batch_keep(struct batch *b, char *s);
/* What stops acts at once, unless this very event did so before. */
void intake_act_at_once(struct intake *in, const struct control *c);

#endif
