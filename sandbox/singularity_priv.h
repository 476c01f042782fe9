/*
 * Shared by the files of backend singularity only:
 *
 *   singularity.c        the backend, its probe, its properties
 *   singularity_cli.c    one call of the program, with its environment
 *   singularity_call.c   the same as an op, for calls that end by themselves
 *   singularity_image.c  what an image's name means; pulled once, under a lock
 *   singularity_box.c    an instance: started and proven
 *   singularity_close.c  its end
 *   singularity_reap.c   what dead processes of ours left
 *   singularity_files.c  a workspace's files, removed or added up
 *   singularity_proc.c   one command in an instance, and its certain end
 */
#ifndef GATEHOUSE_SINGULARITY_PRIV_H
#define GATEHOUSE_SINGULARITY_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "sandbox/backend.h"
#include "sandbox/far.h"
#include "sandbox/owner.h"
#include "sandbox/singularity.h"

#define SGL_WORKSPACE "/workspace"
#define SGL_HELPER "/.gatehouse-helper"
#define SGL_PIDS 256
#define SGL_SHORT_MS 30000	/* a call that does little */
#define SGL_START_MS 120000	/* an instance: an image may be unpacked for it */
#define SGL_ARGS_MAX 64

struct backend_inst {
	struct loop *loop;
	struct launcher *launcher;
	const char *name;	/* of the backend */
	struct singularity_opts opts;
	char *state_dir, *image, *prefix;	/* of all our instances' names */
	char owner[OWNER_TEXT_MAX];
	char *program;		/* its path; NULL: not found */
	char *version;		/* as it says itself */
	char *image_path;	/* what is given to the program; NULL: not yet there */
	bool looked;		/* our helper and a shell run in the image */
	bool unswept;		/* instances of ours may be left */
	bool limited;		/* limits are in force as far as is known */
	char *no_limits;	/* why not; NULL */
	TAILQ_HEAD(, box) boxes;
	TAILQ_HEAD(, cli) calls;	/* also forgotten ones, until they are dead */
	struct sandbox_props props;
	char *why, *limits;
	backend_say_cb *say;
	void *say_arg;
};

struct box {
	TAILQ_ENTRY(box) entry;
	struct backend_inst *inst;
	char *id, *name;	/* of the instance */
	char *workspace, *overlay;
	struct cli *instance;	/* what keeps its tree; NULL: dead */
	bool dead;		/* it has ended, or could end any moment */
	TAILQ_HEAD(, proc) procs;
	void (*gone)(void *arg);	/* its tree is dead; NULL: nobody waits */
	void *gone_arg;
};

/* singularity_cli.c: one child of the launcher. */
struct cli;
struct cli_end {
	int status;		/* wait status; only without err */
	const char *out;	/* standard output, unless it went to output() */
	size_t out_len;
	const char *said;	/* its error's last lines, cleaned; "" if none */
	const struct err *err;	/* not started, not in time, lost */
};
struct cli_events {
	void (*output)(void *arg, const char *data, size_t len); /* NULL: kept */
	void (*writable)(void *arg);	/* NULL: its input is /dev/null */
	void (*exited)(void *arg, const struct cli_end *end);	/* once */
	/* Nothing of its tree is left (err: that is not known); the last event. */
	void (*dead)(void *arg, const struct err *err);
};
struct cli_spec {
	const char *const *argv;	/* [0] NULL: the program itself */
	bool keep;		/* what it starts outlives it */
	bool pull;		/* with the variables for registries and proxies */
	bool session;		/* with those for limits by systemd */
	msec_t limit_ms;	/* until exited; 0: none */
};
/* NULL and err if it can't even be tried; else no event before it returns. */
struct cli *cli_start(struct backend_inst *inst, const struct cli_spec *spec,
	const struct cli_events *events, void *arg, struct err *err);
void cli_kill(struct cli *cli);
void cli_forget(struct cli **cli);	/* kills it; no more events */
void cli_free_all(struct backend_inst *inst);	/* it stops: also those not dead yet */
/* Bytes for its input; how many it took. writable() when there is room again. */
size_t cli_write(struct cli *cli, const void *data, size_t len);
void cli_flow(struct cli *cli, bool reading);
/* One whole call. */
typedef void cli_done_cb(void *arg, const struct cli_end *end);
struct op *cli_run(struct backend_inst *inst, const struct cli_spec *spec,
	cli_done_cb *done, void *arg);
/* end as an error of the words before: what was tried, what it said. */
int cli_failed(struct err *err, const struct cli_end *end, const char *tried);
char *cli_find(const char *const *environ);	/* the program; caller frees */

/* singularity_image.c */
typedef void sgl_done_cb(void *arg, const struct err *err);
bool sgl_image_look(struct backend_inst *inst, struct err *err);	/* image_path */
struct op *sgl_image_get(struct backend_inst *inst, const char *box_id,
	sgl_done_cb *cb, void *arg);

/* singularity_box.c */
struct op *sgl_open(struct backend_inst *inst, const struct box_spec *spec,
	box_open_cb *cb, void *arg);
void sgl_box_free(struct box *box);
void sgl_box_abandon(struct box *box);	/* killed, freed when that is done */
void sgl_limits_say(struct backend_inst *inst);
char *sgl_overlay(const struct backend_inst *inst, const char *workspace);

/* singularity_close.c */
struct op *sgl_close(struct box *box, box_close_cb *cb, void *arg);

/* singularity_reap.c: instances of ours whose box is not open. */
struct op *sgl_reap(struct backend_inst *inst, sgl_done_cb *cb, void *arg);

/* singularity_files.c */
struct op *sgl_empty(struct backend_inst *inst, const char *workspace,
	box_usage_cb *cb, void *arg);
struct op *sgl_measure(struct backend_inst *inst, const char *workspace,
	box_usage_cb *cb, void *arg);

/* singularity_proc.c */
/* Its instance is dead (err: that is not known), and so is all in it. */
void sgl_box_gone(struct box *box, const struct err *err);
struct proc *sgl_spawn(struct box *box, const struct spawn_req *req,
	struct err *err);
void sgl_kill(struct proc *proc);
void sgl_flow(struct proc *proc, bool reading);
int sgl_write(struct proc *proc, const void *data, size_t len, struct err *err);
void sgl_close_input(struct proc *proc);

#endif
