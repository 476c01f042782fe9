/*
 * The near half of a command that runs under `gatehouse-helper far` somewhere
 * else (native-init/far_proto.h): the request as frames, and frames as the
 * events of a proc.  There is no socket in it: a transport (docker's exec
 * stream, an ssh channel) carries the bytes.  Foreign bytes: every frame is
 * checked, and what is no frame ends it.
 */
#ifndef GATEHOUSE_FAR_NEAR_H
#define GATEHOUSE_FAR_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/backend.h"

struct far;

struct far_io {
	/*
	 * Takes bytes for the helper's standard input and returns how many; the
	 * rest is offered again at far_writable(). May not call back.
	 */
	size_t (*write)(void *arg, const void *data, size_t len);
	/*
	 * Nothing more comes of it; far_free() is allowed inside. err is NULL
	 * when the whole tree is confirmed dead. ERR_UNAVAILABLE: nothing ran.
	 * Anything else: it is not known what lives (far_started() tells
	 * whether something may have run).
	 */
	void (*end)(void *arg, const struct err *err);
	/* The command runs; told before the request's own event. May be NULL. */
	void (*started)(void *arg);
};

struct far_spec {
	/* Its events are told until the end, but for dead: that is io->end. */
	const struct spawn_req *req;
	const char *dir;		/* first directory; "": as it is */
	uint32_t seconds;		/* the far side ends it then; 0: never */
	bool no_userns;			/* it can make no user namespaces */
	const struct far_io *io;
	void *arg;
};

/* Writes nothing yet: far_writable() when the transport is ready. */
struct far *far_new(const struct far_spec *spec);
void far_free(struct far **far);
/* More room in the transport. */
void far_writable(struct far *far);
/* Bytes of the helper's standard output. far may be freed inside. */
void far_input(struct far *far, const char *data, size_t len);
/* The stream has ended; why: what the transport knows, or NULL. */
void far_lost(struct far *far, const char *why);
/* More input for a command spawned with feed, all or nothing: -1 with the reason
 * if it takes none or too much waits already. */
int far_feed(struct far *far, const void *data, size_t len, struct err *err);
void far_feed_end(struct far *far);
/* Asks for the end of the tree over the stream. */
void far_kill(struct far *far);
/* Something may have run. */
bool far_started(const struct far *far);

#endif
