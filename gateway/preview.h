/*
 * The visible text of one run as it comes: the first message is a recorded
 * send, then it is edited in place; the answer's first chunk takes its place
 * (rules 2.3, 2.4).  Part of delivery, which owns all sends.  Every call takes
 * NULL: that chat has no previews.
 */
#ifndef GATEHOUSE_PREVIEW_H
#define GATEHOUSE_PREVIEW_H

#include "gateway/delivery.h"

struct preview;

/* NULL: the platform can't edit, or previews are off for it. */
struct preview *preview_new(struct delivery *d, const struct place *to,
	const struct run_ref *run);
/* A new answer of the model begins: what follows replaces what was shown. */
void preview_begin(struct preview *p);
void preview_text(struct preview *p, const char *text, size_t len);
/* Tools follow: this text stays as a message, the next one is a new message. */
void preview_stays(struct preview *p, const char *text);
/*
 * The answer is there: no further edit.  Its first chunk is to be recorded as
 * an edit of OUTBOX_PREVIEW if this is true.
 */
bool preview_final(struct preview *p);
/* The run is over; word: marks what is shown ("cut off"), NULL: nothing is. */
void preview_end(struct preview **p, const char *word);

/* delivery_chat.c: a row came to `state`. */
void preview_settled(struct delivery *d, const struct outbox_row *row,
	const char *state, const char *msg_id);

#endif
