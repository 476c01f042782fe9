/*
 * What the commands "sandbox exec", "put" and "get" share: one sandbox that is
 * opened for them and closed at their end, and an interrupt in between.
 */
#ifndef GATEHOUSE_SANDBOX_ONESHOT_H
#define GATEHOUSE_SANDBOX_ONESHOT_H

#include <stdbool.h>

#include "base/loop.h"
#include "gateway/cli.h"
#include "sandbox/sandbox.h"

#define ONESHOT_FAILED 125	/* not run: as docker and env say it */

struct oneshot {
	/* The command's own: begin is called when commands can run. */
	void (*begin)(void *arg);
	void (*ended)(void *arg);	/* frees what waits on the loop; NULL */
	void *arg;

	struct loop *loop;
	struct sandboxes *sandboxes;
	struct op *op;			/* of the command that runs */
	struct sandbox_key key;
	struct sigwatch *on_int, *on_term;
	msec_t timeout_ms;		/* of one command */
	int code;
	bool interrupted;
};

/* The exit code, when all of it has ended. */
int oneshot_main(struct cli_ctx *ctx, struct oneshot *e);
/* Runs one, by the operator's own permit; on_ran clears e->op first. */
void oneshot_run(struct oneshot *e, struct sandbox_cmd *cmd,
	sandbox_output_cb *on_output, sandbox_done_cb *on_ran);
void oneshot_finish(struct oneshot *e, int code);	/* no command runs */
void oneshot_stop(struct oneshot *e, int code);		/* whatever runs */

#endif
