#include "tests/proxy_world.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/op.h"
#include "tests/fake_net.h"
#include "tests/loop_sim.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct proxy_world w;

int
listen_at(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_true(fd >= 0 && bind(fd, (struct sockaddr *)at, len) == 0 &&
		listen(fd, 512) == 0 &&
		getsockname(fd, (struct sockaddr *)at, &len) == 0);
	return fd;
}

int
proxy_setup(void **state)
{
	const struct egress_opts opts = {
		.allow = LIST("ok.example", "*.ok.example", "10.9.9.9", "127.0.0.1",
			"8.8.8.8", "mixed.example", "private.example", "own.example",
			"rebind.example"),
		.private_allow = LIST("10.9.9.9"),
	};
	struct err err = { ERR_NONE, "" };

	(void)state;
	memset(&w, 0, sizeof(w));
	fake_net_reset();
	fake_net_name("ok.example", "93.184.216.34", 20);
	fake_net_permit("10.9.9.9");
	w.loop = loop_new();
	w.proxy = proxy_new(w.loop, &opts, &err);
	assert_non_null(w.proxy);
	int fd = listen_at(&w.at);
	w.port = proxy_open(w.proxy, "s1", &fd, 1);
	return 0;
}

int
proxy_teardown(void **state)
{
	(void)state;
	int server = fake_net_server();

	if (server >= 0)
		close(server);
	proxy_close(&w.port);
	proxy_free(&w.proxy);
	loop_free(&w.loop);
	assert_int_equal(op_live(), 0);
	return 0;
}

/* ---- a client ------------------------------------------------------------------------ */

/* All that the kernel and the next ms have for us. */
void
turn(msec_t ms)
{
	for (int i = 0; i < 5; i++)
		while (sim_poll(w.loop))
			;
	sim_advance(w.loop, ms);
	while (sim_poll(w.loop))
		;
}

int
client(void)
{
	return client_with(0);
}

int
client_with(int receive_buffer)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (receive_buffer)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF,
			&receive_buffer, sizeof(receive_buffer)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&w.at, sizeof(w.at)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

void
say_n(int fd, const char *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

void
say(int fd, const char *text)
{
	say_n(fd, text, strlen(text));
}

/* Reads what is there into w.got. False at the end. */
bool
hear(int fd)
{
	ssize_t n = recv(fd, w.got, sizeof(w.got) - 1, MSG_DONTWAIT);

	w.len = n > 0 ? (size_t)n : 0;
	w.got[w.len] = 0;
	return n > 0 || (n < 0 && errno == EAGAIN);
}

bool
gone(int fd)
{
	while (hear(fd))
		if (w.len == 0)
			return false;
	return true;
}

/* One request in a connection of its own; the answer is in w.got. */
void
ask(const char *request, size_t len)
{
	int fd = client();

	say_n(fd, request, len);
	turn(50);
	turn(0);
	hear(fd);
	size_t len_heard = w.len;
	memcpy(w.kept, w.got, sizeof(w.kept));
	close(fd);
	/* Who was connected is told that the server went, too. */
	int server = fake_net_server();
	if (server >= 0)
		close(server);
	turn(50);
	memcpy(w.got, w.kept, sizeof(w.kept));
	w.len = len_heard;
}

void
ask_text(const char *request)
{
	ask(request, strlen(request));
}

void
refused_with(const char *request, int status, const char *words)
{
	CLEANUP_FREE char *line = mem_printf("HTTP/1.1 %d ", status);
	unsigned dials = fake_net_dials();

	ask_text(request);
	if (strncmp(w.got, line, strlen(line)) != 0 || !strstr(w.got, words))
		fail_msg("%s got: %s", request, w.got);
	assert_non_null(strstr(w.got, "\r\nContent-Type: text/plain"));
	assert_non_null(strstr(w.got, "\r\nConnection: close\r\n"));
	assert_int_equal(fake_net_dials(), dials);
	assert_int_equal(w.port->counts.open, 0);
}

int
tunnel(int fd)
{
	say(fd, "CONNECT ok.example:443 HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	turn(30);
	turn(0);
	hear(fd);
	assert_memory_equal(w.got, "HTTP/1.1 200 ", 13);
	int server = fake_net_server();
	assert_true(server >= 0);
	return server;
}
