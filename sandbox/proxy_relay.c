#include "sandbox/proxy_relay.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

#define ROUNDS 4	/* reads of one side before others get their turn */

struct side {
	int fd;
	struct watch *watch;
	unsigned watched;	/* what for; 0: paused */
	char *waiting;		/* bytes for this side that it didn't take yet */
	size_t at, len;
	uint64_t sent;
	bool ended;		/* it sends no more */
	bool shut;		/* it was told that no more comes */
};

enum { CLIENT, SERVER };

struct relay {
	struct loop *loop;
	struct side sides[2];
	struct timer *timer;
	msec_t moved;
	bool limited;		/* body counts */
	struct proxy_body body;
	bool surplus;		/* the client sent more than its request */
	bool orphan;		/* it ended, and a command with it */
	relay_cb *cb;
	void *arg;
};

static void
side_close(struct side *s)
{
	loop_unwatch(&s->watch);
	close(s->fd);
	mem_free(s->waiting);
}

void
relay_free(struct relay **rp)
{
	if (!rp || !*rp)
		return;
	struct relay *r = STEAL(*rp);

	loop_cancel(&r->timer);
	side_close(&r->sides[CLIENT]);
	side_close(&r->sides[SERVER]);
	mem_free(r);
}

static void
relay_end(struct relay *r, const char *why)
{
	const struct relay_result res = { r->sides[SERVER].sent,
		r->sides[CLIENT].sent, why };
	relay_cb *cb = r->cb;
	void *arg = r->arg;

	relay_free(&r);
	cb(arg, &res);
}

/* ---- time ---------------------------------------------------------------------------- */

static void on_idle(void *arg);

static msec_t
idle_max(const struct relay *r)
{
	if (r->surplus || r->orphan)
		return RELAY_SURPLUS_MS;
	return r->sides[CLIENT].ended || r->sides[SERVER].ended ?
		RELAY_HALF_IDLE_MS : RELAY_IDLE_MS;
}

/* Looks again at least as often as the limit may shrink. */
static void
relay_arm(struct relay *r)
{
	msec_t left = idle_max(r) - (loop_now(r->loop) - r->moved);

	loop_cancel(&r->timer);
	r->timer = loop_after(r->loop, left > RELAY_HALF_IDLE_MS ?
		RELAY_HALF_IDLE_MS : left, "relay idle", on_idle, r);
}

static void
on_idle(void *arg)
{
	struct relay *r = arg;

	r->timer = NULL;
	if (loop_now(r->loop) - r->moved < idle_max(r))
		relay_arm(r);
	else
		relay_end(r, r->surplus ? "the client sent more than its request" :
			r->orphan ? "its command has ended" : "idle");
}

/* ---- moving bytes ------------------------------------------------------------------ */

/* What the kernel takes now; the rest waits. False: the side is gone. */
static bool
side_put(struct side *s, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(s->fd, data, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0)
			break;
		s->sent += (uint64_t)n;
		data += n;
		len -= (size_t)n;
	}
	if (len == 0)
		return true;
	REQUIRE(len <= RELAY_CHUNK);
	if (!s->waiting)
		s->waiting = mem_alloc(RELAY_CHUNK);
	memcpy(s->waiting, data, len);
	s->at = 0;
	s->len = len;
	return true;
}

