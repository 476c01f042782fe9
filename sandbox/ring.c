#include "sandbox/ring.h"

#include <string.h>

#include "base/mem.h"

void
ring_init(struct ring *r, size_t max)
{
	REQUIRE(max > 0);
	*r = (struct ring){ .max = max };
}

void
ring_done(struct ring *r)
{
	mem_free(r->data);
	*r = (struct ring){ .max = r->max };
}

static void
make_room(struct ring *r, size_t want)
{
	size_t size = r->size ? r->size : 1024;

	while (size < want)
		size *= 2;
	if (size > r->max)
		size = r->max;
	if (size > r->size) {
		r->data = mem_grow(r->data, size, 1);
		r->size = size;
	}
}

void
ring_add(struct ring *r, const char *data, size_t len)
{
	r->total += len;
	if (len > r->max) {
		data += len - r->max;
		len = r->max;
	}
	make_room(r, r->len + len < r->max ? r->len + len : r->max);
	while (len > 0) {
		size_t n = r->size - r->at;	/* up to the wrap */
		if (n > len)
			n = len;
		memcpy(r->data + r->at, data, n);
		r->at += n;
		r->len = r->len + n > r->max ? r->max : r->len + n;
		if (r->at == r->max)
			r->at = 0;
		data += n;
		len -= n;
	}
}

void
ring_copy(const struct ring *r, struct buf *out)
{
	size_t start = r->len == r->max ? r->at : 0, skip = 0;

	if (r->len == 0)
		return;
	while (r->total > r->len && skip < 3 && skip < r->len &&
	    (r->data[(start + skip) % r->max] & 0xc0) == 0x80)
		skip++;
	size_t from = (start + skip) % r->max, left = r->len - skip;
	size_t first = from + left > r->len ? r->len - from : left;

	(void)buf_add(out, r->data + from, first);
	(void)buf_add(out, r->data, left - first);
}
