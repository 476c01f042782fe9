#include "gateway/agent/think.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define HELD_MAX 1024	/* white space and a tag; more is no start of reasoning */

static const struct { const char *open, *close; } tags[] = {
	{ "<think>", "</think>" },
	{ "<thinking>", "</thinking>" },
};

void
think_init(struct think *t)
{
	memset(t, 0, sizeof(*t));
	buf_init(&t->held, HELD_MAX);
}

void
think_done(struct think *t)
{
	buf_done(&t->held);
}

static size_t
space_at(const char *s)
{
	return strspn(s, " \t\r\n");
}

/* What is held is the answer's start; after reasoning without the space. */
static void
begin_answer(struct think *t, struct buf *answer)
{
	size_t skip = t->blocks > 0 ? space_at(t->held.data) : 0;

	t->state = THINK_ANSWER;
	buf_add(answer, t->held.data + skip, t->held.len - skip);
	buf_clear(&t->held);
}

/* Decides by what is held; false while it may still become a tag. */
static bool
decide(struct think *t, struct buf *answer)
{
	const char *word = t->held.data + space_at(t->held.data);
	size_t len = t->held.len - (size_t)(word - t->held.data);

	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		if (strcmp(word, tags[i].open) == 0) {
			t->state = THINK_INSIDE;
			t->close = tags[i].close;
			t->blocks++;
			buf_clear(&t->held);
			return true;
		}
		if (strncmp(word, tags[i].open, len) == 0)
			return false;
	}
	begin_answer(t, answer);
	return true;
}

/* Returns the bytes used. */
static size_t
feed_before(struct think *t, const char *text, size_t len, struct buf *answer)
{
	for (size_t i = 0; i < len; i++) {
		if (!buf_add_char(&t->held, text[i])) {
			begin_answer(t, answer);
			return i;
		}
		if (decide(t, answer))
			return i + 1;
	}
	return len;
}

/* Keeps in held the longest end that may begin the closing tag. */
static size_t
feed_inside(struct think *t, const char *text, size_t len,
	struct buf *reasoning)
{
	for (size_t i = 0; i < len; i++) {
		if (t->held.len == 0 && text[i] != '<') {
			buf_add_char(reasoning, text[i]);
			continue;
		}
		buf_add_char(&t->held, text[i]);
		while (t->held.len > 0 &&
		    strncmp(t->held.data, t->close, t->held.len) != 0) {
			buf_add_char(reasoning, t->held.data[0]);
			buf_drain(&t->held, 1);
		}
		if (t->held.len == strlen(t->close)) {
			buf_clear(&t->held);
			t->state = THINK_BEFORE;
			return i + 1;
		}
	}
	return len;
}

void
think_feed(struct think *t, const char *text, size_t len, struct buf *answer,
	struct buf *reasoning)
{
	while (len > 0) {
		size_t n = len;

		switch (t->state) {
		case THINK_BEFORE:
			n = feed_before(t, text, len, answer);
			break;
		case THINK_INSIDE:
			n = feed_inside(t, text, len, reasoning);
			break;
		case THINK_ANSWER:
			buf_add(answer, text, len);
			break;
		}
		text += n;
		len -= n;
	}
}

void
think_end(struct think *t, struct buf *answer, struct buf *reasoning)
{
	if (t->state == THINK_BEFORE)
		begin_answer(t, answer);
	if (t->state == THINK_INSIDE)
		buf_add(reasoning, t->held.data, t->held.len);
	buf_clear(&t->held);
}
