/*
 * What goes over the control socket: 4 bytes of length (most significant
 * first), then one JSON object of that many bytes. Pure.
 */
#ifndef GATEHOUSE_OWNER_FRAME_H
#define GATEHOUSE_OWNER_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#define OWNER_FRAME_MAX (512 * 1024)

/*
 * Takes the first frame out of in: 1 and *ret (caller frees), 0 if it isn't
 * whole yet, -1 if the peer broke the protocol.
 */
int owner_frame_next(struct buf *in, struct json **ret, struct err *err);
/* false if the frame is too long or out is full: nothing was added. */
bool owner_frame_add(struct buf *out, const struct json *frame);

#endif
