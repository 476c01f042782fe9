#include "gateway/owner_frame.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#define HEAD 4

int
owner_frame_next(struct buf *in, struct json **ret, struct err *err)
{
	const unsigned char *p = (const unsigned char *)in->data;
	struct json *frame;
	uint32_t len;

	if (in->len < HEAD)
		return 0;
	len = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	if (len > OWNER_FRAME_MAX)
		return err_set(err, ERR_PROTOCOL, "a frame of %u bytes", len);
	if (in->len - HEAD < len)
		return 0;
	frame = json_parse(in->data + HEAD, len, err);
	if (frame && !json_is_object(frame)) {
		json_free(&frame);
		err_set(err, ERR_PROTOCOL, "a frame that is no object");
	}
	buf_drain(in, HEAD + len);
	*ret = frame;
	return frame ? 1 : -1;
}

bool
owner_frame_add(struct buf *out, const struct json *frame)
{
	CLEANUP_FREE char *text = json_text(frame);
	size_t len = strlen(text);
	const unsigned char head[HEAD] = { (unsigned char)(len >> 24),
		(unsigned char)(len >> 16), (unsigned char)(len >> 8),
		(unsigned char)len };

	if (len > OWNER_FRAME_MAX || out->max - out->len < HEAD + len)
		return false;
	return buf_add(out, head, HEAD) && buf_add(out, text, len);
}
