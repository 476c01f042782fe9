/*
 * One connection to the proxy: HELLO (what does it want?) > RESOLVE > DIAL >
 * RELAY, or REFUSED with the reason.  One thing is waited for at a time; every
 * step has its limit in time.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/dial.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/proxy_priv.h"

#define LINGER_BYTES (1024 * 1024)	/* read and dropped after a refusal */

enum step { STEP_HELLO, STEP_RESOLVE, STEP_DIAL, STEP_RELAY, STEP_REFUSED };
enum way { WAY_UNKNOWN, WAY_CONNECT, WAY_PLAIN, WAY_SOCKS };

struct conn {
	TAILQ_ENTRY(conn) entry;
	struct proxy_port *port;
	enum step step;
	enum way way;
	int fd;			/* -1: the relay has it */
	struct watch *watch;
	struct timer *timer;
	struct op *waiting;	/* resolve or dial */
	struct relay *relay;
	struct buf in;		/* what was read and not understood yet */
	struct buf forward;	/* head of a plain request, for the server */
	bool greeted;		/* SOCKS: the method is agreed on */
	struct proxy_head head;	/* its target for every way */
	size_t drained;
};

static const char *const step_names[] = {
	"hello", "resolve", "dial", "relay", "refused",
};
static const char *const way_names[] = { "?", "CONNECT", "HTTP", "SOCKS" };

/* The only place that writes the step. */
static void
conn_enter(struct conn *c, enum step step)
{
	log_debug("egress", NULL, "%s connection %s -> %s", c->port->sandbox,
		step_names[c->step], step_names[step]);
	c->step = step;
}

void
conn_free(struct conn *c)
{
	struct proxy_port *port = c->port;

	TAILQ_REMOVE(&port->conns, c, entry);
	op_cancel(&c->waiting);
	relay_free(&c->relay);
	loop_cancel(&c->timer);
	loop_unwatch(&c->watch);
	if (c->fd >= 0)
		close(c->fd);
	buf_done(&c->in);
	buf_done(&c->forward);
	mem_free(c);
	port->counts.open--;
	proxy_room(port);
}

static void
on_late(void *arg)
{
	struct conn *c = arg;

	c->timer = NULL;
	conn_free(c);
}

/* ---- refusing ----------------------------------------------------------------------- */

static const char *
status_words(int status)
{
	switch (status) {
	case 400: return "Bad Request";
	case 403: return "Forbidden";
	case 431: return "Request Header Fields Too Large";
	case 501: return "Not Implemented";
	case 502: return "Bad Gateway";
	case 503: return "Service Unavailable";
	default: return "Gateway Timeout";
	}
}

/* Waits for the client to read and close: closing with bytes of its unread
 * would reset the connection and take the refusal back. */
static void
conn_linger(struct conn *c)
{
	conn_enter(c, STEP_REFUSED);
	(void)shutdown(c->fd, SHUT_WR);
	loop_watch_set(c->watch, LOOP_READ);
	loop_cancel(&c->timer);
	c->timer = loop_after(c->port->proxy->loop, PROXY_LINGER_MS,
		"proxy linger", on_late, c);
}

