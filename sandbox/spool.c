#include "sandbox/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/redact.h"

#define BLOCK (64 * 1024)
#define SLACK (8 * 1024)	/* longest secret that is never cut in two */

struct spool {
	int fd;
	char *path;
	size_t max, written;
	int errnum;		/* of the first write that failed */
	struct buf pending;	/* text not yet masked */
	struct buf masked;
};

/* Names begin with the time, so that their order is their age. */
static int
is_ours(const struct dirent *e)
{
	return strncmp(e->d_name, "out-", 4) == 0;
}

static void
prune(int dirfd, const char *dir)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, is_ours, alphasort);

	for (int i = 0; i < n; i++) {
		if (i < n - SPOOL_FILES_MAX + 1)
			(void)unlinkat(dirfd, list[i]->d_name, 0);
		free(list[i]);		/* scandir's own memory */
	}
	free(list);
}

static int
make_dir(const char *dir, struct err *err)
{
	char *path CLEANUP_FREE = mem_str(dir);

	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return err_set_errno(err, errno, "making %s", path);
		*p = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_set_errno(err, errno, "making %s", path);
	return 0;
}

struct spool *
spool_open(const char *dir, msec_t now_wall, size_t max, struct err *err)
{
	char hex[ID_HEX_MAX];
	int dirfd CLEANUP_CLOSE = -1;

	if (make_dir(dir, err) < 0)
		return NULL;
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dirfd < 0) {
		err_set_errno(err, errno, "opening %s", dir);
		return NULL;
	}
	prune(dirfd, dir);
	ids_hex(hex, 12);
	char *name CLEANUP_FREE = mem_printf("out-%013lld-%s.log",
	    (long long)now_wall, hex);
	int fd = openat(dirfd, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		err_set_errno(err, errno, "creating %s/%s", dir, name);
		return NULL;
	}
	struct spool *s = mem_alloc(sizeof(*s));
	s->fd = fd;
	s->max = max;
	s->path = mem_printf("%s/%s", dir, name);
	buf_init(&s->pending, 2 * BLOCK);
	buf_init(&s->masked, 8 * BLOCK);
	return s;
}

static const char *
find_last(const char *text, size_t len, const char *needle)
{
	size_t n = strlen(needle);

	for (size_t i = len; i >= n; i--) {
		if (memcmp(text + i - n, needle, n) == 0)
			return text + i - n;
	}
	return NULL;
}

/* Where pending may be cut so that no secret is: at a line, outside a PEM. */
static size_t
cut_point(const struct buf *b)
{
	size_t cut = b->len - SLACK;
	const char *nl = memrchr(b->data, '\n', cut);

	if (nl && (size_t)(nl - b->data) + 1 > cut / 2)
		cut = (size_t)(nl - b->data) + 1;
	size_t back = cut > SLACK ? cut - SLACK : 0;
	const char *begin = find_last(b->data + back, cut - back, "-----BEGIN ");
	const char *end = find_last(b->data + back, cut - back, "-----END ");
	if (begin && (!end || end < begin) && begin > b->data)
		cut = (size_t)(begin - b->data);
	return cut;
}

static void
write_masked(struct spool *s, size_t n)
{
	const char *p;
	size_t left;

	buf_clear(&s->masked);
	(void)redact_text(&s->masked, s->pending.data, n);
	buf_drain(&s->pending, n);
	p = s->masked.data;
	left = s->masked.len < s->max - s->written ? s->masked.len :
	    s->max - s->written;
	while (left > 0 && !s->errnum) {
		ssize_t w = write(s->fd, p, left);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0) {
			s->errnum = errno;
			break;
		}
		p += w;
		left -= (size_t)w;
		s->written += (size_t)w;
	}
}

void
spool_add(struct spool *s, const char *text, size_t len)
{
	while (len > 0 && !s->errnum && s->written < s->max) {
		size_t n = len < BLOCK ? len : BLOCK;
		(void)buf_add(&s->pending, text, n);
		text += n;
		len -= n;
		if (s->pending.len >= BLOCK)
			write_masked(s, cut_point(&s->pending));
	}
}

const char *
spool_end(struct spool *s, struct err *err)
{
	write_masked(s, s->pending.len);
	if (!s->errnum)
		return s->path;
	err_set_errno(err, s->errnum, "writing %s", s->path);
	return NULL;
}

void
spool_free(struct spool **sp)
{
	if (!sp || !*sp)
		return;
	struct spool *s = STEAL(*sp);

	close(s->fd);
	mem_free(s->path);
	buf_done(&s->pending);
	buf_done(&s->masked);
	mem_free(s);
}
