/* What delivery.c, delivery_chat.c and preview.c share. */
#ifndef GATEHOUSE_DELIVERY_PRIV_H
#define GATEHOUSE_DELIVERY_PRIV_H

#include <sys/queue.h>

#include "base/map.h"
#include "gateway/delivery.h"
#include "gateway/outrow.h"

enum chat_step {
	CHAT_IDLE, CHAT_TAKE, CHAT_SEND, CHAT_LIGHT, CHAT_EDIT, CHAT_MARK,
	CHAT_WAIT,
};

/* An edit of a preview: light, sent when nothing else is; see delivery_edit(). */
struct edit {
	TAILQ_ENTRY(edit) link;
	struct chat *chat;
	char *msg_id, *text;
	send_cb *cb;		/* NULL: dropped, its result is not wanted */
	void *arg;
};

enum light_kind {
	LIGHT_PLAIN,
	LIGHT_FIRST,		/* of a progress: the message */
	LIGHT_MORE,		/* its new text */
};

struct light {
	TAILQ_ENTRY(light) link;
	enum light_kind kind;
	char *text;
	char *edit_msg_id;	/* NULL: a new message */
	struct outrow_buttons buttons;
	int64_t owed;		/* the outbox row it is about, or 0 */
};

struct light_opts {
	enum light_kind kind;
	const char *text;
	const char *edit_msg_id;	/* NULL: a new message */
	const struct button *buttons;
	size_t nbuttons;
	int64_t owed;
};

struct chat {
	struct delivery *d;
	char *key;
	char *platform, *account, *chat_id, *thread_id;
	enum chat_step step;
	bool again;		/* kicked while it was busy */
	struct op *waiting;
	struct timer *timer;
	struct outrow *row;	/* SEND and MARK: the row under way */
	struct outrow *held;	/* LIGHT and EDIT: to be sent next */
	const char *mark;	/* MARK: the row's new state, written until it is */
	char *mark_id, *mark_why;
	msec_t mark_not_before;
	unsigned failures;	/* in a row; sets the back-off */
	unsigned repeats;	/* of unknown sends since one was confirmed */
	TAILQ_HEAD(, light) lights;
	size_t nlights;
	TAILQ_HEAD(, edit) edits;
};

struct preview;

struct delivery {
	struct loop *loop;
	struct store *store;
	struct delivery_opts opts;
	struct delivery_host host;
	struct map chats;
	struct op *listing, *owing;
	struct map progress;	/* chat: id of the message that says how far it is */
	struct map told;	/* ids of rows whose chat was told */
	size_t busy;
	LIST_HEAD(, preview) previews;
};

/* delivery_chat.c: what a chat that does nothing now does next. */
void chat_next(struct chat *chat);
/* Sends chat->row, which the store has as "sending". */
void chat_send(struct chat *chat);
/* delivery.c */
void chat_free(struct chat *chat);
void chat_light_free(struct chat *chat, struct light *light);
void chat_edit_free(struct edit *edit);
void delivery_light(struct delivery *d, const struct place *to,
	const struct light_opts *opts);
bool delivery_has_light(struct delivery *d, const struct place *to, int64_t owed);
/* The first of its light sends that can be sent; NULL: none. */
struct light *chat_next_light(struct chat *chat, const struct platform *platform);
/* What was sent of a progress. */
void chat_progress_sent(struct chat *chat, const struct light *light,
	const struct send_result *res);
/* owed.c: frees it. */
void chat_light_ended(struct chat *chat, struct light *light,
	const struct send_result *res);
/* Tells what chats are owed. */
void delivery_look_owed(struct delivery *d);
/* One edit; cb comes once unless it is dropped. */
struct edit *delivery_edit(struct delivery *d, const struct place *to,
	const char *msg_id, const char *text, send_cb *cb, void *arg);
void edit_drop(struct edit **edit);
static inline const char *
delivery_cursor(const struct delivery *d)
{
	return d->opts.cursor ? d->opts.cursor : "";
}

#endif
