#include "gateway/agent/seen.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"

struct file {
	char *version;
	unsigned failures;
};

struct seen {
	struct map files;
	size_t n;
	char *last;		/* the last call that may repeat */
	unsigned times;
};

struct seen *
seen_new(void)
{
	struct seen *s = mem_alloc(sizeof(*s));

	map_init(&s->files);
	return s;
}

static void
file_free(struct file *f)
{
	mem_free(f->version);
	mem_free(f);
}

static void
forget_all(struct seen *s)
{
	size_t it = 0;
	void *f;

	while (map_next(&s->files, &it, NULL, &f))
		file_free(f);
	map_done(&s->files);
	map_init(&s->files);
	s->n = 0;
}

void
seen_free(struct seen **sp)
{
	if (!sp || !*sp)
		return;
	struct seen *s = STEAL(*sp);

	forget_all(s);
	map_done(&s->files);
	mem_free(s->last);
	mem_free(s);
}

bool
seen_changed(const struct seen *s, const char *path, const char *version)
{
	const struct file *f = map_get(&s->files, path);

	return f && f->version && strcmp(f->version, version) != 0;
}

static struct file *
file_make(struct seen *s, const char *path)
{
	struct file *f = map_get(&s->files, path);

	if (f)
		return f;
	if (s->n >= SEEN_FILES_MAX)
		forget_all(s);
	f = mem_alloc(sizeof(*f));
	map_set(&s->files, path, f);
	s->n++;
	return f;
}

void
seen_note(struct seen *s, const char *path, const char *version)
{
	struct file *f = file_make(s, path);

	mem_free(f->version);
	f->version = mem_str(version);
}

void
seen_forget(struct seen *s, const char *path)
{
	struct file *f = map_remove(&s->files, path);

	if (!f)
		return;
	file_free(f);
	s->n--;
}

unsigned
seen_again(struct seen *s, uint64_t generation, const char *what)
{
	char *now = mem_printf("%llu %s", (unsigned long long)generation, what);

	if (s->last && strcmp(s->last, now) == 0) {
		mem_free(now);
		return ++s->times;
	}
	mem_free(s->last);
	s->last = now;
	s->times = 1;
	return 1;
}

unsigned
seen_read(struct seen *s, const char *path, const char *version,
    uint64_t generation, int64_t offset, int64_t limit)
{
	CLEANUP_FREE char *what = mem_printf("read %s %lld %lld %s", version,
	    (long long)offset, (long long)limit, path);

	return seen_again(s, generation, what);
}

unsigned
seen_patch(struct seen *s, const char *path, bool ok)
{
	struct file *f = file_make(s, path);

	f->failures = ok ? 0 : f->failures + 1;
	return f->failures;
}
