/* An outbox row of one's own: what the store lends, kept over loop turns. */
#ifndef GATEHOUSE_OUTROW_H
#define GATEHOUSE_OUTROW_H

#include "platforms/platform.h"
#include "store/store.h"

struct outrow_buttons {
	struct button *list;
	size_t n;
};

void outrow_buttons_copy(struct outrow_buttons *b, const struct button *list,
	size_t n);
void outrow_buttons_done(struct outrow_buttons *b);
/* JSON array of [label, data], as the store keeps them; caller frees. */
char *outrow_buttons_json(const struct button *list, size_t n);

struct outrow {
	struct outbox_row row;		/* all strings owned */
	struct outrow_buttons buttons;
};

struct outrow *outrow_copy(const struct outbox_row *row);
void outrow_free(struct outrow **r);

#endif
