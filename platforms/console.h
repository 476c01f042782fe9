/*
 * The console as a platform: the operator's terminal, or clients of the
 * control socket.  Each client is a chat; words go in by console_input(),
 * answers come out by show().  Everything is sent by being shown.
 */
#ifndef GATEHOUSE_CONSOLE_H
#define GATEHOUSE_CONSOLE_H

#include "platforms/platform.h"

struct console_opts {
	void *arg;
	/* text is Markdown unless out->plain; false: that client is gone. */
	bool (*show)(void *arg, const struct outgoing *out);
};

extern const struct platform platform_console;

/* One message of this chat. Its own batch; acknowledged by committed(). */
void console_input(struct platform_instance *inst, const char *chat_id,
	const char *user_id, const char *text);
/* Lines that are not committed yet. */
size_t console_pending(const struct platform_instance *inst);

#endif
