/*
 * What a backend supplies: one vtable, one line in list.h.  The shared half
 * (wrapper, snapshot, environment, output, time-out, cancel policy, processes,
 * lifetime) is sandbox.c and its neighbours; a backend only opens, spawns,
 * kills and closes.  Differences are flags and properties, never names.
 */
#ifndef GATEHOUSE_BACKEND_H
#define GATEHOUSE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/op.h"
#include "sandbox/sandbox.h"
#include "sandbox/shell.h"

struct backend_inst;	/* one a backend and process */
struct box;		/* one open sandbox of a backend */
struct proc;		/* one process tree in a box */

enum backend_flags {
	BACKEND_TREE_KILL = 1,	/* kill reaches setsid + double-forked children */
	/* Boxes outlive the gateway: ledger + reaper. An open ends what an earlier
	 * box of that id left, or fails. */
	BACKEND_SURVIVES = 2,
	BACKEND_PTY = 4,
	BACKEND_STDIN = 8,	/* separate stdin stream (else heredoc) */
	BACKEND_REMOTE = 16,	/* another machine */
	/* props.workspace is box_spec.workspace of this host and nothing else:
	 * what is written there is there for commands. */
	BACKEND_WORKSPACE = 32,
	BACKEND_RPC = 64,	/* spawn_req.rpc */
	BACKEND_HOST_FILES = 256,	/* a path means the same to commands and to us */
};

/* Something takes long in a box that is being opened; for the person. */
typedef void backend_say_cb(void *arg, const char *box_id, const char *text,
	bool first);

struct backend_env {
	struct loop *loop;
	struct launcher *launcher;
	const char *state_dir;
	const char *instance_id;
	const char *image;	/* NULL: the backend's default */
	const void *opts;	/* struct native_opts, struct local_opts, ... */
	backend_say_cb *say;	/* NULL: nobody listens */
	void *say_arg;
};

struct box_spec {
	const char *id;		/* [a-z0-9-], made from hashes, never from text */
	const char *workspace;	/* host path of the persistent workspace (exists) */
	bool keep;		/* its box may be kept for the next open */
};

typedef void backend_probe_cb(void *arg, const struct err *err);
typedef void box_open_cb(void *arg, struct box *box, const struct err *err);
typedef void box_close_cb(void *arg, const struct err *err);

struct box_usage {
	uint64_t bytes, entries;	/* on disk; files, directories, links */
};
/* usage also with an error: as far as it came. */
typedef void box_usage_cb(void *arg, const struct box_usage *usage,
	const struct err *err);

/*
 * Events of a proc, in this order: started once; output any number; giveback
 * at most once (bytes the wrapper wrote to its give-back descriptor); exited
 * once (wait status of the shell); dead once: the whole tree is confirmed dead
 * (or err says what survives).  After dead the proc is freed by the backend.
 * No event comes before spawn has returned.  If the shell could not be started,
 * exited never comes (started may have): dead's err names the step and cause.
 * Only an err with code ERR_LOST says that something may have run, or survive.
 * ERR_NOT_FOUND: the box is gone, and nothing ran; another one may do.
 * What the shell leaves behind is killed by the backend itself once the shell
 * has ended, unless keep_children.
 * Output that was still in the pipes when the tree died comes before dead.
 */
struct proc_events {
	void (*started)(void *arg, int pid);	/* pid as seen inside */
	void (*output)(void *arg, int fd, const char *data, size_t len);
	void (*giveback)(void *arg, const char *data, size_t len);
	void (*exited)(void *arg, int wait_status, unsigned leftovers);
	void (*dead)(void *arg, const struct err *err);
};

/* Where the backend starts a local bash: by SHELL_PATH and SHELL_ARGV of
 * sandbox/shell.h. The first directory is the workspace. */
struct spawn_req {
	const char *script;	/* whole wrapper text; the backend brings it to bash */
	size_t script_len;
	const char *const *env;	/* "NAME=value", the complete environment */
	const void *input;	/* NULL: /dev/null */
	size_t input_len;
	bool feed;		/* stdin stays open for write(); no input then */
	bool pty;		/* 0, 1, 2: a terminal (base/pty.h); BACKEND_PTY */
	int rpc;		/* becomes SHELL_FD_RPC; stays the caller's; 0: none */
	bool split;		/* stderr apart */
	bool keep_children;	/* background: children outlive the shell */
	uint32_t seconds;	/* a far side ends it then by itself; 0: never */
	const struct proc_events *events;
	void *arg;
};

struct backend {
	const char *name;
	unsigned flags;
	struct backend_inst *(*start)(const struct backend_env *env, struct err *err);
	void (*stop)(struct backend_inst **inst);	/* boxes are closed already */
	/* Proves by trying; afterwards props are final. */
	struct op *(*probe)(struct backend_inst *inst, backend_probe_cb *cb, void *arg);
	struct sandbox_props (*props)(struct backend_inst *inst);
	struct op *(*open)(struct backend_inst *inst, const struct box_spec *spec,
		box_open_cb *cb, void *arg);
	struct op *(*close)(struct box *box, box_close_cb *cb, void *arg);
	/*
	 * The files of a workspace, whoever owns them: removes all (no box is open
	 * over it), or adds up. Cancelling drops the result only. Both NULL: its
	 * commands leave nothing there.
	 */
	struct op *(*empty)(struct backend_inst *inst, const char *workspace,
		box_usage_cb *cb, void *arg);
	struct op *(*measure)(struct backend_inst *inst, const char *workspace,
		box_usage_cb *cb, void *arg);
	/* NULL on failure to even try; later failures come as exited/dead. */
	struct proc *(*spawn)(struct box *box, const struct spawn_req *req,
		struct err *err);
	void (*kill)(struct proc *proc);	/* whole tree; result by dead() */
	/* Foreground shell: stop reading more output until resumed. */
	void (*flow)(struct proc *proc, bool reading);
	/*
	 * Of a proc that was spawned with feed and has started: bytes for its
	 * standard input, and its end.  write() never blocks: all is taken or
	 * nothing, -1 with the reason (feed.h does it for descriptors).  Both
	 * are NULL where a backend can't; feed is never asked for then.
	 */
	int (*write)(struct proc *proc, const void *data, size_t len,
		struct err *err);
	void (*close_input)(struct proc *proc);
	/* With BACKEND_SURVIVES: ends what dead processes of ours left there. */
	struct op *(*reap)(struct backend_inst *inst, backend_probe_cb *cb,
		void *arg);
};

/* NULL: no such backend is built in. */
const struct backend *backend_find(const char *name);
/* Its own options, which have its name there. */
const void *backend_opts(const struct backend *backend,
	const struct sandbox_opts *opts);

#endif
