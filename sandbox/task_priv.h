/* A command on its way; for task.c and task_start.c only. */
#ifndef GATEHOUSE_TASK_PRIV_H
#define GATEHOUSE_TASK_PRIV_H

#include "base/buf.h"
#include "sandbox/file_act.h"
#include "sandbox/sandbox_priv.h"

struct output;

enum task_step { TASK_WAIT, TASK_CHECK, TASK_FILES, TASK_RUN, TASK_END };

struct task {
	struct op op;
	TAILQ_ENTRY(task) entry;
	struct cell *cell;
	enum task_step step;

	char *command;
	size_t command_len;
	char *workdir;		/* as asked for; "" */
	char *dir;		/* as entered */
	msec_t timeout_ms;
	void *input;
	size_t input_len;
	int rpc;		/* a copy of our own; 0: none */
	uint32_t isolation;	/* when it was permitted */
	bool background, notify, pty, split, apart;
	char **watch;		/* NULL or patterns, NULL-terminated */
	struct file_act act;	/* if has_act */
	bool has_act, by_shell;
	struct op *files;	/* the act, done without a shell */
	struct file_work *work;	/* of it; the thread's while that lives */

	struct scene *scene;	/* what it was permitted in; NULL: not bound */
	bool checked;		/* it is the same, just now */
	struct op *looking;	/* TASK_CHECK */
	char *changed;		/* why it was refused then */

	bool saw_opening;	/* an opening was under way while it waited */
	bool again;		/* it is in its second box */
	bool probed_again;	/* the backend, for its sake */
	bool writes_back;
	struct tree *tree;
	struct output *output;
	struct timer *timer;	/* deadline, then drain, then the callback */
	bool started, exited, timed_out, stopped;
	int wait_status;
	unsigned leftovers;
	struct giveback gb;

	int exit_code;
	struct err err;		/* code ERR_NONE: none */
	bool lost;
	struct buf note;
	const char *process_id;
	int pid;

	sandbox_output_cb *on_output;
	sandbox_done_cb *done;
	void *arg;
};

extern const struct op_type task_type;
extern const struct proc_events task_events;

void task_enter(struct task *task, enum task_step step);	/* also ends its timer */
/* Not run, certainly: the callback comes from the loop. Only while waiting. */
void task_refuse(struct task *task, enum err_code code, const char *text);
bool task_again(struct task *task, const struct err *err);
void task_timed_out(void *arg);		/* the deadline's timer */
void task_finish(void *arg);		/* the callback, and the end */

/* task_check.c: true if its scene is (being) looked at first. */
bool task_check(struct task *task);

/* task_files.c: true if the act is being done beneath our workspace. */
bool task_files(struct task *task);
void task_files_cancel(struct task *task);

#endif
