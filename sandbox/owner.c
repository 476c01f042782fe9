#include "sandbox/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"

#define WORLD_HEX 12

static bool
read_text(const char *path, char *out, size_t size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = 0;
	return n > 0;
}

/* Field 22 of /proc/PID/stat; 0: it can't be read. */
static unsigned long long
start_time(long pid)
{
	char path[64], text[1024];

	if (mem_format(path, sizeof(path), "/proc/%ld/stat", pid) < 0 ||
	    !read_text(path, text, sizeof(text)))
		return 0;
	const char *p = strrchr(text, ')');
	for (int i = 0; p && i < 20; i++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* This boot of this machine, and the PID namespace in which pids count. */
static void
world(char out[WORLD_HEX + 1])
{
	char boot[64], hex[ID_HEX_MAX];
	struct stat st = { 0 };

	(void)read_text("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	(void)stat("/proc/self/ns/pid", &st);
	CLEANUP_FREE char *text = mem_printf("%s %llu", boot,
	    (unsigned long long)st.st_ino);
	ids_sha256_hex(text, strlen(text), hex);
	memcpy(out, hex, WORLD_HEX);
	out[WORLD_HEX] = 0;
}

void
owner_self(char out[OWNER_TEXT_MAX])
{
	char here[WORLD_HEX + 1];

	world(here);
	REQUIRE(mem_format(out, OWNER_TEXT_MAX, "%ld-%llu-%s", (long)getpid(),
	    start_time(getpid()), here) == 0);
}

/* The tail of a name, behind its third dash from the end; NULL: none. */
static const char *
owner_of(const char *name)
{
	const char *p = name + strlen(name);

	for (int dashes = 0; p > name; p--)
		if (p[-1] == '-' && ++dashes == 3)
			return p;
	return NULL;
}

enum owner_is
owner_judge(const char *name, const char **ret)
{
	char self[OWNER_TEXT_MAX], here[WORLD_HEX + 1], *end;

	*ret = owner_of(name);
	if (!*ret)
		return OWNER_NONE;
	owner_self(self);
	if (strcmp(*ret, self) == 0)
		return OWNER_SELF;
	long pid = strtol(*ret, &end, 10);
	unsigned long long start = strtoull(*end ? end + 1 : end, &end, 10);
	if (pid <= 0 || *end != '-')
		return OWNER_NONE;
	world(here);
	if (strcmp(end + 1, here) != 0)
		return OWNER_ELSEWHERE;
	/* A /proc that hides others' processes tells nothing: unknown is not dead. */
	unsigned long long now = start_time(pid);
	if (now ? now != start : kill((pid_t)pid, 0) < 0 && errno == ESRCH)
		return OWNER_DEAD;
	return OWNER_LIVING;
}
