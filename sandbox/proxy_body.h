/*
 * Where the body of a request ends (RFC 9112 section 6 and 7), so that nothing
 * behind it reaches the server as a request that was not checked.  Pure.
 */
#ifndef GATEHOUSE_PROXY_BODY_H
#define GATEHOUSE_PROXY_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROXY_CHUNK_LINE_MAX 4096	/* a size with extensions, or a trailer */
#define PROXY_TRAILERS_MAX 64

enum proxy_body_state {
	PROXY_BODY_END,		/* also: no body at all */
	PROXY_BODY_LENGTH,
	PROXY_BODY_SIZE,	/* of a chunk, and so on to the end of chunked */
	PROXY_BODY_EXTENSION,
	PROXY_BODY_SIZE_LF,
	PROXY_BODY_DATA,
	PROXY_BODY_DATA_CR,
	PROXY_BODY_DATA_LF,
	PROXY_BODY_TRAILER,
	PROXY_BODY_TRAILER_LF,
};

struct proxy_body {
	enum proxy_body_state state;
	uint64_t left;		/* of the length, of the chunk */
	unsigned digits, line, trailers;
};

/* Zeroed: none. */
void proxy_body_length(struct proxy_body *b, uint64_t len);
void proxy_body_chunked(struct proxy_body *b);
/* Bytes of data that belong to the body; -1: not as it must be. */
ptrdiff_t proxy_body_feed(struct proxy_body *b, const char *data, size_t len);
bool proxy_body_ended(const struct proxy_body *b);

#endif
