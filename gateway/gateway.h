/*
 * The assembled gateway: store, sandboxes, gate, sessions, delivery and the
 * platforms that are on.  BOOT (recover what was under way) > UP > DRAIN (no
 * new work, runs may finish) > CLOSE (interrupt, end sandboxes) > stopped.
 */
#ifndef GATEHOUSE_GATEWAY_H
#define GATEHOUSE_GATEWAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/http.h"
#include "gateway/auth.h"
#include "gateway/delivery.h"
#include "gateway/gate/gate.h"
#include "gateway/notices.h"
#include "gateway/route.h"
#include "gateway/session.h"

struct gateway;

struct gateway_platform {
	const struct platform *platform;
	const void *opts;	/* the platform's own option struct */
	const char *account;	/* bot id, for the stored cursor; "" none */
	bool vital;		/* once all of these have failed: on_dead */
	bool previews;		/* answers are shown there while they come */
};

/* Everything is the caller's and must outlive the gateway. */
struct gateway_opts {
	struct loop *loop;
	struct http *http;
	struct store *store;
	struct sandboxes *sandboxes;
	struct model *model;
	const struct gateway_platform *platforms;
	size_t nplatforms;
	const struct auth_rule *auth;
	size_t nauth;
	/* approvals.approvers: "id" (of the asker's platform) or "platform:id",
	 * NULL-terminated, or NULL */
	const char *const *approvers;
	/* Writes an entry of command_allowlist (gate_host.keep); may be NULL. */
	struct op *(*keep)(void *arg, const char *entry, gate_kept_cb *cb,
		void *cb_arg);
	void *keep_arg;
	struct route_opts route;
	struct gate_opts gate;
	struct delivery_opts delivery;
	enum busy_mode busy;
	struct reset_rules reset;	/* of conversations that rest */
	enum sandbox_scope scope;
	enum notices_show notices;
	bool one_shot;			/* ends with its first answer */
	bool survey;			/* agent.environment_probe */
	const char *hint;		/* agent.environment_hint */
	const char *persona;
	unsigned max_turns;
	struct code_opts code;
	int64_t max_tokens;
	msec_t drain_ms;		/* agent.restart_drain_timeout */
	msec_t pending_max_ms;		/* gateway.pending_max_age; 0: no limit */
	void *arg;
	/* Every platform failed for good: nothing is left to serve. */
	void (*on_dead)(void *arg, const char *why);
	/* A person asked for a restart; NULL: nobody would start us again. */
	void (*on_restart)(void *arg);
	/* Recovered, and every platform was told to start. */
	void (*on_up)(void *arg);
	/* For a console; each may be NULL. */
	void *console_arg;
	void (*on_text)(void *arg, const struct origin *to, const char *text,
		size_t len);
	void (*on_activity)(void *arg, const struct origin *to, const char *what);
	void (*on_answered)(void *arg, const struct origin *to, bool ok);
};

/* Recovers, then starts the platforms; errors of one don't stop the others. */
struct gateway *gateway_start(const struct gateway_opts *opts);
/* Ends in bounded time; done once.  A second call shortens the drain. */
void gateway_stop(struct gateway *gw, void (*done)(void *arg), void *arg);
void gateway_free(struct gateway **gw);	/* after done, or before any run */

/* Nothing of this sender's chat is under way or waits to be sent. */
bool gateway_chat_idle(struct gateway *gw, const struct msg *msg);
/* Two lines for a console: model, sandbox; caller frees. */
char *gateway_greeting(struct gateway *gw);
struct platform_instance *gateway_console(struct gateway *gw);
/* {platforms: [{name, state, since, why}], runs: [...], ...} */
struct json *gateway_status(struct gateway *gw);
/* Session grants of the gate: what there is, and taking them back (NULL: all);
 * returns how many there were. */
struct json *gateway_grants(struct gateway *gw);
unsigned gateway_revoke(struct gateway *gw, const char *session_key);
/* Nothing under way and nothing waiting to be sent. */
/* For what the operator asks about all of them; the gateway's. */
struct sandboxes *gateway_sandboxes(struct gateway *gw);
bool gateway_idle(const struct gateway *gw);

#endif
