#include "base/chan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

#define CHAN_MAGIC 0x6368616eu
#define CHAN_QUEUE_MAX 256
#define CHAN_FRAMES_PER_TURN 32		/* then other watches get their turn */

struct chan_item {
	struct chan_item *next;
	struct wire_out out;
	int fds[WIRE_FDS_MAX];
	size_t nfds;
};

struct chan {
	unsigned magic;
	struct loop *loop;
	int fd;
	struct watch *watch;
	struct chan_item *head, **tail;
	size_t queued;
	const struct chan_events *events;
	void *arg;
	bool ended;
	bool *freed;		/* set when freed inside a callback */
};

int
chan_pair(int ret_fds[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fds);
}

static void
item_free(struct chan_item *item)
{
	for (size_t i = 0; i < item->nfds; i++)
		close(item->fds[i]);
	wire_out_done(&item->out);
	mem_free(item);
}

static void
chan_end(struct chan *chan)
{
	if (chan->ended)
		return;
	chan->ended = true;
	loop_watch_set(chan->watch, 0);
	chan->events->end(chan->arg);
}

/* Sends what is queued while the socket takes it. False: the peer is gone. */
static bool
chan_flush(struct chan *chan)
{
	while (chan->head) {
		struct chan_item *item = chan->head;
		if (wire_send(chan->fd, &item->out, item->fds, item->nfds,
		    MSG_DONTWAIT) < 0) {
			if (errno == EAGAIN || errno == ENOBUFS)
				break;
			return false;
		}
		chan->head = item->next;
		if (!chan->head)
			chan->tail = &chan->head;
		chan->queued--;
		item_free(item);
	}
	loop_watch_set(chan->watch, LOOP_READ | (chan->head ? LOOP_WRITE : 0));
	return true;
}

static void
chan_read(struct chan *chan)
{
	static unsigned char data[WIRE_FRAME_MAX];	/* loop thread only */
	bool freed = false;

	chan->freed = &freed;
	for (int i = 0; i < CHAN_FRAMES_PER_TURN; i++) {
		int fds[WIRE_FDS_MAX];
		size_t nfds;
		ssize_t n = wire_recv(chan->fd, data, sizeof(data), fds,
			WIRE_FDS_MAX, &nfds, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			chan->freed = NULL;
			chan_end(chan);
			return;
		}
		struct wire_in in;
		unsigned type = wire_in_init(&in, data, (size_t)n);
		chan->events->frame(chan->arg, &in, type, fds, nfds);
		if (freed)
			return;
	}
	chan->freed = NULL;
}

static void
chan_ready(void *arg, unsigned events)
{
	struct chan *chan = arg;

	REQUIRE(chan->magic == CHAN_MAGIC);
	if ((events & LOOP_WRITE) && !chan_flush(chan)) {
		chan_end(chan);
		return;
	}
	if (events & LOOP_READ)
		chan_read(chan);
}

struct chan *
chan_new(struct loop *loop, int fd, const char *name,
	const struct chan_events *events, void *arg)
{
	struct chan *chan = mem_alloc(sizeof(*chan));

	chan->magic = CHAN_MAGIC;
	chan->loop = loop;
	chan->fd = fd;
	chan->tail = &chan->head;
	chan->events = events;
	chan->arg = arg;
	chan->watch = loop_watch(loop, fd, LOOP_READ, name, chan_ready, chan);
	return chan;
}

void
chan_free(struct chan **chanp)
{
	if (!chanp || !*chanp)
		return;
	struct chan *chan = STEAL(*chanp);
	if (chan->freed)
		*chan->freed = true;
	loop_unwatch(&chan->watch);
	close(chan->fd);
	while (chan->head) {
		struct chan_item *item = chan->head;
		chan->head = item->next;
		item_free(item);
	}
	chan->magic = 0;
	mem_free(chan);
}

/* One item that owns copies of the descriptors, or the descriptors themselves. */
static struct chan_item *
item_new(struct wire_out *out, const int *fds, size_t nfds, bool take_fds)
{
	struct chan_item *item = mem_alloc(sizeof(*item));

	item->out = *out;
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < nfds && i < WIRE_FDS_MAX; i++) {
		int fd = take_fds ? fds[i] : fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			item->out.bad = true;
		else
			item->fds[item->nfds++] = fd;
	}
	if (nfds > WIRE_FDS_MAX)
		item->out.bad = true;
	return item;
}

int
chan_send(struct chan *chan, struct wire_out *out, const int *fds, size_t nfds,
	bool take_fds)
{
	REQUIRE(chan->magic == CHAN_MAGIC);
	struct chan_item *item = item_new(out, fds, nfds, take_fds);
	int errnum = chan->ended ? EPIPE : item->out.bad ? EMSGSIZE :
		chan->queued >= CHAN_QUEUE_MAX ? ENOBUFS : 0;

	if (errnum == 0 && !chan->head) {
		if (wire_send(chan->fd, &item->out, item->fds, item->nfds,
		    MSG_DONTWAIT) == 0) {
			item_free(item);
			return 0;
		}
		if (errno != EAGAIN && errno != ENOBUFS)
			errnum = errno;
	}
	if (errnum) {
		item_free(item);
		errno = errnum;
		return -1;
	}
	*chan->tail = item;
	chan->tail = &item->next;
	chan->queued++;
	loop_watch_set(chan->watch, LOOP_READ | LOOP_WRITE);
	return 0;
}