static bool
side_flush(struct side *s)
{
	while (s->at < s->len) {
		ssize_t n = send(s->fd, s->waiting + s->at, s->len - s->at,
			MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		s->sent += (uint64_t)n;
		s->at += (size_t)n;
	}
	/* Most connections never need it again. */
	mem_free(s->waiting);
	s->waiting = NULL;
	s->at = s->len = 0;
	return true;
}

static bool
side_full(const struct side *s)
{
	return s->at < s->len;
}

/* How many of the client's bytes go on; -1: the request is broken. */
static ptrdiff_t
client_share(struct relay *r, const char *data, size_t len)
{
	ptrdiff_t n;

	if (!r->limited)
		return (ptrdiff_t)len;
	n = proxy_body_feed(&r->body, data, len);
	if (n >= 0 && (size_t)n < len) {
		r->surplus = true;
		relay_arm(r);
	}
	return n;
}

enum moved { MOVED_ALL, MOVED_SOME, MOVED_FAILED, MOVED_BROKEN };

/* From one side to the other, until nothing is there or the other is full. */
static enum moved
move_bytes(struct relay *r, int from)
{
	static char chunk[RELAY_CHUNK];	/* loop's thread; used up at once */
	struct side *s = &r->sides[from], *to = &r->sides[!from];

	for (int i = 0; i < ROUNDS && !side_full(to); i++) {
		ssize_t n = recv(s->fd, chunk, sizeof(chunk), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? MOVED_ALL : MOVED_FAILED;
		if (n == 0) {
			s->ended = true;
			return MOVED_ALL;
		}
		r->moved = loop_now(r->loop);
		ptrdiff_t share = from == CLIENT ?
			client_share(r, chunk, (size_t)n) : n;
		if (share < 0)
			return MOVED_BROKEN;
		if (!side_put(to, chunk, (size_t)share))
			return MOVED_FAILED;
		if ((size_t)n < sizeof(chunk))
			return MOVED_ALL;
	}
	return MOVED_SOME;
}

/* ---- what to wait for ----------------------------------------------------------------- */

static void
side_watch(struct side *s, bool reading)
{
	unsigned events = (reading && !s->ended ? LOOP_READ : 0) |
		(side_full(s) ? LOOP_WRITE : 0);

	if (events != s->watched)
		loop_watch_set(s->watch, events);
	s->watched = events;
}

/* Tells a side that the other has ended, once it has all of its bytes. */
static void
side_shut(struct relay *r, int side)
{
	struct side *s = &r->sides[side], *other = &r->sides[!side];

	if (s->shut || !other->ended || side_full(s))
		return;
	s->shut = true;
	/* The request is whole: some servers take an early end for a loss. */
	if (side == SERVER && r->limited && proxy_body_ended(&r->body))
		return;
	(void)shutdown(s->fd, SHUT_WR);
}

/* Done, broken, or on: the only place that decides. */
static void
relay_look(struct relay *r)
{
	struct side *client = &r->sides[CLIENT], *server = &r->sides[SERVER];

	side_shut(r, CLIENT);
	side_shut(r, SERVER);
	if (client->ended && r->limited && !proxy_body_ended(&r->body)) {
		relay_end(r, "the client left in the middle of its request");
		return;
	}
	/* A plain exchange is over when the server has ended. */
	if (server->ended && client->shut && (client->ended || r->limited)) {
		relay_end(r, "closed");
		return;
	}
	side_watch(client, !side_full(server) && !r->surplus);
	side_watch(server, !side_full(client));
}

static void
relay_ready(struct relay *r, int side, unsigned events)
{
	struct side *s = &r->sides[side];

	if ((events & LOOP_WRITE) && !side_flush(s)) {
		relay_end(r, "one side is gone");
		return;
	}
	if ((events & LOOP_READ) && !s->ended) {
		enum moved moved = move_bytes(r, side);
		if (moved == MOVED_FAILED || moved == MOVED_BROKEN) {
			relay_end(r, moved == MOVED_BROKEN ? "the body of the request "
				"is malformed" : "one side is gone");
			return;
		}
	}
	relay_look(r);
}

static void
on_client(void *arg, unsigned events)
{
	relay_ready(arg, CLIENT, events);
}

static void
on_server(void *arg, unsigned events)
{
	relay_ready(arg, SERVER, events);
}

void
relay_owner_ended(struct relay *r)
{
	char c;

	/* Its end may be there and not have been read yet. */
	if (!r->sides[CLIENT].ended &&
	    recv(r->sides[CLIENT].fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		return;
	r->orphan = true;
	relay_arm(r);
}

/* ---- beginning ------------------------------------------------------------------------ */

static void
side_init(struct relay *r, int which, int fd, const void *first, size_t len)
{
	struct side *s = &r->sides[which];

	REQUIRE(len <= RELAY_CHUNK);
	s->fd = fd;
	if (len) {
		s->waiting = mem_alloc(RELAY_CHUNK);
		memcpy(s->waiting, first, len);
		s->len = len;
	}
	s->watch = loop_watch(r->loop, fd, 0, which == CLIENT ? "relay client" :
		"relay server", which == CLIENT ? on_client : on_server, r);
}

struct relay *
relay_new(struct loop *loop, const struct relay_start *start, relay_cb *cb,
	void *arg)
{
	struct relay *r = mem_alloc(sizeof(*r));

	r->loop = loop;
	r->cb = cb;
	r->arg = arg;
	r->moved = loop_now(loop);
	if (start->body) {
		r->limited = true;
		r->body = *start->body;
		r->surplus = start->surplus;
	}
	side_init(r, CLIENT, start->client, start->to_client, start->to_client_len);
	side_init(r, SERVER, start->server, start->to_server, start->to_server_len);
	/* The first event comes at once: what waits can be written. */
	side_watch(&r->sides[CLIENT], !side_full(&r->sides[SERVER]));
	side_watch(&r->sides[SERVER], !side_full(&r->sides[CLIENT]));
	relay_arm(r);
	return r;
}
