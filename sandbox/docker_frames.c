#include "sandbox/docker_frames.h"

#define STREAM_OUT 1
#define STREAM_ERR 2
#define STREAM_SYSTEM 3

/* False: more bytes are needed. */
static bool
take_head(struct docker_frames *f, const char **data, size_t *len)
{
	while (f->head_len < sizeof(f->head) && *len > 0) {
		f->head[f->head_len++] = (unsigned char)*(*data)++;
		--*len;
	}
	if (f->head_len < sizeof(f->head))
		return false;
	f->left = (uint32_t)f->head[4] << 24 | (uint32_t)f->head[5] << 16 |
	    (uint32_t)f->head[6] << 8 | f->head[7];
	return true;
}

int
docker_frames_next(struct docker_frames *f, const char **data, size_t *len,
	const char **ret, size_t *ret_len)
{
	for (;;) {
		while (f->left == 0) {
			if (f->head_len == sizeof(f->head))
				f->head_len = 0;
			if (!take_head(f, data, len))
				return 0;
			if (f->head[0] > STREAM_SYSTEM || f->head[1] ||
			    f->head[2] || f->head[3])
				return -1;
		}
		if (*len == 0)
			return 0;
		size_t n = *len < f->left ? *len : f->left;
		*ret = *data;
		*ret_len = n;
		*data += n;
		*len -= n;
		f->left -= (uint32_t)n;
		if (f->head[0] >= STREAM_OUT)	/* 0 would be our own input */
			return f->head[0] == STREAM_OUT ? 1 : STREAM_ERR;
	}
}
