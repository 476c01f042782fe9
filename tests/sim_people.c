/* People, the platform's moods, restarts and outages of a simulation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/fault_vfs.h"
#include "tests/sim.h"

/* ---- the platform ------------------------------------------------------------------ */

bool
sim_meet(void *arg, const char *chat, bool edit, struct fake_trouble *ret)
{
	struct sim *s = arg;
	unsigned what = (unsigned)below(s, 100);

	(void)chat;
	*ret = (struct fake_trouble){ .delay = (msec_t)below(s, 400) };
	if (s->calm || what >= 25)
		return true;
	if (what < 6) {
		ret->outcome = SEND_NO;
		ret->error = SEND_ERR_RATE;
		ret->retry_after = 1000 + (msec_t)below(s, 60000);
	} else if (what < 14) {
		ret->outcome = SEND_NO;
		ret->error = SEND_ERR_TRANSIENT;
	} else if (what < 20) {
		ret->outcome = SEND_UNKNOWN;
		ret->lost = chance(s, 50);
	} else if (what < 21) {
		ret->outcome = SEND_NO;
		ret->error = SEND_ERR_REFUSED;
	} else if (edit) {
		ret->outcome = SEND_NO;
		ret->error = SEND_ERR_MSG_GONE;
	}
	return true;
}

static void
offer_next(struct sim *s)
{
	struct fake_platform *fp = s->w.platform;

	if (s->offered && fp->committed_ok > s->ok_before) {
		const struct event *e = &s->queue[0];

		if (e->word)
			s->words[e->word - 1].acked = true;
		memmove(s->queue, s->queue + 1,
		    (s->nqueue - 1) * sizeof(s->queue[0]));
		s->nqueue--;
		s->offered = false;
	}
	if (s->nqueue == 0 || !fake_may_offer(fp))
		return;
	const struct event *e = &s->queue[0];
	bool group = e->chat[0] == '-';
	struct msg msg = {
		.kind = e->kind, .platform = "fake", .account = "900",
		.event_id = e->id, .chat_id = e->chat,
		.chat_type = group ? CHAT_GROUP : CHAT_DM, .thread_id = "",
		.user_id = e->user, .user_name = e->user, .msg_id = e->msg_id,
		.reply_to = "", .text = e->kind == MSG_PRESS ? "" : e->text,
		.press_id = e->kind == MSG_PRESS ? e->id : "",
		.press_data = e->kind == MSG_PRESS ? e->text : "",
		.mentions_bot = group && !e->aside,
		.sent_wall = loop_wall(s->w.loop), .text_units = strlen(e->text),
	};

	s->ok_before = fp->committed_ok;
	s->offered = true;
	fake_offer(fp, &msg);
}

/* In steps, so that what the platform holds back is offered in time. */
void
sim_pass(struct sim *s, msec_t ms)
{
	while (ms > 0) {
		msec_t step = ms > 500 ? ms / 20 + 100 : ms > 10 ? ms : 10;

		offer_next(s);
		world_pass(&s->w, step);
		ms -= step < ms ? step : ms;
		offer_next(s);
		if (!s->w.platform->inst)
			break;
	}
}

static struct event *
event_new(struct sim *s, enum msg_kind kind, const char *user, const char *chat)
{
	if (s->nqueue == QUEUE_MAX)
		return NULL;
	struct event *e = &s->queue[s->nqueue++];

	*e = (struct event){ .kind = kind, .user = user, .chat = chat };
	snprintf(e->id, sizeof(e->id), "%u", ++s->next_event);
	REQUIRE(mem_copy_str(e->msg_id, sizeof(e->msg_id), e->id) == 0);
	return e;
}

/* ---- what people do --------------------------------------------------------------- */

const char *const sim_people[] = { "1001", "1002", "1003" };

static const char *
somebody(struct sim *s)
{
	return sim_people[below(s, ARRAY_LEN(sim_people))];
}

static void
say_words(struct sim *s, const char *user, const char *chat)
{
	struct event *e;

	if (s->nwords == WORDS_MAX || !(e = event_new(s, MSG_TEXT, user, chat)))
		return;
	struct word *word = &s->words[s->nwords];

	*word = (struct word){ .user = user, .chat = chat,
		.event = s->next_event, .sent_before = s->w.platform->nsent };
	snprintf(word->text, sizeof(word->text), "please do t%zu. now",
	    s->nwords);
	REQUIRE(mem_copy_str(e->text, sizeof(e->text), word->text) == 0);
	e->word = ++s->nwords;
}

static bool
same_session(const struct word *word, const char *user, const char *chat)
{
	return strcmp(word->user, user) == 0 && strcmp(word->chat, chat) == 0;
}

/* A stop or a new conversation excuses all that was said before it. */
static void
say_control(struct sim *s, const char *user, const char *chat)
{
	static const char *const texts[] = { "/stop", "/new", "/status", "/help",
		"yes", "no", "/approve", "/deny", "/nonsense", "/retry", "/undo", "/resume 2",
		"/sessions", "/model other", "/model default", "/title one" };
	const char *text = texts[below(s, ARRAY_LEN(texts))];
	struct event *e = event_new(s, MSG_TEXT, user, chat);

	if (!e)
		return;
	REQUIRE(mem_copy_str(e->text, sizeof(e->text), text) == 0);
	if (strcmp(text, "/stop") != 0 && strcmp(text, "/new") != 0 &&
	    strcmp(text, "/retry") != 0 && strcmp(text, "/undo") != 0 &&
	    strcmp(text, "/resume 2") != 0)
		return;
	for (size_t i = 0; i < s->nwords; i++)
		if (same_session(&s->words[i], user, chat))
			s->words[i].excused = true;
}

