#include "sandbox/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/proxy_priv.h"

#define ACCEPTS_PER_TURN 16
#define PAUSE_MS 200		/* after accept failed: descriptors are short */
#define FDS_FOR_OTHERS 512	/* of the process's limit */
#define CONNS_MIN 16
#define LOG_LINES 30		/* of one sandbox in LOG_MS; others are counted */
#define LOG_MS 10000

struct proxy *
proxy_new(struct loop *loop, const struct egress_opts *opts, struct err *err)
{
	struct egress *egress = egress_new(opts, err);
	struct rlimit lim = { 1024, 1024 };

	if (!egress)
		return NULL;
	struct proxy *p = mem_alloc(sizeof(*p));
	p->loop = loop;
	p->egress = egress;
	p->resolver = resolver_new(loop);
	TAILQ_INIT(&p->ports);
	/* Two descriptors a connection; the gateway must not run out of them. */
	(void)getrlimit(RLIMIT_NOFILE, &lim);
	p->conns_max = lim.rlim_cur > FDS_FOR_OTHERS ?
		(size_t)(lim.rlim_cur - FDS_FOR_OTHERS) / 2 : 0;
	if (p->conns_max < CONNS_MIN)
		p->conns_max = CONNS_MIN;
	if (p->conns_max > PROXY_CONNS)
		p->conns_max = PROXY_CONNS;
	/* One sandbox never takes all. */
	p->port_max = p->conns_max / 4 < PROXY_PORT_CONNS ? p->conns_max / 4 :
		PROXY_PORT_CONNS;
	return p;
}

void
proxy_free(struct proxy **pp)
{
	if (!pp || !*pp)
		return;
	struct proxy *p = STEAL(*pp);

	REQUIRE(TAILQ_EMPTY(&p->ports));
	resolver_free(&p->resolver);
	egress_free(&p->egress);
	mem_free(p);
}

/* ---- what the operator reads -------------------------------------------------------- */

/* At most LOG_LINES in LOG_MS; what was left out is counted in the next line. */
static bool
may_log(struct proxy_port *port)
{
	msec_t now = loop_now(port->proxy->loop);

	if (now - port->log_since >= LOG_MS) {
		if (port->unlogged)
			log_warn("egress", NULL, "sandbox=%s %u more decisions were "
				"not shown", port->sandbox, port->unlogged);
		port->log_since = now;
		port->logged = port->unlogged = 0;
	}
	if (port->logged < LOG_LINES) {
		port->logged++;
		return true;
	}
	port->unlogged++;
	return false;
}

void
proxy_decided(struct proxy_port *port, const char *how,
	const struct egress_target *target, const char *why)
{
	if (why)
		port->counts.refused++;
	else
		port->counts.allowed++;
	if (port->quiet || !may_log(port))
		return;
	if (!target)
		log_info("egress", NULL, "sandbox=%s %s refused: %s", port->sandbox,
			how, why);
	else
		log_info("egress", NULL, "sandbox=%s %s %s:%u %s%s", port->sandbox,
			how, target->host, target->port, why ? "refused: " : "allowed",
			why ? why : "");
}

/* ---- listening ----------------------------------------------------------------------- */

static bool
has_room(const struct proxy_port *port)
{
	return !port->resume && port->counts.open < port->proxy->port_max &&
		port->proxy->conns < port->proxy->conns_max;
}

static void
listeners_watch(struct proxy_port *port)
{
	bool room = has_room(port);

	for (size_t i = 0; i < port->nlisteners; i++)
		loop_watch_set(port->listeners[i].watch, room ? LOOP_READ : 0);
}

void
proxy_room(struct proxy_port *port)
{
	struct proxy *p = port->proxy;
	struct proxy_port *other;

	bool was_full = p->conns == p->conns_max;
	p->conns--;
	if (port->counts.open == p->port_max - 1)
		listeners_watch(port);
	if (was_full)
		TAILQ_FOREACH(other, &p->ports, entry)
			listeners_watch(other);
}

static void
on_resume(void *arg)
{
	struct proxy_port *port = arg;

	port->resume = NULL;
	listeners_watch(port);
}

static void
on_connection(void *arg, unsigned events)
{
	struct listener *l = arg;
	struct proxy_port *port = l->port;
	const int one = 1;

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN && has_room(port); i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0 && errno != EAGAIN) {
			log_warn("egress", NULL, "sandbox=%s a connection could not "
				"be taken (errno %d)", port->sandbox, errno);
			port->resume = loop_after(port->proxy->loop, PAUSE_MS,
				"proxy resume", on_resume, port);
		}
		if (fd < 0)
			break;
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		conn_new(port, fd);
	}
	if (!has_room(port))
		listeners_watch(port);
}

struct proxy_port *
proxy_open(struct proxy *proxy, const char *sandbox, const int *fds, size_t nfds)
{
	struct proxy_port *port = mem_alloc(sizeof(*port));

	REQUIRE(nfds <= PROXY_LISTENERS_MAX);
	port->proxy = proxy;
	port->sandbox = mem_str(sandbox);
	port->log_since = loop_now(proxy->loop);
	TAILQ_INIT(&port->conns);
	TAILQ_INSERT_TAIL(&proxy->ports, port, entry);
	for (size_t i = 0; i < nfds; i++) {
		struct listener *l = &port->listeners[port->nlisteners++];
		l->port = port;
		l->fd = fds[i];
		(void)fcntl(l->fd, F_SETFL, O_NONBLOCK);
		l->watch = loop_watch(proxy->loop, l->fd, LOOP_READ, "proxy accept",
			on_connection, l);
	}
	return port;
}

void
proxy_close(struct proxy_port **pp)
{
	if (!pp || !*pp)
		return;
	struct proxy_port *port = STEAL(*pp);

	for (size_t i = 0; i < port->nlisteners; i++) {
		loop_unwatch(&port->listeners[i].watch);
		close(port->listeners[i].fd);
	}
	port->nlisteners = 0;
	while (!TAILQ_EMPTY(&port->conns))
		conn_free(TAILQ_FIRST(&port->conns));
	loop_cancel(&port->resume);
	if (port->counts.allowed + port->counts.refused && !port->quiet)
		log_info("egress", NULL, "sandbox=%s closed: %llu allowed, %llu "
			"refused, %u of them not shown", port->sandbox,
			(unsigned long long)port->counts.allowed,
			(unsigned long long)port->counts.refused, port->unlogged);
	TAILQ_REMOVE(&port->proxy->ports, port, entry);
	mem_free(port->sandbox);
	mem_free(port);
}

void
proxy_quiet(struct proxy_port *port)
{
	port->quiet = true;
}
