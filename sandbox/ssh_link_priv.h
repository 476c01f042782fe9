/* Shared by ssh_link.c and ssh_chan.c only. */
#ifndef GATEHOUSE_SSH_LINK_PRIV_H
#define GATEHOUSE_SSH_LINK_PRIV_H

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "sandbox/ssh_link.h"

enum link_state { LINK_DOWN, LINK_LOGIN, LINK_UP };

struct ssh_link {
	struct loop *loop;
	struct resolver *resolver;
	struct ssh_target target;
	char *host, *texts[5];
	enum link_state state;
	unsigned epoch;
	struct op *login;
	ssh_session session;
	ssh_event event;
	struct watch *watch;
	struct timer *kick, *alive, *unused;
	struct ssh_counter_struct counter;
	uint64_t heard;		/* bytes at the last keep-alive */
	unsigned missed;
	bool turning;		/* chans may not shrink */
	TAILQ_HEAD(, ssh_chan) chans;
	size_t nchans, nopen;	/* all; those with a channel */
	size_t limit;		/* channels that the server allows, as learned */
	bool down;		/* the session is going: nothing lingers */
	uint64_t serial;
};

enum chan_step { CHAN_WAIT, CHAN_OPEN, CHAN_EXEC, CHAN_RUN };

struct ssh_chan {
	TAILQ_ENTRY(ssh_chan) entry;
	struct ssh_link *link;
	uint64_t serial;	/* rising along the list */
	ssh_channel channel;	/* NULL in WAIT */
	enum chan_step step;
	bool urgent, paused, eof_wanted, eof_sent, freed;
	char *command;
	struct buf out;		/* not yet taken by libssh */
	/*
	 * What came, taken from libssh whole: each read of a part would open
	 * its window again, and what waits there would grow without bound.
	 */
	struct buf in[2];
	struct timer *linger;	/* freed, but the server still counts it */
	struct ssh_channel_callbacks_struct callbacks;
	int status;		/* -1: none came */
	char signal[16];
	const struct ssh_chan_events *events;
	void *arg;
};

void link_changed(struct ssh_link *link);	/* a turn, soon */

void chan_turn(struct ssh_chan *chan);	/* goes on as far as it can */
void chan_detach(struct ssh_chan *chan);	/* the session is about to go */
void chan_lost(struct ssh_chan *chan, const struct err *err);	/* and frees it */
void chan_release(struct ssh_chan *chan);	/* memory */

#endif