static void
say_edit(struct sim *s)
{
	if (s->nwords == 0)
		return;
	struct word *word = &s->words[s->nwords - 1 - below(s,
	    s->nwords < 5 ? s->nwords : 5)];
	struct event *e = event_new(s, MSG_EDIT, word->user, word->chat);

	if (!e)
		return;
	word->excused = true;
	snprintf(e->msg_id, sizeof(e->msg_id), "%u", word->event);
	snprintf(e->text, sizeof(e->text), "I meant something else");
}

/* The platform brings an old update once more. */
static void
say_again(struct sim *s)
{
	if (s->nwords == 0)
		return;
	const struct word *word = &s->words[s->nwords - 1 - below(s,
	    s->nwords < 8 ? s->nwords : 8)];
	struct event *e;

	if (!word->acked || !(e = event_new(s, MSG_TEXT, word->user, word->chat)))
		return;
	snprintf(e->id, sizeof(e->id), "%u", word->event);
	snprintf(e->msg_id, sizeof(e->msg_id), "%u", word->event);
	REQUIRE(mem_copy_str(e->text, sizeof(e->text), word->text) == 0);
}

static void
press(struct sim *s)
{
	const struct fake_platform *fp = s->w.platform;

	for (size_t i = fp->nsent; i-- > 0 && fp->nsent - i < 30; ) {
		const struct fake_sent *sent = &fp->sent[i];

		if (!sent->buttons0[0] || !fake_arrived(fp, sent))
			continue;
		bool dm = sent->chat_id[0] != '-';
		struct event *e = event_new(s, MSG_PRESS, dm ? sent->chat_id :
		    somebody(s), sent->chat_id);

		if (!e)
			return;
		REQUIRE(mem_copy_str(e->text, sizeof(e->text), sent->buttons0) == 0);
		struct answer *a = sim_answer_of(s, sent->text);

		if (a && strncmp(sent->buttons0, "rs:", 3) == 0)
			a->again++;
		return;
	}
}

/* ---- restarts and outages ------------------------------------------------------------ */

void
sim_boot(struct sim *s)
{
	s->offered = false;		/* not confirmed: brought again */
	s->w.opts.drain_ms = chance(s, 50) ? 0 : (msec_t)below(s, 20000);
	world_boot(&s->w);
	sim_pass(s, 100);
}

/* While it is down, clocks go on; sometimes for more than a day. */
static void
down(struct sim *s)
{
	if (chance(s, 80))
		sim_advance(s->w.loop, (msec_t)below(s, 10 * MIN));
	else
		sim_advance(s->w.loop, (msec_t)below(s, 30 * HOUR));
	for (unsigned n = (unsigned)below(s, 3); n > 0; n--) {
		const char *who = somebody(s);

		say_words(s, who, who);
	}
}

static void
die(struct sim *s)
{
	s->kills++;
	if (chance(s, 30)) {
		world_stop(&s->w);
	} else if (chance(s, 50)) {
		world_crash(&s->w);
	} else {
		fault_arm(FAULT_POWER, 1 + (long)below(s, 60));
		say_words(s, sim_people[0], sim_people[0]);
		sim_pass(s, (msec_t)below(s, 5000));
		world_power_loss(&s->w);
		fault_power_back(rnd(s));
	}
	offer_next(s);			/* what was confirmed just before */
	down(s);
	sim_boot(s);
}

static void
disk_trouble(struct sim *s)
{
	static const enum fault_kind kinds[] = { FAULT_IO, FAULT_FULL, FAULT_SHORT,
		FAULT_FULL_ON, FAULT_IO_ON };

	s->faults++;
	fault_arm(kinds[below(s, ARRAY_LEN(kinds))], 1 + (long)below(s, 40));
	say_words(s, sim_people[1], sim_people[1]);
	sim_pass(s, (msec_t)below(s, 60000));
	fault_disarm();
	sim_pass(s, 10000);
}

static void
outage(struct sim *s)
{
	struct fake_platform *fp = s->w.platform;

	s->outages++;
	fp->host.on_state(fp->host.arg, "fake", PLATFORM_BACKOFF, "no network");
	sim_pass(s, (msec_t)below(s, 5 * MIN));
	if (fp->inst)
		fp->host.on_state(fp->host.arg, "fake", PLATFORM_UP, "");
}

static void
clock_trouble(struct sim *s)
{
	if (chance(s, 50))
		sim_suspend(s->w.loop, (msec_t)below(s, 8 * HOUR));
	else
		sim_set_wall(s->w.loop, loop_wall(s->w.loop) +
		    (msec_t)below(s, 2 * HOUR) - HOUR);
}

void
sim_step(struct sim *s)
{
	unsigned what = (unsigned)below(s, 1000);
	const char *who = somebody(s);
	const char *where = chance(s, 75) ? who : "-500";

	if (what < 330) {
		say_words(s, who, where);
	} else if (what < 380) {
		say_words(s, who, where);
		say_words(s, who, where);
	} else if (what < 440) {
		say_control(s, who, where);
	} else if (what < 465) {
		say_edit(s);
	} else if (what < 490) {
		say_again(s);
	} else if (what < 560) {
		press(s);
	} else if (what < 600) {
		die(s);
	} else if (what < 615) {
		disk_trouble(s);
	} else if (what < 630) {
		outage(s);
	} else if (what < 640) {
		clock_trouble(s);
	}
	if (chance(s, 60))
		sim_pass(s, (msec_t)below(s, 1500));
	else if (chance(s, 90))
		sim_pass(s, (msec_t)below(s, 10 * MIN));
	else
		sim_pass(s, (msec_t)below(s, 12 * HOUR));
}
