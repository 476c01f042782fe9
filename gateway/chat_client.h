/* `gatehouse chat` beside a living owner: a client of its control socket. */
#ifndef GATEHOUSE_CHAT_CLIENT_H
#define GATEHOUSE_CHAT_CLIENT_H

struct owner_client;

/* Takes the client. text: one shot, or NULL. Returns the exit status. */
int chat_client_run(struct owner_client *client, const char *session,
	const char *text);

#endif
