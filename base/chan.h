/*
 * One end of a SOCK_SEQPACKET pair on the loop: frames out without blocking
 * (queued when the socket is full), frames in by callback.
 */
#ifndef GATEHOUSE_CHAN_H
#define GATEHOUSE_CHAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "base/wire.h"

struct chan;

struct chan_events {
	/* Descriptors become the callee's. chan_free() is allowed inside. */
	void (*frame)(void *arg, struct wire_in *in, unsigned type,
		const int *fds, size_t nfds);
	/* The peer is gone or broke the framing; once, then silence. */
	void (*end)(void *arg);
};

/* A connected pair, both ends close-on-exec. -1 with errno. */
int chan_pair(int ret_fds[2]);
struct chan *chan_new(struct loop *loop, int fd, const char *name,
	const struct chan_events *events, void *arg);	/* takes fd */
void chan_free(struct chan **chan);	/* what is still queued is dropped */
/*
 * Takes out's bytes and, if take_fds, the descriptors, also on failure.
 * -1 with errno: frame too large, peer gone, or over 256 frames queued.
 */
int chan_send(struct chan *chan, struct wire_out *out, const int *fds,
	size_t nfds, bool take_fds);

#endif
