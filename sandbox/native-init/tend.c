/*
 * What is done to the files of a workspace from outside its sandbox: emptied,
 * or measured.  In a child of the launcher, with the sandbox's own uid: whatever
 * a command has left there (links, directories nested without end, modes) can
 * lead to nothing that the command could not have reached itself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

struct tend {
	int top;		/* the workspace */
	uint64_t bytes, entries;
	uint64_t tag, moved;	/* of the names given so far */
	int errnum;		/* of the first thing that failed */
	char where[256];
};

static void
failed(struct tend *t, const char *name)
{
	if (t->errnum)
		return;
	t->errnum = errno ? errno : EIO;
	if (sys_format(t->where, sizeof(t->where), "%.200s", name) < 0)
		t->where[0] = 0;
}

/* A directory of the workspace that can be read and changed; -1: errno. */
static int
open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[40];

	if (fd < 0 || sys_format(path, sizeof(path), "/proc/self/fd/%d", fd) < 0)
		return -1;
	/* Only its owner may, and that is us; a mode of 0 would lock us out. */
	(void)chmod(path, 0700);
	close(fd);
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Removes an entry.  A directory with something in it moves up to the top, so
 * that no depth needs more than two descriptors.
 */
static void
remove_entry(struct tend *t, int at, const char *name)
{
	char fresh[64];

	t->entries++;
	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return;
	if (unlinkat(at, name, AT_REMOVEDIR) == 0)
		return;
	if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES) {
		failed(t, name);
		return;
	}
	int fd = open_dir(at, name);	/* what moves must be writable, too */
	if (fd >= 0)
		close(fd);
	if (sys_format(fresh, sizeof(fresh), ".gatehouse-%016llx-%llu",
	    (unsigned long long)t->tag, (unsigned long long)t->moved++) < 0 ||
	    renameat(at, name, t->top, fresh) < 0)
		failed(t, name);
}

