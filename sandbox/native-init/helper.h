/*
 * The static helper: launcher, keepers (backend local), sandbox inits, and the
 * far side of commands elsewhere (far.h).  It links libc and base/wire.c only.  What the launcher may do is in `struct
 * seal`, fixed by the first frame.
 */
#ifndef GATEHOUSE_HELPER_H
#define GATEHOUSE_HELPER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/wire.h"
#include "sandbox/native-init/proto.h"

#define HELPER_CHANNEL 3	/* the launcher's socket to the gateway */
#define HELPER_GROUPS_MAX 64

struct seal_bind {
	char *source, *target;
	bool writable;
	dev_t dev;		/* what source was when it was sealed */
	ino_t ino;
};

struct seal {
	bool sealed;
	bool local;		/* spawns on the host are permitted */
	bool local_user;	/* they change to this user */
	uid_t local_uid;
	gid_t local_gid;
	gid_t local_groups[HELPER_GROUPS_MAX];
	size_t local_ngroups;
	bool native;		/* sandboxes are permitted */
	bool bare;		/* also those of level landlock */
	uid_t uid;		/* used only if we are root */
	gid_t gid;
	char *state_dir;	/* workspaces are beneath it */
	dev_t state_dev;	/* and it is this very directory */
	ino_t state_ino;
	char *image;		/* "": the host's system directories */
	struct seal_bind binds[BOX_BINDS_MAX];
	size_t nbinds;
	uint64_t memory_max, file_size_max, tmp_max;
	uint32_t pids_max, files_max;
	uint32_t cpu_permille;	/* thousandths of a processor; 0: all there are */
	uint32_t cpu_seconds;	/* of a process, where no cgroup shares it out */
	enum box_network network;
	char *uplink;		/* program of the full network; "" else */
	dev_t uplink_dev;
	ino_t uplink_ino;
	struct seal_filter {
		void *program;	/* struct sock_filter[] */
		size_t len;	/* bytes */
	} filters[BOX_NLEVELS];
};

/* seal.c: takes over a LAUNCHER_SEAL frame; false if malformed. */
bool seal_parse(struct seal *seal, struct wire_in *in);

/* The state directory, if it is still the one that was sealed; -1: errno. */
int seal_open_state(const struct seal *seal);

/* ids.c: whose ids a sandbox has (rules 5.4). */
struct ids {
	bool change;		/* to these; else they are ours already */
	uid_t uid;
	gid_t gid;
};
struct ids ids_choose(const struct seal *seal);
int ids_become(const struct ids *ids);		/* for good; -1: errno */

/* launcher.c: the main loop; returns the exit status. */
int launcher_main(void);

/* keeper.c: in a child of the launcher; never returns. */
struct keeper_req {
	const char **argv, **env;
	const char *cwd;
	bool keep;
	bool terminal;		/* 0 is to be its controlling terminal */
	int channel;
	int fds[WIRE_FDS_MAX];	/* -1: /dev/null */
	size_t nfds;
	pid_t launcher;
};
void keeper_main(const struct seal *seal, const struct keeper_req *req)
	__attribute__((noreturn));

/* tend.c: in a child of the launcher; never returns. */
void tend_main(const struct seal *seal, enum tend_verb verb,
	const char *workspace, int channel) __attribute__((noreturn));

/* The same for directories of a container: `far-tend empty|measure DIR...`. */
int tend_far_main(const char *verb, int n, char **dirs);

/* tree.c: live descendants of `of`, zombies not counted. */
unsigned tree_count(pid_t of);
void tree_kill(pid_t of);		/* SIGKILL to each of them, once */
pid_t tree_parent(pid_t pid);		/* 0: there is no such process */
bool tree_is_dead(pid_t pid);		/* gone, or a zombie */
/* Children of ours that are not in known[] (orphans of a dead keeper): how many. */
unsigned tree_kill_children_except(const pid_t *known, size_t n);

/* What a sandbox's setup carries from step to step. */
struct graft {
	int fd;			/* detached mount */
	const char *target;	/* path below the new root, without leading / */
	bool dir, writable;
};
#define GRAFTS_MAX 128
/* Links met among the system's entries: made again inside. */
struct link {
	const char *path;	/* below the new root */
	char to[256];
};
#define LINKS_MAX 32

struct box {
	const struct seal *seal;
	enum box_level level;
	char home[PATH_MAX];	/* workspace as commands see it */
	int living;		/* bare: hangs up when all of it is dead; handed out */
	int channel;
	int life;		/* hangs up when the launcher ends */
	pid_t launcher;
	const char *workspace;	/* below state_dir */
	char cgroup[64];	/* name of its cgroups */
	char limits[256];	/* what is in force, for people */
	bool memory_limited, pids_limited, cpu_limited;
	struct ids ids;
	struct graft grafts[GRAFTS_MAX];
	size_t ngrafts;
	struct link links[LINKS_MAX];
	size_t nlinks;
	int landlock_abi;	/* 0: the kernel has none */
	int listeners[BOX_LISTENERS_MAX];	/* of the proxy, until they are sent */
	size_t nlisteners;
	int uplink;		/* to the process that waits to be slirp4netns */
	const char *detail;	/* what a step was about, for messages */
};

