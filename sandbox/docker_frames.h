/*
 * The stream of an exec without a terminal: frames of a stream number, three
 * zero bytes, a length (u32, the most significant byte first) and that many
 * bytes (Engine API, "attach": stream format).  Daemons cut frames as they
 * like and reads cut them anywhere.  The header's media type says nothing
 * reliable: who asked for no terminal gets frames.  Pure.
 */
#ifndef GATEHOUSE_DOCKER_FRAMES_H
#define GATEHOUSE_DOCKER_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct docker_frames {
	unsigned char head[8];
	unsigned head_len;
	uint32_t left;		/* of the frame under way */
};

/*
 * One piece of the input: 0 < its length <= *len, of stream 1 or 2 (3, which
 * newer daemons use for their own errors, is 2).  Moves *data and *len on.
 * 0: all is used up. -1: this is no such stream.
 */
int docker_frames_next(struct docker_frames *f, const char **data, size_t *len,
	const char **ret, size_t *ret_len);

#endif
