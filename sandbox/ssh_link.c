#include "sandbox/ssh_link.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>	/* ssh_send_keepalive */
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/ssh_link_priv.h"

#define ALIVE_MS 15000
#define ALIVE_MISSED_MAX 3
#define UNUSED_MS 60000
#define POLLS_MAX 64		/* reads of one turn, then others have theirs */

static void link_connect(struct ssh_link *link);

static const char *
state_name(enum link_state state)
{
	switch (state) {
	case LINK_DOWN: return "down";
	case LINK_LOGIN: return "login";
	case LINK_UP: return "up";
	}
	return "?";
}

/* The only place that writes the state. */
static void
link_enter(struct ssh_link *link, enum link_state state)
{
	log_debug("ssh", NULL, "%s: %s -> %s", link->host,
	    state_name(link->state), state_name(state));
	link->state = state;
}

static char *
copy(const char *s)
{
	return s && *s ? mem_str(s) : NULL;
}

struct ssh_link *
ssh_link_new(struct loop *loop, const struct ssh_target *t)
{
	struct ssh_link *link = mem_alloc(sizeof(*link));

	link->loop = loop;
	link->resolver = resolver_new(loop);
	link->target = *t;
	link->target.host = link->host = mem_str(t->host);
	link->target.user = link->texts[0] = copy(t->user);
	link->target.key_file = link->texts[1] = copy(t->key_file);
	link->target.home = link->texts[2] = copy(t->home);
	link->target.known_hosts = link->texts[3] = copy(t->known_hosts);
	link->target.agent = link->texts[4] = copy(t->agent);
	TAILQ_INIT(&link->chans);
	return link;
}

static void
link_drop_session(struct ssh_link *link)
{
	loop_unwatch(&link->watch);
	loop_cancel(&link->alive);
	loop_cancel(&link->unused);
	if (link->event) {
		ssh_event_remove_session(link->event, link->session);
		ssh_event_free(link->event);
		link->event = NULL;
	}
	if (link->session) {
		ssh_silent_disconnect(link->session);
		ssh_free(link->session);
		link->session = NULL;
	}
}

void
ssh_link_free(struct ssh_link **lp)
{
	if (!*lp)
		return;
	struct ssh_link *link = STEAL(*lp);
	struct ssh_chan *chan, *next;

	link->down = true;
	for (chan = TAILQ_FIRST(&link->chans); chan; chan = next) {
		next = TAILQ_NEXT(chan, entry);
		REQUIRE(chan->freed);
		chan_detach(chan);
		chan_release(chan);
	}
	op_cancel(&link->login);
	loop_cancel(&link->kick);
	link_drop_session(link);
	ssh_login_join();
	resolver_free(&link->resolver);
	mem_free(link->host);
	for (size_t i = 0; i < ARRAY_LEN(link->texts); i++)
		mem_free(link->texts[i]);
	mem_free(link);
}

bool
ssh_link_is_up(const struct ssh_link *link)
{
	return link->state == LINK_UP;
}

unsigned
ssh_link_epoch(const struct ssh_link *link)
{
	return link->epoch;
}

/* ---- losing it ------------------------------------------------------------------- */

/* Every channel hears of it; new ones that their callbacks open stay. */
static void
tell_all(struct ssh_link *link, const struct err *err)
{
	uint64_t last = link->serial;
	struct ssh_chan *chan;

	while ((chan = TAILQ_FIRST(&link->chans)) && chan->serial <= last)
		chan_lost(chan, err);
}

static void
link_lost(struct ssh_link *link, const char *why)
{
	struct ssh_chan *chan;
	struct err err;

	err_set(&err, ERR_LOST, "the connection to %s was lost: %s", link->host,
	    why);
	log_warn("ssh", NULL, "%s", err.text);
	link->down = true;
	TAILQ_FOREACH(chan, &link->chans, entry)
		chan_detach(chan);
	link_drop_session(link);
	link_enter(link, LINK_DOWN);
	tell_all(link, &err);
}

/* ---- a turn -------------------------------------------------------------------------- */

static void
link_watch(struct ssh_link *link)
{
	if (link->watch)
		loop_watch_set(link->watch, LOOP_READ |
		    (ssh_get_poll_flags(link->session) & SSH_WRITE_PENDING ?
		    LOOP_WRITE : 0));
}

