/*
 * The one way out of a sandbox with a filtered network (rules 5.7): a proxy on
 * the loop that speaks HTTP (CONNECT and plain requests) and SOCKS5 on the same
 * port.  Its listening sockets were made inside the sandbox's network
 * namespace and handed out, so which listener it was says which sandbox it is.
 *
 * Each connection is one request: name checked, resolved, every address
 * checked, one of these addresses dialled (egress.h).  Decisions are logged.
 */
#ifndef GATEHOUSE_PROXY_H
#define GATEHOUSE_PROXY_H

#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"
#include "sandbox/egress.h"

#define PROXY_LISTENERS_MAX 4	/* of one sandbox */

struct proxy;
struct proxy_port;	/* of one sandbox */

/* NULL: the lists are wrong, see err. Lists are copied. */
struct proxy *proxy_new(struct loop *loop, const struct egress_opts *opts,
	struct err *err);
void proxy_free(struct proxy **proxy);	/* every port is closed already */

/* fds: listening sockets, become the port's. sandbox: its id, for the log. */
struct proxy_port *proxy_open(struct proxy *proxy, const char *sandbox,
	const int *fds, size_t nfds);
/* Its decisions are not worth a line (the self-test). */
void proxy_quiet(struct proxy_port *port);
/* A command of the sandbox has ended: what it left open ends soon. */
void proxy_command_ended(struct proxy_port *port);
/* Connections end at once. */
void proxy_close(struct proxy_port **port);

#endif
