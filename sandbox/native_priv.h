/* Shared by the files of backend native only. */
#ifndef GATEHOUSE_NATIVE_PRIV_H
#define GATEHOUSE_NATIVE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/chan.h"
#include "base/err.h"
#include "base/loop.h"
#include "sandbox/backend.h"
#include "sandbox/native-init/proto.h"

struct native_opts;

struct backend_inst {
	struct loop *loop;
	struct launcher *launcher;
	char *state_dir;	/* real path */
	char *image;		/* "" = the host's system */
	bool writable_bind, moved_bind;
	bool may_bare;		/* level landlock is accepted, if full can't be had */
	enum box_level level;	/* of every box from the probe on */
	char *caution;		/* why not full; what props points to */
	struct proxy *proxy;	/* NULL: the network is not filtered */
	unsigned boxes_max;	/* open at a time */
	uint32_t next_box;
	struct box *boxes;
	struct sandbox_props props;
	char *why, *limits;	/* what props points to */
};

struct box {
	struct box *next, **prev;
	struct backend_inst *inst;
	uint32_t id;
	char *name;		/* box_spec.id */
	struct proxy_port *port;	/* its way out; NULL: none */
	struct chan *chan;	/* NULL once it ended */
	int pidfd;		/* of its init; -1 before READY */
	struct watch *watch;
	bool dead;		/* init and all below are gone */
	struct box_op *opening, *closing;
	bool closed;		/* to be freed when dead and empty */
	uint32_t next_run;
	struct proc *procs;
	int landlock_abi;
	char *limits;
	uint64_t namespaces[BOX_NNAMESPACES];
};

/* native.c */
void native_box_settle(struct box *box);	/* a proc of it is gone */

/* native_proc.c */
struct proc *native_spawn(struct box *box, const struct spawn_req *req,
	struct err *err);
void native_kill(struct proc *proc);
void native_flow(struct proc *proc, bool reading);
int native_write(struct proc *proc, const void *data, size_t len, struct err *err);
void native_close_input(struct proc *proc);
void native_proc_frame(struct box *box, unsigned type, struct wire_in *in,
	const int *fds, size_t nfds);	/* takes fds */
/* The box died: procs that never got a pidfd of their own are dead, too. */
void native_procs_lost(struct box *box);
void native_procs_drop(struct box *box);	/* frees them without a word */
void native_proc_forget(struct proc *proc);	/* no events any more */

/* native_seal.c: what may be asked of the helper; checks the options. */
void *native_seal_build(const struct backend_env *env, struct backend_inst *inst,
	size_t *ret_len, struct err *err);

enum box_network native_network(const struct native_opts *opts);	/* END: none such */

/* native_seccomp.c: struct sock_filter[]; mem_free() it. */
void *native_seccomp_build(enum box_level level, size_t *ret_len, struct err *err);

/* native_probe.c */
struct op *native_probe(struct backend_inst *inst, backend_probe_cb *cb, void *arg);

/* native_why.c: cause and cure of a failed step, in plain words. */
void native_why(struct err *err, enum box_step step, int errnum,
	const char *detail);

/* native_tend.c */
struct op *native_empty(struct backend_inst *inst, const char *workspace,
	box_usage_cb *cb, void *arg);
struct op *native_measure(struct backend_inst *inst, const char *workspace,
	box_usage_cb *cb, void *arg);

/* native.c: the path below the state directory, as the helper wants it, or
 * NULL; caller frees. */
char *native_below(const struct backend_inst *inst, const char *path);

/* native.c, for the probe */
struct op *native_open(struct backend_inst *inst, const struct box_spec *spec,
	box_open_cb *cb, void *arg);
struct op *native_close(struct box *box, box_close_cb *cb, void *arg);

#endif
