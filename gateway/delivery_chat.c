/*
 * A chat's queue is a small step machine: IDLE > TAKE (ask the store for the
 * next row) > SEND > MARK (write the outcome) > TAKE ... and WAIT while the
 * platform asked for patience.  Light sends go between two rows, edits of
 * previews when nothing else waits.
 */
#include "gateway/preview.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/delivery_priv.h"

#define LIGHT_TRIES 8
#define BACKOFF_MAX_MS 300000
#define MARK_AGAIN_MS 5000
#define WAIT_LOOK_MS 60000	/* rows due later than this are looked at again */

static void on_taken(void *arg, const struct outbox_row *rows, size_t n,
    const struct err *err);
static void on_sent(void *arg, const struct send_result *res);
static void on_marked(void *arg, const struct err *err);
static void on_light_sent(void *arg, const struct send_result *res);
static void on_edit_sent(void *arg, const struct send_result *res);
static void on_waited(void *arg);

static void
chat_enter(struct chat *chat, enum chat_step step)
{
	static const char *const names[] = {
		[CHAT_IDLE] = "idle", [CHAT_TAKE] = "take", [CHAT_SEND] = "send",
		[CHAT_LIGHT] = "light", [CHAT_EDIT] = "edit",
		[CHAT_MARK] = "mark", [CHAT_WAIT] = "wait",
	};

	if (step != chat->step)
		log_debug("delivery", NULL, "chat=%s step=%s was=%s", chat->key,
		    names[step], names[chat->step]);
	if (chat->step == CHAT_IDLE && step != CHAT_IDLE)
		chat->d->busy++;
	if (chat->step != CHAT_IDLE && step == CHAT_IDLE)
		chat->d->busy--;
	chat->step = step;
}

/* An idle chat is forgotten: memory follows what is under way. */
static void
chat_rest(struct chat *chat)
{
	chat_enter(chat, CHAT_IDLE);
	map_remove(&chat->d->chats, chat->key);
	chat_free(chat);
}

static void
chat_wait(struct chat *chat, msec_t ms)
{
	chat_enter(chat, CHAT_WAIT);
	chat->timer = loop_after(chat->d->loop, ms, "delivery wait", on_waited,
	    chat);
}

static void
on_waited(void *arg)
{
	struct chat *chat = arg;

	chat->timer = NULL;
	chat->again = true;
	chat_next(chat);
}

static msec_t
backoff(struct chat *chat)
{
	msec_t ms = 1000LL << (chat->failures > 8 ? 8 : chat->failures);

	chat->failures++;
	ms = ms > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : ms;
	return ms - ms / 4 + (msec_t)(loop_random(chat->d->loop) %
	    (uint64_t)(ms / 4 + 1));
}

/* The platform is down: rows are durable, delivery_kick_all() comes later. */
static void
chat_unserved(struct chat *chat)
{
	struct err err;
	struct send_result res = { .outcome = SEND_NO,
		.error = SEND_ERR_TRANSIENT, .msg_id = "", .new_chat_id = "",
		.err = &err };
	struct edit *edit;

	err_set(&err, ERR_UNAVAILABLE, "%s is not connected", chat->platform);
	if (chat->held) {
		chat->row = STEAL(chat->held);
		on_sent(chat, &res);
		return;
	}
	if ((!TAILQ_EMPTY(&chat->lights) || !TAILQ_EMPTY(&chat->edits)) &&
	    chat->failures < LIGHT_TRIES) {
		chat_wait(chat, backoff(chat));
		return;
	}
	while ((edit = TAILQ_FIRST(&chat->edits))) {
		send_cb *cb = edit->cb;
		void *arg = edit->arg;

		chat_edit_free(edit);
		if (cb)
			cb(arg, &res);
	}
	chat_rest(chat);
}

static void
chat_light(struct chat *chat, const struct platform *platform,
    struct platform_instance *inst, const struct light *light)
{
	struct outgoing out = {
		.to = { chat->chat_id, chat->thread_id },
		.text = light->text, .reply_to = "", .nonce = "",
		.plain = true,
		.buttons = light->buttons.list,
		.nbuttons = light->buttons.n,
	};

