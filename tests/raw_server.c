#include "tests/raw_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

#define CONNECTIONS_MAX 16384

struct raw_conn {
	struct raw_server *srv;
	int fd;
	int n;
	bool open;
	pthread_t thread;
};

struct raw_server {
	raw_server_fn *fn;
	void *arg;
	int fd;
	int port;
	pthread_t thread;
	pthread_mutex_t lock;
	int nconns;
	struct raw_conn *conns[CONNECTIONS_MAX];
};

static void *
conn_main(void *arg)
{
	struct raw_conn *c = arg;
	int one = 1;

	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->srv->fn(c->srv->arg, c->fd, c->n);
	pthread_mutex_lock(&c->srv->lock);
	c->open = false;
	close(c->fd);
	pthread_mutex_unlock(&c->srv->lock);
	return NULL;
}

static void *
server_main(void *arg)
{
	struct raw_server *srv = arg;
	int fd;

	while ((fd = accept(srv->fd, NULL, NULL)) >= 0) {
		struct raw_conn *c = mem_alloc(sizeof(*c));

		REQUIRE(srv->nconns < CONNECTIONS_MAX);
		c->srv = srv;
		c->fd = fd;
		c->open = true;
		pthread_mutex_lock(&srv->lock);
		c->n = srv->nconns;
		srv->conns[srv->nconns++] = c;
		pthread_mutex_unlock(&srv->lock);
		REQUIRE(pthread_create(&c->thread, NULL, conn_main, c) == 0);
	}
	return NULL;
}

struct raw_server *
raw_server_new(raw_server_fn *fn, void *arg)
{
	struct raw_server *srv = mem_alloc(sizeof(*srv));
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);

	srv->fn = fn;
	srv->arg = arg;
	pthread_mutex_init(&srv->lock, NULL);
	srv->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	REQUIRE(srv->fd >= 0);
	REQUIRE(bind(srv->fd, (struct sockaddr *)&sin, sizeof(sin)) == 0);
	REQUIRE(listen(srv->fd, 128) == 0);
	REQUIRE(getsockname(srv->fd, (struct sockaddr *)&sin, &len) == 0);
	srv->port = ntohs(sin.sin_port);
	REQUIRE(pthread_create(&srv->thread, NULL, server_main, srv) == 0);
	return srv;
}

void
raw_server_free(struct raw_server **srvp)
{
	struct raw_server *srv = STEAL(*srvp);

	shutdown(srv->fd, SHUT_RDWR);
	pthread_join(srv->thread, NULL);
	close(srv->fd);
	pthread_mutex_lock(&srv->lock);
	for (int i = 0; i < srv->nconns; i++)
		if (srv->conns[i]->open)
			shutdown(srv->conns[i]->fd, SHUT_RDWR);
	pthread_mutex_unlock(&srv->lock);
	for (int i = 0; i < srv->nconns; i++) {
		pthread_join(srv->conns[i]->thread, NULL);
		mem_free(srv->conns[i]);
	}
	pthread_mutex_destroy(&srv->lock);
	mem_free(srv);
}

int
raw_server_port(const struct raw_server *srv)
{
	return srv->port;
}

int
raw_server_connections(struct raw_server *srv)
{
	pthread_mutex_lock(&srv->lock);
	int n = srv->nconns;
	pthread_mutex_unlock(&srv->lock);
	return n;
}

size_t
raw_read_request(int fd, char *out, size_t size)
{
	size_t len = 0;
	size_t want = 0;

	while (len + 1 < size) {
		ssize_t n = recv(fd, out + len, size - len - 1, 0);

		if (n <= 0)
			return 0;
		len += (size_t)n;
		out[len] = '\0';
		char *end = strstr(out, "\r\n\r\n");
		if (end && !want) {
			char *cl = strcasestr(out, "content-length:");

			want = (size_t)(end + 4 - out);
			if (cl && cl < end)
				want += strtoul(cl + 15, NULL, 10);
		}
		if (want && len >= want)
			return len;
	}
	return len;
}

bool
raw_write(int fd, const char *s)
{
	size_t len = strlen(s);

	while (len) {
		ssize_t n = send(fd, s, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		s += n;
		len -= (size_t)n;
	}
	return true;
}

void
raw_reset(int fd)
{
	struct linger l = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	/* the handler's return closes it, and that sends the RST */
}

void
raw_wait_gone(int fd)
{
	char sink[4096];

	while (recv(fd, sink, sizeof(sink), 0) > 0)
		;
}
