/*
 * The system prompt.  Pure: the same options give the same bytes, so that
 * servers can cache the start of a session's requests.
 */
#ifndef GATEHOUSE_PROMPT_H
#define GATEHOUSE_PROMPT_H

#include <stdbool.h>

struct prompt_opts {
	const char *persona;	/* the operator's own words; NULL or "": ours */
	const char *platform;	/* "telegram", "console", ... */
	const char *chat_type;	/* "dm", "group", ... */
	const char *user_name;	/* untrusted; NULL or "": not known */
	bool shared;		/* several people write in one session */
	const char *environment;	/* sandbox_describe() */
	const char *hint;	/* the operator's words on that; NULL or "": none */
};

char *prompt_make(const struct prompt_opts *opts);	/* caller frees */

#endif
