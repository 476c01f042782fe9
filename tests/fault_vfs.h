/*
 * A SQLite VFS over the system's that fails at the n-th act and can lose
 * power: what was not synced is then gone, or in part.  Any thread.
 */
#ifndef GATEHOUSE_TESTS_FAULT_VFS_H
#define GATEHOUSE_TESTS_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
	FAULT_NONE,
	FAULT_IO,	/* I/O error, this once */
	FAULT_SHORT,	/* half is written, then an I/O error, this once */
	FAULT_FULL,	/* no space, this once */
	FAULT_IO_ON,	/* I/O errors from now on */
	FAULT_FULL_ON,	/* no space from now on */
	FAULT_POWER,	/* nothing reaches the disk from now on */
};

void fault_install(void);	/* becomes the default VFS */
/* Arms: the nth act (from 1) of this process from now fails. Counts anew. */
void fault_arm(enum fault_kind kind, long nth);
/* FAULT_FULL_ON ends when this file is gone. */
void fault_full_while(const char *path);
void fault_disarm(void);
long fault_count(void);		/* writes, syncs, truncations since armed */
bool fault_hit(void);
/* After a FAULT_POWER and with all closed: unsynced writes are lost, by seed. */
void fault_power_back(uint64_t seed);

#endif
