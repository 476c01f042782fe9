/*
 * The objects behind sandbox.h, for the files of this folder only:
 *
 *   sandboxes   all of them, and the options
 *     slot      one backend in use: started, probed, its properties
 *     cell      one sandbox: box, snapshot, exports, directory, idle timer
 *       tree    one process tree until it is confirmed dead (the reaper)
 *       task    one command on its way (an op)
 *       process one background command (procs.h)
 */
#ifndef GATEHOUSE_SANDBOX_PRIV_H
#define GATEHOUSE_SANDBOX_PRIV_H

#include <sys/queue.h>

#include "base/map.h"
#include "base/offload.h"
#include "sandbox/backend.h"
#include "sandbox/giveback.h"
#include "sandbox/lookout.h"
#include "sandbox/sandbox.h"
#include "sandbox/spooled.h"
#include "sandbox/vars.h"

#define CELL_RUNS_MAX 64	/* commands waiting or running in one sandbox */
#define CELLS_MAX 1024		/* remembered; more only while all are in use */
#define CELL_PROCESSES_MAX 64	/* background, running or remembered */
#define SNAPSHOT_MS 10000	/* for the login files */
#define DRAIN_MS 300		/* after the shell's end, for what is in pipes */
#define DEAD_MS 5000		/* a tree must be dead by then (rules 1.11) */
#define DEAD_FAR_MS 15000	/* behind an engine or a line */
#define RETRY_MS 60000
#define REAP_MS 3600000

struct cell;
struct task;
struct process;
struct sandboxes;

/* ---- slot ------------------------------------------------------------------ */

struct slot {
	struct sandboxes *sb;
	const struct backend *backend;	/* NULL: slot not in use */
	struct backend_inst *inst;	/* NULL: could not be started, see err */
	struct op *probing;
	bool probed;
	msec_t probed_at;
	struct op *reaping;	/* what dead processes left: reap.c */
	struct timer *reap_timer;
	struct err err;
	bool warm;		/* a survey is wanted, or was made */
	struct survey *survey;	/* under way (survey.h) */
	char *found;		/* by it; NULL: nothing */
	bool no_scripts;	/* it found neither python3 nor node */
	char *about;		/* the line for the system prompt */
};

void slot_start(struct slot *slot, struct sandboxes *sb, const char *name,
	const char *image);
void slot_stop(struct slot *slot);
void slot_probe(struct slot *slot);	/* then sandboxes_probed() */
void slot_warm(struct slot *slot);	/* a survey, once it is proven; once */
unsigned slot_abilities(struct slot *slot);
void slot_close(struct slot *slot);	/* ends a survey; then sandboxes_changed() */
/* Where that may help, and not too often: true, it is not proven again yet. */
bool slot_probe_again(struct slot *slot);
struct sandbox_props slot_props(const struct slot *slot);
void slot_reap(struct slot *slot);	/* now, and then hourly */
void slot_reap_stop(struct slot *slot);

/* ---- tree ------------------------------------------------------------------ */

/*
 * Who started a tree hears of it until tree_abandon(): proc_events, but dead
 * comes with the tree freed after the call.
 */
struct tree {
	TAILQ_ENTRY(tree) entry;
	struct cell *cell;		/* NULL: everything is being freed */
	const struct backend *backend;
	struct proc *proc;
	const struct proc_events *events;	/* NULL: nobody listens */
	void *arg;
	bool started, exited, dying, survived;
	msec_t killed_wall;
	struct timer *timer;		/* 5 s, then each minute */
	size_t turn_bytes;		/* of output since the last pause */
	struct timer *resume;
};

/* req's events and arg are set here. */
struct tree *tree_spawn(struct cell *cell, struct spawn_req *req,
	const struct proc_events *events, void *arg, struct err *err);
void tree_kill(struct tree *tree);	/* until it is dead; may be repeated */
/* Nobody listens any more: it is killed. */
void tree_abandon(struct tree **tree);
/* -1: the backend can't, it has not started, or its input is closed. */
int tree_write(struct tree *tree, const void *data, size_t len, struct err *err);
void tree_close_input(struct tree *tree);
/* Everything else is being freed: killed, and forgotten when it is dead. */
void tree_orphan(struct tree *tree);

/* ---- cell ------------------------------------------------------------------ */

enum cell_state { CELL_CLOSED, CELL_OPENING, CELL_OPEN, CELL_CLOSING };

struct cell {
	struct sandboxes *sb;
	struct slot *slot;
	char *key;		/* sandbox_key_text */
	char *id;		/* s + hex, names its directory */
	char *host_dir;		/* workspace on the host */
	enum cell_state state;
	struct box *box;
	struct op *op;		/* opening or closing */
	struct err open_err;	/* of the last attempt, for those who wait */
	bool wipe;		/* its files are to be removed */
	struct op *removing;
	struct op *measuring;	/* guard.c */
	bool unmeasured;	/* something ran since the last look */
	uint64_t used_bytes;	/* of the workspace, at the last look */
	bool weighed;		/* there was one before its first command */
	struct timer *weighing;	/* or so long was waited for it */
	bool stale;		/* the box must be closed before it is used again */

