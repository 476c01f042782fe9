/*
 * Memory, process and cpu limits by cgroup, where the machine lets us: v1
 * controllers at their root (we are root there), or v2 in our own cgroup, its
 * parent, or the root.  Where nothing is possible the rlimits stay and the
 * text of what is in force says so.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

struct place {
	char dir[256];		/* where ours is made */
	bool v2, memory, pids, cpu;
};
#define PLACES_MAX 8
#define CPU_PERIOD_US 20000	/* short: what is killed must get a turn to die */

static void
place_add(struct place *places, size_t *n, const char *mount, const char *path,
	struct place kinds)
{
	struct place *p = &places[*n];

	if (*n == PLACES_MAX || sys_format(p->dir, sizeof(p->dir), "%s%s", mount,
	    strcmp(path, "/") == 0 ? "" : path) < 0)
		return;
	p->v2 = kinds.v2;
	p->memory = kinds.memory;
	p->pids = kinds.pids;
	p->cpu = kinds.cpu;
	(*n)++;
}

/* Our own path in the v2 hierarchy; "/" if unknown. */
static void
own_path(char *path, size_t size)
{
	char line[512];
	FILE *f = fopen("/proc/self/cgroup", "re");

	(void)sys_format(path, size, "/");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "0::/", 4) == 0 &&
		    sys_format(path, size, "%s", line + 3) < 0)
			(void)sys_format(path, size, "/");
	}
	if (f)
		fclose(f);
}

static void
places_v2(struct place *places, size_t *n, const char *mount)
{
	const struct place all = { .v2 = true, .memory = true, .pids = true,
		.cpu = true };
	char path[256];

	own_path(path, sizeof(path));
	place_add(places, n, mount, path, all);
	char *slash = strrchr(path, '/');
	if (slash && slash != path) {
		*slash = 0;
		place_add(places, n, mount, path, all);
	}
	if (geteuid() == 0 && strcmp(path, "/") != 0)
		place_add(places, n, mount, "/", all);
}

static bool
has_option(const char *options, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = options; *p; p += strcspn(p, ","), p += *p == ',')
		if (strcspn(p, ",") == n && memcmp(p, name, n) == 0)
			return true;
	return false;
}

/* Where limits can be set, v1 before v2: a controller is in one only. */
static size_t
places_find(struct place *places)
{
	char line[1024], mount[200], type[32], options[256];
	char v2[200] = "";
	size_t n = 0;
	FILE *f = fopen("/proc/self/mounts", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %199s %31s %255s", mount, type, options) != 3)
			continue;
		if (strcmp(type, "cgroup2") == 0 && sys_format(v2, sizeof(v2), "%s", mount) < 0)
			v2[0] = 0;
		if (strcmp(type, "cgroup") != 0 || geteuid() != 0)
			continue;
		const struct place kinds = {
			.memory = has_option(options, "memory"),
			.pids = has_option(options, "pids"),
			.cpu = has_option(options, "cpu"),
		};
		if (kinds.memory || kinds.pids || kinds.cpu)
			place_add(places, &n, mount, "/", kinds);
	}
	if (f)
		fclose(f);
	if (v2[0])
		places_v2(places, &n, v2);
	return n;
}

static int
put(const char *dir, const char *file, const char *fmt, unsigned long long value)
{
	char path[512], text[64];

	if (sys_format(path, sizeof(path), "%s/%s", dir, file) < 0 ||
	    (fmt ? sys_format(text, sizeof(text), "%llu", value) :
	    sys_format(text, sizeof(text), "0")) < 0)
		return -1;
	return sys_write_file(path, text);
}

static bool
limit_memory(struct box *box, const struct place *place, const char *dir)
{
	uint64_t max = box->seal->memory_max;

	if (!place->memory || box->memory_limited)
		return false;
	if (put(dir, place->v2 ? "memory.max" : "memory.limit_in_bytes", "", max) < 0)
		return false;
	/* Swap counts, too; absent where swap isn't accounted. */
	(void)put(dir, place->v2 ? "memory.swap.max" :
		"memory.memsw.limit_in_bytes", "", place->v2 ? 0 : max);
	return true;
}

/* A smaller share than the gateway's, and a ceiling if there is to be one. */
static bool
limit_cpu(struct box *box, const struct place *place, const char *dir)
{
	uint64_t quota = (uint64_t)box->seal->cpu_permille * CPU_PERIOD_US / 1000;
	char text[64];

	if (!place->cpu || box->cpu_limited)
		return false;
	if (put(dir, place->v2 ? "cpu.weight" : "cpu.shares", "",
	    place->v2 ? 50 : 512) < 0)
		return false;
	if (quota == 0)
		return true;
	if (!place->v2)
		return put(dir, "cpu.cfs_period_us", "", CPU_PERIOD_US) == 0 &&
			put(dir, "cpu.cfs_quota_us", "", quota) == 0;
	char path[512];

	return sys_format(path, sizeof(path), "%s/cpu.max", dir) == 0 &&
		sys_format(text, sizeof(text), "%llu %d",
		(unsigned long long)quota, CPU_PERIOD_US) == 0 &&
		sys_write_file(path, text) == 0;
}

