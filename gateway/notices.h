/*
 * What background processes tell the session that started them: that they
 * have ended, and lines that were watched for.  Each is told exactly once, as
 * a message in that session's inbox which no person wrote: it starts a run when
 * the session rests, never cancels one, and is never looked at for commands or
 * for a yes.
 *
 * A process has a row in the ledger (kind "process") from its start until
 * nothing is left to be told of it.  The rows of an earlier gateway are
 * processes that ended with it: their sessions are told that, once.
 * On the loop's thread.
 */
#ifndef GATEHOUSE_NOTICES_H
#define GATEHOUSE_NOTICES_H

#include <stdbool.h>

#include "base/loop.h"
#include "gateway/delivery.h"
#include "gateway/notice_text.h"
#include "gateway/route.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

struct notices;
struct sessions;

struct notices_env {
	struct loop *loop;
	struct store *store;
	struct delivery *delivery;
	enum notices_show show;
};

struct notices *notices_new(const struct notices_env *env);
/* Nothing is told any more; what is untold stays in the store. */
void notices_stop(struct notices *n);
void notices_free(struct notices **n);	/* after the sessions */
/* Before anything is told; and what an earlier gateway left is read. */
void notices_attach(struct notices *n, struct sessions *sessions);

struct notice_process {
	const char *id;			/* "proc_..." */
	const char *session_key;
	const struct origin *origin;
	const char *command;
	bool notify;			/* the model wants to know of its end */
	bool watch;
	unsigned depth;			/* runs that woke each other before it */
};
/* All take n == NULL for a gateway without notices. Strings are copied. */
void notices_started(struct notices *n, const struct notice_process *p);
void notices_event(struct notices *n, const struct process_event *event);
/*
 * Its session's model has seen its end (wait, log, kill): it is not told again.
 * Another session that shares the sandbox takes nothing away.
 */
void notices_consume(struct notices *n, const char *session_key, const char *id);
/* /new: nothing of this session's processes is told any more. */
void notices_forget(struct notices *n, const char *session_key);
/* Something waits to be told, or is being told. */
bool notices_busy(const struct notices *n);
/* The session has nothing to do: what waits for it may be told. */
void notices_rested(struct notices *n, const char *session_key);

#endif
