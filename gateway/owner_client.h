/*
 * The other end of the control socket: for commands.  Blocks; no loop needed.
 * A chat that also watches the terminal polls owner_client_fd() and then takes
 * what is there with a timeout of 0.
 */
#ifndef GATEHOUSE_OWNER_CLIENT_H
#define GATEHOUSE_OWNER_CLIENT_H

#include "base/err.h"
#include "base/json.h"
#include "gateway/home.h"

struct owner_client;

/* ERR_NOT_FOUND: no owner listens. */
struct owner_client *owner_connect(const struct home *home, struct err *err);
void owner_disconnect(struct owner_client **client);
int owner_client_fd(const struct owner_client *client);

/* Takes the frame. Gives up after 10 s. */
int owner_client_send(struct owner_client *client, struct json *frame,
	struct err *err);
/*
 * The next frame: 1 and *ret (caller frees); 0 if none came within timeout_ms
 * (-1: waits for ever); -1 when the owner went away or broke the protocol.
 */
int owner_client_receive(struct owner_client *client, int timeout_ms,
	struct json **ret, struct err *err);

/*
 * Sends {"cmd": cmd} and gives the last frame (caller frees), or NULL; frames
 * before it are passed over.
 */
struct json *owner_ask(const struct home *home, const char *cmd, int timeout_ms,
	struct err *err);

/* The same with a whole request, which it takes. */
struct json *owner_request(const struct home *home, struct json *req,
	int timeout_ms, struct err *err);

/*
 * For whoever may be the owner or talk to one (chat): the lock's descriptor,
 * or -2 and *ret_client connected to the living owner, or -1.  Waits up to 3 s
 * for an owner that is starting or dying.
 */
int owner_claim(const struct home *home, struct owner_client **ret_client,
	struct err *err);

#endif
