/*
 * The Bot API's updates as messages. Pure; fuzzed (tests/fuzz/fuzz_telegram).
 *
 * Every update moves the cursor, also those that make no message: kinds that
 * nobody asked for, service messages, commands for other bots.
 */
#ifndef GATEHOUSE_TELEGRAM_PARSE_H
#define GATEHOUSE_TELEGRAM_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "platforms/platform.h"

struct telegram_self {
	const char *id;
	const char *username;	/* without @; "" if unknown */
};

/* What one answer held; strings of msgs live as long as it does. */
struct telegram_batch {
	struct msg *msgs;
	size_t n;
	size_t updates;		/* in the answer */
	size_t skipped;		/* of these, without a message on purpose */
	int64_t next_offset;	/* highest update id plus 1, 0: none seen */
	struct json *root;
	char **strings;
	size_t nstrings;
	size_t room;
};

/*
 * Takes the parsed answer (root is the batch's afterwards) whose "result" is a
 * list of updates.  -1 if it is none, or if no update in it has an id.
 */
int telegram_batch_init(struct telegram_batch *b, struct json *root,
	const struct telegram_self *self, struct err *err);
void telegram_batch_done(struct telegram_batch *b);

#endif
