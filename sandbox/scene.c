#include "sandbox/scene.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/file_fast_priv.h"

struct scene *
scene_new(const char *dir, const char *const *files, size_t n)
{
	struct scene *s = mem_alloc(sizeof(*s));

	s->dir = mem_str(dir);
	s->fd = -1;
	s->nfiles = n < SCENE_FILES_MAX ? n : SCENE_FILES_MAX;
	s->files = mem_array(s->nfiles + 1, sizeof(*s->files));
	for (size_t i = 0; i < s->nfiles; i++)
		s->files[i].path = mem_str(files[i]);
	return s;
}

void
scene_free(struct scene **sp)
{
	if (!*sp)
		return;
	struct scene *s = STEAL(*sp);

	if (s->fd >= 0)
		close(s->fd);
	for (size_t i = 0; i < s->nfiles; i++) {
		mem_free(s->files[i].path);
		mem_free(s->files[i].text);
	}
	mem_free(s->files);
	mem_free(s->dir);
	mem_free(s);
}

/* Below root without its name; NULL: it isn't there. */
static const char *
inside(const char *path, const char *seen)
{
	size_t n = strlen(seen);

	if (n < 2 || strncmp(path, seen, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	path += n;
	return path + strspn(path, "/");
}

static int
open_at(int root, const char *seen, const char *path, int flags)
{
	const char *rest = root < 0 ? NULL : inside(path, seen);

	if (root < 0)
		return path[0] != '/' ? -1 : open(path, flags | O_CLOEXEC |
		    O_NONBLOCK);
	return rest ? fast_open(root, rest, flags) : -1;
}

/* A script changes its meaning by its bytes; a device or a pipe has none. */
static void
read_file(struct scene_file *f, int fd)
{
	struct stat st;
	size_t len = 0;
	ssize_t n = -1;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > SCENE_FILE_MAX)
		return;
	char *text = mem_alloc(SCENE_FILE_MAX + 1);

	while (len <= SCENE_FILE_MAX &&
	    (n = read(fd, text + len, SCENE_FILE_MAX + 1 - len)) > 0)
		len += (size_t)n;
	f->whole = n == 0 && len <= SCENE_FILE_MAX;
	if (f->whole) {
		ids_sha256(text, len, f->hash);
		f->text = mem_strn(text, len);
		f->len = len;
	}
	mem_free(text);
}

void
scene_read(struct scene *s, int root, const char *seen)
{
	struct stat st;

	s->fd = open_at(root, seen, s->dir, O_PATH | O_DIRECTORY);
	if (s->fd >= 0 && fstat(s->fd, &st) == 0) {
		s->dev = st.st_dev;
		s->ino = st.st_ino;
	}
	for (size_t i = 0; i < s->nfiles; i++) {
		CLEANUP_CLOSE int fd = open_at(root, seen, s->files[i].path,
		    O_RDONLY | O_NOFOLLOW);

		if (fd >= 0)
			read_file(&s->files[i], fd);
	}
}

char *
scene_difference(const struct scene *was, const struct scene *now)
{
	if (strcmp(was->dir, now->dir) != 0)
		return mem_printf("it would start in %s, not in %s", now->dir,
		    was->dir);
	if (was->fd >= 0 && (now->fd < 0 || was->dev != now->dev ||
	    was->ino != now->ino))
		return mem_printf("%s is another directory now", was->dir);
	if (!ids_equal(was->env, now->env, sizeof(was->env)))
		return mem_str("another command has changed the exported "
		    "variables since");
	for (size_t i = 0; i < was->nfiles; i++) {
		const struct scene_file *a = &was->files[i];
		const struct scene_file *b = i < now->nfiles ? &now->files[i] :
		    NULL;

		if (!b || strcmp(a->path, b->path) != 0 || a->whole != b->whole ||
		    !ids_equal(a->hash, b->hash, sizeof(a->hash)))
			return mem_printf("the script %s has changed since",
			    a->path);
	}
	return NULL;
}
