/*
 * What the gateway (sandbox/native.c) and the privileged helper agree on for
 * the built-in sandbox.  Frames as in base/wire.h.
 */
#ifndef GATEHOUSE_NATIVE_PROTO_H
#define GATEHOUSE_NATIVE_PROTO_H

#include <stdint.h>

#define BOX_MAX 1024		/* open sandboxes of one launcher */
#define BOX_RUNS_MAX 64		/* live commands of one sandbox */
#define BOX_INSIDE_ID 1000	/* the one uid and gid that exist inside */
#define BOX_BINDS_MAX 32

/* Of every sandbox of one launcher. */
enum box_network {
	BOX_NETWORK_NONE,	/* loopback only */
	BOX_NETWORK_FILTERED,	/* and listening sockets for the gateway's proxy */
	BOX_NETWORK_FULL,	/* slirp4netns, which the seal names */
	BOX_NETWORK_END
};
#define BOX_PROXY_PORT 3128	/* of 127.0.0.1, and of ::1 where there is IPv6 */
#define BOX_LISTENERS_MAX 2

enum box_level {
	BOX_FULL,		/* namespaces, seccomp, Landlock */
	BOX_BARE,		/* "landlock": seccomp and Landlock alone */
};
#define BOX_NLEVELS 2

/* The channel of one sandbox: from its init, then to it. */
enum box_frame {
	BOX_READY = 64,		/* u32 landlock ABI, str limits, u64 x 7 namespaces
				 * | pidfd of init, or what hangs up when all is dead[, listeners] */
	BOX_FAILED,		/* u32 enum box_step, u32 errno, str detail */
	BOX_STARTED,		/* u32 run, u32 pid inside | pidfd (or as above), status, giveback, out[, err][, feed] */
	BOX_NOT_STARTED,	/* u32 run, u32 enum box_step, u32 errno */
	BOX_RUN = 96,		/* u32 run, u32 flags, strv env | script[, stdin][, rpc] */
	BOX_KILL,		/* u32 run */
};

enum box_run_flags {
	BOX_RUN_KEEP = 1,
	BOX_RUN_SPLIT = 2,
	BOX_RUN_STDIN = 4,	/* its input is the second descriptor */
	BOX_RUN_FEED = 8,	/* its input is a pipe that is written to */
	BOX_RUN_RPC = 32,	/* the last descriptor is a socket for it */
	BOX_RUN_PTY = 16,	/* 0, 1 and 2 are a terminal, whose other side is
				 * sent in the place of out; no other flag but KEEP */
};

/* What the launcher does to the files of a workspace, as the sandbox's uid. */
enum tend_verb {
	TEND_EMPTY = 1,		/* removes all that is in it */
	TEND_MEASURE,		/* adds up what it takes */
};
enum tend_frame {
	TEND_DONE = 112,	/* u64 bytes, u64 entries, u32 errno, str where */
};
#define TEND_DEPTH_MAX 512	/* of directories; deeper ones are not measured */

/* Order of the namespaces in BOX_READY; names as in /proc/PID/ns. */
#define BOX_NAMESPACES { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup" }
#define BOX_NNAMESPACES 7

/* One record in a command's status pipe; smaller than PIPE_BUF, so whole. */
struct box_status {
	uint32_t failed_step;	/* enum box_step; 0: it ran */
	uint32_t failed_errno;
	uint32_t wait_status;
	uint32_t leftovers;	/* processes it left behind */
};

/* Each privileged step, in order, with the words used in messages. */
#define BOX_STEPS(X) \
	X(REQUEST, "read the request") \
	X(CGROUP, "set limits by cgroup") \
	X(STATE, "open the state directory") \
	X(WORKSPACE, "open the workspace") \
	X(REACH, "reach the workspace as the sandbox's uid") \
	X(BIND, "open a bind") \
	X(IMAGE, "open the root file system") \
	X(SYSTEM, "open a system directory") \
	X(USER, "change to the sandbox uid") \
	X(USERNS, "create a user namespace") \
	X(UIDMAP, "write the uid map") \
	X(MOUNTNS, "create a mount namespace") \
	X(NETNS, "create a network namespace") \
	X(IPCNS, "create an ipc namespace") \
	X(UTSNS, "create a uts namespace") \
	X(CGROUPNS, "create a cgroup namespace") \
	X(PIDNS, "create a pid namespace") \
	X(UPLINK, "start slirp4netns") \
	X(ROOT, "build the root file system") \
	X(PROC, "mount a new /proc") \
	X(PIVOT, "change the root") \
	X(LOOPBACK, "raise the loopback interface") \
	X(LISTEN, "listen for the network proxy") \
	X(CAPS, "drop capabilities") \
	X(SPARE, "prepare a command") \
	X(MASK, "mask parts of /proc") \
	X(RLIMIT, "set resource limits") \
	X(LANDLOCK, "enforce Landlock") \
	X(SECCOMP, "load the seccomp program") \
	X(PIPES, "make pipes") \
	X(PTY, "make a terminal") \
	X(CHDIR, "enter the workspace") \
	X(EXEC, "start /bin/bash")

enum box_step {
	BOX_STEP_NONE,
#define X(name, text) BOX_STEP_##name,
	BOX_STEPS(X)
#undef X
	BOX_STEP_END
};

#endif
