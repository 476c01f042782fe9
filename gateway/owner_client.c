#include "gateway/owner_client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/owner_frame.h"
#include "gateway/owner_path.h"

#define SEND_MS 10000
#define CHUNK 16384

struct owner_client {
	int fd;
	struct buf in;
};

struct owner_client *
owner_connect(const struct home *home, struct err *err)
{
	int fd = owner_path_connect(home, err);
	struct owner_client *c;

	if (fd < 0)
		return NULL;
	c = mem_alloc(sizeof(*c));
	c->fd = fd;
	buf_init(&c->in, OWNER_FRAME_MAX + 4 + CHUNK);
	return c;
}

void
owner_disconnect(struct owner_client **cp)
{
	struct owner_client *c = STEAL(*cp);

	if (!c)
		return;
	close(c->fd);
	buf_done(&c->in);
	mem_free(c);
}

int
owner_client_fd(const struct owner_client *c)
{
	return c->fd;
}

/* 1 ready, 0 not in time, -1 with errno. */
static int
wait_fd(int fd, short events, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	int r;

	do
		r = poll(&p, 1, timeout_ms);
	while (r < 0 && errno == EINTR);
	return r;
}

int
owner_client_send(struct owner_client *c, struct json *frame, struct err *err)
{
	struct buf out CLEANUP_BUF;
	size_t at = 0;
	bool fits;

	buf_init(&out, OWNER_FRAME_MAX + 4);
	fits = owner_frame_add(&out, frame);
	json_free(&frame);
	if (!fits)
		return err_set(err, ERR_LIMIT, "the request is too long");
	while (at < out.len) {
		ssize_t n = send(c->fd, out.data + at, out.len - at,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0)
			at += (size_t)n;
		else if (errno == EAGAIN && wait_fd(c->fd, POLLOUT, SEND_MS) > 0)
			continue;
		else if (errno != EINTR)
			return err_set_errno(err, errno, "gatehouse went away");
	}
	return 0;
}

int
owner_client_receive(struct owner_client *c, int timeout_ms, struct json **ret,
	struct err *err)
{
	char chunk[CHUNK];
	ssize_t n;
	int r;

	while ((r = owner_frame_next(&c->in, ret, err)) == 0) {
		r = wait_fd(c->fd, POLLIN, timeout_ms);
		if (r == 0)
			return 0;
		n = r < 0 ? -1 : recv(c->fd, chunk, sizeof(chunk), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set_errno(err, errno, "gatehouse went away");
		if (n == 0)
			return err_set(err, ERR_LOST, "gatehouse went away");
		buf_add(&c->in, chunk, (size_t)n);
	}
	return r;
}
