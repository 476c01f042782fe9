#include "tests/real.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static void
on_gone(void *arg, const struct err *err)
{
	struct real *real = arg;

	real->gone = true;
	assert_int_equal(mem_copy_str(real->gone_text, sizeof(real->gone_text),
		err->text), 0);
}

void
real_attach(struct real *real)
{
	launcher_attach(real->launcher, real->loop, on_gone, real);
}

void
real_setup(struct real *real)
{
	struct err err = { ERR_NONE, "" };
	const char *helper = getenv("GATEHOUSE_HELPER");

	memset(real, 0, sizeof(*real));
	assert_non_null(helper);
	real->launcher = launcher_start(helper, &err);
	if (!real->launcher)
		fail_msg("%s", err.text);
	real->loop = loop_new();
	real_attach(real);
}

void
real_teardown(struct real *real)
{
	launcher_free(&real->launcher);
	loop_free(&real->loop);
}

struct waiting {
	struct real *real;
	const bool *flag;
	struct timer *poll, *limit;
	bool late;
};

static void
look(void *arg)
{
	struct waiting *w = arg;

	w->poll = NULL;
	if (*w->flag)
		loop_stop(w->real->loop);
	else
		w->poll = loop_after(w->real->loop, 1, "test poll", look, w);
}

static void
too_late(void *arg)
{
	struct waiting *w = arg;

	w->limit = NULL;
	w->late = true;
	loop_stop(w->real->loop);
}

static bool
turn_until(struct real *real, const bool *flag, msec_t ms)
{
	struct waiting w = { .real = real, .flag = flag };

	w.poll = loop_after(real->loop, 0, "test poll", look, &w);
	w.limit = loop_after(real->loop, ms, "test limit", too_late, &w);
	assert_int_equal(loop_run(real->loop), 0);
	loop_cancel(&w.poll);
	loop_cancel(&w.limit);
	return !w.late;
}

bool
real_until(struct real *real, const bool *flag)
{
	return turn_until(real, flag, REAL_LATE_MS);
}

void
real_turn(struct real *real, msec_t ms)
{
	static const bool never = false;

	(void)turn_until(real, &never, ms);
}

static bool
file_holds(const char *pid, const char *file, const char *mark)
{
	char path[64];
	static char text[65536];

	if (mem_format(path, sizeof(path), "/proc/%s/%s", pid, file) < 0)
		return false;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof(text));
	close(fd);
	return n > 0 && memmem(text, (size_t)n, mark, strlen(mark));
}

unsigned
real_count(const char *mark)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	unsigned count = 0;

	assert_non_null(dir);
	while ((e = readdir(dir)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    strtol(e->d_name, NULL, 10) != getpid() &&
		    (file_holds(e->d_name, "environ", mark) ||
		    file_holds(e->d_name, "cmdline", mark)))
			count++;
	closedir(dir);
	return count;
}

unsigned
real_children(pid_t pid)
{
	char path[64], text[4096], *p = text;
	unsigned count = 0;

	assert_int_equal(mem_format(path, sizeof(path), "/proc/%d/task/%d/children",
		(int)pid, (int)pid), 0);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	for (; (p = strchr(p, ' ')); p++)
		count++;
	return count;
}

bool
real_none_left(const char *mark)
{
	for (int i = 0; i < REAL_LATE_MS / 10; i++) {
		if (real_count(mark) == 0)
			return true;
		usleep(10000);
	}
	return false;
}
