/* A background process, for process.c and procs.c only. */
#ifndef GATEHOUSE_PROCESS_PRIV_H
#define GATEHOUSE_PROCESS_PRIV_H

#include "sandbox/clean.h"
#include "sandbox/ring.h"
#include "sandbox/sandbox_priv.h"

struct process {
	TAILQ_ENTRY(process) entry;
	struct cell *cell;
	struct tree *tree;	/* NULL: the whole tree is dead */
	char id[24];		/* proc_ and 12 hex digits */
	char *command;		/* masked, its start */
	char *program;		/* whole and as it is */
	char *cwd;
	int pid;
	msec_t started_wall, started, ended;
	struct clean clean[2];
	struct ring ring;
	bool notify;
	struct json *watch;	/* the patterns; NULL: nobody watches */
	struct lookout *lookout;
	unsigned hits;		/* lines that were told */
	bool exited;		/* the shell has ended; what it left may live */
	bool killed, lost;
	bool told;		/* of its end, or nobody wants to know */
	int exit_code;
};

/* The last max bytes of the output, masked; caller frees. */
char *process_tail(struct process *p, size_t max);
/* Its command has not ended, or a kill has not yet reached all of its tree. */
bool process_runs(const struct process *p);
/* How it came to its end; NULL: it has not. */
const char *process_reason(const struct process *p);

#endif