/* One pass over a directory; how many entries it saw. */
static size_t
empty_pass(struct tend *t, int at, bool hoist)
{
	int again = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	size_t seen = 0;
	struct dirent *e;

	if (!dir) {
		failed(t, ".");
		return 0;
	}
	while ((e = readdir(dir))) {
		if (is_dots(e->d_name))
			continue;
		seen++;
		if (hoist) {
			remove_entry(t, at, e->d_name);
			continue;
		}
		/* At the top: what can't be removed is a directory to go into. */
		t->entries++;
		if (unlinkat(at, e->d_name, 0) == 0 ||
		    unlinkat(at, e->d_name, AT_REMOVEDIR) == 0)
			continue;
		int fd = open_dir(at, e->d_name);
		if (fd < 0) {
			failed(t, e->d_name);
			continue;
		}
		empty_pass(t, fd, true);
		close(fd);
		if (unlinkat(at, e->d_name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			failed(t, e->d_name);
	}
	closedir(dir);
	return seen;
}

static void
empty(struct tend *t)
{
	int fd = open_dir(t->top, ".");

	if (fd < 0 || getrandom(&t->tag, sizeof(t->tag), 0) < 0) {
		failed(t, ".");
		return;
	}
	close(fd);
	/* What was moved up is there in the next pass. */
	while (!t->errnum && empty_pass(t, t->top, false) > 0)
		;
}

/*
 * Also a directory that can't be listed: it gets its mode back when it has been
 * looked at.  *ret_held: to do that with, or -1.
 */
static int
open_to_read(int at, const char *name, mode_t mode, int *ret_held)
{
	const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	char path[40];

	*ret_held = -1;
	if ((mode & 0500) != 0500) {
		*ret_held = openat(at, name, O_PATH | flags);
		if (*ret_held >= 0 &&
		    sys_format(path, sizeof(path), "/proc/self/fd/%d", *ret_held) == 0)
			(void)chmod(path, (mode & 07777) | 0500);
	}
	return openat(at, name, O_RDONLY | flags);
}

static void
mode_back(int held, mode_t mode)
{
	char path[40];

	if (held < 0)
		return;
	if (sys_format(path, sizeof(path), "/proc/self/fd/%d", held) == 0)
		(void)chmod(path, mode & 07777);
	close(held);
}

static void
measure(struct tend *t, int at, unsigned depth)
{
	DIR *dir = fdopendir(at);
	struct dirent *e;
	struct stat st;

	if (!dir) {
		failed(t, "");
		close(at);
		return;
	}
	while ((e = readdir(dir))) {
		if (is_dots(e->d_name) ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;	/* gone by now */
		t->entries++;
		/* A file with several names counts once over all of them. */
		t->bytes += (uint64_t)st.st_blocks * 512 /
			(S_ISDIR(st.st_mode) || st.st_nlink == 0 ? 1 : st.st_nlink);
		if (!S_ISDIR(st.st_mode))
			continue;
		if (depth == TEND_DEPTH_MAX) {
			errno = ENAMETOOLONG;
			failed(t, e->d_name);
			continue;
		}
		int held;
		int fd = open_to_read(dirfd(dir), e->d_name, st.st_mode, &held);
		if (fd >= 0)
			measure(t, fd, depth + 1);
		else if (errno != ENOENT && errno != ENOTDIR)
			failed(t, e->d_name);
		mode_back(held, st.st_mode);
	}
	closedir(dir);
}

static void
report(const struct tend *t, int channel)
{
	struct wire_out out;

	wire_out_init(&out, TEND_DONE);
	wire_put_u64(&out, t->bytes);
	wire_put_u64(&out, t->entries);
	wire_put_u32(&out, (uint32_t)t->errnum);
	wire_put_str(&out, t->where);
	/* A gateway that is gone needs no answer. */
	(void)wire_send(channel, &out, NULL, 0, MSG_DONTWAIT);
}

void
tend_main(const struct seal *seal, enum tend_verb verb, const char *workspace,
	int channel)
{
	struct tend t = { .top = -1 };
	struct ids ids = ids_choose(seal);
	const rlim_t most = 2 * TEND_DEPTH_MAX + 64;	/* two a level */
	struct rlimit files = { most, most };
	pid_t parent = getppid();

	/* As root only what leads to it: the sealed directory, then beneath it
	 * without links. Everything in it is touched as the sandbox's uid. */
	int state = seal_open_state(seal);
	int fd = state < 0 ? -1 :
		sys_open_beneath(state, workspace, O_PATH | O_DIRECTORY);
	(void)setrlimit(RLIMIT_NOFILE, &files);
	if (fd < 0 || ids_become(&ids) < 0) {
		failed(&t, workspace);
	} else if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) {
		_exit(1);
	} else {
		(void)setpriority(PRIO_PROCESS, 0, 10);
		t.top = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (t.top < 0 && errno == EACCES)
			t.top = open_dir(fd, ".");
		if (t.top < 0)
			failed(&t, workspace);
		else if (verb == TEND_EMPTY)
			empty(&t);
		else
			measure(&t, t.top, 0);
	}
	report(&t, channel);
	_exit(0);
}

/* "done BYTES ENTRIES", or "failed BYTES ENTRIES WHERE: WHY". */
int
tend_far_main(const char *verb, int n, char **dirs)
{
	const rlim_t most = 2 * TEND_DEPTH_MAX + 64;
	struct rlimit files = { most, most };
	bool removes = strcmp(verb, "empty") == 0;
	struct tend t = { .top = -1 };

	if (!removes && strcmp(verb, "measure") != 0)
		return 2;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	for (int i = 0; i < n && !t.errnum; i++) {
		t.top = openat(AT_FDCWD, dirs[i], O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW | O_CLOEXEC);
		if (t.top < 0 && errno == ENOENT)
			continue;
		if (t.top < 0)
			failed(&t, dirs[i]);
		else if (removes)
			empty(&t);
		else
			measure(&t, t.top, 0);	/* closes it */
		if (t.top >= 0 && removes)
			close(t.top);
	}
	printf("%s %llu %llu", t.errnum ? "failed" : "done",
	    (unsigned long long)t.bytes, (unsigned long long)t.entries);
	if (t.errnum)
		printf(" %s: %s", t.where, strerror(t.errnum));
	return puts("") < 0 || fflush(stdout) || t.errnum ? 1 : 0;
}
