/*
 * What the person who decides is shown: the whole command, nothing hidden.
 * Control, zero-width and direction-changing characters are made visible.
 */
#ifndef GATEHOUSE_DISPLAY_H
#define GATEHOUSE_DISPLAY_H

#include <stddef.h>

#include "gateway/gate/gate.h"

#define DISPLAY_UNITS_MAX 3500	/* one message on every platform we serve */

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
/* Plain text (no markup). NULL if the command cannot be shown whole. */
char *gate_display(const struct gate_req *req, const struct gate_display *show);

#endif
