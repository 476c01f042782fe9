/*
 * News for a session that no person wrote, as rows of its inbox: they wait for
 * their turn, wake a session that rests, and cancel nothing.  A session that is
 * woken again and again by what its own runs started is left alone after a
 * while: its news wait for a person's next message then.
 */
#ifndef GATEHOUSE_SESSION_NEWS_H
#define GATEHOUSE_SESSION_NEWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/op.h"
#include "gateway/route.h"
#include "store/store.h"

struct sessions;

#define NEWS_DEPTH_MAX 5	/* runs that woke each other */
#define NEWS_RUNS_MAX 20	/* runs without a person's word in between */

struct session_news_item {
	const char *event_id;	/* its key: told once, whoever tells it */
	const char *text;
};

/* Borrowed for the call. */
struct session_news {
	const char *key;
	const struct origin *origin;	/* where the answer goes */
	const struct session_news_item *items;
	size_t n;
	bool wake;		/* false: wait for the next message */
	unsigned depth;		/* of the process: see tool_env.depth */
};

/* It rests, and takes news now. */
bool session_may_be_told(const struct sessions *all, const char *key);
/* done: when it is committed. */
struct op *session_tell(struct sessions *all, const struct session_news *news,
	store_cb *done, void *arg);

#endif