	chat_enter(chat, CHAT_LIGHT);
	chat->waiting = light->edit_msg_id ? platform->edit(inst,
	    light->edit_msg_id, &out, on_light_sent, chat) :
	    platform->send(inst, &out, on_light_sent, chat);
}

static void
chat_edit(struct chat *chat, const struct platform *platform,
    struct platform_instance *inst, const struct edit *edit)
{
	struct outgoing out = {
		.to = { chat->chat_id, chat->thread_id },
		.text = edit->text, .reply_to = "", .nonce = "",
	};

	chat_enter(chat, CHAT_EDIT);
	chat->waiting = platform->edit(inst, edit->msg_id, &out, on_edit_sent,
	    chat);
}

/* What comes next for a chat that does nothing now. */
void
chat_next(struct chat *chat)
{
	const struct platform *platform;
	struct platform_instance *inst = chat->d->host.instance(
	    chat->d->host.arg, chat->platform, &platform);
	const struct light *light = inst ? chat_next_light(chat, platform) : NULL;
	const struct edit *edit = TAILQ_FIRST(&chat->edits);

	if (!inst) {
		chat_unserved(chat);
	} else if (chat->held) {
		chat->row = STEAL(chat->held);
		chat_send(chat);
	} else if (light) {
		chat_light(chat, platform, inst, light);
	} else if (chat->again) {
		chat->again = false;
		chat_enter(chat, CHAT_TAKE);
		chat->waiting = store_outbox_take(chat->d->store,
		    chat->platform, chat->account, chat->chat_id,
		    chat->thread_id, loop_wall(chat->d->loop), on_taken, chat);
	} else if (edit) {
		chat_edit(chat, platform, inst, edit);
	} else {
		chat_rest(chat);
	}
}

/* A wait must not keep a row that the store has as "sending". */
static void
chat_unhold(struct chat *chat, msec_t wait)
{
	msec_t now = loop_wall(chat->d->loop);

	if (!chat->held)
		return;
	store_outbox_mark(chat->d->store, chat->held->row.id, "waiting", "",
	    now + wait, "the platform asked to wait", now, NULL, NULL);
	outrow_free(&chat->held);
}

static void
on_edit_sent(void *arg, const struct send_result *res)
{
	struct chat *chat = arg;
	struct edit *edit = TAILQ_FIRST(&chat->edits);
	send_cb *cb = edit->cb;
	void *cb_arg = edit->arg;

	chat->waiting = NULL;
	chat_edit_free(edit);
	if (res->outcome == SEND_YES)
		chat->failures = 0;
	else
		log_debug("delivery", NULL, "chat=%s preview not edited: %s",
		    chat->key, res->err ? res->err->text : "unknown");
	if (cb)
		cb(cb_arg, res);
	if (res->outcome == SEND_NO && res->error == SEND_ERR_RATE) {
		chat_unhold(chat, res->retry_after_ms);
		chat_wait(chat, res->retry_after_ms);
		return;
	}
	chat_next(chat);
}

static void
on_light_sent(void *arg, const struct send_result *res)
{
	struct chat *chat = arg;

	chat->waiting = NULL;
	if (res->outcome == SEND_NO && res->error == SEND_ERR_RATE) {
		chat_unhold(chat, res->retry_after_ms);
		chat_wait(chat, res->retry_after_ms);
		return;
	}
	/* Certainly not sent; an edit may be repeated in any case (rules 2.3). */
	bool again = (res->outcome == SEND_NO &&
	    res->error == SEND_ERR_TRANSIENT) ||
	    (res->outcome == SEND_UNKNOWN &&
	    TAILQ_FIRST(&chat->lights)->edit_msg_id);

	if (again && chat->failures < LIGHT_TRIES) {
		msec_t wait = backoff(chat);

		chat_unhold(chat, wait);
		chat_wait(chat, wait);
		return;
	}
	chat->failures = 0;
	chat_progress_sent(chat, TAILQ_FIRST(&chat->lights), res);
	chat_light_ended(chat, TAILQ_FIRST(&chat->lights), res);
	chat->again = true;
	chat_next(chat);
}