/*
 * bare.c: level landlock, where no namespace may be made.  What kills a tree
 * there is a keeper for each command and the box's init above them, both
 * subreapers and out of a command's reach.
 */
void bare_prepare(struct box *box);		/* up to and with the change of ids */
void bare_confine_init(struct box *box);	/* what init needs not */
/* cmd.c's counterpart: the keeper of one command. */
void bare_cmd_main(const struct box *box, int request, int status)
	__attribute__((noreturn));
/* A place for temporary files, below the workspace. */
#define BARE_TMP ".tmp"

/* box.c: in a child of the launcher, until the init runs; never returns. */
struct box_pids { pid_t init, uplink; };	/* 0: not started */
void box_main(struct box *box, struct box_pids *ret) __attribute__((noreturn));
void box_fail(struct box *box, enum box_step step) __attribute__((noreturn));
/* What a command may read of the host: names below its root. */
extern const char *const graft_dirs[], *const graft_etc[], *const graft_devices[];
extern const size_t graft_ndirs, graft_netc, graft_ndevices;
/* graft.c: takes mounts. */
void graft_private(struct box *box);	/* workspace and binds */
void graft_system(struct box *box);	/* or the image */
/* root.c: puts them in their places; pivot, read-only. */
void root_build(struct box *box);
/* proc.c: a command's own /proc; BOX_STEP_NONE, or the step (errno is set). */
enum box_step proc_mount_private(void);
/* net.c: in the new network namespace: loopback, and what the seal permits. */
void net_setup(struct box *box);
/* uplink.c: before the new namespaces, and once they are there. */
void uplink_fork(struct box *box, pid_t *ret_pid);
void uplink_connect(struct box *box);
/* init.c: PID 1 of the sandbox */
void init_main(struct box *box) __attribute__((noreturn));

/* job.c: one command, as init sees it. */
struct job {
	uint32_t id;
	pid_t pid;		/* of its PID 1; 0: free */
	int pidfd, request, status;
	int living[2];		/* bare: [1] is closed when its tree is dead; else -1 */
	bool orphaned;		/* bare: its keeper died before its tree did */
};
#define JOB_FDS_MAX 6
int job_prepare(const struct box *box, struct job *job);	/* -1: errno */
/*
 * Hands the request frame to the prepared command and fills what BOX_STARTED
 * carries. -1 with errno: it is not started and must be discarded.
 */
int job_start(struct job *job, const void *frame, size_t len, uint32_t flags,
	const int *in_fds, size_t nin, int ret_fds[JOB_FDS_MAX],
	size_t *ret_nfds);
void job_kill(const struct job *job);
void job_release(struct job *job);	/* closes; its process is dead or dying */
struct shared;
/* The command itself, in a child of its PID 1 or keeper, which `shared` tells
 * how far it came. home: NULL, or where its temporary files go. */
struct shared *cmd_shared(void);	/* NULL: errno */
void cmd_place(int request, int status);	/* at the two descriptors below */
void cmd_exec(struct shared *shared, const char *home) __attribute__((noreturn));
bool cmd_keeps(const struct shared *shared);
void cmd_ended(const struct shared *shared, int wait_status, uint32_t leftovers);
void cmd_fail(enum box_step step) __attribute__((noreturn));
void cmd_failed(struct shared *shared, enum box_step step)
	__attribute__((noreturn));	/* in the command, before its exec */
#define CMD_REQUEST_FD 30
#define CMD_STATUS_FD 31
/* cmd.c: PID 1 of a command. */
void cmd_main(const struct box *box, int request, int status)
	__attribute__((noreturn));

/* confine.c: what a command may not do. -1 with errno. */
int confine_caps(bool keep_sys_admin);
int confine_rlimits(const struct box *box);
int confine_no_new_privs(void);	/* and no bounding set, if it may be dropped */
int confine_seccomp(const struct box *box);
/* landlock.c */
int landlock_abi(void);
int landlock_confine(const struct box *box);

/* cgroup.c */
void cgroup_sweep(void);		/* those of dead launchers */
void cgroup_join(struct box *box);	/* fills limits, *_limited */
void cgroup_remove(const char *name);

/* sys.c: system calls and small helpers libc lacks. */
int sys_pidfd_open(pid_t pid);
int sys_pidfd_kill(int pidfd);
int sys_close_range(unsigned first, unsigned last);
int sys_open_beneath(int dir, const char *path, int flags);
int sys_open_tree(int dir, const char *path, unsigned flags);
int sys_mount_attr(int fd, uint64_t set, uint64_t propagation, bool recursive);
int sys_move_mount(int fd, const char *target);
int sys_pivot_root(void);		/* "." over the root, old one detached */
pid_t sys_clone(unsigned long flags, pid_t *parent_tid);
int sys_write_file(const char *path, const char *text);
int sys_fd_up(int fd, int low);		/* moves to >= low, close-on-exec */
void sys_signals_default(void);		/* handlers and mask of a fresh process */
int sys_format(char *out, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));	/* -1 if cut */

#endif
