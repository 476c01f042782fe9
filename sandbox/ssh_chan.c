/*
 * A channel of an SSH connection: WAIT (for the connection and a free place) >
 * OPEN > EXEC > RUN > closed.
 */
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/ssh_link_priv.h"

#define CHUNK 32768
#define IN_MAX (8u * 1024 * 1024)	/* over twice libssh's window */
#define LINGER_MS 10000

static const char *
step_name(enum chan_step step)
{
	switch (step) {
	case CHAN_WAIT: return "wait";
	case CHAN_OPEN: return "open";
	case CHAN_EXEC: return "exec";
	case CHAN_RUN: return "run";
	}
	return "?";
}

/* The only place that writes the step. */
static void
chan_enter(struct ssh_chan *chan, enum chan_step step)
{
	log_debug("ssh", NULL, "channel %llu %s -> %s",
	    (unsigned long long)chan->serial, step_name(chan->step),
	    step_name(step));
	chan->step = step;
}

/* ---- birth and death --------------------------------------------------------------- */

struct ssh_chan *
ssh_chan_exec(struct ssh_link *link, const char *command, bool urgent,
	const struct ssh_chan_events *events, void *arg)
{
	struct ssh_chan *chan = mem_alloc(sizeof(*chan));

	chan->link = link;
	chan->serial = ++link->serial;
	chan->urgent = urgent;
	chan->command = mem_str(command);
	chan->status = -1;
	chan->events = events;
	chan->arg = arg;
	buf_init(&chan->out, LINK_SEND_MAX);
	buf_init(&chan->in[0], IN_MAX);
	buf_init(&chan->in[1], IN_MAX);
	TAILQ_INSERT_TAIL(&link->chans, chan, entry);
	link->nchans++;
	loop_cancel(&link->unused);
	link_changed(link);
	return chan;
}

static void
chan_drop(struct ssh_chan *chan)
{
	if (!chan->channel)
		return;
	ssh_remove_channel_callbacks(chan->channel, &chan->callbacks);
	ssh_channel_free(chan->channel);
	chan->channel = NULL;
	chan->link->nopen--;
}

/* The session is gone: its memory goes with it, nothing can be sent. */
void
chan_detach(struct ssh_chan *chan)
{
	loop_cancel(&chan->linger);
	chan_drop(chan);
}

void
chan_release(struct ssh_chan *chan)
{
	struct ssh_link *link = chan->link;

	TAILQ_REMOVE(&link->chans, chan, entry);
	link->nchans--;
	buf_done(&chan->out);
	buf_done(&chan->in[0]);
	buf_done(&chan->in[1]);
	loop_cancel(&chan->linger);
	mem_free(chan->command);
	mem_free(chan);
	link_changed(link);
}

static void
on_lingered(void *arg)
{
	struct ssh_chan *chan = arg;

	chan->linger = NULL;
	chan_drop(chan);
	chan_release(chan);
}

/*
 * The server counts a session until its command has ended, closed or not: one
 * that is about to end is waited for, or the next would be one too many.
 */
void
ssh_chan_free(struct ssh_chan **cp)
{
	if (!*cp)
		return;
	struct ssh_chan *chan = STEAL(*cp);

	chan->freed = true;
	chan->events = NULL;
	if (chan->step == CHAN_RUN && chan->channel && !chan->link->down &&
	    !ssh_channel_is_closed(chan->channel)) {
		chan->linger = loop_after(chan->link->loop, LINGER_MS,
		    "ssh channel", on_lingered, chan);
		(void)ssh_channel_send_eof(chan->channel);
		link_changed(chan->link);
		return;
	}
	chan_drop(chan);
	if (!chan->link->turning)
		chan_release(chan);
}

static void
chan_closed(struct ssh_chan *chan, const struct err *err)
{
	const struct ssh_chan_events *events = chan->events;
	void *arg = chan->arg;
	int status = chan->status;
	char name[sizeof(chan->signal)];

	memcpy(name, chan->signal, sizeof(name));
	ssh_chan_free(&chan);
	events->closed(arg, status, name[0] ? name : NULL, err);
}

/* What was not yet asked of the server has certainly not run. */
void
chan_lost(struct ssh_chan *chan, const struct err *err)
{
	struct err told = *err;

	if (chan->freed) {
		chan_release(chan);
		return;
	}
	if (chan->step < CHAN_EXEC && told.code == ERR_LOST)
		told.code = ERR_UNAVAILABLE;
	chan_closed(chan, &told);
}

/* ---- the way to RUN --------------------------------------------------------------------- */

static void
on_status(ssh_session session, ssh_channel channel, int status, void *arg)
{
	struct ssh_chan *chan = arg;

	(void)session, (void)channel;
	chan->status = status;
}

static void
on_signal(ssh_session session, ssh_channel channel, const char *name, int core,
	const char *message, const char *lang, void *arg)
{
	struct ssh_chan *chan = arg;

	(void)session, (void)channel, (void)core, (void)message, (void)lang;
	if (mem_copy_str(chan->signal, sizeof(chan->signal), name) < 0)
		chan->signal[0] = '?';
}

static void
chan_refused(struct ssh_chan *chan, const char *what)
{
	struct err err;

	err_set(&err, ERR_UNAVAILABLE, "ssh %s: the server refused %s: %s",
	    chan->link->host, what, ssh_get_error(chan->link->session));
	chan_closed(chan, &err);
}

