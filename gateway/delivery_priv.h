/* What delivery.c and delivery_chat.c share. */
#ifndef GATEHOUSE_DELIVERY_PRIV_H
#define GATEHOUSE_DELIVERY_PRIV_H

#include <sys/queue.h>

#include "base/map.h"
#include "gateway/delivery.h"
#include "gateway/outrow.h"

enum chat_step { CHAT_IDLE, CHAT_TAKE, CHAT_SEND, CHAT_LIGHT, CHAT_MARK, CHAT_WAIT };

struct light {
	TAILQ_ENTRY(light) link;
	char *text;
	struct outrow_buttons buttons;
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
	const char *mark;	/* MARK: the row's new state, written until it is */
	char *mark_id, *mark_why;
	msec_t mark_not_before;
	unsigned failures;	/* in a row; sets the back-off */
	unsigned repeats;	/* of unknown sends since one was confirmed */
	TAILQ_HEAD(, light) lights;
	size_t nlights;
};

struct delivery {
	struct loop *loop;
	struct store *store;
	struct delivery_opts opts;
	struct delivery_host host;
	struct map chats;
	struct op *listing;
	size_t busy;
};

/* delivery_chat.c: what a chat that does nothing now does next. */
void chat_next(struct chat *chat);
/* Sends chat->row, which the store has as "sending". */
void chat_send(struct chat *chat);
/* delivery.c */
void chat_free(struct chat *chat);
void chat_light_free(struct chat *chat, struct light *light);

#endif
