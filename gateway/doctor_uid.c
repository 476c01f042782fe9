#include "gateway/doctor_uid.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define SHOWN 5
#define ANCESTORS_MAX 64

struct seen {
	char name[64];
	uid_t uid;
	pid_t parent;
};

static bool
look(pid_t pid, struct seen *ret)
{
	char path[64], text[4096], *uid, *parent;

	if (mem_format(path, sizeof(path), "/proc/%d/status", (int)pid) < 0)
		return false;
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = 0;
	uid = strstr(text, "\nUid:\t");
	parent = strstr(text, "\nPPid:\t");
	if (strncmp(text, "Name:\t", 6) != 0 || !uid || !parent)
		return false;
	ret->uid = (uid_t)strtoul(uid + 6, NULL, 10);
	ret->parent = (pid_t)strtol(parent + 7, NULL, 10);
	text[6 + strcspn(text + 6, "\n")] = 0;
	return mem_copy_str(ret->name, sizeof(ret->name), text + 6) == 0;
}

/* Whatever a command does, its init is a child of the launcher. */
static bool
is_ours(const struct seen *process)
{
	struct seen at = *process;

	for (int i = 0; i < ANCESTORS_MAX && at.parent > 0; i++) {
		if (!look(at.parent, &at))
			return true;	/* it has ended meanwhile */
		if (strcmp(at.name, "gatehouse-lnch") == 0 && at.uid != process->uid)
			return true;
	}
	return false;
}

unsigned
doctor_uid_foreign(uid_t uid, struct buf *out)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;

	while (dir && (e = readdir(dir))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		struct seen p;

		if (pid <= 0 || !look(pid, &p) || p.uid != uid || is_ours(&p))
			continue;
		if (n++ < SHOWN)
			buf_printf(out, "%s%d (%s)", out->len ? ", " : "", (int)pid,
				p.name);
	}
	if (dir)
		closedir(dir);
	return n;
}
