/*
 * What commands and button presses do.  Control input is looked at before the
 * queue, never behind it, and never reaches the model.
 */
#ifndef GATEHOUSE_CONTROL_H
#define GATEHOUSE_CONTROL_H

#include <stdbool.h>

#include "gateway/auth.h"
#include "gateway/command.h"
#include "gateway/delivery.h"
#include "gateway/gate/gate.h"
#include "gateway/restart.h"
#include "gateway/route.h"
#include "gateway/session.h"
#include "gateway/talk.h"
#include "platforms/platform.h"

struct control_env {
	struct loop *loop;
	struct store *store;
	struct sessions *sessions;
	struct gate *gate;
	struct delivery *delivery;
	const struct auth *auth;
	struct talks *talks;
	struct restart *restart;
};

/* One control input, kept over the commit. */
struct control {
	struct origin origin;		/* who and where */
	char *session_key;
	char *event_id;			/* dedupe of what acts at once */
	enum command_id command;	/* COMMAND_NONE: a press or a yes/no */
	char word[33];
	char *args;
	char *press_id, *press_data;
	msec_t sent_wall;		/* the platform's time stamp; 0 unknown */
};

/* Is this message control?  NULL: no, words for the model. */
struct control *control_new(const struct control_env *env,
	const struct route_opts *route, const struct msg *msg,
	const char *session_key);
void control_free(struct control **c);
/* Only stops or refuses: may act before its commit (rules 1.1). */
bool control_is_at_once(const struct control *c);
/*
 * Acts and answers by a notice.  *ret_press: what to tell the presser (caller
 * frees), NULL if it was no press.
 */
void control_act(const struct control_env *env, const struct control *c,
	char **ret_press);

#endif
