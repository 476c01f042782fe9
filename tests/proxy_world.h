/*
 * A proxy on the hand-moved clock, with names and servers of the test
 * (fake_net.h) and clients that are real sockets.
 */
#ifndef GATEHOUSE_TESTS_PROXY_WORLD_H
#define GATEHOUSE_TESTS_PROXY_WORLD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "sandbox/proxy_priv.h"

struct proxy_world {
	struct loop *loop;
	struct proxy *proxy;
	struct proxy_port *port;
	struct sockaddr_in at;
	char got[200000], kept[4096];
	size_t len;
};
extern struct proxy_world w;

/* cmocka fixtures: a policy that allows *.ok.example and some more. */
int proxy_setup(void **state);
int proxy_teardown(void **state);
#define PROXY_TEST(f) cmocka_unit_test_setup_teardown(f, proxy_setup, proxy_teardown)

int listen_at(struct sockaddr_in *at);
/* All that the kernel and the next ms have for us. */
void turn(msec_t ms);
int client(void);
int client_with(int receive_buffer);	/* bytes; 0: as usual */
void say_n(int fd, const char *text, size_t len);
void say(int fd, const char *text);
/* Reads what is there into w.got. False at the end. */
bool hear(int fd);
bool gone(int fd);
/* One request in a connection of its own; the answer is in w.got. */
void ask(const char *request, size_t len);
void ask_text(const char *request);
/* Fails unless it is refused so, without a connection. */
void refused_with(const char *request, int status, const char *words);
/* CONNECT ok.example:443; the server's end. */
int tunnel(int fd);

#endif
