/* The built-in Linux sandbox: namespaces, seccomp, Landlock, limits. */
#ifndef GATEHOUSE_NATIVE_H
#define GATEHOUSE_NATIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/backend.h"
#include "sandbox/egress.h"

struct native_bind {
	const char *source;	/* host path */
	const char *target;	/* path inside */
	bool writable;
};

struct native_opts {
	uid_t uid;		/* for root of the initial namespace; 0: 64500 */
	const char *minimum;	/* "full" (default), the only level built in */
	const char *network;	/* "none" (default), "filtered", "full" */
	struct egress_opts egress;	/* what filtered lets through */
	bool upstream;		/* the gateway itself goes out by a proxy */
	const struct native_bind *binds;
	unsigned nbinds;
	uint64_t memory_max;	/* bytes; 0: 2 GiB */
	unsigned pids_max;	/* 0: 256 */
	unsigned files_max;	/* open files a process; 0: 1024 */
	uint64_t file_size_max;	/* bytes; 0: 4 GiB */
	uint64_t tmp_max;	/* bytes of /tmp; 0: 512 MiB */
	uint64_t tmp_total;	/* of all sandboxes together; 0: see native_seal.c */
	uint64_t workspace_max;	/* bytes; 0: 10 GiB */
	unsigned cpu_milli;	/* thousandths of a processor; 0: all there are */
	unsigned cpu_seconds;	/* of a process without a cgroup; 0: 3600 */
};

extern const struct backend backend_native;

#endif
