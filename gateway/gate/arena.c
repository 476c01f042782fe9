#include "gateway/gate/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK_SIZE 8192

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	alignas(max_align_t) char data[];
};

void
arena_init(struct arena *a, size_t max)
{
	*a = (struct arena){ .max = max };
}

void
arena_done(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *b = a->blocks;
		a->blocks = b->next;
		mem_free(b);
	}
}

void *
arena_alloc(struct arena *a, size_t size)
{
	size_t align = alignof(max_align_t);
	REQUIRE(size < SIZE_MAX / 2);
	size = (size + align - 1) / align * align;
	a->used += size;
	if (a->used > a->max)
		a->over = true;
	struct arena_block *b = a->blocks;
	if (!b || b->size - b->used < size) {
		size_t want = size > BLOCK_SIZE ? size : BLOCK_SIZE;
		b = mem_alloc(sizeof(*b) + want);
		b->size = want;
		b->next = a->blocks;
		a->blocks = b;
	}
	void *p = b->data + b->used;
	b->used += size;
	return p;
}

char *
arena_strn(struct arena *a, const char *s, size_t len)
{
	char *p = arena_alloc(a, len + 1);
	if (len > 0)
		memcpy(p, s, len);
	return p;
}

char *
arena_str(struct arena *a, const char *s)
{
	return arena_strn(a, s, strlen(s));
}

char *
arena_join(struct arena *a, const char *x, const char *y, const char *z)
{
	size_t nx = strlen(x), ny = strlen(y), nz = strlen(z);
	char *p = arena_alloc(a, nx + ny + nz + 1);
	memcpy(p, x, nx);
	memcpy(p + nx, y, ny);
	memcpy(p + nx + ny, z, nz);
	return p;
}
