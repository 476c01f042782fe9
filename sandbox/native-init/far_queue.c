#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/native-init/far.h"

bool
far_queue_add(struct far_queue *q, const void *data, size_t len)
{
	if (q->at && q->at + q->len + len > q->size) {
		memmove(q->data, q->data + q->at, q->len);
		q->at = 0;
	}
	if (q->at + q->len + len > q->size) {
		size_t size = q->size ? q->size : 4096;
		while (size < q->len + len)
			size *= 2;
		unsigned char *grown = realloc(q->data, size);
		if (!grown)
			return false;
		q->data = grown;
		q->size = size;
	}
	if (len)
		memcpy(q->data + q->at + q->len, data, len);
	q->len += len;
	return true;
}

void
far_queue_drop(struct far_queue *q, size_t n)
{
	q->at += n;
	q->len -= n;
	if (q->len)
		return;
	q->at = 0;
	if (q->size > FAR_FRAME_MAX * 4) {	/* a big input has gone through */
		free(q->data);
		q->data = NULL;
		q->size = 0;
	}
}

bool
far_queue_write(struct far_queue *q, int fd)
{
	while (q->len) {
		ssize_t n = write(fd, q->data + q->at, q->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		far_queue_drop(q, (size_t)n);
	}
	return true;
}
