/*
 * Delivery owns the outbox.  One ordered queue a chat: recorded rows (taken
 * from the store, marked before the act) and light sends (at most once, never
 * repeated).  Three results of a send; unknown is never treated as no.
 */
#ifndef GATEHOUSE_DELIVERY_H
#define GATEHOUSE_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/loop.h"
#include "platforms/platform.h"
#include "store/store.h"

struct delivery;

struct place {
	const char *platform, *account, *chat_id, *thread_id;
};

struct delivery_host {
	void *arg;
	/* The running instance of a platform, or NULL while it is down. */
	struct platform_instance *(*instance)(void *arg, const char *platform,
		const struct platform **ret_platform);
	/* A row came to its end: "delivered" (as msg_id, "" if not known),
	 * "refused", "unknown". */
	void (*settled)(void *arg, const struct outbox_row *row,
		const char *state, const char *msg_id, const char *why);
	void (*migrated)(void *arg, const char *platform, const char *old_id,
		const char *new_id);
	/* Are answers shown there while they come? NULL: nowhere. */
	bool (*previews)(void *arg, const char *platform);
};

struct delivery_opts {
	bool repeat_unknown;	/* delivery.unknown: repeat_labelled */
	msec_t give_up_ms;	/* of refusals that may pass; 0: 24 h */
	msec_t edit_interval_ms;	/* between edits of a preview; 0: 800 */
	size_t preview_min;	/* bytes that begin one at once; fewer wait */
	const char *cursor;	/* ends a preview, with its blank; NULL: none */
};

struct delivery *delivery_new(struct loop *loop, struct store *store,
	const struct delivery_opts *opts, const struct delivery_host *host);
void delivery_free(struct delivery **d);	/* cancels what is under way */

/* Something may wait for this chat: look. */
void delivery_kick(struct delivery *d, const struct place *to);
/* A row that store_finish() gave as "sending" already. */
void delivery_send_row(struct delivery *d, const struct outbox_row *row);
/* Light: in order with the rest, not recorded, dropped after unknown. */
void delivery_notice(struct delivery *d, const struct place *to,
	const char *text, const struct button *buttons, size_t nbuttons);
/* Light: a message whose id is known says something else, without buttons;
 * nothing happens where the platform can't edit. */
void delivery_amend(struct delivery *d, const struct place *to,
	const char *msg_id, const char *text);
/*
 * Light: how far something is, as one message that is edited in place.  first:
 * the message itself; what follows is shown only where the platform can edit and
 * it is known to be there, and only the newest text is.
 */
void delivery_progress(struct delivery *d, const struct place *to,
	const char *text, bool first);
/*
 * A send whose end is unknown: told with a button to have it again, or sent
 * again with a label if the operator wants that.
 */
void delivery_unknown(struct delivery *d, const struct place *to, int64_t id,
	const char *text);
/* An answer that was given up. */
void delivery_refused(struct delivery *d, const struct place *to, int64_t id,
	const char *why);
/* Sends the row again unasked, after the label (NULL: none); false: it was tried
 * often enough. */
bool delivery_repeat(struct delivery *d, const struct place *to, int64_t id,
	const char *label);
/* All chats with waiting rows or owed a word, after a start or a reconnect. */
void delivery_kick_all(struct delivery *d);
bool delivery_is_idle(struct delivery *d, const struct place *to);
/* Sends under way and light texts not sent yet; for drain and status. */
size_t delivery_busy(const struct delivery *d);
/* Only what is on the wire or being marked: an exit waits for that. */
size_t delivery_sending(const struct delivery *d);

#endif
