/*
 * Whole outputs of commands, of which only the ends were shown, by an id: the
 * newest few of each sandbox, for that sandbox's sessions only.  Their files
 * are the gateway's (spool.h): no command sees them.
 */
#ifndef GATEHOUSE_SPOOLED_H
#define GATEHOUSE_SPOOLED_H

#include <stdbool.h>

#include "base/json.h"
#include "base/op.h"
#include "sandbox/sandbox.h"

#define SPOOLED_MAX 16		/* of a sandbox */

struct cell;
struct output;

/* The id ("out_..."), as long as the cell remembers it. */
const char *spooled_add(struct cell *cell, const char *path);
void spooled_forget(struct cell *cell);

/*
 * For a tool that keeps its command's output itself: bounded to max bytes, and
 * the whole of it in a file, as of any command; the id of that file, of which
 * output_end() gave the path.
 */
struct output *spooled_output(struct sandboxes *sb, size_t max);
const char *spooled_keep(struct sandboxes *sb, const struct sandbox_key *key,
	const char *path);

bool spooled_is_id(const char *id);
/* {output, total_lines, showing, ...}, borrowed; NULL: the file is gone. */
typedef void spooled_cb(void *arg, const struct json *lines);
/*
 * limit lines from line offset on, counted from 0; offset < 0: the last.  Read
 * on a thread; the op contract holds.  NULL: there is no such id here.
 */
struct op *spooled_read(struct sandboxes *sb, const struct sandbox_key *key,
	const char *id, long offset, long limit, spooled_cb *cb, void *arg);

#endif
