/*
 * Commands that ask the store about the session's own conversations before they
 * can answer: /sessions, /resume, /title, /undo, /retry, /model.  Each is queued
 * at the store when it acts, so that it takes effect in the order it was said;
 * the answer is a notice in its chat.
 */
#ifndef GATEHOUSE_TALK_H
#define GATEHOUSE_TALK_H

#include "gateway/command.h"
#include "gateway/delivery.h"
#include "gateway/route.h"
#include "gateway/session.h"

struct talks;

struct talks *talks_new(struct loop *loop, struct store *store,
	struct sessions *sessions, struct delivery *delivery);
/* What is queued takes effect; its answer is not given. */
void talks_free(struct talks **talks);

/* NULL: it answers later.  Else what is wrong with it; caller frees. */
char *talk_act(struct talks *talks, enum command_id command, const char *args,
	const char *session_key, const struct origin *origin);

#endif
