/*
 * Commands in sandboxes.  A sandbox belongs to a key (profile, scope key, who
 * owns it), is made at its first command and torn down when idle.  The sandbox
 * doesn't know who asked or why: it wants a permit with every command.
 * On the loop's thread; sandbox_run() follows the op contract.
 */
#ifndef GATEHOUSE_SANDBOX_H
#define GATEHOUSE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/op.h"
#include "sandbox/permit.h"

struct file_act;
struct offload;
struct sandboxes;
struct launcher;
struct scene;
struct store;

/* Exit codes of ours (design.md section 5). */
enum {
	SANDBOX_EXIT_REFUSED = -1,	/* not run: error says why */
	SANDBOX_EXIT_TIMEOUT = 124,
	SANDBOX_EXIT_DIR = 126,
	SANDBOX_EXIT_CANCELLED = 130,
};

/* Real properties, never derived from a backend's name (rules 4.1). */
enum sandbox_isolation {
	SANDBOX_NO_HOST_FILES = 1,	/* no writable bind outside its workspace */
	SANDBOX_NO_HOST_PROCS = 2,	/* own PID namespace, no engine socket */
	SANDBOX_NO_NETWORK = 4,		/* none, or filtered by us */
	SANDBOX_NO_CREDENTIALS = 8,
};
#define SANDBOX_ISOLATED 15u

struct sandbox_props {
	const char *backend;	/* "native", "local", ... */
	const char *level;	/* native: "full", "landlock"; "container"; else "" */
	const char *image;	/* "" = the host's own system, read-only */
	const char *network;	/* "none", "filtered", "full", "host" */
	uint32_t isolation;
	bool available;
	const char *why;	/* cause and cure if not available, else "" */
	const char *caution;	/* why not a better level; NULL: it is the best */
	const char *limits;	/* what is in force, for people; "" if nothing */
	const char *risks;	/* what ends its isolation, for people; NULL, "" */
	const char *workspace;	/* path as commands see it; "": see host_paths */
	uint64_t workspace_max;	/* bytes it may hold; 0: nobody looks */
	unsigned boxes_max;	/* sandboxes open at a time; 0: any number */
	bool host_paths;	/* commands see each workspace by its host path */
	const char *home, *user;	/* of commands; NULL: workspace, "sandbox" */
	/* NAME=value that every command gets besides; ends with NULL; or NULL. */
	const char *const *env;
};

enum sandbox_owner { SANDBOX_MESSAGING, SANDBOX_CONSOLE };

struct sandbox_key {
	const char *profile;	/* "main" */
	const char *scope;	/* session key, user or "shared" */
	enum sandbox_owner owner;	/* decides the backend (rules 5.1) */
};
/* Stable text for ledger, permits and logs; caller frees. */
char *sandbox_key_text(const struct sandbox_key *key);

/* What one backend needs is declared in its own header; all by value or copied. */
struct sandbox_opts {
	const char *messaging_backend;	/* resolved names, see gateway/override.c */
	const char *console_backend;
	const char *image;		/* of the messaging backend; NULL default */
	const char *console_image;	/* of the console's, if that is another */
	const char *state_dir;		/* workspaces live below it */
	const char *instance_id;
	msec_t lifetime_ms;		/* idle tear-down; 0 never */
	msec_t timeout_ms;		/* default of a foreground command */
	msec_t timeout_max_ms;
	size_t output_max;		/* bytes of output kept (40 % head, 60 % tail) */
	size_t spool_max;		/* bytes of overflow kept on disk */
	msec_t retention_ms;		/* workspaces unused for so long; 0: kept */
	const char *timezone;		/* TZ of commands; NULL or "": environ's */
	bool plain_words;		/* words are judged also where isolated: none
					 * may mean a function or alias (rules 4.2) */
	const char *const *env_passthrough;	/* names, NULL-terminated */
	const char *const *environ;	/* the gateway's, for passthrough values */
	const char *const *env_refuse;	/* names of credentials, NULL-terminated */
	const struct native_opts *native;
	const struct local_opts *local;
	const struct docker_opts *docker, *podman;
	const struct ssh_opts *ssh;
	const struct singularity_opts *singularity, *apptainer;
};

