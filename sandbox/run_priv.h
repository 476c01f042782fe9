/* A command on its way; for run.c and run_start.c only. */
#ifndef GATEHOUSE_RUN_PRIV_H
#define GATEHOUSE_RUN_PRIV_H

#include "base/buf.h"
#include "sandbox/sandbox_priv.h"

struct output;

enum run_step { RUN_WAIT, RUN_RUN, RUN_END };

struct run {
	struct op op;
	TAILQ_ENTRY(run) entry;
	struct cell *cell;
	enum run_step step;

	char *command;
	size_t command_len;
	char *workdir;		/* as asked for; "" */
	char *dir;		/* as entered */
	msec_t timeout_ms;
	void *input;
	size_t input_len;
	uint32_t isolation;	/* when it was permitted */
	bool background, split;

	bool saw_opening;	/* an opening was under way while it waited */
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

extern const struct op_type run_type;
extern const struct proc_events run_events;

void job_enter(struct run *run, enum run_step step);	/* also ends its timer */
/* Not run, certainly: the callback comes from the loop. Only while waiting. */
void run_refuse(struct run *run, enum err_code code, const char *text);
void run_timed_out(void *arg);		/* the deadline's timer */

#endif
