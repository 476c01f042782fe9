/*
 * A preview's step: NONE (nothing sent of this text yet), ADDING (its row is
 * being recorded), QUEUED (the row is on its way), SHOWN (its id is known: it is
 * edited), LAST (the answer is being recorded in its place) and LOST (it can't be
 * edited: the answer will be a new message).
 * What must survive a crash is in its row; here is only the pace of the edits.
 */
#include "gateway/preview.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/delivery_priv.h"
#include "platforms/text/split.h"

#define TEXT_MAX (256 * 1024)
#define INTERVAL_MS 800
#define INTERVAL_MAX_MS 10000
#define STRIKES_MAX 3		/* edits in a row that failed: no more of them */
#define LIMIT_ANYWHERE 1900

enum preview_step {
	PREVIEW_NONE, PREVIEW_ADDING, PREVIEW_QUEUED, PREVIEW_SHOWN, PREVIEW_LAST,
	PREVIEW_LOST,
};

struct preview {
	LIST_ENTRY(preview) link;
	struct delivery *d;
	char *platform, *account, *chat_id, *thread_id, *session_key;
	uint64_t generation;
	enum preview_step step;
	struct buf text;		/* of the answer under way */
	int64_t id;			/* outbox row */
	char *msg_id;
	char *shown;			/* as last accepted, or being sent */
	struct op *adding;
	struct edit *edit;		/* waits or is under way */
	struct timer *timer;
	msec_t interval, next_at;
	unsigned strikes;
};

static void preview_look(struct preview *p);

static void
preview_enter(struct preview *p, enum preview_step step)
{
	static const char *const names[] = {
		[PREVIEW_NONE] = "none", [PREVIEW_ADDING] = "adding",
		[PREVIEW_QUEUED] = "queued", [PREVIEW_SHOWN] = "shown",
		[PREVIEW_LAST] = "last", [PREVIEW_LOST] = "lost",
	};

	log_debug("preview", NULL, "session=%s gen=%llu step=%s was=%s",
	    p->session_key, (unsigned long long)p->generation, names[step],
	    names[p->step]);
	p->step = step;
}

static struct place
preview_place(const struct preview *p)
{
	return (struct place){ p->platform, p->account, p->chat_id,
		p->thread_id };
}

static struct run_ref
preview_run(const struct preview *p)
{
	return (struct run_ref){ p->session_key, p->generation };
}

struct preview *
preview_new(struct delivery *d, const struct place *to,
    const struct run_ref *run)
{
	const struct platform *platform;

	d->host.instance(d->host.arg, to->platform, &platform);
	if (!platform || !(platform->flags & PLATFORM_CAN_EDIT) ||
	    !d->host.previews || !d->host.previews(d->host.arg, to->platform))
		return NULL;
	struct preview *p = mem_alloc(sizeof(*p));

	p->d = d;
	p->platform = mem_str(to->platform);
	p->account = mem_str(to->account);
	p->chat_id = mem_str(to->chat_id);
	p->thread_id = mem_str(to->thread_id);
	p->session_key = mem_str(run->session_key);
	p->generation = run->generation;
	p->interval = d->opts.edit_interval_ms > 0 ? d->opts.edit_interval_ms :
	    INTERVAL_MS;
	buf_init(&p->text, TEXT_MAX);
	LIST_INSERT_HEAD(&d->previews, p, link);
	return p;
}

/* Nothing of this message is fed any more; its row goes on by itself. */
static void
preview_detach(struct preview *p)
{
	op_cancel(&p->adding);
	loop_cancel(&p->timer);
	edit_drop(&p->edit);
	mem_free(STEAL(p->msg_id));
	mem_free(STEAL(p->shown));
	p->id = 0;
	p->strikes = 0;
	buf_clear(&p->text);
	preview_enter(p, PREVIEW_NONE);
}

/* ---- what is shown ----------------------------------------------------------- */

struct fit { struct buf *out; bool done; };

static void
take_first(void *arg, const struct text_chunk *chunk)
{
	struct fit *fit = arg;

	if (!fit->done)
		buf_add(fit->out, chunk->text, chunk->len);
	fit->done = true;
}