struct sandboxes *sandboxes_new(struct loop *loop, struct launcher *launcher,
	struct store *store, const struct sandbox_opts *opts, struct err *err);

/* Ends every sandbox of this process; done when all is dead (bounded, 10 s). */
typedef void sandboxes_done_cb(void *arg);
struct op *sandboxes_close(struct sandboxes *sb, sandboxes_done_cb *done, void *arg);
void sandboxes_free(struct sandboxes **sb);	/* kills what is left */

/* Proves the backends by trying them (rules 5.2); the first run waits for it. */
struct op *sandboxes_probe(struct sandboxes *sb, sandboxes_done_cb *done, void *arg);
struct sandbox_props sandbox_props(struct sandboxes *sb, enum sandbox_owner owner);
/* Commands can inherit a socket there. */
bool sandbox_can_rpc(struct sandboxes *sb, enum sandbox_owner owner);
/*
 * What its commands can do as far as it is known; what isn't known yet counts
 * as possible.  A server that was down is looked for again by this.
 */
enum sandbox_ability {
	SANDBOX_COMMANDS = 1,	/* the backend works */
	SANDBOX_SCRIPTS = 2,	/* python3 or node is there */
};
unsigned sandbox_abilities(struct sandboxes *sb, enum sandbox_owner owner);
/* sandbox_props() of one sandbox, with its own workspace; borrowed as sandbox_cwd(). */
struct sandbox_props sandbox_props_of(struct sandboxes *sb,
	const struct sandbox_key *key);
/* Where the next command would start; borrowed until it has run. */
const char *sandbox_cwd(struct sandboxes *sb, const struct sandbox_key *key);
/*
 * Looks once from inside at what each backend's sandboxes offer (system, user,
 * tools), for sandbox_describe().  Nobody waits for it; calling it again does
 * nothing.
 */
void sandboxes_warm(struct sandboxes *sb);
/* A few sentences for the system prompt: what is known by now. Starts nothing. */
const char *sandbox_describe(struct sandboxes *sb, enum sandbox_owner owner);

struct sandbox_cmd {
	const char *command;	/* borrowed for the call, like all here */
	size_t command_len;
	const char *workdir;	/* NULL or "": the tracked directory */
	msec_t timeout_ms;	/* 0: the default */
	const void *input;	/* stdin bytes; NULL: /dev/null */
	size_t input_len;
	uint64_t generation;	/* of the run that owns it */
	bool background;	/* belongs to the sandbox, not to the run */
	bool pty;		/* background: in a terminal, where one can be had */
	bool notify;		/* background: shown in its entry, no more */
	/* background: lines with one of these are told (lookout.h); NULL none */
	const char *const *watch;
	bool split;		/* keep stderr apart in on_output (no order kept) */
	/*
	 * A tool's own command: its output goes to on_output only (raw bytes),
	 * none is kept, and it hands back no exports and no directory, so that
	 * commands beside it do.
	 */
	bool apart;
	/*
	 * A socket that the command inherits as SHELL_FD_RPC (rules 5.11), where
	 * sandbox_can_rpc(); stays the caller's. 0: none.
	 */
	int rpc;
	/* Instead of command and input; then apart, from "/". See file_act.h. */
	const struct file_act *act;
};

/* Borrowed during the callback. */
struct sandbox_result {
	int exit_code;
	const char *output;	/* valid UTF-8, no ANSI, masked, bounded */
	size_t output_len;
	uint64_t output_total;	/* bytes the command wrote */
	const char *spool_path;	/* whole output (bounded) or NULL: for us only */
	const char *spool_id;	/* the same for who asked: spooled.h */
	const char *error;	/* for the model; NULL if none */
	const char *note;	/* e.g. what was left behind and ended; NULL */
	const char *cwd;	/* directory after the command, as commands see it */
	const char *process_id;	/* background: "proc_..." */
	int pid;		/* background: pid inside the sandbox */
	bool pty;		/* background: it has a terminal */
	/* Not run, because this has changed since the permit's ask; else NULL. */
	const char *changed;
	bool lost;		/* outcome unknown: it may have had effects */
	bool started;		/* false: certainly not run */
};

