#include "gateway/outrow.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"

#define BUTTONS_MAX 8

void
outrow_buttons_copy(struct outrow_buttons *b, const struct button *list, size_t n)
{
	b->n = n > BUTTONS_MAX ? BUTTONS_MAX : n;
	b->list = b->n ? mem_array(b->n, sizeof(*b->list)) : NULL;
	for (size_t i = 0; i < b->n; i++) {
		b->list[i].label = mem_str(list[i].label);
		b->list[i].data = mem_str(list[i].data);
	}
}

void
outrow_buttons_done(struct outrow_buttons *b)
{
	for (size_t i = 0; i < b->n; i++) {
		mem_free((void *)(uintptr_t)b->list[i].label);
		mem_free((void *)(uintptr_t)b->list[i].data);
	}
	mem_free(b->list);
	b->list = NULL;
	b->n = 0;
}

char *
outrow_buttons_json(const struct button *list, size_t n)
{
	CLEANUP_JSON struct json *rows = json_array();

	for (size_t i = 0; i < n; i++) {
		struct json *pair = json_array();

		json_add_take(pair, json_string(list[i].label));
		json_add_take(pair, json_string(list[i].data));
		json_add_take(rows, pair);
	}
	return json_text(rows);
}

static void
parse_buttons(struct outrow_buttons *b, const char *text)
{
	struct button list[BUTTONS_MAX];
	size_t n = 0;
	CLEANUP_JSON struct json *rows = json_parse(text, strlen(text), NULL);

	for (const struct json *c = json_first(rows); c && n < BUTTONS_MAX;
	    c = json_next(c)) {
		list[n].label = json_str(json_at(c, 0));
		list[n].data = json_str(json_at(c, 1));
		if (list[n].label && list[n].data)
			n++;
	}
	outrow_buttons_copy(b, list, n);
}

struct outrow *
outrow_copy(const struct outbox_row *row)
{
	struct outrow *r = mem_alloc(sizeof(*r));

	r->row = *row;
	r->row.session_key = mem_str(row->session_key);
	r->row.edit_msg_id = mem_str(row->edit_msg_id ? row->edit_msg_id : "");
	r->row.nonce = mem_str(row->nonce ? row->nonce : "");
	r->row.chunk.platform = mem_str(row->chunk.platform);
	r->row.chunk.account = mem_str(row->chunk.account);
	r->row.chunk.chat_id = mem_str(row->chunk.chat_id);
	r->row.chunk.thread_id = mem_str(row->chunk.thread_id);
	r->row.chunk.text = mem_str(row->chunk.text);
	r->row.chunk.reply_to = mem_str(row->chunk.reply_to);
	r->row.chunk.buttons = mem_str(row->chunk.buttons);
	if (row->chunk.buttons)
		parse_buttons(&r->buttons, row->chunk.buttons);
	return r;
}

void
outrow_free(struct outrow **rp)
{
	if (!*rp)
		return;
	struct outrow *r = STEAL(*rp);
	const char *const owned[] = {
		r->row.session_key, r->row.edit_msg_id, r->row.nonce,
		r->row.chunk.platform, r->row.chunk.account,
		r->row.chunk.chat_id, r->row.chunk.thread_id,
		r->row.chunk.text, r->row.chunk.reply_to, r->row.chunk.buttons,
	};

	for (size_t i = 0; i < ARRAY_LEN(owned); i++)
		mem_free((void *)(uintptr_t)owned[i]);
	outrow_buttons_done(&r->buttons);
	mem_free(r);
}
