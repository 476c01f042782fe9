/*
 * Sets up one sandbox in a forked child of the launcher: limits, the change
 * to the sandbox's uid, a user namespace with a single uid, the other
 * namespaces; then init.c goes on as PID 1.  Any failure ends the setup with
 * its step and errno; there is no fallback.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

void
box_fail(struct box *box, enum box_step step)
{
	struct wire_out out;
	int errnum = errno;

	wire_out_init(&out, BOX_FAILED);
	wire_put_u32(&out, step);
	wire_put_u32(&out, (uint32_t)errnum);
	wire_put_str(&out, box->detail);
	(void)wire_send(box->channel, &out, NULL, 0, MSG_DONTWAIT);
	_exit(1);
}

static void
write_maps(struct box *box)
{
	char text[64];

	/*
	 * Exactly one uid and one gid exist inside, never a range.  The files
	 * belong to root while we are not dumpable; nobody else runs with this
	 * uid in a PID namespace that could see us in the meantime.
	 */
	if (prctl(PR_SET_DUMPABLE, 1) < 0)
		box_fail(box, BOX_STEP_UIDMAP);
	if (sys_write_file("/proc/self/setgroups", "deny") < 0 && errno != ENOENT)
		box_fail(box, BOX_STEP_UIDMAP);
	if (sys_format(text, sizeof(text), "%d %u 1\n", BOX_INSIDE_ID, box->ids.uid) < 0 ||
	    sys_write_file("/proc/self/uid_map", text) < 0)
		box_fail(box, BOX_STEP_UIDMAP);
	if (sys_format(text, sizeof(text), "%d %u 1\n", BOX_INSIDE_ID, box->ids.gid) < 0 ||
	    sys_write_file("/proc/self/gid_map", text) < 0)
		box_fail(box, BOX_STEP_UIDMAP);
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		box_fail(box, BOX_STEP_UIDMAP);
}

static void
enter_namespaces(struct box *box)
{
	static const struct {
		int flag;
		enum box_step step;
	} steps[] = {
		{ CLONE_NEWUSER, BOX_STEP_USERNS },
		{ CLONE_NEWNS, BOX_STEP_MOUNTNS },
		{ CLONE_NEWNET, BOX_STEP_NETNS },
		{ CLONE_NEWIPC, BOX_STEP_IPCNS },
		{ CLONE_NEWUTS, BOX_STEP_UTSNS },
		{ CLONE_NEWCGROUP, BOX_STEP_CGROUPNS },
	};
	/* One by one, so that a refusal names its namespace. */
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (unshare(steps[i].flag) < 0)
			box_fail(box, steps[i].step);
		if (steps[i].flag == CLONE_NEWUSER)
			write_maps(box);
	}
}

/*
 * CLONE_PARENT makes init a child of the launcher, which reaps it and whose
 * death ends it; its pid is in shared memory before it runs.
 */
static void __attribute__((noreturn))
box_start_init(struct box *box, pid_t *ret_init, unsigned long flags)
{
	pid_t pid = sys_clone(flags | CLONE_PARENT | CLONE_PARENT_SETTID, ret_init);

	if (pid < 0)
		box_fail(box, BOX_STEP_PIDNS);
	if (pid == 0)
		init_main(box);
	_exit(0);
}

void
box_main(struct box *box, struct box_pids *ret)
{
	/* Until init runs, the launcher's end is ours, too. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != box->launcher)
		box_fail(box, BOX_STEP_REQUEST);
	box->detail = "";
	box->ids = ids_choose(box->seal);
	box->landlock_abi = landlock_abi();
	cgroup_join(box);
	if (box->level == BOX_BARE) {
		bare_prepare(box);
		box_start_init(box, &ret->init, 0);
	}
	/* As root: paths below the gateway's own 0700 directories are opened
	 * while we still may; each beneath the sealed directory, no links. */
	if (box->ids.change)
		graft_private(box);
	if (ids_become(&box->ids) < 0)
		box_fail(box, BOX_STEP_USER);
	bool full = box->seal->network == BOX_NETWORK_FULL;
	if (full)
		uplink_fork(box, &ret->uplink);
	enter_namespaces(box);
	/* The change of ids cleared it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != box->launcher)
		box_fail(box, BOX_STEP_REQUEST);
	/* With the same uid: mounts can be cloned only in our own mount
	 * namespace, and every path is still reachable. */
	if (!box->ids.change)
		graft_private(box);
	graft_system(box);
	if (full)
		uplink_connect(box);
	box_start_init(box, &ret->init, CLONE_NEWPID);
}
