/* The blocking half of ssh_login.c, on its thread. */
#ifndef GATEHOUSE_SSH_STEPS_H
#define GATEHOUSE_SSH_STEPS_H

#include <pthread.h>
#include <stdbool.h>

#include "sandbox/ssh_login.h"

#define SSH_ADDRS_MAX 8

struct ssh_steps {
	char *host, *user, *key_file, *home, *known_hosts, *agent;
	unsigned port;
	bool accept_new;
	struct ip addrs[SSH_ADDRS_MAX];
	size_t naddrs;

	/* Duplicates of what may block: shut down by ssh_steps_abort(). */
	pthread_mutex_t lock;
	int net, agent_net;	/* -1: none */
	bool aborted;
	const char *at;	/* static text: the step under way */

	struct ssh_session_struct *session;	/* the result, or */
	struct err err;
};

void ssh_steps_init(struct ssh_steps *s, const struct ssh_target *target);
void ssh_steps_run(struct ssh_steps *s);	/* the thread */
void ssh_steps_abort(struct ssh_steps *s);	/* any thread: it ends soon */
void ssh_steps_done(struct ssh_steps *s);	/* the thread has ended */

#endif
