#include "base/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void
put(struct wire_out *out, const void *data, size_t len)
{
	if (out->bad || len > WIRE_FRAME_MAX - out->len) {
		out->bad = true;
		return;
	}
	if (out->size - out->len < len) {
		size_t size = out->size ? out->size : 256;
		while (size - out->len < len)
			size *= 2;
		unsigned char *grown = realloc(out->data, size);
		if (!grown) {
			out->bad = true;
			return;
		}
		out->data = grown;
		out->size = size;
	}
	if (len)
		memcpy(out->data + out->len, data, len);
	out->len += len;
}

void
wire_out_init(struct wire_out *out, uint32_t type)
{
	memset(out, 0, sizeof(*out));
	wire_put_u32(out, type);
}

void
wire_out_done(struct wire_out *out)
{
	free(out->data);
	memset(out, 0, sizeof(*out));
}

void
wire_put_u32(struct wire_out *out, uint32_t v)
{
	put(out, &v, sizeof(v));
}

void
wire_put_u64(struct wire_out *out, uint64_t v)
{
	put(out, &v, sizeof(v));
}

void
wire_put_bytes(struct wire_out *out, const void *data, size_t len)
{
	if (len > WIRE_FRAME_MAX) {
		out->bad = true;
		return;
	}
	wire_put_u32(out, (uint32_t)len);
	put(out, data, len);
}

void
wire_put_str(struct wire_out *out, const char *s)
{
	/* The NUL travels too, so that a reader may point into the frame. */
	wire_put_bytes(out, s ? s : "", s ? strlen(s) + 1 : 1);
}

void
wire_put_strv(struct wire_out *out, const char *const *v)
{
	size_t n = 0;

	while (v && v[n])
		n++;
	if (n > WIRE_STRV_MAX) {
		out->bad = true;
		return;
	}
	wire_put_u32(out, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		wire_put_str(out, v[i]);
}

static bool
get(struct wire_in *in, void *data, size_t len)
{
	if (in->bad || in->left < len) {
		in->bad = true;
		memset(data, 0, len);
		return false;
	}
	memcpy(data, in->data, len);
	in->data += len;
	in->left -= len;
	return true;
}

uint32_t
wire_in_init(struct wire_in *in, const void *data, size_t len)
{
	in->data = data;
	in->left = len;
	in->bad = false;
	return wire_get_u32(in);
}

uint32_t
wire_get_u32(struct wire_in *in)
{
	uint32_t v;

	get(in, &v, sizeof(v));
	return v;
}

uint64_t
wire_get_u64(struct wire_in *in)
{
	uint64_t v;

	get(in, &v, sizeof(v));
	return v;
}

const void *
wire_get_bytes(struct wire_in *in, size_t *ret_len)
{
	uint32_t len = wire_get_u32(in);

	*ret_len = 0;
	if (in->bad || in->left < len) {
		in->bad = true;
		return NULL;
	}
	const void *data = in->data;
	in->data += len;
	in->left -= len;
	*ret_len = len;
	return data;
}

const char *
wire_get_str(struct wire_in *in)
{
	size_t len;
	const char *s = wire_get_bytes(in, &len);

	if (!s || len == 0 || memchr(s, 0, len) != s + len - 1) {
		in->bad = true;
		return "";
	}
	return s;
}

const char **
wire_get_strv(struct wire_in *in, size_t *ret_n)
{
	uint32_t n = wire_get_u32(in);

	*ret_n = 0;
	/* Each string takes at least its length and a NUL. */
	if (in->bad || n > WIRE_STRV_MAX || n > in->left / 5) {
		in->bad = true;
		return NULL;
	}
	const char **v = calloc(n + 1, sizeof(*v));
	if (!v) {
		in->bad = true;
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++)
		v[i] = wire_get_str(in);
	if (in->bad) {
		free(v);
		return NULL;
	}
	*ret_n = n;
	return v;
}

bool
wire_in_end(const struct wire_in *in)
{
	return !in->bad && in->left == 0;
}

int
wire_send(int fd, const struct wire_out *out, const int *fds, size_t nfds,
	int flags)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(WIRE_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { out->data, out->len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (out->bad || nfds > WIRE_FDS_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (nfds) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	ssize_t n;
	do
		n = sendmsg(fd, &msg, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

/* Moves descriptors out of one control message; those over the maximum are
 * closed. False if there were such. */
static bool
take_fds(struct cmsghdr *c, int *fds, size_t max_fds, size_t *nfds)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	bool all = true;

	for (size_t i = 0; i < n; i++) {
		int fd;
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
		if (*nfds < max_fds) {
			fds[(*nfds)++] = fd;
		} else {
			close(fd);
			all = false;
		}
	}
	return all;
}

ssize_t
wire_recv(int fd, void *data, size_t size, int *fds, size_t max_fds,
	size_t *ret_nfds, int flags)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(WIRE_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { data, size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	bool good = true;
	ssize_t n;

	*ret_nfds = 0;
	do
		n = recvmsg(fd, &msg, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			good = take_fds(c, fds, max_fds, ret_nfds) && good;
	if (!good || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		while (*ret_nfds)
			close(fds[--*ret_nfds]);
		errno = EBADMSG;
		return -1;
	}
	return n;
}