static bool
chan_begin(struct ssh_chan *chan)
{
	struct ssh_link *link = chan->link;

	if (link->nopen >= link->limit ||
	    (link->nopen >= LINK_CHANNELS_MAX && !chan->urgent))
		return false;
	chan->channel = ssh_channel_new(link->session);
	if (!chan->channel)
		return false;
	link->nopen++;
	chan->callbacks = (struct ssh_channel_callbacks_struct){
		.userdata = chan,
		.channel_exit_status_function = on_status,
		.channel_exit_signal_function = on_signal,
	};
	ssh_callbacks_init(&chan->callbacks);
	ssh_set_channel_callbacks(chan->channel, &chan->callbacks);
	chan_enter(chan, CHAN_OPEN);
	return true;
}

/* True: the next step can be tried. Nothing of chan may be touched if false. */
static bool
chan_advance(struct ssh_chan *chan)
{
	int rc;

	switch (chan->step) {
	case CHAN_WAIT:
		return chan_begin(chan);
	case CHAN_OPEN:
		rc = ssh_channel_open_session(chan->channel);
		if (rc == SSH_ERROR && chan->link->nopen > 1) {
			/* So that is what its MaxSessions leaves us. */
			chan_drop(chan);
			chan->link->limit = chan->link->nopen;
			chan_enter(chan, CHAN_WAIT);
			return false;
		}
		if (rc == SSH_ERROR)
			chan_refused(chan, "another channel");
		else if (rc == SSH_OK)
			chan_enter(chan, CHAN_EXEC);
		return rc == SSH_OK;
	case CHAN_EXEC:
		rc = ssh_channel_request_exec(chan->channel, chan->command);
		if (rc == SSH_ERROR)
			chan_refused(chan, "to start a command");
		if (rc != SSH_OK)
			return false;
		chan_enter(chan, CHAN_RUN);
		if (chan->events->opened)
			chan->events->opened(chan->arg);
		return !chan->freed;
	case CHAN_RUN:
		break;
	}
	return false;
}

/* ---- RUN ------------------------------------------------------------------------------------ */

static void
chan_write(struct ssh_chan *chan)
{
	while (chan->out.len > 0) {
		uint32_t window = ssh_channel_window_size(chan->channel);
		uint32_t n = chan->out.len < window ? (uint32_t)chan->out.len :
		    window;
		int done = n ? ssh_channel_write(chan->channel, chan->out.data, n) :
		    0;
		if (done <= 0)
			return;
		buf_drain(&chan->out, (size_t)done);
	}
	if (chan->eof_wanted && !chan->eof_sent) {
		chan->eof_sent = true;
		(void)ssh_channel_send_eof(chan->channel);
	}
}

/* All that libssh has, if what it gave before is used up. */
static bool
chan_take(struct ssh_chan *chan, int fd)
{
	static char chunk[CHUNK];	/* loop thread; used up at once */
	struct buf *in = &chan->in[fd - 1];
	int n;

	while (ssh_channel_poll(chan->channel, fd == 2) > 0) {
		n = ssh_channel_read_nonblocking(chan->channel, chunk,
		    sizeof(chunk), fd == 2);
		if (n <= 0 || !buf_add(in, chunk, (size_t)n))
			break;
	}
	return !in->over;
}

/* False: freed by the callback. */
static bool
chan_give(struct ssh_chan *chan, int fd)
{
	struct buf *in = &chan->in[fd - 1];
	size_t at = 0;

	while (at < in->len && !chan->paused) {
		size_t n = in->len - at < CHUNK ? in->len - at : CHUNK;
		chan->events->data(chan->arg, fd, in->data + at, n);
		if (chan->freed)
			return false;
		at += n;
	}
	buf_drain(in, at);
	return true;
}

static void
chan_overrun(struct ssh_chan *chan)
{
	struct err err;

	err_set(&err, ERR_LOST, "ssh %s: more came than its window allows",
	    chan->link->host);
	chan_closed(chan, &err);
}

static void
chan_run(struct ssh_chan *chan)
{
	chan_write(chan);
	for (int fd = 1; fd <= 2; fd++) {
		if (chan->in[fd - 1].len == 0 && !chan_take(chan, fd)) {
			chan_overrun(chan);
			return;
		}
		if (!chan_give(chan, fd))
			return;
	}
	if (chan->in[0].len || chan->in[1].len)
		return;		/* paused */
	if (ssh_channel_poll(chan->channel, 0) > 0 ||
	    ssh_channel_poll(chan->channel, 1) > 0)
		link_changed(chan->link);	/* another turn */
	else if (!chan->paused && ssh_channel_is_closed(chan->channel))
		chan_closed(chan, NULL);
}

/* Nobody listens: until the server has closed it too. */
static void
chan_linger(struct ssh_chan *chan)
{
	for (int fd = 1; fd <= 2; fd++) {
		(void)chan_take(chan, fd);
		buf_clear(&chan->in[fd - 1]);
	}
	if (ssh_channel_is_closed(chan->channel)) {
		loop_cancel(&chan->linger);
		chan_drop(chan);	/* released at the end of the turn */
	}
}

void
chan_turn(struct ssh_chan *chan)
{
	if (chan->freed) {
		if (chan->linger)
			chan_linger(chan);
		return;
	}
	while (chan_advance(chan))
		;
	if (!chan->freed && chan->step == CHAN_RUN)
		chan_run(chan);
}

bool
ssh_chan_send(struct ssh_chan *chan, const void *data, size_t len)
{
	link_changed(chan->link);
	return buf_add(&chan->out, data, len);
}

void
ssh_chan_send_eof(struct ssh_chan *chan)
{
	chan->eof_wanted = true;
	link_changed(chan->link);
}

void
ssh_chan_flow(struct ssh_chan *chan, bool reading)
{
	chan->paused = !reading;
	if (reading)
		link_changed(chan->link);
}