typedef void sandbox_output_cb(void *arg, int fd, const char *data, size_t len);
typedef void sandbox_done_cb(void *arg, const struct sandbox_result *res);

/*
 * Runs a command.  Takes the permit.  Waits until the sandbox exists and until
 * what an earlier cancel left there is confirmed dead (rules 1.11).
 * op_cancel() returns at once; the tree goes to the reaper.
 * on_output (may be NULL) gets raw bytes as they come: for a console, or for
 * the tool whose command it is.
 */
struct op *sandbox_run(struct sandboxes *sb, const struct sandbox_key *key,
	const struct sandbox_cmd *cmd, struct permit **permit,
	sandbox_output_cb *on_output, sandbox_done_cb *done, void *arg);

/*
 * The scene of a command (scene.h) in a sandbox (sandbox_key_text) that would
 * start in dir and run these script files; scene is yours.  What can't be seen
 * without running something there stays unknown.
 */
typedef void sandbox_scene_cb(void *arg, struct scene *scene);
struct op *sandbox_look(struct sandboxes *sb, const char *key_text,
	const char *dir, const char *const *files, size_t n,
	sandbox_scene_cb *cb, void *arg);

/* Background processes of a sandbox (rules 1.10); one of them: procs.h. */
struct json *sandbox_processes(struct sandboxes *sb, const struct sandbox_key *key);
void sandbox_end_processes(struct sandboxes *sb, const struct sandbox_key *key);
/* /new: drops environment and directory; keeps files. */
void sandbox_reset(struct sandboxes *sb, const struct sandbox_key *key);
/* Ends all that runs there and removes its files; the alarm tells if it fails. */
void sandbox_wipe(struct sandboxes *sb, const struct sandbox_key *key);

/* Removes the workspaces last used before that (wall clock); those in use stay.
 * err: the first of res->failed. */
struct sandboxes_pruned {
	size_t removed, kept, failed;
};
typedef void sandboxes_prune_cb(void *arg, const struct sandboxes_pruned *res,
	const struct err *err);
struct op *sandboxes_prune(struct sandboxes *sb, msec_t before,
	sandboxes_prune_cb *cb, void *arg);

/* The thread for work on files; NULL: it could not be started. */
struct offload *sandboxes_offload(struct sandboxes *sb);

/* Dying trees and quarantined sandboxes, for status: [{sandbox, since, why}]. */
struct json *sandboxes_status(struct sandboxes *sb);

/* What a background process lets know. Text is cleaned, masked, bounded. */
enum process_event_kind {
	PROCESS_ENDED,		/* once, unless procs_kill() or who owns it ended it */
	PROCESS_MATCHED,	/* output: the lines */
	PROCESS_WATCH_OFF,	/* the same, and it is not watched any longer */
	PROCESS_WATCH_TRIPPED,	/* all watching is silent for 30 s */
	PROCESS_WATCH_RELEASED,
};
struct process_event {
	enum process_event_kind kind;
	const char *id;		/* as sandbox_result.process_id */
	const char *command;	/* its start */
	const char *reason;	/* ended: "exited", "killed", "lost" */
	bool has_code;
	int exit_code;
	const char *output;	/* ended: the last 2000 bytes */
	unsigned more;		/* matches that were not told */
};
/* Strings are borrowed. May not call back into the sandboxes. */
typedef void process_event_cb(void *arg, const struct process_event *event);
void sandboxes_on_process(struct sandboxes *sb, process_event_cb *cb, void *arg);

/* Called once when a tree survived its kill (rules 1.11): tell the person. */
typedef void sandbox_alarm_cb(void *arg, const char *key_text, const char *text);
void sandboxes_on_alarm(struct sandboxes *sb, sandbox_alarm_cb *cb, void *arg);
/* Something takes long there, e.g. an image is being pulled: how far it is.
 * first: the first word about it. */
typedef void sandbox_news_cb(void *arg, const char *key_text, const char *text,
	bool first);
void sandboxes_on_news(struct sandboxes *sb, sandbox_news_cb *cb, void *arg);

#endif
