/*
 * What the proxy of the filtered network costs: a download of one connection,
 * from a server on loopback straight and through the proxy, in turns, client
 * and server each a process of its own.
 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "sandbox/proxy.h"
#include "tests/bench/figure.h"

#define BYTES (384u << 20)
#define ROUNDS 7
#define SMALL_ROUNDS 200

static int
listen_at(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)at, len) == 0 &&
		listen(fd, 64) == 0 &&
		getsockname(fd, (struct sockaddr *)at, &len) == 0);
	return fd;
}

/* Each connection says with one byte whether it wants much or little. */
static pid_t
serve(int listener)
{
	static char block[1 << 18];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		char want;

		if (fd < 0 || read(fd, &want, 1) != 1) {
			close(fd);
			continue;
		}
		size_t left = want == 'm' ? BYTES : 1;
		while (left > 0) {
			ssize_t n = send(fd, block, left < sizeof(block) ? left :
				sizeof(block), MSG_NOSIGNAL);
			if (n <= 0)
				break;
			left -= (size_t)n;
		}
		close(fd);
	}
}

static int
reach(const struct sockaddr_in *proxy, const struct sockaddr_in *server)
{
	const struct sockaddr_in *to = proxy ? proxy : server;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char answer[4096];

	REQUIRE(connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0);
	if (!proxy)
		return fd;
	CLEANUP_FREE char *ask = mem_printf("CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n",
		ntohs(server->sin_port));
	REQUIRE(send(fd, ask, strlen(ask), MSG_NOSIGNAL) == (ssize_t)strlen(ask));
	ssize_t n = recv(fd, answer, sizeof(answer) - 1, 0);
	REQUIRE(n > 12 && strncmp(answer + 9, "200", 3) == 0);
	return fd;
}

/* In a child: seconds for much, or for SMALL_ROUNDS times little. */
static double
client(const struct sockaddr_in *proxy, const struct sockaddr_in *server, char want)
{
	static char block[1 << 18];
	double began = now_ms();

	for (int i = 0; i < (want == 'm' ? 1 : SMALL_ROUNDS); i++) {
		int fd = reach(proxy, server);
		uint64_t got = 0;
		ssize_t n;

		REQUIRE(send(fd, &want, 1, MSG_NOSIGNAL) == 1);
		while ((n = recv(fd, block, sizeof(block), 0)) > 0)
			got += (uint64_t)n;
		REQUIRE(got == (want == 'm' ? BYTES : 1));
		close(fd);
	}
	return (now_ms() - began) / 1000;
}

struct waiting {
	struct loop *loop;
	int fd;
	double result;
};

static void
on_result(void *arg, unsigned events)
{
	struct waiting *w = arg;

	(void)events;
	REQUIRE(read(w->fd, &w->result, sizeof(w->result)) == sizeof(w->result));
	loop_stop(w->loop);
}

static double
measure(struct loop *loop, const struct sockaddr_in *proxy,
	const struct sockaddr_in *server, char want)
{
	struct waiting w = { .loop = loop };
	int out[2];

	REQUIRE(pipe(out) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		double took = client(proxy, server, want);
		REQUIRE(write(out[1], &took, sizeof(took)) == sizeof(took));
		_exit(0);
	}
	w.fd = out[0];
	struct watch *watch = loop_watch(loop, out[0], LOOP_READ, "result",
		on_result, &w);
	loop_run(loop);
	loop_unwatch(&watch);
	waitpid(pid, NULL, 0);
	close(out[0]);
	close(out[1]);
	return w.result;
}

int
main(void)
{
	struct sockaddr_in server, at;
	struct err err = { ERR_NONE, "" };
	double straight[ROUNDS], proxied[ROUNDS], few[ROUNDS], few_proxied[ROUNDS];

	log_open(2, LOG_WARN);
	int listener = listen_at(&server);
	pid_t pid = serve(listener);
	struct loop *loop = loop_new();
	CLEANUP_FREE char *port = mem_printf("%d", ntohs(server.sin_port));
	const char *const hosts[] = { "127.0.0.1", NULL }, *const ports[] = { port, NULL };
	struct proxy *proxy = proxy_new(loop, &(struct egress_opts){ .allow = hosts,
		.ports = ports, .private_allow = hosts }, &err);
	REQUIRE(proxy);
	int fd = listen_at(&at);
	struct proxy_port *way = proxy_open(proxy, "bench", &fd, 1);
	proxy_quiet(way);

	for (int i = 0; i < ROUNDS; i++) {
		straight[i] = measure(loop, NULL, &server, 'm');
		proxied[i] = measure(loop, &at, &server, 'm');
		few[i] = measure(loop, NULL, &server, 's');
		few_proxied[i] = measure(loop, &at, &server, 's');
	}
	printf("proxy_direct_mb_s %.0f MB/s\n", BYTES / 1e6 / median(straight, ROUNDS));
	printf("proxy_mb_s %.0f MB/s\n", BYTES / 1e6 / median(proxied, ROUNDS));
	printf("proxy_throughput_ratio %.2f x\n", straight[ROUNDS / 2] /
		proxied[ROUNDS / 2]);
	printf("proxy_connection_added_us %.0f us\n", (median(few_proxied, ROUNDS) -
		median(few, ROUNDS)) / SMALL_ROUNDS * 1e6);
	proxy_close(&way);
	proxy_free(&proxy);
	loop_free(&loop);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
