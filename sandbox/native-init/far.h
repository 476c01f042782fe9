/* The far roles of the helper; they link libc and tree.c only. */
#ifndef GATEHOUSE_FAR_H
#define GATEHOUSE_FAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/native-init/far_proto.h"

/* Bytes that wait; taken from the front. */
struct far_queue {
	unsigned char *data;
	size_t at, len, size;
};
bool far_queue_add(struct far_queue *q, const void *data, size_t len);
void far_queue_drop(struct far_queue *q, size_t n);
/* Writes what fd takes. False: nobody reads there any more. */
bool far_queue_write(struct far_queue *q, int fd);

/* What a command needs, as it came in. */
struct far_request {
	uint32_t flags, seconds;
	char *dir;
	struct far_queue env, script;
};

/* The command's descriptors, our ends; -1: none. */
struct far_ends {
	int in, out, err, given;
};

/*
 * far_cmd.c: starts the shell.  0, or -1 with *step and errno; *ret_bash says
 * which shell it is.
 */
pid_t far_cmd_start(const struct far_request *req, struct far_ends *ends,
	bool *ret_bash, const char **step);

/* far_filter.c: from here on this process makes no user namespace; -1, errno. */
int far_refuse_userns(void);

int far_main(void);			/* far.c: one command; the exit status */
int far_kill_main(int argc, char **argv);	/* far_kill.c */
int far_rest_main(const char *seconds);	/* far_rest.c: PID 1 of a container */

#endif
