/*
 * A server of raw sockets for tests of clients: one thread a connection runs
 * the test's own function, which may answer, dribble, cut or reset.
 */
#ifndef GATEHOUSE_TESTS_RAW_SERVER_H
#define GATEHOUSE_TESTS_RAW_SERVER_H

#include <stdbool.h>
#include <stddef.h>

struct raw_server;

/* n counts connections from 0. fd is closed after it returns. */
typedef void raw_server_fn(void *arg, int fd, int n);

struct raw_server *raw_server_new(raw_server_fn *fn, void *arg);
/* Wakes every handler by shutting its socket, waits for all of them. */
void raw_server_free(struct raw_server **srv);
int raw_server_port(const struct raw_server *srv);
int raw_server_connections(struct raw_server *srv);

/*
 * Reads one request (head, and a body by Content-Length) into out, a string.
 * Returns its length, 0 when the client is gone.
 */
size_t raw_read_request(int fd, char *out, size_t size);
bool raw_write(int fd, const char *s);
void raw_reset(int fd);		/* the peer gets RST */
void raw_wait_gone(int fd);	/* until the peer has closed or reset */

#endif