/* Makes our cgroup at one place and enters it. */
static void
place_join(struct box *box, const struct place *place)
{
	char dir[384], control[384];

	if (sys_format(dir, sizeof(dir), "%s/%s", place->dir, box->cgroup) < 0 ||
	    (mkdir(dir, 0755) < 0 && errno != EEXIST))
		return;
	if (place->v2 && sys_format(control, sizeof(control),
	    "%s/cgroup.subtree_control", place->dir) == 0) {
		(void)sys_write_file(control, "+memory +pids");
		(void)sys_write_file(control, "+cpu");	/* may be had or not */
	}
	bool memory = limit_memory(box, place, dir);
	/* Some more than asked for: init and each command's PID 1 are ours. */
	bool pids = place->pids && !box->pids_limited &&
		put(dir, "pids.max", "", box->seal->pids_max + BOX_RUNS_MAX) == 0;
	bool cpu = limit_cpu(box, place, dir);
	/* We are one thread. v1's "tasks" moves just that, without the lock over
	 * all processes whose first taking costs an RCU period (10 ms). */
	if ((memory || pids || cpu) &&
	    put(dir, place->v2 ? "cgroup.procs" : "tasks", NULL, 0) == 0) {
		box->memory_limited = box->memory_limited || memory;
		box->pids_limited = box->pids_limited || pids;
		box->cpu_limited = box->cpu_limited || cpu;
		return;
	}
	rmdir(dir);
}

/* For people: doctor and status show it. */
static void
say_limits(struct box *box)
{
	const struct seal *seal = box->seal;
	char cpu[64];

	if (!box->cpu_limited)
		(void)sys_format(cpu, sizeof(cpu), "cpu %u s (each process, rlimit)",
			seal->cpu_seconds);
	else if (seal->cpu_permille)
		(void)sys_format(cpu, sizeof(cpu), "cpu %u.%03u at half share (cgroup)",
			seal->cpu_permille / 1000, seal->cpu_permille % 1000);
	else
		(void)sys_format(cpu, sizeof(cpu), "cpu at half share (cgroup)");
	(void)sys_format(box->limits, sizeof(box->limits),
		"%s, memory %llu MiB (%s), %u processes (%s), %u open files, "
		"files of %llu MiB, /tmp of %llu MiB", cpu,
		(unsigned long long)(seal->memory_max >> 20),
		box->memory_limited ? "cgroup" : "each process, rlimit",
		seal->pids_max, box->pids_limited ? "cgroup" : "rlimit",
		seal->files_max, (unsigned long long)(seal->file_size_max >> 20),
		(unsigned long long)(seal->tmp_max >> 20));
}

void
cgroup_join(struct box *box)
{
	struct place places[PLACES_MAX];
	size_t n = places_find(places);

	for (size_t i = 0; i < n; i++)
		place_join(box, &places[i]);
	say_limits(box);
}

void
cgroup_remove(const char *name)
{
	struct place places[PLACES_MAX];
	size_t n = places_find(places);
	char dir[384];

	/* Its processes are reaped, but the kernel may still count a moment. */
	for (int tries = 0; tries < 50; tries++) {
		bool busy = false;
		for (size_t i = 0; i < n; i++)
			if (sys_format(dir, sizeof(dir), "%s/%s", places[i].dir, name) == 0 &&
			    rmdir(dir) < 0 && errno == EBUSY)
				busy = true;
		if (!busy)
			return;
		usleep(20 * 1000);
	}
}

void
cgroup_sweep(void)
{
	struct place places[PLACES_MAX];
	size_t n = places_find(places);
	struct dirent *e;

	for (size_t i = 0; i < n; i++) {
		DIR *dir = opendir(places[i].dir);
		while (dir && (e = readdir(dir))) {
			char path[600];
			int pid;
			/* A live launcher's are its own; busy ones can't go. */
			if (sscanf(e->d_name, "gatehouse-%d-", &pid) == 1 &&
			    kill(pid, 0) < 0 && errno == ESRCH &&
			    sys_format(path, sizeof(path), "%s/%s", places[i].dir,
			    e->d_name) == 0)
				rmdir(path);
		}
		if (dir)
			closedir(dir);
	}
}
