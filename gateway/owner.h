/*
 * One owner process a state directory (rules 3.6): a lock, and a control
 * socket (0600, peer uid checked) through which commands reach the owner.
 *
 * A client sends requests {"cmd": NAME, ...}, one at a time; the owner answers
 * with any number of frames and a last one {"event": "done", "ok": BOOL, ...}.
 * Frames that come while a request is answered go to its handler.  Everything
 * is bounded: frames, clients, what waits for a slow reader.
 */
#ifndef GATEHOUSE_OWNER_H
#define GATEHOUSE_OWNER_H

#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"
#include "base/loop.h"
#include "gateway/home.h"

#define OWNER_CLIENTS_MAX 64
#define OWNER_WAIT_MS 3000

/*
 * The lock's descriptor (close-on-exec, the caller's), or -1: ERR_EXISTS names
 * the pid of the living owner.  Waits for a dying owner, wait_ms at most; for
 * start-up only: it blocks.  Call it after the launcher was started.
 */
int owner_lock(const struct home *home, int wait_ms, struct err *err);

struct owner;
struct owner_call;

struct owner_handler {
	const char *cmd;
	void (*start)(void *arg, struct owner_call *call, const struct json *req);
	/* A further frame of the client during the call; NULL: refused. */
	void (*input)(void *arg, struct owner_call *call, const struct json *frame);
	/* The client went away; the call is dead afterwards. NULL if start ends it. */
	void (*gone)(void *arg, struct owner_call *call);
};

/* handlers and arg must outlive the owner. Does not take lock_fd. */
struct owner *owner_listen(struct loop *loop, const struct home *home,
	const struct owner_handler *handlers, size_t n, void *arg,
	struct err *err);
/* Disconnects every client (gone is called) and removes the socket. */
void owner_free(struct owner **owner);

void *owner_call_data(const struct owner_call *call);
void owner_call_set_data(struct owner_call *call, void *data);
/* Takes the frame. A client too slow to read is dropped later (gone). */
void owner_call_send(struct owner_call *call, struct json *frame);
/* Takes the frame (NULL: an empty one), adds event and ok; the call is over. */
void owner_call_end(struct owner_call *call, struct json *frame, bool ok);

#endif