static void
on_unused(void *arg)
{
	struct ssh_link *link = arg;

	link->unused = NULL;
	if (!TAILQ_EMPTY(&link->chans) || link->state != LINK_UP)
		return;
	log_info("ssh", NULL, "%s: not used, disconnected", link->host);
	ssh_disconnect(link->session);
	link_drop_session(link);
	link_enter(link, LINK_DOWN);
}

/* libssh's work first; callbacks of ours only when it has returned. */
static void
link_turn(struct ssh_link *link)
{
	struct ssh_chan *chan, *next;
	int rc = SSH_OK;

	for (int i = 0; i < POLLS_MAX && rc == SSH_OK; i++)
		rc = ssh_event_dopoll(link->event, 0);
	if (rc == SSH_ERROR || !ssh_is_connected(link->session)) {
		link_lost(link, rc == SSH_ERROR && *ssh_get_error(link->session) ?
		    ssh_get_error(link->session) : "closed by the other side");
		return;
	}
	unsigned epoch = link->epoch;
	link->turning = true;
	for (chan = TAILQ_FIRST(&link->chans); chan; chan = next) {
		/* Freed ones stay in the list while turning. */
		chan_turn(chan);
		next = TAILQ_NEXT(chan, entry);
	}
	link->turning = false;
	for (chan = TAILQ_FIRST(&link->chans); chan; chan = next) {
		next = TAILQ_NEXT(chan, entry);
		if (chan->freed && !chan->linger)
			chan_release(chan);
	}
	if (link->state != LINK_UP || link->epoch != epoch)
		return;
	link_watch(link);
	if (TAILQ_EMPTY(&link->chans) && !link->unused)
		link->unused = loop_after(link->loop, UNUSED_MS, "ssh unused",
		    on_unused, link);
}

static void
on_ready(void *arg, unsigned events)
{
	(void)events;
	link_turn(arg);
}

static void
on_kick(void *arg)
{
	struct ssh_link *link = arg;

	link->kick = NULL;
	if (link->state == LINK_UP)
		link_turn(link);
	else if (link->state == LINK_DOWN && !TAILQ_EMPTY(&link->chans))
		link_connect(link);
}

void
link_changed(struct ssh_link *link)
{
	if (!link->kick)
		link->kick = loop_defer(link->loop, "ssh", on_kick, link);
}

/* ---- keep-alive -------------------------------------------------------------------- */

/* Any byte of the other side counts as an answer. */
static void
on_alive(void *arg)
{
	struct ssh_link *link = arg;

	link->alive = NULL;
	if (link->counter.in_bytes != link->heard) {
		link->heard = link->counter.in_bytes;
		link->missed = 0;
	} else if (++link->missed > ALIVE_MISSED_MAX) {
		link_lost(link, "no answer to three keep-alives");
		return;
	}
	(void)ssh_send_keepalive(link->session);
	link_watch(link);
	link->alive = loop_after(link->loop, ALIVE_MS, "ssh keep-alive", on_alive,
	    link);
}

/* ---- connecting -------------------------------------------------------------------- */

static void
on_login(void *arg, struct ssh_session_struct *session, const struct err *err)
{
	struct ssh_link *link = arg;

	link->login = NULL;
	if (!session) {
		link_enter(link, LINK_DOWN);
		tell_all(link, err);
		return;
	}
	link->session = session;
	link->event = ssh_event_new();
	memset(&link->counter, 0, sizeof(link->counter));
	ssh_set_counters(session, NULL, &link->counter);
	link->heard = 0;
	link->missed = 0;
	link->down = false;
	link->limit = SIZE_MAX;
	link->epoch++;
	if (!link->event ||
	    ssh_event_add_session(link->event, session) != SSH_OK) {
		link_enter(link, LINK_UP);
		link_lost(link, "libssh refused to watch it");
		return;
	}
	link->watch = loop_watch(link->loop, ssh_get_fd(session), LOOP_READ, "ssh",
	    on_ready, link);
	link->alive = loop_after(link->loop, ALIVE_MS, "ssh keep-alive", on_alive,
	    link);
	link_enter(link, LINK_UP);
	log_info("ssh", NULL, "connected to %s", link->host);
	link_changed(link);
}

static void
link_connect(struct ssh_link *link)
{
	REQUIRE(link->state == LINK_DOWN);
	link_enter(link, LINK_LOGIN);
	link->login = ssh_login(link->loop, link->resolver, &link->target, on_login,
	    link);
}
