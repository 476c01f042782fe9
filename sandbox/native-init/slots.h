/* The sandboxes of the launcher, and what it lends them. */
#ifndef GATEHOUSE_SLOTS_H
#define GATEHOUSE_SLOTS_H

#include "sandbox/native-init/helper.h"

/* launcher.c: a child without the launcher's own descriptors. */
pid_t launcher_fork(void);
/* One that removes a sandbox's cgroups; NULL: those left by dead launchers. */
void launcher_broom(const char *name);

bool slots_init(const struct seal *seal, int life);
void slots_refuse(int channel, int errnum);
void slots_open(uint32_t id, enum box_level level, const char *workspace,
	int channel);
void slots_kill(uint32_t id);
void slots_kill_all(void);
/* A child ended, perhaps one of theirs. True: orphans may have come to us.
 * orphans: that some were known before; then a bare sandbox waits for them. */
bool slots_dead(pid_t pid, int status, bool orphans);
/* Appends the pids of living inits; false: one may just appear. */
bool slots_known(pid_t *pids, size_t *n);
void slots_settle(void);	/* no orphan is left */
void slots_forget(void);	/* in a child: closes what is ours */

#endif
