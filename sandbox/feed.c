#include "sandbox/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

void
feed_init(struct feed *f, struct loop *loop)
{
	*f = (struct feed){ .loop = loop, .fd = -1 };
	buf_init(&f->data, FEED_MAX);
}

static void
feed_close(struct feed *f)
{
	loop_unwatch(&f->watch);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	buf_clear(&f->data);
}

void
feed_done(struct feed *f)
{
	feed_close(f);
	buf_done(&f->data);
}

static void on_writable(void *arg, unsigned events);

void
feed_open(struct feed *f, int fd)
{
	REQUIRE(f->fd < 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	f->fd = fd;
	f->watch = loop_watch(f->loop, fd, 0, "input of a command", on_writable, f);
}

/* Writes what goes in; who waits for room is woken when there is some. */
static void
feed_push(struct feed *f)
{
	while (f->data.len > 0) {
		ssize_t n = write(f->fd, f->data.data, f->data.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {		/* nobody reads it any more */
			feed_close(f);
			return;
		}
		buf_drain(&f->data, (size_t)n);
	}
	if (f->data.len == 0 && f->ending)
		feed_close(f);
	else
		loop_watch_set(f->watch, f->data.len > 0 ? LOOP_WRITE : 0);
}

static void
on_writable(void *arg, unsigned events)
{
	(void)events;
	feed_push(arg);
}

int
feed_write(struct feed *f, const void *data, size_t len, struct err *err)
{
	if (f->fd < 0 || f->ending)
		return err_set(err, ERR_UNAVAILABLE,
		    "its standard input is closed");
	if (f->data.len + len > FEED_MAX)
		return err_set(err, ERR_LIMIT, "it does not read its input: %zu "
		    "bytes wait already, %d may", f->data.len, FEED_MAX);
	buf_add(&f->data, data, len);
	if (len > 0)
		f->last = f->data.data[f->data.len - 1];
	feed_push(f);
	return f->fd >= 0 || len == 0 ? 0 : err_set(err, ERR_UNAVAILABLE,
	    "it has closed its standard input");
}

void
feed_end(struct feed *f)
{
	f->ending = true;
	if (f->fd >= 0)
		feed_push(f);
}

void
feed_terminal_end(struct feed *f)
{
	/* Within a line the first only hands over what is there. */
	const char *eof = f->last == '\n' || f->last == '\0' ? "\004" : "\004\004";

	(void)feed_write(f, eof, strlen(eof), NULL);
}
