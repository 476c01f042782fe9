/*
 * One SSH connection on the loop, shared by all that runs on a host, and its
 * channels.  It connects when somebody needs it, sends keep-alives, is closed
 * when unused for a minute, and connects anew after a loss; what ran over a
 * lost one is told so, never repeated.
 *
 * Facts: sshd's MaxSessions is 10 by default, hence LINK_COMMANDS_MAX; a
 * command goes on when its channel is closed, so closing kills nothing;
 * ssh_channel_get_exit_status() blocks until a status comes, so only the
 * callback is used (libssh 0.10.6, OpenSSH 9.2).
 *
 * On the loop's thread.
 */
#ifndef GATEHOUSE_SSH_LINK_H
#define GATEHOUSE_SSH_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/op.h"
#include "sandbox/ssh_login.h"

#define LINK_CHANNELS_MAX 8	/* at a time; more wait */
#define LINK_WAITING_MAX 256
#define LINK_SEND_MAX (32u * 1024 * 1024)	/* queued to one channel */

struct ssh_link;
struct ssh_chan;

struct ssh_link *ssh_link_new(struct loop *loop, const struct ssh_target *target);
void ssh_link_free(struct ssh_link **link);	/* requires: no channel left */
bool ssh_link_is_up(const struct ssh_link *link);
/* Raised by each connect: what was learned of the host may have changed. */
unsigned ssh_link_epoch(const struct ssh_link *link);

struct ssh_chan_events {
	/* The server started it. */
	void (*opened)(void *arg);
	void (*data)(void *arg, int fd, const char *data, size_t len);
	/*
	 * Once, last; the channel is freed after it.  status: exit code, or -1
	 * (signal names it, or NULL if no word came).  err: it was never
	 * started (any code) or the connection is gone (ERR_LOST: it may run).
	 */
	void (*closed)(void *arg, int status, const char *signal,
		const struct err *err);
};

/*
 * A command for the account's login shell; connects first if need be.  No
 * callback before it has returned.  urgent: before all that waits, and over
 * LINK_CHANNELS_MAX (for killing).
 */
struct ssh_chan *ssh_chan_exec(struct ssh_link *link, const char *command,
	bool urgent, const struct ssh_chan_events *events, void *arg);
bool ssh_chan_send(struct ssh_chan *chan, const void *data, size_t len);
void ssh_chan_send_eof(struct ssh_chan *chan);
void ssh_chan_flow(struct ssh_chan *chan, bool reading);
/* Nothing more is heard of it; the command goes on. */
void ssh_chan_free(struct ssh_chan **chan);

/* A command to its end: input sent, output (both streams) collected. */
typedef void ssh_run_cb(void *arg, int status, const char *out, size_t len,
	const struct err *err);
struct op *ssh_run(struct ssh_link *link, struct loop *loop, const char *command,
	const void *input, size_t len, bool urgent, msec_t limit_ms, ssh_run_cb *cb,
	void *arg);

#endif
