/*
 * The launcher: a small process, exec'ed with an empty environment before any
 * thread exists and before any secret is read.  It is the only process that
 * execs anything.  The first frame fixes what it may do for this process's
 * life (rules 5.5): backends say what they need with launcher_allow_*() when
 * they start; the first act sends it all as the seal, and nothing can be added
 * later.  When the launcher is gone, everything it started is killed (death
 * signals, PID namespaces).
 *
 * On the loop's thread.
 */
#ifndef GATEHOUSE_CHILD_H
#define GATEHOUSE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/wire.h"

struct launcher;
struct child;

/* gatehouse-helper: beside our own binary, else installed. Caller frees. */
char *helper_path(struct err *err);
/* helper: path of gatehouse-helper. Blocks for the exec only. */
struct launcher *launcher_start(const char *helper, struct err *err);
/* From now on events are read on the loop. on_gone: once, with the cause. */
void launcher_attach(struct launcher *l, struct loop *loop,
	void (*on_gone)(void *arg, const struct err *err), void *arg);
/* Ends it and all it started, waits for that (at most 3 s). Children that
 * still lived are freed without a callback. */
void launcher_free(struct launcher **l);
pid_t launcher_pid(const struct launcher *l);
/* It was started as root, whatever we are by now (gateway.user). */
bool launcher_is_root(const struct launcher *l);

/* Permit child_spawn(). user: whom every child changes to (the launcher must
 * be root), NULL: to who we are now. -1 if sealed already, or there is no such
 * user. */
int launcher_allow_local(struct launcher *l, const char *user, struct err *err);
/* Permit sandboxes: what sandbox/native.c and the helper agreed on. */
int launcher_allow_native(struct launcher *l, const void *terms, size_t len,
	struct err *err);
/* Nothing can be permitted any more. Done by the first request, if not before. */
void launcher_seal(struct launcher *l);
/* A request about sandboxes; fds stay the caller's. Takes out's bytes. */
int launcher_request(struct launcher *l, struct wire_out *out, const int *fds,
	size_t nfds, struct err *err);

/*
 * A process tree on the host (backend `local`): its own session, under a
 * subreaper, so that child_kill() reaches double-forked setsid children.
 */
struct child_spec {
	const char *const *argv;	/* argv[0] is an absolute path */
	const char *const *env;		/* complete */
	const char *cwd;
	const int *fds;			/* become 0, 1, 2, 3... ; -1: /dev/null */
	size_t nfds;			/* at most 15; they stay the caller's */
	const char *user;		/* as allowed; NULL: unchanged */
	bool keep_children;		/* children outlive the main process */
	bool terminal;			/* fds[0] becomes its controlling one */
};
/* started, exited, dead in this order; if it could not be started, only dead,
 * with the step that failed. No event comes before child_spawn() returned. */
struct child_events {
	void (*started)(void *arg, pid_t pid);
	void (*exited)(void *arg, int wait_status, unsigned leftovers);
	void (*dead)(void *arg, const struct err *err);	/* whole tree; then freed */
};
struct child *child_spawn(struct launcher *l, const struct child_spec *spec,
	const struct child_events *events, void *arg, struct err *err);
void child_kill(struct child *child);
/* Kills it, and no event of it comes any more: whoever got them may go. Not
 * from inside one of them. */
void child_forget(struct child *child);

#endif
