/*
 * The killing side: ends the keeper of one command by its id and waits until it
 * is gone, which it is when its tree is.  In a container (--sweep) also what no
 * living keeper holds is ended: a command may have killed its own keeper.
 *
 *   far-kill ID [--sweep [ID-TO-SPARE...] | --prefix]
 *
 * --prefix: every keeper whose id begins so.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/native-init/far.h"
#include "sandbox/native-init/helper.h"

#define PASS_MS 5
#define LIMIT_MS 900

struct hunt {
	const char *id;
	char *const *spare;
	int nspare;
	bool sweep, prefix;
	unsigned seen;		/* in this pass */
};

/* Any process can call itself what it likes; what it executes counts. */
static bool
is_helper(pid_t pid)
{
	struct stat own, its;
	char path[64];

	return sys_format(path, sizeof(path), "/proc/%d/exe", (int)pid) == 0 &&
	    stat(path, &its) == 0 && stat("/proc/self/exe", &own) == 0 &&
	    own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

/* The id that a helper of this role has; false if the process is none. */
static bool
helper_id(pid_t pid, const char *want, char *id, size_t size)
{
	char path[64], text[256];

	if (!is_helper(pid) ||
	    sys_format(path, sizeof(path), "/proc/%d/cmdline", (int)pid) < 0)
		return false;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	const char *end = text + n, *role = text + strlen(text) + 1;
	if (role >= end || strcmp(role, want) != 0)
		return false;
	role += strlen(role) + 1;
	return role < end && sys_format(id, size, "%s", role) == 0;
}

static bool
is_spared(const struct hunt *h, const char *id)
{
	for (int i = 0; i < h->nspare; i++)
		if (strcmp(h->spare[i], id) == 0)
			return true;
	return false;
}

/* TERM: a keeper ends its tree before itself; CONT, should it be stopped. */
static void
visit(struct hunt *h, pid_t pid)
{
	char id[FAR_ID_MAX + 1];

	if (helper_id(pid, "far", id, sizeof(id)) && (h->prefix ?
	    strncmp(id, h->id, strlen(h->id)) == 0 : strcmp(id, h->id) == 0)) {
		h->seen++;
		kill(pid, SIGTERM);
		kill(pid, SIGCONT);
	}
}

/* Whether a spared keeper is above it, or it is one. */
static bool
is_held(const struct hunt *h, pid_t pid)
{
	char id[FAR_ID_MAX + 1];

	for (int i = 0; pid > 1 && i < 10000; i++) {
		if (helper_id(pid, "far", id, sizeof(id)) && is_spared(h, id))
			return true;
		pid = tree_parent(pid);
	}
	return false;
}

static void
sweep(struct hunt *h, pid_t pid)
{
	char id[FAR_ID_MAX + 1];

	if (pid == 1 || tree_is_dead(pid) || is_held(h, pid) ||
	    helper_id(pid, "far-kill", id, sizeof(id)))
		return;
	h->seen++;
	kill(pid, SIGKILL);
}

static void
pass(struct hunt *h, void (*each)(struct hunt *h, pid_t pid))
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	h->seen = 0;
	if (!dir) {
		h->seen = 1;	/* nothing is known: not dead */
		return;
	}
	while ((e = readdir(dir)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			each(h, (pid_t)strtol(e->d_name, NULL, 10));
	closedir(dir);
}

/* True: a pass found nothing. */
static bool
until_none(struct hunt *h, void (*each)(struct hunt *h, pid_t pid))
{
	struct timespec rest = { .tv_nsec = PASS_MS * 1000000L };

	for (int i = 0; i * PASS_MS < LIMIT_MS; i++) {
		pass(h, each);
		if (h->seen == 0)
			return true;
		nanosleep(&rest, NULL);
	}
	return false;
}

int
far_kill_main(int argc, char **argv)
{
	struct hunt h = { .id = argv[0] };

	prctl(PR_SET_NAME, "gatehouse-kill");
	if (argc == 2 && strcmp(argv[1], "--prefix") == 0) {
		h.prefix = true;
	} else if (argc >= 2) {
		if (strcmp(argv[1], "--sweep") != 0)
			return 2;
		h.sweep = true;
		h.spare = argv + 2;
		h.nspare = argc - 2;
	}
	bool dead = until_none(&h, visit) && (!h.sweep || until_none(&h, sweep));
	const char *word = dead ? FAR_KILL_DEAD : FAR_KILL_ALIVE;
	return write(1, word, strlen(word)) == (ssize_t)strlen(word) && dead ?
	    0 : 4;
}
