/* Shared by the files of backend ssh; the connection itself is ssh_link.h. */
#ifndef GATEHOUSE_SSH_PRIV_H
#define GATEHOUSE_SSH_PRIV_H

#include <sys/queue.h>

#include "sandbox/far.h"
#include "sandbox/ssh.h"
#include "sandbox/ssh_link.h"

#define SSH_SHORT_MS 30000	/* a command of ours, connecting included */

/* Learned at each connect. */
struct ssh_host {
	char *helper;		/* its path there */
	char *user, *home;
};

struct host_flow;		/* ssh_host.c */
struct host_wait;

struct backend_inst {
	struct loop *loop;
	struct ssh_link *link;
	char *name;		/* USER@HOST:PORT, for people */
	char *cwd;		/* NULL: the home there */
	char *prefix;		/* of all our ids there: whose they are */
	void *helper;		/* the program */
	size_t helper_len;
	char helper_hash[65];
	struct ssh_host host;
	unsigned ready_epoch;	/* of the link when host was learned; 0: never */
	struct host_flow *flow;
	TAILQ_HEAD(, host_wait) waits;
};

struct box {
	struct backend_inst *inst;
	char *prefix;		/* of the ids of its commands */
	unsigned serial;
	TAILQ_HEAD(, proc) procs;
};

/* ssh_host.c: connected, known, and the helper in its place. */
typedef void ssh_ready_cb(void *arg, const struct err *err);
struct op *ssh_host_ready(struct backend_inst *inst, ssh_ready_cb *cb, void *arg);
void ssh_host_stop(struct backend_inst *inst);
bool ssh_host_is_ready(const struct backend_inst *inst);

/*
 * ssh_reap.c: every keeper there whose id is that (whole: it alone; else all
 * that begin so) is ended; no error: confirmed.
 */
struct op *ssh_reap(struct backend_inst *inst, const char *id, bool whole,
	ssh_ready_cb *cb, void *arg);

/* ssh_trial.c: the probe. */
struct op *ssh_trial(struct backend_inst *inst, backend_probe_cb *cb, void *arg);

struct proc *ssh_spawn(struct box *box, const struct spawn_req *req,
	struct err *err);
void ssh_kill(struct proc *proc);
int ssh_write(struct proc *proc, const void *data, size_t len, struct err *err);
void ssh_close_input(struct proc *proc);
void ssh_flow(struct proc *proc, bool reading);

#endif
