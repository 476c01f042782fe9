/*
 * libcurl's multi-socket interface on the loop: sockets, the timer, and what
 * has ended.  Knows nothing of requests (http_curl.c).
 *
 * Sockets are known by their number, because libcurl calls back with handles
 * that are not ours, and its timer is one single-shot timer of the loop.
 */
#include <string.h>
#include <unistd.h>

#include "base/http_curl_loop.h"
#include "base/mem.h"

struct curl_sock {
	struct curl_loop *owner;
	int fd;
	struct watch *watch;
};

static void on_curl_timer(void *arg);
static void curl_loop_reap(struct curl_loop *cl);

static void
sock_drop(struct curl_loop *cl, int fd)
{
	if ((size_t)fd >= cl->nsocks || !cl->socks[fd])
		return;
	loop_unwatch(&cl->socks[fd]->watch);
	mem_free(STEAL(cl->socks[fd]));
}

static void
on_sock_ready(void *arg, unsigned events)
{
	struct curl_sock *s = arg;
	struct curl_loop *cl = s->owner;
	int running;
	int bits = (events & LOOP_READ ? CURL_CSELECT_IN : 0) |
		(events & LOOP_WRITE ? CURL_CSELECT_OUT : 0);

	/* s may be gone afterwards */
	(void)curl_multi_socket_action(cl->multi, s->fd, bits, &running);
	curl_loop_reap(cl);
}

static int
on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
	struct curl_loop *cl = arg;
	unsigned events = (what & CURL_POLL_IN ? LOOP_READ : 0) |
		(what & CURL_POLL_OUT ? LOOP_WRITE : 0);

	(void)easy;
	(void)unused;
	if (what == CURL_POLL_REMOVE) {
		sock_drop(cl, fd);
		return 0;
	}
	if ((size_t)fd >= cl->nsocks) {
		size_t n = (size_t)fd + 64;

		cl->socks = mem_grow(cl->socks, n, sizeof(*cl->socks));
		memset(cl->socks + cl->nsocks, 0,
			(n - cl->nsocks) * sizeof(*cl->socks));
		cl->nsocks = n;
	}
	if (cl->socks[fd]) {
		loop_watch_set(cl->socks[fd]->watch, events);
		return 0;
	}
	struct curl_sock *s = mem_alloc(sizeof(*s));
	s->owner = cl;
	s->fd = fd;
	s->watch = loop_watch(cl->loop, fd, events, "http", on_sock_ready, s);
	cl->socks[fd] = s;
	return 0;
}

/* libcurl has had releases that closed a socket without taking it back first. */
static int
on_curl_close(void *arg, curl_socket_t fd)
{
	sock_drop(arg, fd);
	return close(fd);
}

/* 0 means soon, not now: acting here would recurse into libcurl. */
static int
on_curl_timeout(CURLM *multi, long ms, void *arg)
{
	struct curl_loop *cl = arg;

	(void)multi;
	loop_cancel(&cl->timer);
	if (ms == 0)
		cl->timer = loop_defer(cl->loop, "http", on_curl_timer, cl);
	else if (ms > 0)
		cl->timer = loop_after(cl->loop, ms, "http", on_curl_timer, cl);
	return 0;
}

static void
on_curl_timer(void *arg)
{
	struct curl_loop *cl = arg;
	int running;

	cl->timer = NULL;
	(void)curl_multi_socket_action(cl->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	curl_loop_reap(cl);
}

static void
curl_loop_reap(struct curl_loop *cl)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(cl->multi, &left)))
		if (m->msg == CURLMSG_DONE)	/* m dies with the handle */
			cl->ended(m->easy_handle, m->data.result);
}

void
curl_loop_init(struct curl_loop *cl, struct loop *loop, long max_connects,
	curl_loop_ended_cb *ended)
{
	memset(cl, 0, sizeof(*cl));
	cl->loop = loop;
	cl->ended = ended;
	cl->multi = curl_multi_init();
	REQUIRE(cl->multi);
	curl_multi_setopt(cl->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
	curl_multi_setopt(cl->multi, CURLMOPT_SOCKETDATA, cl);
	curl_multi_setopt(cl->multi, CURLMOPT_TIMERFUNCTION, on_curl_timeout);
	curl_multi_setopt(cl->multi, CURLMOPT_TIMERDATA, cl);
	curl_multi_setopt(cl->multi, CURLMOPT_MAXCONNECTS, max_connects);
}

void
curl_loop_done(struct curl_loop *cl)
{
	curl_multi_cleanup(cl->multi);
	loop_cancel(&cl->timer);
	for (size_t fd = 0; fd < cl->nsocks; fd++)
		sock_drop(cl, (int)fd);
	mem_free(cl->socks);
}

void
curl_loop_add(struct curl_loop *cl, CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_curl_close);
	curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, cl);
	REQUIRE(curl_multi_add_handle(cl->multi, easy) == CURLM_OK);
}

void
curl_loop_remove(struct curl_loop *cl, CURL *easy)
{
	(void)curl_multi_remove_handle(cl->multi, easy);
}
