/*
 * What a backend's sandboxes offer, looked at once from inside: system, shell,
 * user, tools.  In a box of its own that is gone afterwards; what comes out is
 * foreign text and is kept to plain words.  Failing, or taking too long, it
 * leaves nothing: nobody waits for it.
 */
#ifndef GATEHOUSE_SURVEY_H
#define GATEHOUSE_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

#include "sandbox/sandbox_priv.h"

struct survey;

/*
 * found: one sentence or more, borrowed; NULL: nothing could be learned.
 * scripts: there is python3 or node.
 */
typedef void survey_cb(void *arg, const char *found, bool scripts);
/*
 * The slot's backend is available.  Not an op: what it opened must be closed
 * whoever has lost interest, and done comes when that is so.
 */
struct survey *survey_start(struct slot *slot, survey_cb *done, void *arg);
void survey_stop(struct survey *s);	/* done comes soon, with NULL */

/* Everything is being freed: no callback, and what it opened is killed. */
void survey_orphan(struct survey **s);

/* The sentences for what the script printed; NULL if it is not that. Pure. */
char *survey_words(const char *output, size_t len);
/* Whether it names this program with its version. Pure. */
bool survey_has(const char *output, size_t len, const char *program);

#endif
