/*
 * Shared by the files of backend docker only:
 *
 *   docker.c          the backend, its probe, its properties
 *   docker_prepare.c  once an engine: the image and the helper are there
 *   docker_image.c    what is known of them
 *   docker_config.c   what a container is made from
 *   docker_box.c      one container: found again or made, and started
 *   docker_close.c    its end
 *   docker_files.c    a workspace's files, removed or added up
 *   docker_owner.c    whose container one is
 *   docker_reap.c     what dead processes left
 *   docker_proc.c     one command in a container
 *   docker_kill.c     its certain end
 */
#ifndef GATEHOUSE_DOCKER_PRIV_H
#define GATEHOUSE_DOCKER_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "sandbox/backend.h"
#include "sandbox/docker.h"
#include "sandbox/docker_engine.h"
#include "sandbox/docker_frames.h"
#include "sandbox/docker_plan.h"
#include "sandbox/far.h"
#include "sandbox/owner.h"

#define DOCKER_CLOSE_MS 5000
#define DOCKER_DEADLINE_S (30 * 24 * 3600)	/* a container ends itself then */

struct prepare;
struct waiter;

struct backend_inst {
	struct loop *loop;
	const struct backend *backend;
	struct docker_opts opts;
	char *instance_id, *image;
	struct engine *engine;
	struct docker_plan plan;
	char owner[OWNER_TEXT_MAX];	/* this process */
	char *own_container;		/* if we run in one ourselves; NULL */

	/* From the engine and the image. */
	bool can_memory, can_pids, can_cpu;
	bool image_seen;
	char *image_id, *image_user, *image_home;
	void *helper;			/* its bytes, once wanted */
	size_t helper_len;
	char *helper_volume;
	bool prepared;
	struct prepare *preparing;
	TAILQ_HEAD(, waiter) waiters;	/* for it */

	TAILQ_HEAD(, box) boxes;
	unsigned broken_starts;		/* containers that ended at once, in a row */
	msec_t broken_at;
	struct err broken_err;

	struct sandbox_props props;
	char *why, *limits;
	backend_say_cb *say;
	void *say_arg;
};

struct box {
	TAILQ_ENTRY(box) entry;
	struct backend_inst *inst;
	char *id;		/* of the spec */
	char *container;	/* engine's id; NULL before it is made */
	char *name;
	char *workspace, *home;	/* host paths */
	char *digest;		/* of what it is made from */
	bool dead;		/* its container is gone or stopped */
	bool dirty;		/* not to be kept */
	bool proved;		/* a command has begun in it */
	bool busy;		/* being opened or closed */
	TAILQ_HEAD(, proc) procs;
};

/* docker_prepare.c: ends when image and helper are on the engine. */
struct op *docker_prepare(struct backend_inst *inst, const char *box_id,
	void (*done)(void *arg, const struct err *err), void *arg);
void docker_prepare_stop(struct backend_inst *inst);

/* docker_image.c */
/* What an image's description says; -1: it can't be used (err says why). */
int docker_image_seen(struct backend_inst *inst, const struct json *image,
	struct err *err);
char *docker_image_path(const struct backend_inst *inst);	/* caller frees */
#define DOCKER_HELPER_MAX (32 << 20)
int docker_helper_read(struct backend_inst *inst, struct err *err);
/* A tar archive with it alone. Caller frees. */
char *docker_helper_tar(const struct backend_inst *inst, size_t *ret_len);

/* docker_config.c: all but the labels, which hold the time. */
struct json *docker_box_config(const struct box *box);
void docker_box_digest(struct box *box);
/* Its directories of this host are there and its user can write in them. */
int docker_box_home(struct box *box, struct err *err);

/* Of a sandbox's files behind tcp. Caller frees. */
char *docker_volume_name(const struct backend_inst *inst, const char *box_id,
	const char *what);
/* Into body: our helper alone, over a directory of this host. */
void docker_tend_config(const struct backend_inst *inst, struct json *body,
	const char *dir, const char *target);

/* docker_box.c */
struct op *docker_open(struct backend_inst *inst, const struct box_spec *spec,
	box_open_cb *cb, void *arg);
void docker_box_free(struct box *box);
/* It ended before it was of any use: after some of those a pause is made. */
void docker_box_broken(struct box *box, struct err *err);

/* docker_close.c */
struct op *docker_close(struct box *box, box_close_cb *cb, void *arg);

/* docker_files.c */
struct op *docker_empty(struct backend_inst *inst, const char *workspace,
	box_usage_cb *cb, void *arg);
struct op *docker_measure(struct backend_inst *inst, const char *workspace,
	box_usage_cb *cb, void *arg);

/* docker_owner.c */
/* By what /proc/self says, of a process in one; NULL: unknown. Caller frees. */
char *docker_own_container(const char *proc);
/*
 * A container's name is gatehouse-INSTANCE-BOX-OWNER: names can be changed when
 * a later process takes it over, labels can't. Caller frees.
 */
char *docker_name(const struct backend_inst *inst, const char *box_id);
enum docker_whose { WHOSE_OURS, WHOSE_LIVING, WHOSE_DEAD, WHOSE_UNKNOWN };
/* Of an entry of the engine's list. */
enum docker_whose docker_whose(const struct backend_inst *inst,
	const struct json *container);
const char *docker_entry_name(const struct json *container);
struct json *docker_labels(const struct backend_inst *inst, const char *box_id,
	const char *digest);
/* "/containers/json?all=1&filters=..." for label=value pairs. Caller frees. */
char *docker_list_path(const char *const *labels);

/* docker_reap.c */
struct op *docker_reap(struct backend_inst *inst, backend_probe_cb *cb, void *arg);

/* docker_proc.c */
struct proc {
	TAILQ_ENTRY(proc) entry;
	struct box *box;
	char id[21];		/* of its tree, inside */
	struct far *far;
	struct op *call;	/* the exec is being made */
	struct http_stream *stream;
	struct docker_frames frames;
	struct buf said;	/* on standard error: why it can't run */
	const struct proc_events *events;
	void *arg;
	bool killed;
	struct err why;		/* what dead is told with */
	struct hunt *hunt;	/* docker_kill.c */
	struct timer *timer;
	bool *gone;		/* set when freed inside a callback */
};
struct proc *docker_spawn(struct box *box, const struct spawn_req *req,
	struct err *err);
void docker_kill(struct proc *proc);
void docker_flow(struct proc *proc, bool reading);
int docker_write(struct proc *proc, const void *data, size_t len,
	struct err *err);
void docker_close_input(struct proc *proc);
/* The last word: tells dead and frees it. err code NONE: all well. */
void docker_proc_end(struct proc *proc);
/* The container has ended: so have all of them. */
void docker_box_died(struct box *box, const char *why);

/* What the engine says when there is nothing to run a command in. */
bool docker_is_gone(const struct err *err);
/* An exec's request: our helper with these arguments. */
struct json *docker_exec_body(const char *const *args, bool input);

/*
 * docker_kill.c: a second exec ends the tree by its id; if that fails the
 * container is stopped, with all that lives in it. sweep: what no living keeper
 * holds is ended, too.
 */
void hunt_start(struct proc *proc, bool sweep);
void hunt_free(struct hunt **hunt);

#endif
