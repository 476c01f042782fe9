/*
 * The console's clients: the terminal of this process, and those that come
 * through the control socket.  Each talks in a chat of its own name; the hub
 * brings what the gateway says to the right one.
 */
#ifndef GATEHOUSE_HUB_H
#define GATEHOUSE_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "gateway/gateway.h"
#include "platforms/console.h"

struct hub_client {
	TAILQ_ENTRY(hub_client) link;
	const char *chat_id;		/* the client's; several may share one */
	void *arg;
	void (*show)(void *arg, const struct outgoing *out);
	void (*text)(void *arg, const char *text, size_t len);
	void (*activity)(void *arg, const char *what);
	void (*answered)(void *arg, bool ok);
};

struct hub {
	struct gateway *gateway;	/* set once it is started */
	TAILQ_HEAD(, hub_client) clients;
};

void hub_init(struct hub *hub);
struct console_opts hub_console_opts(struct hub *hub);
/* Adds the hub's callbacks; opts->arg becomes the hub. */
void hub_gateway_opts(struct hub *hub, struct gateway_opts *opts);

/* The client's struct must stay until hub_remove(). */
void hub_add(struct hub *hub, struct hub_client *client);
void hub_remove(struct hub *hub, struct hub_client *client);
void hub_say(struct hub *hub, const struct hub_client *client, const char *text);
/* Nothing of this chat is under way or waits to be shown. */
bool hub_idle(struct hub *hub, const struct hub_client *client);

#endif
