/*
 * The sandboxes of the launcher: for each the child that sets it up, then its
 * init, until all of it is dead.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/native-init/slots.h"

struct slot {
	bool used, kill, init_dead, uplink_dead;
	bool bare;		/* nothing dies of itself with its init */
	int living;		/* bare: closed when all of it is dead */
	uint32_t id;
	pid_t setup;		/* builds the sandbox, then ends; 0: has ended */
};

static struct slots {
	const struct seal *seal;
	int life;
	struct slot slots[BOX_MAX];
	/* Shared with the setup children: the kernel writes the pids of what
	 * they start here before it runs, so we can always kill it. */
	struct box_pids *pids;
} l;

static void
refuse(int channel, enum box_step step, int errnum, const char *detail)
{
	struct wire_out out;

	wire_out_init(&out, BOX_FAILED);
	wire_put_u32(&out, step);
	wire_put_u32(&out, (uint32_t)errnum);
	wire_put_str(&out, detail);
	(void)wire_send(channel, &out, NULL, 0, MSG_DONTWAIT);
	wire_out_done(&out);
}

void
slots_refuse(int channel, int errnum)
{
	refuse(channel, BOX_STEP_REQUEST, errnum, "");
}

static int
slot_cgroup(char *name, size_t size, size_t slot)
{
	return sys_format(name, size, "gatehouse-%d-%zu", (int)getpid(), slot);
}

static struct slot *
slot_find(uint32_t id)
{
	for (size_t i = 0; i < BOX_MAX; i++)
		if (l.slots[i].used && l.slots[i].id == id)
			return &l.slots[i];
	return NULL;
}

static struct slot *
slot_take(uint32_t id)
{
	for (size_t i = 0; i < BOX_MAX; i++)
		if (!l.slots[i].used) {
			l.slots[i] = (struct slot){ .used = true, .id = id,
				.living = -1 };
			l.pids[i] = (struct box_pids){ 0, 0 };
			return &l.slots[i];
		}
	return NULL;
}

static void
slot_free(struct slot *slot)
{
	if (slot->living >= 0)
		close(slot->living);
	slot->used = false;
}

static void
slot_start(struct slot *slot, enum box_level level, const char *workspace,
	int channel)
{
	static struct box box;
	int living[2] = { -1, -1 };

	memset(&box, 0, sizeof(box));
	box.level = level;
	slot->bare = level == BOX_BARE;
	if (slot->bare && pipe2(living, O_CLOEXEC) < 0) {
		refuse(channel, BOX_STEP_REQUEST, errno, "pipe");
		slot->used = false;
		return;
	}
	box.living = living[0];
	slot->living = living[1];
	box.seal = l.seal;
	box.channel = channel;
	box.life = l.life;
	box.launcher = getpid();
	box.workspace = workspace;
	size_t index = (size_t)(slot - l.slots);
	if (slot_cgroup(box.cgroup, sizeof(box.cgroup), index) < 0)
		abort();
	slot->setup = launcher_fork();
	if (slot->setup == 0)
		box_main(&box, &l.pids[index]);
	if (slot->setup < 0) {
		refuse(channel, BOX_STEP_REQUEST, errno, "fork");
		slot_free(slot);
	}
	if (living[0] >= 0)
		close(living[0]);
}

/* An init that is PID 1 takes all with it; a bare one must do it. */
static int
slot_signal(const struct slot *slot)
{
	return slot->bare ? SIGTERM : SIGKILL;
}

static void
slot_kill(struct slot *slot)
{
	const struct box_pids *pids = &l.pids[slot - l.slots];

	/* All are our children and not reaped yet, so the pids are theirs. */
	slot->kill = true;
	if (slot->setup > 0)
		kill(slot->setup, SIGKILL);
	if (pids->init > 0 && !slot->init_dead)
		kill(pids->init, slot_signal(slot));
	if (pids->uplink > 0 && !slot->uplink_dead)
		kill(pids->uplink, SIGKILL);
}

static void
slot_settle(struct slot *slot, bool orphans)
{
	size_t index = (size_t)(slot - l.slots);
	char name[64];

	if (slot->setup > 0)
		return;
	if (l.pids[index].init && !slot->init_dead) {
		if (slot->kill)
			kill(l.pids[index].init, slot_signal(slot));
		return;
	}
	if (l.pids[index].uplink && !slot->uplink_dead) {
		kill(l.pids[index].uplink, SIGKILL);
		return;
	}
	/* What a bare init that was killed leaves comes to us: killed first. */
	if (slot->bare && orphans)
		return;
	slot_free(slot);
	if (geteuid() == 0 && slot_cgroup(name, sizeof(name), index) == 0)
		launcher_broom(name);
}

bool
slots_init(const struct seal *seal, int life)
{
	l.seal = seal;
	l.life = life;
	l.pids = mmap(NULL, BOX_MAX * sizeof(*l.pids), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return l.pids != MAP_FAILED;
}

void
slots_open(uint32_t id, enum box_level level, const char *workspace, int channel)
{
	struct slot *slot = slot_find(id) ? NULL : slot_take(id);

	if (slot)
		slot_start(slot, level, workspace, channel);
	else
		slots_refuse(channel, slot_find(id) ? EBADMSG : EMFILE);
}

void
slots_kill(uint32_t id)
{
	struct slot *slot = slot_find(id);

	if (slot)
		slot_kill(slot);
}

void
slots_kill_all(void)
{
	for (size_t i = 0; i < BOX_MAX; i++)
		if (l.slots[i].used)
			slot_kill(&l.slots[i]);
}

bool
slots_dead(pid_t pid, int status, bool orphans)
{
	for (size_t i = 0; i < BOX_MAX; i++) {
		struct slot *slot = &l.slots[i];
		if (!slot->used || (slot->setup != pid && l.pids[i].init != pid &&
		    l.pids[i].uplink != pid))
			continue;
		if (slot->setup == pid)
			slot->setup = 0;
		else if (l.pids[i].uplink == pid)
			slot->uplink_dead = true;
		else
			slot->init_dead = true;
		/* One that did not end by itself may leave a tree behind. */
		orphans = orphans || (slot->bare && l.pids[i].init == pid &&
			status != 0);
		slot_settle(slot, orphans);
		return orphans;
	}
	return orphans;
}

bool
slots_known(pid_t *pids, size_t *n)
{
	for (size_t i = 0; i < BOX_MAX; i++) {
		if (l.slots[i].used && l.slots[i].setup > 0)
			return false;
		if (l.slots[i].used && !l.slots[i].init_dead)
			pids[(*n)++] = l.pids[i].init;
		if (l.slots[i].used && !l.slots[i].uplink_dead)
			pids[(*n)++] = l.pids[i].uplink;
	}
	return true;
}

void
slots_settle(void)
{
	for (size_t i = 0; i < BOX_MAX; i++)
		if (l.slots[i].used && l.slots[i].init_dead)
			slot_settle(&l.slots[i], false);
}

void
slots_forget(void)
{
	for (size_t i = 0; i < BOX_MAX; i++)
		if (l.slots[i].used && l.slots[i].living >= 0)
			close(l.slots[i].living);
}