static void
on_taken(void *arg, const struct outbox_row *rows, size_t n,
    const struct err *err)
{
	struct chat *chat = arg;

	chat->waiting = NULL;
	if (err) {
		log_error("delivery", NULL, "chat=%s cannot read the outbox: %s",
		    chat->key, err->text);
		chat_wait(chat, 5000);
		return;
	}
	if (n == 0) {
		chat_next(chat);
		return;
	}
	/* A row that was not due holds the order, even if it has become due. */
	if (!rows[0].sending) {
		msec_t wait = rows[0].not_before - loop_wall(chat->d->loop);

		chat_wait(chat, wait > WAIT_LOOK_MS ? WAIT_LOOK_MS :
		    wait > 0 ? wait : 0);
		return;
	}
	chat->row = outrow_copy(&rows[0]);
	chat_send(chat);
}

/* What stands there: a preview's cursor, or a word that nobody goes on. */
static const char *
row_tail(const struct chat *chat, const struct outbox_row *row)
{
	if (row->chunk.kind != OUT_PREVIEW)
		return "";
	return row->edit_msg_id[0] ? "\n\n[interrupted]" :
	    delivery_cursor(chat->d);
}

void
chat_send(struct chat *chat)
{
	const struct platform *platform;
	struct platform_instance *inst = chat->d->host.instance(
	    chat->d->host.arg, chat->platform, &platform);
	const struct outbox_row *row = &chat->row->row;
	CLEANUP_FREE char *text = mem_printf("%s%s", row->chunk.text,
	    row_tail(chat, row));
	struct outgoing out = {
		.to = { chat->chat_id, chat->thread_id },
		.text = text,
		.plain = row->chunk.plain,
		.reply_to = row->chunk.reply_to ? row->chunk.reply_to : "",
		.nonce = row->nonce,
		.buttons = chat->row->buttons.list,
		.nbuttons = chat->row->buttons.n,
	};

	chat_enter(chat, CHAT_SEND);
	if (!inst) {
		struct err err;
		struct send_result res = { .outcome = SEND_NO,
			.error = SEND_ERR_TRANSIENT, .msg_id = "",
			.new_chat_id = "", .err = &err };

		err_set(&err, ERR_UNAVAILABLE, "%s is not connected",
		    chat->platform);
		on_sent(chat, &res);
		return;
	}
	if (row->chunk.kind == OUT_FILE && chat->row->buttons.n > 0) {
		out.file_name = chat->row->buttons.list[0].label;
		out.nbuttons = 0;
	}
	if (row->edit_msg_id[0] && (platform->flags & PLATFORM_CAN_EDIT))
		chat->waiting = platform->edit(inst, row->edit_msg_id, &out,
		    on_sent, chat);
	else
		chat->waiting = platform->send(inst, &out, on_sent, chat);
}

static void
write_mark(void *arg)
{
	struct chat *chat = arg;
	struct delivery *d = chat->d;

	chat->timer = NULL;
	chat->waiting = store_outbox_mark(d->store, chat->row->row.id,
	    chat->mark, chat->mark_id, chat->mark_not_before, chat->mark_why,
	    loop_wall(d->loop), on_marked, chat);
}

static void
chat_mark(struct chat *chat, const char *state, const char *msg_id,
    msec_t not_before, const char *why)
{
	struct delivery *d = chat->d;

	chat_enter(chat, CHAT_MARK);
	mem_free(chat->mark_id);
	mem_free(chat->mark_why);
	chat->mark = state;
	chat->mark_id = mem_str(msg_id);
	chat->mark_why = mem_str(why);
	chat->mark_not_before = not_before;
	write_mark(chat);
	if (chat->row->row.chunk.kind == OUT_PREVIEW)
		preview_settled(d, &chat->row->row, state, chat->mark_id);
	if (strcmp(state, "waiting") != 0 && strcmp(state, "shown") != 0)
		d->host.settled(d->host.arg, &chat->row->row, state,
		    chat->mark_id, chat->mark_why);
}

/* A clear "not done" that may pass: the row goes back, the chat waits. */
static void
chat_again_later(struct chat *chat, msec_t wait, const char *why)
{
	struct delivery *d = chat->d;
	msec_t now = loop_wall(d->loop);

	if (now - chat->row->row.created > d->opts.give_up_ms) {
		chat_mark(chat, "refused", "", 0, why);
		return;
	}
	log_warn("delivery", NULL, "chat=%s not sent, next try in %lld ms: %s",
	    chat->key, (long long)wait, why);
	chat_mark(chat, "waiting", "", now + wait, why);
}

