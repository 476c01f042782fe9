/* A server in JavaScript that prints "listening PORT" and ends with its stdin. */
#ifndef GATEHOUSE_TESTS_PEERS_NODE_SERVER_H
#define GATEHOUSE_TESTS_PEERS_NODE_SERVER_H

#include <sys/types.h>

struct node_server {
	int port;
	pid_t pid;
	int in;
};

/* args: the script and its arguments, NULL-terminated. */
void node_server_start(struct node_server *s, const char *const *args);
void node_server_stop(struct node_server *s);

#endif
