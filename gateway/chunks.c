#include "gateway/chunks.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "platforms/text/split.h"

#define LIMIT_ANYWHERE 1900	/* the smallest limit of what we serve, less markup */

struct filling {
	struct chunks *c;
	const struct origin *to;
};

static void
chunks_clear(struct chunks *c)
{
	for (size_t i = 0; i < c->n; i++)
		mem_free((void *)(uintptr_t)c->list[i].text);
	c->n = 0;
}

void
chunks_done(struct chunks *c)
{
	chunks_clear(c);
	mem_free(c->list);
	memset(c, 0, sizeof(*c));
}

static void
add_chunk(void *arg, const struct text_chunk *chunk)
{
	struct filling *f = arg;
	struct chunks *c = f->c;

	if (c->n == c->size) {
		c->size = c->size ? 2 * c->size : 4;
		c->list = mem_grow(c->list, c->size, sizeof(*c->list));
	}
	c->list[c->n++] = (struct outbox_chunk){
		.kind = OUT_FINAL,
		.platform = f->to->platform, .account = f->to->account,
		.chat_id = f->to->chat_id, .thread_id = f->to->thread_id,
		.text = mem_strn(chunk->text, chunk->len),
	};
}

size_t
chunks_make(struct chunks *c, const struct origin *to,
    const struct platform *platform, const char *text,
    const struct outbox_chunk **ret_chunks)
{
	struct filling f = { c, to };

	chunks_clear(c);
	text_split(text, strlen(text), false,
	    platform ? platform->text_limit : LIMIT_ANYWHERE,
	    platform ? platform->text_len : utf8_units16, add_chunk, &f);
	REQUIRE(c->n > 0);
	*ret_chunks = c->list;
	return c->n;
}