/* As much of the text as one message takes, and the tail. */
static char *
preview_fit(const struct preview *p, const char *text, size_t len,
    const char *tail)
{
	const struct platform *platform;
	struct buf out;
	struct fit fit = { &out, false };
	size_t limit = LIMIT_ANYWHERE;
	text_len_cb *cost = utf8_units16;

	p->d->host.instance(p->d->host.arg, p->platform, &platform);
	if (platform) {
		limit = platform->text_limit;
		cost = platform->text_len;
	}
	limit -= cost(tail, strlen(tail));
	while (len > 0 && strchr(" \t\r\n", text[len - 1]))
		len--;
	buf_init(&out, TEXT_MAX);
	if (cost(text, len) <= limit)
		buf_add(&out, text, len);
	else
		text_split(text, len, false, limit, cost, take_first, &fit);
	buf_add_str(&out, tail);
	return buf_take(&out);
}

static bool
is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

static struct outbox_chunk
preview_chunk(const struct preview *p, enum outbox_kind kind, const char *text)
{
	return (struct outbox_chunk){
		.kind = kind, .platform = p->platform, .account = p->account,
		.chat_id = p->chat_id, .thread_id = p->thread_id, .text = text,
	};
}

static void
on_added(void *arg, const struct outbox_row *rows, size_t n,
    const struct err *err)
{
	struct preview *p = arg;
	struct place to = preview_place(p);

	p->adding = NULL;
	if (err || n == 0) {
		log_debug("preview", NULL, "session=%s no preview: %s",
		    p->session_key, err ? err->text : "no row");
		preview_enter(p, PREVIEW_LOST);
		return;
	}
	p->id = rows[0].id;
	preview_enter(p, PREVIEW_QUEUED);
	delivery_kick(p->d, &to);
}

static void
preview_add(struct preview *p)
{
	CLEANUP_FREE char *text = preview_fit(p, p->text.data, p->text.len,
	    delivery_cursor(p->d));
	struct run_ref run = preview_run(p);

	/* The row is what is sent but for the cursor, which is added then. */
	text[strlen(text) - strlen(delivery_cursor(p->d))] = '\0';
	struct outbox_chunk chunk = preview_chunk(p, OUT_PREVIEW, text);

	preview_enter(p, PREVIEW_ADDING);
	p->adding = store_outbox_add(p->d->store, &run, &chunk,
	    loop_wall(p->d->loop), on_added, p);
}

static msec_t
wait_double(const struct preview *p)
{
	return 2 * p->interval > INTERVAL_MAX_MS ? INTERVAL_MAX_MS :
	    2 * p->interval;
}

static void
on_edited(void *arg, const struct send_result *res)
{
	struct preview *p = arg;
	msec_t wait = p->interval;

	p->edit = NULL;
	if (res->outcome == SEND_YES) {
		p->strikes = 0;
	} else {
		mem_free(p->shown);
		p->shown = mem_str("");
		p->interval = wait = wait_double(p);
		if (res->outcome == SEND_NO && res->error == SEND_ERR_RATE)
			wait = res->retry_after_ms > wait ? res->retry_after_ms :
			    wait;
		else if (res->outcome == SEND_UNKNOWN ||
		    res->error == SEND_ERR_TRANSIENT)
			p->strikes++;
		else
			p->strikes = STRIKES_MAX;
	}
	p->next_at = loop_now(p->d->loop) + wait;
	preview_look(p);
}

static void
preview_edit(struct preview *p)
{
	CLEANUP_FREE char *text = preview_fit(p, p->text.data, p->text.len,
	    delivery_cursor(p->d));
	struct place to = preview_place(p);

	/* Past the limit of one message nothing changes until the end. */
	if (strcmp(text, p->shown) == 0)
		return;
	mem_free(p->shown);
	p->shown = STEAL(text);
	p->edit = delivery_edit(p->d, &to, p->msg_id, p->shown, on_edited, p);
}

static void
on_timer(void *arg)
{
	struct preview *p = arg;

	p->timer = NULL;
	preview_look(p);
}

