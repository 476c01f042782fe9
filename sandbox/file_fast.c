#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/file_fast_priv.h"

#define CHUNK (64 * 1024)

int
fast_open(int dir, const char *path, int flags)
{
	struct open_how how = {
		/* openat2 refuses what O_PATH would ignore */
		.flags = (uint64_t)(flags | O_CLOEXEC |
		    (flags & O_PATH ? 0 : O_NONBLOCK)),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		    RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, dir, *path ? path : ".", &how, sizeof(how));
}

void
fast_field(struct buf *out, const char *s)
{
	buf_add(out, s, strlen(s) + 1);
}

void
fast_version(const struct stat *st, char out[96])
{
	struct tm tm;
	char when[32] = "";

	if (gmtime_r(&st->st_mtim.tv_sec, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	if (mem_format(out, 96, "%llu:%lld:%s.%09ld +0000",
	    (unsigned long long)st->st_ino, (long long)st->st_size, when,
	    st->st_mtim.tv_nsec) < 0)
		out[0] = '\0';
}

static bool
below(const char *path, const char *workspace)
{
	size_t n = strlen(workspace);

	if (!path || n < 2 || strncmp(path, workspace, n) != 0)
		return false;
	return path[n] == '/' || path[n] == '\0';
}

bool
file_fast_covers(const struct file_act *act, const char *workspace)
{
	if (act->kind == FILE_READ) {
		CLEANUP_FREE char *clean = file_path_clean(act->path);
		return below(clean, workspace) && !strstr(act->path, "..");
	}
	for (size_t i = 0; i < act->nedits; i++) {
		const struct file_edit *e = &act->edits[i];
		CLEANUP_FREE char *path = file_path_clean(e->path);
		CLEANUP_FREE char *to = file_path_clean(e->to ? e->to : e->path);
		if (!below(path, workspace) || !below(to, workspace) ||
		    strstr(e->path, "..") || (e->to && strstr(e->to, "..")))
			return false;
	}
	return true;
}

const char *
fast_beneath(const struct fast *f, const char *path)
{
	const char *p = path + strlen(f->workspace);

	return p + strspn(p, "/");
}

/* ---- reading --------------------------------------------------------------------- */

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* As `ls -Ap | head -n 500` would. */
static void
list_names(int fd, struct buf *out)
{
	char *names[FILE_NAMES_MAX * 8];
	size_t n = 0;
	DIR *dir = fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		close(fd);
		return;
	}
	while (n < ARRAY_LEN(names) && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			names[n++] = mem_printf("%s%s", e->d_name,
			    e->d_type == DT_DIR ? "/" : "");
	}
	closedir(dir);
	qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++) {
		if (i < FILE_NAMES_MAX)
			buf_printf(out, "%s\n", names[i]);
		mem_free(names[i]);
	}
}

