/* Commands on the host itself: isolates nothing, only kills as a tree. */
#ifndef GATEHOUSE_LOCAL_H
#define GATEHOUSE_LOCAL_H

#include "sandbox/backend.h"

struct local_opts {
	const char *user;	/* must be set when the gateway runs as root */
	const char *cwd;	/* first directory; NULL: the gateway's own;
				 * "~": the home of whoever the commands run as */
};

extern const struct backend backend_local;

#endif
