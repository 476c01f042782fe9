/*
 * Who a message belongs to: the session key (names as in other gateways, so
 * that people find their sessions) and the origin that answers go back to.
 * Pure.
 */
#ifndef GATEHOUSE_ROUTE_H
#define GATEHOUSE_ROUTE_H

#include <stdbool.h>

#include "base/json.h"
#include "platforms/platform.h"

struct route_opts {
	const char *profile;		/* "main" */
	bool group_sessions_per_user;	/* default true */
	bool thread_sessions_per_user;	/* default false */
};

/* Where a session's answers go, and who may steer it. Strings owned. */
struct origin {
	char *platform, *account, *chat_id, *thread_id;
	char *user_id, *user_name;
	enum chat_type chat_type;
	bool shared;		/* several people write into one session */
};

/* agent:<profile>:<platform>:<type>:<chat>[:<thread>][:<user>]; caller frees. */
char *route_session_key(const struct route_opts *opts, const struct msg *msg);
/* An id as it stands in keys: no separator, no path. Caller frees. */
char *route_id(const char *id);
/* The key of the same session after its chat got a new id; caller frees. */
char *route_key_moved(const char *key, const char *old_id, const char *new_id);
void origin_from_msg(struct origin *o, const struct route_opts *opts,
	const struct msg *msg);
struct json *origin_json(const struct origin *o);
/* From what origin_json made; missing members become "". */
void origin_from_json(struct origin *o, const struct json *node);
void origin_done(struct origin *o);

#endif
