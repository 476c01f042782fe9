/*
 * Questions on people's screens: which message holds which request, so that the
 * message is edited to what became of it.  In memory; bounded: a question whose
 * entry was forgotten is only not edited.
 */
#ifndef GATEHOUSE_PROMPTS_H
#define GATEHOUSE_PROMPTS_H

#include "gateway/delivery.h"

struct prompts;

struct prompts *prompts_new(struct delivery *delivery);
void prompts_free(struct prompts **p);

void prompts_add(struct prompts *p, const char *request_id,
	const struct place *to, const char *text);
/* Its message arrived; in either order with the outcome. */
void prompts_shown(struct prompts *p, const char *request_id,
	const char *msg_id);
/* How it ended, in words for people. */
void prompts_settled(struct prompts *p, const char *request_id,
	const char *outcome);

#endif
