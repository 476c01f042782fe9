#include "gateway/owner.h"

#include <errno.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/owner_frame.h"
#include "gateway/owner_path.h"

#define READ_CHUNK (64 * 1024)
#define OUT_MAX (8 * OWNER_FRAME_MAX)
#define IDLE_MS 60000		/* a client without a request */
#define ACCEPTS_PER_TURN 16

struct owner_call {
	struct owner *owner;
	int fd;
	struct watch *watch;
	struct timer *timer;	/* idle, or the deferred end of a broken one */
	struct buf in, out;
	const struct owner_handler *handler;	/* NULL: no call under way */
	void *data;
	bool broken;		/* to be dropped from drop_later */
	LIST_ENTRY(owner_call) link;
};

struct owner {
	struct loop *loop;
	struct home home;	/* own copy of dir only */
	const struct owner_handler *handlers;
	size_t nhandlers;
	void *arg;
	int fd;
	struct watch *watch;
	size_t nclients;
	LIST_HEAD(, owner_call) clients;
};

static void
client_free(struct owner_call *c)
{
	const struct owner_handler *handler = STEAL(c->handler);
	struct owner *o = c->owner;

	c->broken = true;	/* what gone sends goes nowhere */
	if (handler && handler->gone)
		handler->gone(o->arg, c);
	loop_cancel(&c->timer);
	loop_unwatch(&c->watch);
	close(c->fd);
	buf_done(&c->in);
	buf_done(&c->out);
	LIST_REMOVE(c, link);
	o->nclients--;
	mem_free(c);
}

static void
drop_later(void *arg)
{
	struct owner_call *c = arg;

	c->timer = NULL;
	client_free(c);
}

/* Not at once: a handler that sends must not lose its call meanwhile. */
static void
client_break(struct owner_call *c)
{
	if (c->broken)
		return;
	c->broken = true;
	loop_watch_set(c->watch, 0);
	loop_cancel(&c->timer);
	c->timer = loop_defer(c->owner->loop, "owner drop", drop_later, c);
}

static void
idle_out(void *arg)
{
	struct owner_call *c = arg;

	c->timer = NULL;
	client_free(c);
}

static void
wait_for_request(struct owner_call *c)
{
	loop_cancel(&c->timer);
	c->timer = loop_after(c->owner->loop, IDLE_MS, "owner idle", idle_out, c);
}

static void
flush(struct owner_call *c)
{
	while (c->out.len) {
		ssize_t n = send(c->fd, c->out.data, c->out.len,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			client_break(c);
			return;
		}
		buf_drain(&c->out, (size_t)n);
	}
	loop_watch_set(c->watch, LOOP_READ | (c->out.len ? LOOP_WRITE : 0));
}

void
owner_call_send(struct owner_call *c, struct json *frame)
{
	if (!c->broken && !owner_frame_add(&c->out, frame)) {
		log_warn("owner", NULL, "a client is too slow: dropped");
		client_break(c);
	}
	json_free(&frame);
	if (!c->broken)
		flush(c);
}

void
owner_call_end(struct owner_call *c, struct json *frame, bool ok)
{
	if (!frame)
		frame = json_object();
	json_set_str(frame, "event", "done");
	json_set_bool(frame, "ok", ok);
	c->handler = NULL;
	c->data = NULL;
	owner_call_send(c, frame);
	if (!c->broken)
		wait_for_request(c);
}

void *
owner_call_data(const struct owner_call *c)
{
	return c->data;
}

void
owner_call_set_data(struct owner_call *c, void *data)
{
	c->data = data;
}

static void
refuse(struct owner_call *c, const char *why)
{
	struct json *frame = json_object();

	json_set_str(frame, "error", why);
	owner_call_end(c, frame, false);
}

static void
on_frame(struct owner_call *c, const struct json *frame)
{
	struct owner *o = c->owner;
	const char *cmd = json_get_str(frame, "cmd", "");

	if (c->handler) {
		if (c->handler->input)
			c->handler->input(o->arg, c, frame);
		else
			client_break(c);
		return;
	}
	for (size_t i = 0; i < o->nhandlers; i++) {
		if (strcmp(o->handlers[i].cmd, cmd) != 0)
			continue;
		loop_cancel(&c->timer);
		c->handler = &o->handlers[i];
		c->handler->start(o->arg, c, frame);
		return;
	}
	refuse(c, "the running gatehouse doesn't know this command: is it older?");
}

static void
on_bytes(struct owner_call *c)
{
	struct json *frame;
	struct err err;
	int r;

	while (!c->broken && (r = owner_frame_next(&c->in, &frame, &err))) {
		if (r < 0) {
			log_warn("owner", NULL, "a client is dropped: %s", err.text);
			client_break(c);
			return;
		}
		on_frame(c, frame);
		json_free(&frame);
	}
}

static void
on_client(void *arg, unsigned events)
{
	struct owner_call *c = arg;
	char chunk[READ_CHUNK];
	ssize_t n;

	if (events & LOOP_WRITE)
		flush(c);
	if (c->broken || !(events & LOOP_READ))
		return;
	n = recv(c->fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_break(c);
		return;
	}
	/* in has room for a frame and a chunk, and whole frames are taken out. */
	buf_add(&c->in, chunk, (size_t)n);
	on_bytes(c);
}

static bool
peer_allowed(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
		cred.uid == geteuid();
}

static void
client_new(struct owner *o, int fd)
{
	struct owner_call *c = mem_alloc(sizeof(*c));

	c->owner = o;
	c->fd = fd;
	buf_init(&c->in, OWNER_FRAME_MAX + 4 + READ_CHUNK);
	buf_init(&c->out, OUT_MAX);
	c->watch = loop_watch(o->loop, fd, LOOP_READ, "owner client", on_client, c);
	LIST_INSERT_HEAD(&o->clients, c, link);
	o->nclients++;
	wait_for_request(c);
}

static void
on_connect(void *arg, unsigned events)
{
	struct owner *o = arg;

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd = accept4(o->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (o->nclients == OWNER_CLIENTS_MAX || !peer_allowed(fd)) {
			close(fd);
			continue;
		}
		client_new(o, fd);
	}
}

struct owner *
owner_listen(struct loop *loop, const struct home *home,
	const struct owner_handler *handlers, size_t n, void *arg, struct err *err)
{
	int fd = owner_path_listen(home, err);
	struct owner *o;

	if (fd < 0)
		return NULL;
	o = mem_alloc(sizeof(*o));
	*o = (struct owner){ .loop = loop, .home = { .dir = mem_str(home->dir) },
		.handlers = handlers, .nhandlers = n, .arg = arg, .fd = fd };
	LIST_INIT(&o->clients);
	o->watch = loop_watch(loop, fd, LOOP_READ, "owner accept", on_connect, o);
	return o;
}

void
owner_free(struct owner **op)
{
	struct owner *o = STEAL(*op);

	if (!o)
		return;
	loop_unwatch(&o->watch);
	close(o->fd);
	owner_path_remove(&o->home);
	while (!LIST_EMPTY(&o->clients))
		client_free(LIST_FIRST(&o->clients));
	mem_free(o->home.dir);
	mem_free(o);
}
