/*
 * Background processes of a sandbox, one by one: what a `process` tool needs.
 * Every call takes the sandbox's key, so that nobody reaches another's.
 * Text in answers is cleaned, masked and bounded.
 */
#ifndef GATEHOUSE_PROCS_H
#define GATEHOUSE_PROCS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/op.h"
#include "sandbox/sandbox.h"

#define PROCS_BUFFER_MAX 200000	/* bytes of output kept, the newest */

/* {session_id, status, pid, exit_code, uptime_seconds, ...}; NULL: not found. */
struct json *procs_poll(struct sandboxes *sb, const struct sandbox_key *key,
	const char *id);
/*
 * Lines of what is kept: limit of them from line offset on; offset < 0: the
 * last. NULL: not found.
 */
struct json *procs_log(struct sandboxes *sb, const struct sandbox_key *key,
	const char *id, long offset, long limit);
/* Nothing more is told of it (PROCESS_ENDED). */
int procs_kill(struct sandboxes *sb, const struct sandbox_key *key,
	const char *id, struct err *err);

/*
 * Bytes for its standard input: taken, not yet read.  Takes the permit, which
 * is for exactly these bytes and this process.  ERR_NOT_FOUND, ERR_EXISTS (it
 * has ended), ERR_DENIED (permit), ERR_UNAVAILABLE, ERR_LIMIT.
 */
int procs_write(struct sandboxes *sb, const struct sandbox_key *key,
	const char *id, const void *data, size_t len, uint64_t generation,
	struct permit **permit, struct err *err);
/* What it runs, whole and as it is: for who judges its input, not to be shown.
 * NULL: not found. Borrowed. */
const char *procs_program(struct sandboxes *sb, const struct sandbox_key *key,
	const char *id);
int procs_close(struct sandboxes *sb, const struct sandbox_key *key,
	const char *id, struct err *err);

#endif