/* Fits a fresh socket's buffer; a client that closed gets nothing. */
static void
conn_say(struct conn *c, const void *data, size_t len)
{
	(void)!send(c->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void
conn_refuse_http(struct conn *c, int status, const char *why)
{
	struct buf body CLEANUP_BUF, out CLEANUP_BUF;

	buf_init(&body, 2048);
	buf_init(&out, 4096);
	buf_printf(&body, "gatehouse: %s\n", why);
	buf_printf(&out, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; "
		"charset=utf-8\r\nContent-Length: %zu\r\nConnection: close\r\n"
		"Proxy-Agent: gatehouse\r\n\r\n%s", status, status_words(status),
		body.len, body.data);
	conn_say(c, out.data, out.len);
}

static void
conn_refuse_socks(struct conn *c, enum socks_reply reply)
{
	const unsigned char out[10] = { 5, (unsigned char)reply, 0, 1 };

	conn_say(c, out, sizeof(out));
}

static int
status_of(enum err_code code)
{
	return code == ERR_DENIED ? 403 : code == ERR_TIMEOUT ? 504 :
		code == ERR_LIMIT ? 503 : code == ERR_INVALID ? 400 : 502;
}

static enum socks_reply
reply_of(enum err_code code)
{
	return code == ERR_DENIED ? SOCKS_NOT_ALLOWED :
		code == ERR_NOT_FOUND ? SOCKS_HOST_UNREACHABLE :
		code == ERR_TIMEOUT ? SOCKS_TTL_EXPIRED :
		code == ERR_UNAVAILABLE ? SOCKS_REFUSED : SOCKS_FAILED;
}

/* After the target is known. */
static void
conn_refuse(struct conn *c, const struct err *err)
{
	proxy_decided(c->port, way_names[c->way], &c->head.target, err->text);
	if (c->way == WAY_SOCKS)
		conn_refuse_socks(c, reply_of(err->code));
	else
		conn_refuse_http(c, status_of(err->code), err->text);
	conn_linger(c);
}

/* What it said was not understood. */
static void
conn_refuse_words(struct conn *c, int status, enum socks_reply reply,
	const struct err *err)
{
	proxy_decided(c->port, way_names[c->way], NULL, err->text);
	if (c->way == WAY_SOCKS)
		conn_refuse_socks(c, reply);
	else
		conn_refuse_http(c, status, err->text);
	conn_linger(c);
}

static void
conn_drain(struct conn *c)
{
	static char waste[16384];
	ssize_t n = recv(c->fd, waste, sizeof(waste), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->drained += n > 0 ? (size_t)n : 0;
	if (n <= 0 || c->drained > LINGER_BYTES)
		conn_free(c);
}

/* ---- reaching the server ---------------------------------------------------------------- */

static void
on_relayed(void *arg, const struct relay_result *res)
{
	struct conn *c = arg;

	c->relay = NULL;
	log_debug("egress", NULL, "%s %s:%u ended: %s; %llu bytes up, %llu down",
		c->port->sandbox, c->head.target.host, c->head.target.port, res->why,
		(unsigned long long)res->up, (unsigned long long)res->down);
	conn_free(c);
}

static void
conn_relay(struct conn *c, int server)
{
	static const char established[] = "HTTP/1.1 200 Connection established\r\n"
		"Proxy-Agent: gatehouse\r\n\r\n";
	static const unsigned char granted[10] = { 5, SOCKS_OK, 0, 1 };
	struct relay_start start = { .client = c->fd, .server = server };
	bool plain = c->way == WAY_PLAIN;

	if (c->way == WAY_CONNECT) {
		start.to_client = established;
		start.to_client_len = sizeof(established) - 1;
	} else if (c->way == WAY_SOCKS) {
		start.to_client = granted;
		start.to_client_len = sizeof(granted);
	}
	/* What came behind the head, or the part of it that is its body. */
	ptrdiff_t share = plain ? proxy_body_feed(&c->head.body, c->in.data,
		c->in.len) : (ptrdiff_t)c->in.len;
	if (share < 0) {
		close(server);
		conn_free(c);
		return;
	}
	buf_add(&c->forward, c->in.data, (size_t)share);
	start.to_server = c->forward.data;
	start.to_server_len = c->forward.len;
	start.body = plain ? &c->head.body : NULL;
	start.surplus = plain && (size_t)share < c->in.len;
	loop_unwatch(&c->watch);
	c->fd = -1;
	conn_enter(c, STEP_RELAY);
	c->relay = relay_new(c->port->proxy->loop, &start, on_relayed, c);
	buf_done(&c->in);
	buf_done(&c->forward);
}

static void
on_dialled(void *arg, int fd, const struct ip *at, const struct err *err)
{
	struct conn *c = arg;

	(void)at;
	c->waiting = NULL;
	if (err)
		conn_refuse(c, err);
	else
		conn_relay(c, fd);
}

/* Every address of the name, or none of them is dialled. */
static int
check_addresses(const struct conn *c, const struct ip *ips, size_t n,
	struct err *err)
{
	const struct egress *e = c->port->proxy->egress;
	const struct egress_target *t = &c->head.target;

	for (size_t i = 0; i < n; i++) {
		if (egress_check_ip(e, t, &ips[i], err) < 0)
			return -1;
		if (!egress_is_named(e, &ips[i], t->port) && dial_is_own(&ips[i]))
			return err_set(err, ERR_DENIED, "%s leads to this machine "
				"itself, which is never reached unless "
				"native.network_private_allow names it", t->host);
	}
	return 0;
}

static void
conn_dial(struct conn *c, const struct ip *ips, size_t n)
{
	struct err err = { ERR_NONE, "" };

	if (check_addresses(c, ips, n, &err) < 0) {
		conn_refuse(c, &err);
		return;
	}
	proxy_decided(c->port, way_names[c->way], &c->head.target, NULL);
	conn_enter(c, STEP_DIAL);
	c->waiting = dial_start(c->port->proxy->loop, ips, n, c->head.target.port,
		PROXY_DIAL_MS, on_dialled, c);
}

static void
on_resolved(void *arg, const struct ip *ips, size_t n, const struct err *err)
{
	struct conn *c = arg;

	c->waiting = NULL;
	if (err)
		conn_refuse(c, err);
	else
		conn_dial(c, ips, n);
}

static void
conn_decide(struct conn *c)
{
	const struct egress_target *t = &c->head.target;
	struct err err = { ERR_NONE, "" };

	loop_cancel(&c->timer);
	/* Nothing more is read until the server is there. */
	loop_watch_set(c->watch, 0);
	if (egress_check(c->port->proxy->egress, t, &err) < 0) {
		conn_refuse(c, &err);
	} else if (t->literal) {
		conn_dial(c, &t->ip, 1);
	} else {
		conn_enter(c, STEP_RESOLVE);
		c->waiting = resolve_start(c->port->proxy->resolver, t->host,
			PROXY_RESOLVE_MS, on_resolved, c);
	}
}

/* ---- what does it want? --------------------------------------------------------------------- */

static void
hello_socks(struct conn *c)
{
	static const unsigned char agreed[2] = { 5, 0 }, none[2] = { 5, 0xff };
	const unsigned char *data = (const unsigned char *)c->in.data;
	struct err err = { ERR_NONE, "" };
	enum socks_reply reply = SOCKS_FAILED;
	enum socks_result res;
	size_t used = 0;

	c->way = WAY_SOCKS;
	if (!c->greeted) {
		res = socks_greeting(data, c->in.len, &used);
		if (res == SOCKS_BAD) {
			conn_say(c, none, sizeof(none));
			conn_linger(c);
		}
		if (res != SOCKS_DONE)
			return;
		c->greeted = true;
		conn_say(c, agreed, sizeof(agreed));
		buf_drain(&c->in, used);
	}
	res = socks_request((const unsigned char *)c->in.data, c->in.len,
		&c->head.target, &used, &reply, &err);
	if (res == SOCKS_BAD)
		conn_refuse_words(c, 0, reply, &err);
	if (res != SOCKS_DONE)
		return;
	buf_drain(&c->in, used);
	conn_decide(c);
}

static void
hello_http(struct conn *c)
{
	struct err err = { ERR_NONE, "" };
	int status = 400;

	buf_clear(&c->forward);
	switch (proxy_head_read(c->in.data, c->in.len, &c->head, &c->forward,
	    &status, &err)) {
	case PROXY_HEAD_MORE:
		return;
	case PROXY_HEAD_BAD:
		conn_refuse_words(c, status, SOCKS_FAILED, &err);
		return;
	case PROXY_HEAD_DONE:
		break;
	}
	c->way = c->head.connect ? WAY_CONNECT : WAY_PLAIN;
	buf_drain(&c->in, c->head.len);
	conn_decide(c);
}

static void
conn_hello(struct conn *c)
{
	unsigned char first = (unsigned char)c->in.data[0];
	static const unsigned char socks4_no[8] = { 0, 91 };

	if (first == 5 || c->greeted) {
		hello_socks(c);
	} else if (first == 4) {
		conn_say(c, socks4_no, sizeof(socks4_no));
		conn_linger(c);
	} else if ((first | 32) >= 'a' && (first | 32) <= 'z') {
		hello_http(c);
	} else {
		struct err err = { ERR_NONE, "" };
		err_set(&err, ERR_INVALID, "this is neither HTTP nor SOCKS5");
		conn_refuse_words(c, 400, SOCKS_FAILED, &err);
	}
}

static void
on_ready(void *arg, unsigned events)
{
	static char chunk[PROXY_HEAD_MAX];
	struct conn *c = arg;

	(void)events;
	if (c->step == STEP_REFUSED) {
		conn_drain(c);
		return;
	}
	/* Never more than a head, so what is left over is bounded, too. */
	ssize_t n = recv(c->fd, chunk, PROXY_HEAD_MAX - c->in.len, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_free(c);
		return;
	}
	buf_add(&c->in, chunk, (size_t)n);
	/* A head that dribbles in is looked at line by line, not byte by byte. */
	if (c->in.len > (size_t)n && c->in.len < PROXY_HEAD_MAX && !c->greeted &&
	    c->in.data[0] >= 'A' && !memchr(chunk, '\n', (size_t)n))
		return;
	conn_hello(c);
}

void
conn_new(struct proxy_port *port, int fd)
{
	struct conn *c = mem_alloc(sizeof(*c));
	struct loop *loop = port->proxy->loop;

	c->port = port;
	c->fd = fd;
	buf_init(&c->in, PROXY_HEAD_MAX);
	buf_init(&c->forward, RELAY_CHUNK);
	TAILQ_INSERT_TAIL(&port->conns, c, entry);
	port->counts.open++;
	port->proxy->conns++;
	c->watch = loop_watch(loop, fd, LOOP_READ, "proxy client", on_ready, c);
	c->timer = loop_after(loop, PROXY_HELLO_MS, "proxy hello", on_late, c);
}

void
proxy_command_ended(struct proxy_port *port)
{
	struct conn *c, *next;
	char byte;

	for (c = TAILQ_FIRST(&port->conns); c; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->relay)
			relay_owner_ended(c->relay);
		else if (c->waiting &&
		    recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
			conn_free(c);
	}
}
