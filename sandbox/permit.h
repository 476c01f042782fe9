/*
 * A permit is the gate's decision about one command, used at most once.  Only
 * gateway/gate/ may call permit_issue() (house rule); sandbox_run() refuses
 * without one and whenever anything that gives the bytes their meaning has
 * changed since (rules 4.3).
 */
#ifndef GATEHOUSE_PERMIT_H
#define GATEHOUSE_PERMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct permit;
struct scene;

/* What a permit is bound to. Strings are copied. */
struct permit_terms {
	const char *command;	/* exact bytes that were shown or judged */
	size_t command_len;
	const void *input;	/* its standard input; NULL: none */
	size_t input_len;
	const char *sandbox;	/* sandbox_key_text() of the sandbox */
	const char *workdir;	/* as asked for; "" = the sandbox's current one */
	uint64_t generation;	/* of the run; 0 for the operator's own exec */
	uint32_t isolation;	/* sandbox_props.isolation when judged */
	bool background;
	struct scene *scene;	/* of the ask; taken by permit_issue(); NULL: none */
};

struct permit *permit_issue(const struct permit_terms *terms);
/* Takes and ends the permit. -1 with the reason if terms differ in anything. */
int permit_consume(struct permit **permit, const struct permit_terms *now,
	struct err *err);
/* The scene of the ask, yours (scene.h): at the start it must be the same.
 * NULL: the permit isn't bound to one. */
struct scene *permit_take_scene(struct permit *permit);
void permit_free(struct permit **permit);	/* withdrawn, unused */
size_t permit_live(void);

#endif
