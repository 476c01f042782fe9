/* Shared by local.c and local_proc.c only. */
#ifndef GATEHOUSE_LOCAL_PRIV_H
#define GATEHOUSE_LOCAL_PRIV_H

#include "sandbox/backend.h"

struct backend_inst {
	struct loop *loop;
	struct launcher *launcher;
	char *as;		/* user for the launcher; NULL: our own */
	char *user, *home, *cwd;
	bool bash;		/* false: only /bin/sh is there */
};

struct box {
	struct backend_inst *inst;
};

struct proc *local_spawn(struct box *box, const struct spawn_req *req,
	struct err *err);
void local_kill(struct proc *proc);
void local_flow(struct proc *proc, bool reading);
int local_write(struct proc *proc, const void *data, size_t len, struct err *err);
void local_close_input(struct proc *proc);

#endif
