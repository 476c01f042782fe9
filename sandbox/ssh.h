/*
 * Commands on another machine, as an account there: isolates nothing, ends
 * trees.  Our static helper is put into the account's cache directory once a
 * version; nothing else of ours stays there.
 */
#ifndef GATEHOUSE_SSH_H
#define GATEHOUSE_SSH_H

#include <stdbool.h>

#include "sandbox/backend.h"

struct ssh_opts {
	const char *host;	/* NULL: not configured */
	const char *user;	/* NULL: the name of who runs us */
	unsigned port;		/* 0: 22 */
	const char *key_file;	/* NULL: the agent, then the usual files */
	const char *known_hosts;	/* NULL: home's .ssh/known_hosts */
	bool accept_new;	/* an unknown host key is written down */
	const char *cwd;	/* first directory there; NULL: the home */
	const char *home;	/* of who runs us; NULL: none */
	const char *agent;	/* SSH_AUTH_SOCK; NULL: none */
	const char *helper;	/* our static helper, a file of ours */
};

extern const struct backend backend_ssh;

#endif