static enum fast_result
read_nothing(struct fast *f, const char *path)
{
	CLEANUP_FREE char *dir = mem_str(path);
	char *slash = strrchr(dir, '/');

	if (slash)
		*slash = '\0';
	else
		dir[0] = '\0';
	int fd = fast_open(f->root, dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
		return FAST_NOT_OURS;
	fast_field(f->out, "none");
	if (fd >= 0)
		list_names(fd, f->out);
	return FAST_DONE;
}

/* At most max bytes from the start; a file that shrinks is shorter. */
static void
add_bytes(int fd, size_t max, struct buf *out)
{
	char *chunk = mem_array(1, CHUNK);
	off_t at = 0;
	ssize_t n = 1;

	while (n > 0 && (size_t)at < max) {
		size_t want = max - (size_t)at < CHUNK ? max - (size_t)at : CHUNK;
		n = pread(fd, chunk, want, at);
		if (n > 0) {
			buf_add(out, chunk, (size_t)n);
			at += n;
		}
	}
	mem_free(chunk);
}

/* Lines from..from+lines-1 into out, and how many there are. */
static uint64_t
add_lines(int fd, const struct file_act *act, struct buf *out)
{
	char *chunk = mem_array(1, CHUNK);
	uint64_t line = 1, last = act->from + act->lines - 1;
	size_t room = FILE_WINDOW_MAX;
	off_t at = 0;
	bool open = false;	/* the current line has bytes */
	ssize_t n;

	while ((size_t)at < FILE_SCAN_MAX &&
	    (n = pread(fd, chunk, CHUNK, at)) > 0) {
		const char *p = chunk, *end = chunk + n;
		at += n;
		while (p < end) {
			const char *nl = memchr(p, '\n', (size_t)(end - p));
			size_t len = (size_t)((nl ? nl + 1 : end) - p);
			if (line >= act->from && line <= last && room > 0) {
				size_t take = len < room ? len : room;
				buf_add(out, p, take);
				room -= take;
			}
			open = !nl;
			line += nl != NULL;
			p += len;
		}
	}
	mem_free(chunk);
	return line - 1 + open;
}

static unsigned
count_nuls(int fd)
{
	char head[1000];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	unsigned nuls = 0;

	for (ssize_t i = 0; i < n; i++)
		nuls += head[i] == '\0';
	return nuls;
}

static void
read_file(int fd, const struct stat *st, const struct file_act *act,
	struct buf *out)
{
	char version[96];
	struct buf data CLEANUP_BUF;
	uint64_t total = 0;
	bool has_total = act->lines > 0 && st->st_size <= (off_t)FILE_SCAN_MAX;

	buf_init(&data, FILE_DATA_MAX + FILE_WINDOW_MAX);
	if (act->lines > 0)
		total = add_lines(fd, act, &data);
	else
		add_bytes(fd, act->max, &data);
	fast_version(st, version);
	buf_printf(out, "%lld", (long long)st->st_size);
	buf_add_char(out, 0);
	buf_printf(out, "%o", (unsigned)st->st_mode & 07777);
	buf_add_char(out, 0);
	fast_field(out, version);
	buf_printf(out, "%u", count_nuls(fd));
	buf_add_char(out, 0);
	if (has_total)
		buf_printf(out, "%llu", (unsigned long long)total);
	buf_add_char(out, 0);
	buf_add(out, data.data, data.len);
}

static enum fast_result
fast_read(struct fast *f, const struct file_act *act)
{
	CLEANUP_FREE char *clean = file_path_clean(act->path);
	const char *path = fast_beneath(f, clean);
	struct stat st;
	/* The type first: opening a device or a FIFO may have effects. */
	CLEANUP_CLOSE int look = fast_open(f->root, path, O_PATH);

	if (look < 0 && errno != ENOENT && errno != ENOTDIR)
		return FAST_NOT_OURS;
	fast_field(f->out, clean);
	if (look < 0)
		return read_nothing(f, path);
	if (fstat(look, &st) < 0)
		return FAST_NOT_OURS;
	if (S_ISLNK(st.st_mode))
		return FAST_NOT_OURS;
	if (S_ISDIR(st.st_mode)) {
		int dir = fast_open(f->root, path, O_RDONLY | O_DIRECTORY);
		if (dir < 0)
			return FAST_NOT_OURS;
		fast_field(f->out, "directory");
		list_names(dir, f->out);
		return FAST_DONE;
	}
	if (!S_ISREG(st.st_mode)) {
		fast_field(f->out, "special");
		return FAST_DONE;
	}
	CLEANUP_CLOSE int fd = fast_open(f->root, path, O_RDONLY | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return FAST_NOT_OURS;
	fast_field(f->out, "file");
	read_file(fd, &st, act, f->out);
	return FAST_DONE;
}

bool
file_fast_do(const struct file_act *act, const char *workspace,
	const char *host_dir, struct buf *out)
{
	struct fast f = { .workspace = workspace, .out = out };
	CLEANUP_CLOSE int root = open(host_dir, O_PATH | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW);

	f.root = root;
	if (root < 0 || fstat(root, &f.root_stat) < 0)
		return false;
	enum fast_result r = act->kind == FILE_READ ? fast_read(&f, act) :
	    fast_change(&f, act);
	if (r != FAST_DONE)
		buf_clear(out);
	return r == FAST_DONE;
}
