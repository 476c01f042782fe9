/*
 * Where commands begin.  A path of this host means something on this host
 * only: it reaches backend local, and a container as the place that is mounted,
 * never the inside of another sandbox.  Pure.
 */
#ifndef GATEHOUSE_START_DIR_H
#define GATEHOUSE_START_DIR_H

#include <stdbool.h>

struct start_dir {
	const char *configured;		/* terminal.cwd */
	const char *messaging;		/* MESSAGING_CWD, an old name; "" */
	const char *backend;		/* "" means local */
	bool chat;			/* sessions from platforms, not the console */
	bool mount;			/* docker: mount that directory */
};

/* "", ".", "auto" and "cwd", as they are: wherever the backend begins. */
bool start_dir_is_placeholder(const char *cwd);
/*
 * NULL: where the backend begins by itself (its workspace, the image's or the
 * remote's home, on local the gateway's own directory).  "~" is the home of
 * whoever the commands run as.  Caller frees.
 */
char *start_dir(const struct start_dir *in);

#endif