/* Is it time for the next step of what came? */
static void
preview_look(struct preview *p)
{
	msec_t left = p->next_at - loop_now(p->d->loop);

	if ((p->step != PREVIEW_NONE && p->step != PREVIEW_SHOWN) || p->edit ||
	    p->strikes >= STRIKES_MAX || is_blank(p->text.data))
		return;
	if (left > 0) {
		if (!p->timer)
			p->timer = loop_after(p->d->loop, left, "preview",
			    on_timer, p);
		return;
	}
	if (p->step == PREVIEW_NONE)
		preview_add(p);
	else
		preview_edit(p);
}

/* ---- what comes ---------------------------------------------------------------- */

void
preview_begin(struct preview *p)
{
	if (!p)
		return;
	buf_clear(&p->text);
	if (p->step == PREVIEW_NONE)
		p->next_at = 0;
}

void
preview_text(struct preview *p, const char *text, size_t len)
{
	if (!p)
		return;
	buf_add(&p->text, text, len);
	if (p->step == PREVIEW_NONE && p->next_at == 0)
		p->next_at = loop_now(p->d->loop) + p->interval;
	if (p->step == PREVIEW_NONE && p->text.len >= p->d->opts.preview_min)
		p->next_at = loop_now(p->d->loop);
	preview_look(p);
}

void
preview_stays(struct preview *p, const char *text)
{
	if (!p || is_blank(text))
		return;
	struct place to = preview_place(p);
	struct run_ref run = preview_run(p);
	CLEANUP_FREE char *fits = preview_fit(p, text, strlen(text), "");
	struct outbox_chunk chunk = preview_chunk(p, OUT_INTERIM, fits);

	preview_detach(p);
	store_outbox_keep(p->d->store, &run, &chunk, true,
	    loop_wall(p->d->loop), NULL, NULL);
	delivery_kick(p->d, &to);
}

bool
preview_final(struct preview *p)
{
	if (!p)
		return false;
	op_cancel(&p->adding);
	loop_cancel(&p->timer);
	edit_drop(&p->edit);
	if (p->step != PREVIEW_NONE && p->step != PREVIEW_LOST)
		preview_enter(p, PREVIEW_LAST);
	return true;
}

void
preview_end(struct preview **pp, const char *word)
{
	if (!*pp)
		return;
	struct preview *p = STEAL(*pp);
	struct place to = preview_place(p);

	if (word && !is_blank(p->text.data) && p->step != PREVIEW_NONE &&
	    p->step != PREVIEW_LOST) {
		CLEANUP_FREE char *tail = mem_printf("\n\n[%s]", word);
		CLEANUP_FREE char *text = preview_fit(p, p->text.data,
		    p->text.len, tail);
		struct outbox_chunk chunk = preview_chunk(p, OUT_INTERIM, text);
		struct run_ref run = preview_run(p);

		store_outbox_keep(p->d->store, &run, &chunk, false,
		    loop_wall(p->d->loop), NULL, NULL);
	}
	if (word)
		delivery_kick(p->d, &to);
	preview_detach(p);
	LIST_REMOVE(p, link);
	buf_done(&p->text);
	mem_free(p->platform);
	mem_free(p->account);
	mem_free(p->chat_id);
	mem_free(p->thread_id);
	mem_free(p->session_key);
	mem_free(p);
}

void
preview_settled(struct delivery *d, const struct outbox_row *row,
    const char *state, const char *msg_id)
{
	struct preview *p;

	LIST_FOREACH(p, &d->previews, link)
		if (p->id == row->id && p->step == PREVIEW_QUEUED)
			break;
	if (!p)
		return;
	if (strcmp(state, "waiting") == 0)
		return;
	if (strcmp(state, "shown") != 0) {
		preview_enter(p, PREVIEW_LOST);
		return;
	}
	p->msg_id = mem_str(msg_id);
	p->shown = mem_printf("%s%s", row->chunk.text, delivery_cursor(d));
	p->next_at = loop_now(d->loop) + p->interval;
	preview_enter(p, PREVIEW_SHOWN);
	preview_look(p);
}
