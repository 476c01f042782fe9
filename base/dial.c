#include "base/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct dial {
	struct op op;
	struct loop *loop;
	struct ip ips[DIAL_ADDRESSES_MAX];
	size_t n, next;
	uint16_t port;
	msec_t until;
	int fd;			/* of the attempt under way; -1 */
	struct watch *watch;
	struct timer *timer;
	struct err err;		/* of the last attempt */
	dial_cb *cb;
	void *arg;
};

static void dial_next(void *arg);

static void
attempt_end(struct dial *d)
{
	loop_unwatch(&d->watch);
	loop_cancel(&d->timer);
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

static void
dial_cancel(struct op *op)
{
	struct dial *d = (struct dial *)op;

	attempt_end(d);
	mem_free(d);
}

static const struct op_type dial_type = { "dial", dial_cancel };

static void
dial_end(struct dial *d, bool good)
{
	struct ip at = d->ips[d->next ? d->next - 1 : 0];
	struct err err = d->err;
	dial_cb *cb = d->cb;
	void *arg = d->arg;
	int fd = good ? d->fd : -1;

	if (good)
		d->fd = -1;

	attempt_end(d);
	op_finish(&d->op);
	mem_free(d);
	cb(arg, fd, &at, good ? NULL : &err);
}

static void
attempt_failed(struct dial *d, int errnum)
{
	char text[IP_TEXT_MAX];

	ip_text(&d->ips[d->next - 1], text);
	err_set(&d->err, errnum == ETIMEDOUT ? ERR_TIMEOUT : ERR_UNAVAILABLE,
		"no connection to %s port %u: %s", text, d->port, strerror(errnum));
	attempt_end(d);
	d->timer = loop_defer(d->loop, "dial next", dial_next, d);
}

static void
on_ready(void *arg, unsigned events)
{
	struct dial *d = arg;
	socklen_t len = sizeof(int);
	int errnum = 0;

	(void)events;
	if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
		errnum = errno;
	if (errnum)
		attempt_failed(d, errnum);
	else
		dial_end(d, true);
}

static void
on_late(void *arg)
{
	struct dial *d = arg;

	d->timer = NULL;
	attempt_failed(d, ETIMEDOUT);
}

static void
dial_next(void *arg)
{
	struct dial *d = arg;
	struct sockaddr_storage sa;
	msec_t left = d->until - loop_now(d->loop);
	const int one = 1;

	d->timer = NULL;
	if (d->next == d->n || left <= 0) {
		dial_end(d, false);
		return;
	}
	const struct ip *ip = &d->ips[d->next++];
	socklen_t len = ip_to_sockaddr(ip, d->port, &sa);

	d->fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0 || (connect(d->fd, (struct sockaddr *)&sa, len) < 0 &&
	    errno != EINPROGRESS)) {
		attempt_failed(d, errno);
		return;
	}
	(void)setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	d->watch = loop_watch(d->loop, d->fd, LOOP_WRITE, "dial", on_ready, d);
	d->timer = loop_after(d->loop, left / (msec_t)(d->n - d->next + 1) + 1,
		"dial", on_late, d);
}

struct op *
dial_start(struct loop *loop, const struct ip *ips, size_t n, uint16_t port,
	msec_t timeout, dial_cb *cb, void *arg)
{
	struct dial *d = mem_alloc(sizeof(*d));

	REQUIRE(n > 0 && n <= DIAL_ADDRESSES_MAX);
	op_init(&d->op, &dial_type);
	d->loop = loop;
	memcpy(d->ips, ips, n * sizeof(*ips));
	d->n = n;
	d->port = port;
	d->until = loop_now(loop) + timeout;
	d->fd = -1;
	d->cb = cb;
	d->arg = arg;
	d->timer = loop_defer(loop, "dial", dial_next, d);
	return &d->op;
}

bool
dial_is_own(const struct ip *ip)
{
	struct sockaddr_storage sa, local;
	socklen_t len = ip_to_sockaddr(ip, 9, &sa), local_len = sizeof(local);
	struct ip from;

	/*
	 * A connected datagram socket sends nothing; the kernel only chooses the
	 * source address, and to an address of our own it is that very one.
	 */
	CLEANUP_CLOSE int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&local, &local_len) < 0 ||
	    ip_from_sockaddr((struct sockaddr *)&local, &from) < 0)
		return false;	/* no route: nor will a connection find one */
	return ip_equal(ip, &from);
}
