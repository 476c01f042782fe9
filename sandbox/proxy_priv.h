/* Shared by proxy.c (listeners, bounds, log) and proxy_conn.c (one request). */
#ifndef GATEHOUSE_PROXY_PRIV_H
#define GATEHOUSE_PROXY_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/op.h"
#include "base/resolve.h"
#include "sandbox/proxy.h"
#include "sandbox/proxy_head.h"
#include "sandbox/proxy_relay.h"
#include "sandbox/proxy_socks.h"

#define PROXY_HELLO_MS 10000	/* for the whole head, however it dribbles in */
#define PROXY_RESOLVE_MS 10000
#define PROXY_DIAL_MS 15000
#define PROXY_LINGER_MS 2000	/* for a refusal to be read */
#define PROXY_PORT_CONNS 64	/* of one sandbox; more wait in the kernel */
#define PROXY_CONNS 512		/* of all; less if descriptors are few */

struct proxy {
	struct loop *loop;
	struct egress *egress;
	struct resolver *resolver;
	size_t conns, conns_max, port_max;
	TAILQ_HEAD(, proxy_port) ports;
};

struct listener {
	struct proxy_port *port;
	int fd;
	struct watch *watch;
};

struct proxy_port {
	TAILQ_ENTRY(proxy_port) entry;
	struct proxy *proxy;
	char *sandbox;
	struct listener listeners[PROXY_LISTENERS_MAX];
	size_t nlisteners;
	struct timer *resume;	/* accepting is paused until then */
	TAILQ_HEAD(, conn) conns;
	struct {
		uint64_t allowed, refused;	/* decisions */
		size_t open;			/* connections now */
	} counts;
	msec_t log_since;	/* bounds the log: see decided() */
	unsigned logged, unlogged;
	bool quiet;
};

struct conn;

/* Takes fd. */
void conn_new(struct proxy_port *port, int fd);
void conn_free(struct conn *conn);	/* ends it, without a word */

/* proxy.c: a request was decided; why: the reason of a refusal, or NULL. */
void proxy_decided(struct proxy_port *port, const char *how,
	const struct egress_target *target, const char *why);
/* A connection is gone: another may come. */
void proxy_room(struct proxy_port *port);

#endif