	/* From the login shell, once. */
	bool snapshot_tried, bash;
	struct tree *snapshot;
	struct timer *snapshot_timer;
	char *functions, *aliases;
	struct vars login;
	char *notice;		/* to be said once with the next result */

	/* From the command that writes back. */
	bool has_exports;
	struct vars exports;
	char *cwd;		/* NULL: the workspace */
	struct task *writer;

	TAILQ_HEAD(, task) tasks;
	TAILQ_HEAD(, tree) trees;
	TAILQ_HEAD(, process) processes;
	size_t ntasks, nprocesses;
	struct spooled {
		char id[24];
		char *path;	/* NULL: free */
	} spooled[SPOOLED_MAX];	/* a ring, see spooled.h */
	unsigned nspooled;
	unsigned dying;		/* trees killed and not yet dead */
	bool quarantined;
	char *why;		/* of the quarantine */
	struct timer *kick, *idle;
	struct timer *retry;	/* what an engine kept is ended */
	msec_t used_boot;
};

struct cell *cell_get(struct sandboxes *sb, const struct sandbox_key *key);
struct cell *cell_make(struct sandboxes *sb, const struct sandbox_key *key);
void cell_free(struct cell **cell);
/* Something that a task may wait for has changed: they look again, soon. */
void cell_changed(struct cell *cell);
void cell_touch(struct cell *cell);	/* used now */
void cell_open(struct cell *cell);
void cell_close(struct cell *cell);
bool cell_expired(const struct cell *cell);
void cell_quarantine(struct cell *cell, const char *why);
void cell_leave_quarantine(struct cell *cell);
/* The complete environment of the next command: caller frees with vars_done. */
void cell_env(const struct cell *cell, struct vars *ret);
const char *cell_cwd(const struct cell *cell);
/* Those of its backend, with its own workspace. */
struct sandbox_props cell_props(const struct cell *cell);
void cell_snapshot(struct cell *cell);	/* one login shell (snapshot.c) */
void wipe_look(struct cell *cell);	/* goes on with a wipe, if one is wanted */

/* ---- task and process --------------------------------------------------------- */

/* Called by the cell when something changed. May free the task. */
void task_look(struct task *task);
struct task *task_next(struct task *task);
/* Its tree is killed and text is the reason that is given. */
void task_stop(struct task *task, const char *text);

struct process_spec {
	const char *command;
	size_t len;
	const char *cwd;
	int pid;
	bool notify;
	const char *const *watch;	/* NULL or patterns, see lookout.h */
};
/* Takes the tree over. id: new, static in the process. */
struct process *process_new(struct cell *cell, struct tree *tree,
	const struct process_spec *spec);
const char *process_id(const struct process *p);
void process_free(struct process **p);		/* abandons its tree */
void cell_stop_processes(struct cell *cell, const char *text);
size_t cell_running(const struct cell *cell);	/* processes that are alive */

/* ---- sandboxes ----------------------------------------------------------------- */

struct wait_op;

struct sandboxes {
	struct loop *loop;
	struct launcher *launcher;
	struct store *store;		/* its ledger; NULL: none is kept */
	struct op *ledger;		/* old rows are being cleared */
	struct map ledger_ids;		/* rows of this process */
	struct sandbox_opts opts;	/* strings are those below */
	char *messaging_backend, *console_backend, *image, *state_dir;
	char *console_image;
	char *instance_id, *timezone;
	char *spool_dir;
	struct slot slots[2];		/* by enum sandbox_owner */
	struct map cells;
	bool closing;
	struct timer *guard;	/* while anything runs: guard.c */
	uint64_t guard_free;	/* bytes free when it started */
	struct offload *offload;	/* made when first wanted */
	struct op *pruning;
	struct timer *prune_timer;
	msec_t clock_offset;	/* wall minus boottime, when last compared */
	TAILQ_HEAD(, wait_op) waits;	/* probes and the closing */
	sandbox_alarm_cb *alarm;
	void *alarm_arg;
	sandbox_news_cb *news;
	void *news_arg;
	process_event_cb *on_process;
	void *on_process_arg;
	struct breaker breaker;	/* of what all lookouts tell */
	struct timer *silence;	/* it has tripped */
	char tripped_by[24];	/* id of that process */
	struct cell *tripped_in;
};

struct slot *sandboxes_slot(struct sandboxes *sb, enum sandbox_owner owner);
/* The one that sandbox_key_text() belongs to. */
struct slot *sandboxes_slot_of(struct sandboxes *sb, const char *key_text);
/* A cell went on: looks at who waits for all of them. */
void sandboxes_changed(struct sandboxes *sb);
/* Something that any of them may wait for: all look again. */
void sandboxes_look(struct sandboxes *sb);
/* Before its first command: false until what it holds is known, or long waited
 * for; then cell_changed(). */
bool guard_ready(struct cell *cell);
void guard_start(struct cell *cell);	/* something runs in it now */
void prune_start(struct sandboxes *sb);	/* old workspaces, daily: prune.c */
void prune_stop(struct sandboxes *sb);
void sandboxes_probed(struct sandboxes *sb);	/* a slot is proven, or is not */

#endif
