/*
 * The launcher: a small process, exec'ed with an empty environment before any
 * thread exists and before any secret is read.  It is the only process that
 * execs anything.  The first frame (launcher_seal) fixes what it may do for
 * this process's life (rules 5.5).  When it is gone, everything it started is
 * killed by the kernel (death signals, PID namespaces).
 */
#ifndef GATEHOUSE_CHILD_H
#define GATEHOUSE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"

struct launcher;
struct child;

/* helper: path of gatehouse-helper. Blocks for the exec only. */
struct launcher *launcher_start(const char *helper, struct err *err);
/* From now on events are read on the loop. on_gone: once, with the cause. */
void launcher_attach(struct launcher *l, struct loop *loop,
	void (*on_gone)(void *arg, const struct err *err), void *arg);
void launcher_free(struct launcher **l);	/* ends it and all it started */
pid_t launcher_pid(const struct launcher *l);

/*
 * A process tree on the host (backend `local`): its own session, under a
 * subreaper, so that child_kill() reaches double-forked setsid children.
 */
struct child_spec {
	const char *const *argv;	/* argv[0] is an absolute path */
	const char *const *env;		/* complete */
	const char *cwd;
	const int *fds;			/* become 0, 1, 2, 3... ; -1: /dev/null */
	size_t nfds;
	const char *user;		/* NULL: unchanged */
	bool keep_children;		/* children outlive the main process */
};
struct child_events {
	void (*started)(void *arg, pid_t pid);
	void (*exited)(void *arg, int wait_status, unsigned leftovers);
	void (*dead)(void *arg, const struct err *err);	/* whole tree; then freed */
};
struct child *child_spawn(struct launcher *l, const struct child_spec *spec,
	const struct child_events *events, void *arg, struct err *err);
void child_kill(struct child *child);

#endif
