/* What the history*.c share; nobody else includes it. */
#ifndef GATEHOUSE_HISTORY_PRIV_H
#define GATEHOUSE_HISTORY_PRIV_H

#include "base/buf.h"
#include "gateway/agent/history.h"

#define HISTORY_TEXT_MAX ((size_t)16 << 20)	/* of one message */

enum unit_kind { UNIT_USER, UNIT_ANSWER, UNIT_EXCHANGE };

/* What is kept or left out as a whole. */
struct unit {
	enum unit_kind kind;
	struct buf text;	/* may be empty for an exchange */
	struct json *calls;	/* exchange: legal tool_calls */
	struct json *results;	/* exchange: one tool message a call */
	size_t bytes;
	size_t messages;
	bool cut;		/* answer: only partial text */
};

struct units {
	struct unit *list;
	size_t n;
	const struct history_opts *opts;
	size_t message_max;	/* bytes of one message's text */
	bool repaired;
};

/* history_units.c: entries in order become units that alternate. */
void units_read(struct units *u, const struct json *entries);
void units_free(struct units *u);

/* history_text.c */
struct buf history_user_text(const struct units *u, const struct json *entry);
struct buf history_answer_text(const struct units *u, const struct json *entry);
/* entry: NULL if no result was recorded. */
struct buf history_result_text(const struct units *u, const struct json *entry);
/* Did the tool fail to come to an end (or is that not known)? */
bool history_interrupted(const struct json *entry);

#endif
