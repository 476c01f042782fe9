/*
 * The words of a notice: for the model, with the output of the process fenced
 * off as data; for the person, one line.  Pure but for the fence's random mark.
 */
#ifndef GATEHOUSE_NOTICE_TEXT_H
#define GATEHOUSE_NOTICE_TEXT_H

#include <stdbool.h>

#include "sandbox/sandbox.h"

/* Of an earlier gateway: what became of it isn't known. */
#define NOTICE_GONE "gone"

struct notice_words {
	enum process_event_kind kind;
	const char *id, *command;
	const char *reason;	/* of an end; NOTICE_GONE too */
	bool has_code;
	int exit_code;
	const char *output;
	unsigned more;
};

char *notice_text(const struct notice_words *w);	/* caller frees */
char *notice_line(const struct notice_words *w);
/* An end that is a success. */
bool notice_is_success(const struct notice_words *w);

#endif
