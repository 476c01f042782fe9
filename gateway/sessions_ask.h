/*
 * The store for commands: opened for one command, each call waited for.  For
 * processes that serve nobody; it blocks.
 */
#ifndef GATEHOUSE_SESSIONS_ASK_H
#define GATEHOUSE_SESSIONS_ASK_H

#include "base/json.h"
#include "base/loop.h"
#include "gateway/home.h"
#include "store/store.h"

struct sessions_ask {
	struct loop *loop;
	struct store *store;
	struct json *res;	/* of the last call; NULL after an error */
	struct err err;
	bool failed;
};

/* -1: ERR_NOT_FOUND if there is no database yet. */
int sessions_ask_open(struct sessions_ask *ask, const struct home *home,
	bool read_only, struct err *err);
void sessions_ask_close(struct sessions_ask *ask);

/* The callback of the call, and waiting for it: -1 if it failed. */
void sessions_on_answer(void *arg, const struct json *res, const struct err *err);
void sessions_on_done(void *arg, const struct err *err);
int sessions_ask_wait(struct sessions_ask *ask);

/*
 * A whole command that lists rows: asks read-only by call(), prints each row,
 * or says `none`.  With --json one object a line and nothing for none.
 */
struct cli_ctx;
int sessions_ask_list(struct cli_ctx *ctx, const char *none,
	void (*call)(struct sessions_ask *ask), void (*print)(const struct json *row));

#endif
