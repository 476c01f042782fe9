/*
 * What the person who decides is shown: the whole command, nothing hidden.
 * Control, zero-width and direction-changing characters are made visible.
 */
#ifndef GATEHOUSE_DISPLAY_H
#define GATEHOUSE_DISPLAY_H

#include <stddef.h>

#include "gateway/gate/gate.h"

#define DISPLAY_UNITS_MAX 3500	/* one message on every platform we serve */
#define DISPLAY_MAX (900 * 1024)	/* bytes; more isn't shown, nor allowed */

/* What a prompt says besides the request itself. */
struct gate_display {
	const char *id;
	msec_t timeout_ms;
	const char *why;
	unsigned offers;
	const char *note;	/* who must answer; NULL: whoever asked */
	const struct scene *scene;	/* its script files are shown; or NULL */
};

/* With everything that can't be seen made visible; caller frees. */
char *gate_visible(const char *s, size_t len);
/* What is asked about, in full: the command, or the text that stands for it. */
const char *gate_shown(const struct gate_req *req);
/* All of it, as plain text (no markup). NULL: over DISPLAY_MAX. */
char *gate_display(const struct gate_req *req, const struct gate_display *show);
/* What a message says where all of it is in a file of this name. */
char *gate_display_brief(const struct gate_req *req,
	const struct gate_display *show, const char *file_name);

#endif