static void
chat_moved(struct chat *chat, const char *new_id)
{
	struct delivery *d = chat->d;

	log_info("delivery", NULL, "chat=%s has the new id %s", chat->key, new_id);
	d->host.migrated(d->host.arg, chat->platform, chat->chat_id, new_id);
	struct place to = { chat->platform, chat->account, new_id,
		chat->thread_id };

	chat_mark(chat, "waiting", "", 0, "the chat has a new id");
	store_migrate_chat(d->store, chat->platform, chat->account,
	    chat->chat_id, new_id, NULL, NULL);
	delivery_kick(d, &to);
}

static void
sent_yes(struct chat *chat, const char *msg_id)
{
	const struct outbox_row *row = &chat->row->row;
	bool shown = row->chunk.kind == OUT_PREVIEW && !row->edit_msg_id[0] &&
	    msg_id[0];

	chat->failures = 0;
	chat->repeats = 0;
	chat_mark(chat, shown ? "shown" : "delivered", msg_id, 0, "");
}

/* Rules 2.3: an edit may be repeated, a new message may not. */
static void
sent_unknown(struct chat *chat, const char *why)
{
	log_warn("delivery", NULL, "chat=%s outcome unknown: %s", chat->key, why);
	if (chat->row->row.edit_msg_id[0])
		chat_again_later(chat, backoff(chat), why);
	else
		chat_mark(chat, "unknown", "", 0, why);
}

/* A clear no to an edit, for good: the text goes as a new message. */
static void
sent_refused(struct chat *chat, const char *why)
{
	struct outbox_row *row = &chat->row->row;
	/* Of an earlier message's last edit nothing is worth a new one. */
	bool lone = row->chunk.kind == OUT_PREVIEW ||
	    row->chunk.kind == OUT_INTERIM;

	log_warn("delivery", NULL, "chat=%s refused for good: %s", chat->key, why);
	if (!row->edit_msg_id[0] || lone) {
		chat_mark(chat, "refused", "", 0, why);
		return;
	}
	mem_free((void *)(uintptr_t)row->edit_msg_id);
	row->edit_msg_id = mem_str("");
	chat_send(chat);
}

static void
on_sent(void *arg, const struct send_result *res)
{
	struct chat *chat = arg;
	const char *why = res->err ? res->err->text : "";

	chat->waiting = NULL;
	if (res->outcome == SEND_YES) {
		sent_yes(chat, res->msg_id);
		return;
	}
	if (res->outcome == SEND_UNKNOWN) {
		sent_unknown(chat, why);
		return;
	}
	switch (res->error) {
	case SEND_ERR_RATE:
		chat_again_later(chat, res->retry_after_ms, why);
		return;
	case SEND_ERR_TRANSIENT:
	case SEND_ERR_CONFIG:
		chat_again_later(chat, backoff(chat), why);
		return;
	case SEND_ERR_MIGRATED:
		chat_moved(chat, res->new_chat_id);
		return;
	case SEND_ERR_TARGET_GONE:
		log_warn("delivery", NULL, "chat=%s is gone: %s", chat->key, why);
		chat_mark(chat, "refused", "", 0, why);
		return;
	case SEND_ERR_NONE:
	case SEND_ERR_MSG_GONE:
	case SEND_ERR_FORMAT:
	case SEND_ERR_TOO_LONG:
	case SEND_ERR_REFUSED:
		sent_refused(chat, why);
		return;
	}
}

static void
on_marked(void *arg, const struct err *err)
{
	struct chat *chat = arg;

	bool repeated = strcmp(chat->mark, "unknown") == 0 && chat->repeats > 0;

	chat->waiting = NULL;
	if (err)
		log_error("delivery", NULL, "chat=%s outcome not recorded: %s",
		    chat->key, err->text);
	if (err && err->code != ERR_NOT_FOUND) {	/* it would rest "sending" */
		chat->timer = loop_after(chat->d->loop, MARK_AGAIN_MS,
		    "delivery mark", write_mark, chat);
		return;
	}
	outrow_free(&chat->row);
	chat->again = true;
	if (repeated)
		chat_wait(chat, backoff(chat));
	else
		chat_next(chat);
}
