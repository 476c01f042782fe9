/*
 * What a command wrote, as the model gets it: cleaned (clean.h), masked,
 * bounded: of more than max bytes the first 40 % and the last 60 % are kept
 * and the rest goes to a spool file.  Memory is bounded whatever the size or
 * the length of a line.
 */
#ifndef GATEHOUSE_OUTPUT_H
#define GATEHOUSE_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"

struct output;

struct output_opts {
	size_t max;		/* bytes of text kept */
	bool head_only;		/* the first ones, none of the last */
	size_t spool_max;	/* bytes of a spool file; 0: none */
	const char *spool_dir;	/* NULL: none */
	struct loop *loop;	/* for the spool's name */
};

struct output *output_new(const struct output_opts *opts);
void output_free(struct output **o);
void output_add(struct output *o, int fd, const char *data, size_t len);
uint64_t output_total(const struct output *o);	/* raw bytes */

/*
 * The text so far, once; nothing is added afterwards. ret_spool: path or NULL,
 * borrowed from o. ret_note: why there is no spool though there should be;
 * NULL or yours.
 */
void output_end(struct output *o, struct buf *ret_text, const char **ret_spool,
	char **ret_note);

#endif
