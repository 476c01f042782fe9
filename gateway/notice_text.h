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

/* display.background_process_notifications: what a person sees besides. */
enum notices_show {
	NOTICES_ALL,		/* ends, and when a watched line wakes the model */
	NOTICES_RESULT,		/* ends */
	NOTICES_ERROR,		/* ends that were no success */
	NOTICES_OFF,
};
/* A word of the configuration. */
enum notices_show notices_show_parse(const char *word);

struct notice_words {
	enum process_event_kind kind;
	const char *id, *command;
	const char *reason;	/* of an end; NOTICE_GONE too */
	bool has_code;
	int exit_code;
	const char *output;
	unsigned more;
};

/* The start of a command, masked: rows and notices need no more. */
char *notice_command(const char *command);
char *notice_text(const struct notice_words *w);	/* caller frees */
char *notice_line(const struct notice_words *w);
/* An end that is a success. */
bool notice_is_success(const struct notice_words *w);

#endif
