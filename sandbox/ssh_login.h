/*
 * From a name to an authenticated SSH session.  Everything that may block
 * (connect, key exchange, the agent, which may ask a person) happens on a
 * thread of its own, bounded; the session that comes back is non-blocking and
 * the loop's.  Passwords are never used, nobody is prompted.
 *
 * Host keys: one that is known and differs is always an end.  One that is not
 * known is an end too, unless accept_new: then it is written to known_hosts.
 */
#ifndef GATEHOUSE_SSH_LOGIN_H
#define GATEHOUSE_SSH_LOGIN_H

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/op.h"
#include "base/resolve.h"

struct ssh_session_struct;

#define SSH_LOGIN_MS 20000

struct ssh_target {
	const char *host;
	const char *user;	/* NULL: the name of who runs us */
	unsigned port;
	const char *key_file;	/* NULL: agent, then the usual files of home */
	const char *home;	/* for the usual keys; NULL: none are tried */
	const char *known_hosts;
	const char *agent;	/* path of its socket; NULL: none */
	bool accept_new;
};

/* session: the callee's, with ssh_free(); NULL with err. */
typedef void ssh_login_cb(void *arg, struct ssh_session_struct *session,
	const struct err *err);
/* Strings are copied. */
struct op *ssh_login(struct loop *loop, struct resolver *resolver,
	const struct ssh_target *target, ssh_login_cb *cb, void *arg);
/* Threads of cancelled logins that have not ended yet; waits for them. */
void ssh_login_join(void);

#endif
