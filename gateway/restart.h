/*
 * /restart: the gateway ends with exit code 75 so that its supervisor starts it
 * again, and says in the chat that it is back.  The request is recorded before
 * it acts; a redelivered one is a duplicate and does nothing, another one
 * within a minute of the last is refused.
 */
#ifndef GATEHOUSE_RESTART_H
#define GATEHOUSE_RESTART_H

#include "gateway/delivery.h"
#include "gateway/route.h"

struct restart;

struct restart_env {
	struct loop *loop;
	struct store *store;
	struct delivery *delivery;
	const char *const *approvers;	/* who may; NULL: whoever may talk */
	void *arg;
	void (*now)(void *arg);		/* NULL: nobody would start us again */
};

struct restart *restart_new(const struct restart_env *env);
void restart_free(struct restart **r);
/* After a start: tells who asked for it that it is done. */
void restart_look(struct restart *r);
/* The sentence to say; caller frees. */
char *restart_request(struct restart *r, const struct origin *origin);

#endif
