/*
 * What a person allowed beyond one command, in memory only: it ends with the
 * process, with /new, or after its time (rules 3.9, 4.4).  A grant holds for one
 * session, one asker and one rule.  Pure: the caller brings the clock.
 */
#ifndef GATEHOUSE_GATE_GRANTS_H
#define GATEHOUSE_GATE_GRANTS_H

#include <stdbool.h>

#include "base/json.h"
#include "base/loop.h"

/* Stands for every rule: what /yolo sets. */
#define GRANT_ALL "*"

struct grants;

struct grant {
	const char *session_key;
	const char *asker;	/* "platform:user id" */
	const char *rule;	/* stable key of the rule, or GRANT_ALL */
	const char *by;		/* who gave it: "platform:user id" */
	msec_t until;		/* boottime; 0: no end */
};

struct grants *grants_new(void);
void grants_free(struct grants **g);
/* Copied; replaces one of the same session, asker and rule.  Bounded: the
 * oldest is forgotten, which only means that a person is asked again. */
void grants_add(struct grants *g, const struct grant *grant);
/* Is this rule covered now (boottime)?  GRANT_ALL covers every rule. */
bool grants_cover(struct grants *g, const char *session_key,
	const char *asker, const char *rule, msec_t now);
/* Each may be NULL: all of them.  How many there were. */
unsigned grants_forget(struct grants *g, const char *session_key,
	const char *asker, const char *rule);
/* [{session_key, asker, rule, by, left_ms (absent: no end)}]; NULL: all. */
struct json *grants_list(struct grants *g, const char *session_key, msec_t now);

#endif
