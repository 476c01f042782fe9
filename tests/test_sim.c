/*
 * The whole core for thousands of simulated hours: people, model, platform,
 * sandbox, store, clock and restarts do what a seed says.  The oracle is rules
 * 2.5 and 3.1, taken from the fakes' logs:
 *
 *   - no message that the gateway acknowledged is lost: a delivered answer's
 *     request had its words, or the chat got a word about it;
 *   - no answer stands on the screen twice unless it was asked for or labelled;
 *   - no command runs twice;
 *   - a preview's cursor does not outlive its run.
 *
 * The invariants inside the fakes hold besides.  SIM_SEED=N ./test_sim repeats
 * the run that failed; SIM_SEEDS=N tries N seeds, SIM_STEPS=N as many steps each.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/fault_vfs.h"
#include "tests/world.h"

#define CURSOR " \xe2\x96\x89"
#define WORDS_MAX 4096		/* messages with words of their own */
#define ANSWERS_MAX 8192
#define QUEUE_MAX 64
#define MIN 60000
#define HOUR (60 * MIN)

/* What a person said; its text holds "t<number>.". */
struct word {
	const char *user, *chat;
	unsigned event;
	bool acked;
	bool excused;		/* stopped, replaced by an edit: may rest */
	bool answered;
	size_t sent_before;	/* sends of the fake when it was said */
	char text[200];
};

/* What the model said as final text: "ans <number>: ...". */
struct answer {
	const char *chat;
	unsigned char words[WORDS_MAX / 8];	/* of its request */
	unsigned again;		/* presses on a resend button */
};

/* An event that the platform has not had confirmed yet. */
struct event {
	enum msg_kind kind;
	const char *user, *chat;
	char id[16], msg_id[16];
	char text[256];
	size_t word;		/* +1; 0: none */
	bool aside;
};

struct sim {
	struct world w;
	uint64_t seed, rnd;
	bool calm;		/* no trouble is made */
	struct word words[WORDS_MAX];
	size_t nwords;
	struct answer *answers;
	size_t nanswers;
	struct event queue[QUEUE_MAX];
	size_t nqueue;
	bool offered;		/* the first of the queue is on its way */
	uint64_t ok_before;
	unsigned next_event, ncommands;
	char texts[16][700];	/* of the model, in turn */
	size_t text_at;
	size_t checked;		/* sends looked at for doubles */
	unsigned kills, outages, faults;
};

/* ---- chance ------------------------------------------------------------------- */

static uint64_t
rnd(struct sim *s)
{
	s->rnd ^= s->rnd << 13;
	s->rnd ^= s->rnd >> 7;
	s->rnd ^= s->rnd << 17;
	return s->rnd * 2685821657736338717u >> 11;
}

static bool
chance(struct sim *s, unsigned percent)
{
	return rnd(s) % 100 < percent;
}

static uint64_t
below(struct sim *s, uint64_t n)
{
	return rnd(s) % n;
}

/* ---- the model ------------------------------------------------------------------ */

/* All words of the request: "t<number>." in what people said. */
static void
read_words(struct sim *s, const struct json *messages, struct answer *a,
    struct buf *out)
{
	for (const struct json *m = json_first(messages); m; m = json_next(m)) {
		const char *p = json_get_str(m, "content", "");

		if (strcmp(json_get_str(m, "role", ""), "user") != 0)
			continue;
		buf_clear(out);		/* the last message's are said again */
		while ((p = strstr(p, " t"))) {
			unsigned long n = strtoul(p + 2, NULL, 10);

			p += 2;
			if (n >= s->nwords)
				continue;
			a->words[n / 8] |= (unsigned char)(1u << n % 8);
			buf_printf(out, " t%lu.", n);
		}
	}
}

static const struct json *
last_of(const struct json *messages, const char **ret_role)
{
	const struct json *last = NULL;

	for (const struct json *m = json_first(messages); m; m = json_next(m))
		last = m;
	*ret_role = json_get_str(last, "role", "");
	return last;
}

static void
say_answer(struct sim *s, const struct json *messages, struct fake_answer *ret)
{
	REQUIRE(s->nanswers < ANSWERS_MAX);
	struct answer *a = &s->answers[s->nanswers];
	char *text = s->texts[s->text_at++ % ARRAY_LEN(s->texts)];
	CLEANUP_BUF struct buf words;

	buf_init(&words, 65536);
	memset(a, 0, sizeof(*a));
	read_words(s, messages, a, &words);
	size_t n = (size_t)snprintf(text, sizeof(s->texts[0]), "ans %zu:%.120s",
	    s->nanswers, words.data);

	if (chance(s, 20))
		snprintf(text + n, sizeof(s->texts[0]) - n, "\n\n"
		    "Of ans %zu this is a part that does not fit into the first "
		    "message of this platform, whose limit is two hundred units, "
		    "so that it waits for its turn.\n\nOf ans %zu the last part "
		    "follows, which nobody may see before the others.",
		    s->nanswers, s->nanswers);
	s->nanswers++;
	if (chance(s, 50)) {
		ret->partial = text;
		ret->chunks = 1;
	} else {
		ret->text = text;
	}
	ret->delay = chance(s, 50) ? 0 : (msec_t)below(s, 20000);
}

static void
think(void *arg, const struct json *messages, struct fake_answer *ret)
{
	struct sim *s = arg;
	const char *role;

	const struct json *last = last_of(messages, &role);

	/* Rules 3.1: a run that lost sight of a command does not go on. */
	if (strcmp(role, "tool") == 0)
		REQUIRE(!strstr(json_get_str(last, "content", ""),
		    "outcome unknown"));
	if (!s->calm && chance(s, 8)) {
		ret->error = chance(s, 80) ? MODEL_ERR_RETRY : MODEL_ERR_REQUEST;
		ret->delay = (msec_t)below(s, 5000);
	} else if (chance(s, strcmp(role, "tool") == 0 ? 20 : 35)) {
		char *text = s->texts[s->text_at++ % ARRAY_LEN(s->texts)];

		if (chance(s, 30))
			snprintf(text, sizeof(s->texts[0]), "sleep %u # %u",
			    (unsigned)below(s, 30) + 1, s->ncommands++);
		else
			snprintf(text, sizeof(s->texts[0]), "effect %u",
			    s->ncommands++);
		ret->call = text;
		if (chance(s, 40))
			ret->text = "I look at that first, before I say more.";
		ret->delay = (msec_t)below(s, 3000);
	} else {
		say_answer(s, messages, ret);
	}
}

/* ---- the platform ------------------------------------------------------------------ */

static bool
meet(void *arg, const char *chat, bool edit, struct fake_trouble *ret)
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
static void
pass(struct sim *s, msec_t ms)
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

static const char *const people[] = { "1001", "1002", "1003" };

static const char *
somebody(struct sim *s)
{
	return people[below(s, ARRAY_LEN(people))];
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

/* The answer that a notice speaks of: `...begins with "ans 12: ...`. */
static struct answer *
answer_of(struct sim *s, const char *text)
{
	const char *p = strstr(text, "ans ");
	unsigned long n = p ? strtoul(p + 4, NULL, 10) : s->nanswers;

	return p && n < s->nanswers ? &s->answers[n] : NULL;
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
		struct answer *a = answer_of(s, sent->text);

		if (a && strncmp(sent->buttons0, "rs:", 3) == 0)
			a->again++;
		return;
	}
}

/* ---- restarts and outages ------------------------------------------------------------ */

static void
boot(struct sim *s)
{
	s->offered = false;		/* not confirmed: brought again */
	s->w.opts.drain_ms = chance(s, 50) ? 0 : (msec_t)below(s, 20000);
	world_boot(&s->w);
	pass(s, 100);
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
		say_words(s, people[0], people[0]);
		pass(s, (msec_t)below(s, 5000));
		world_power_loss(&s->w);
		fault_power_back(rnd(s));
	}
	offer_next(s);			/* what was confirmed just before */
	down(s);
	boot(s);
}

static void
disk_trouble(struct sim *s)
{
	static const enum fault_kind kinds[] = { FAULT_IO, FAULT_FULL, FAULT_SHORT,
		FAULT_FULL_ON, FAULT_IO_ON };

	s->faults++;
	fault_arm(kinds[below(s, ARRAY_LEN(kinds))], 1 + (long)below(s, 40));
	say_words(s, people[1], people[1]);
	pass(s, (msec_t)below(s, 60000));
	fault_disarm();
	pass(s, 10000);
}

static void
outage(struct sim *s)
{
	struct fake_platform *fp = s->w.platform;

	s->outages++;
	fp->host.on_state(fp->host.arg, "fake", PLATFORM_BACKOFF, "no network");
	pass(s, (msec_t)below(s, 5 * MIN));
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

static void
step(struct sim *s)
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
		pass(s, (msec_t)below(s, 1500));
	else if (chance(s, 90))
		pass(s, (msec_t)below(s, 10 * MIN));
	else
		pass(s, (msec_t)below(s, 12 * HOUR));
}

/* ---- the oracle ---------------------------------------------------------------------- */

static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* A whole answer's beginning, no preview and nothing that was cut. */
static struct answer *
answer_in(struct sim *s, const struct fake_sent *sent)
{
	if (strncmp(sent->text, "ans ", 4) != 0 || ends_with(sent->text, CURSOR) ||
	    ends_with(sent->text, "[cut off]") ||
	    ends_with(sent->text, "[stopped]") ||
	    ends_with(sent->text, "[interrupted]"))
		return NULL;
	return answer_of(s, sent->text);
}

/* What tells a person that an answer will not come by itself. */
static bool
is_notice(const char *text)
{
	static const char *const parts[] = { "may not have arrived",
		"outcome is unknown", "three times", "could not deliver",
		"were put aside", "The model ", "I could not finish", "I stopped" };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (strstr(text, parts[i]))
			return true;
	return false;
}

static void
note_answers(struct sim *s)
{
	const struct fake_platform *fp = s->w.platform;

	for (size_t k = 0; k < s->nwords; k++) {
		struct word *word = &s->words[k];

		for (size_t i = word->sent_before; i < fp->nsent &&
		    !word->answered; i++) {
			const struct fake_sent *sent = &fp->sent[i];
			const struct answer *a = answer_in(s, sent);

			if (sent->ghost || strcmp(sent->chat_id, word->chat) != 0)
				continue;
			word->answered = is_notice(sent->text) || (a &&
			    fake_arrived(fp, sent) &&
			    a->words[k / 8] & 1u << k % 8);
		}
	}
}

static void
fail_sim(struct sim *s, const char *what, size_t n)
{
	const struct fake_platform *fp = s->w.platform;

	fprintf(stderr, "# %s %zu, seed %llu\n", what, n,
	    (unsigned long long)s->seed);
	for (size_t i = fp->nsent > 60 ? fp->nsent - 60 : 0; i < fp->nsent; i++)
		fprintf(stderr, "#   %lld %s %s%s%s%d \"%.80s\"\n",
		    (long long)fp->sent[i].at, fp->sent[i].chat_id,
		    fp->sent[i].is_edit ? "edit " : "",
		    fp->sent[i].ghost ? "ghost " : "",
		    fp->sent[i].lost ? "lost " : "", fp->sent[i].outcome,
		    fp->sent[i].text);
	fail_msg("%s %zu, SIM_SEED=%llu", what, n, (unsigned long long)s->seed);
}

static void
check_doubles(struct sim *s)
{
	const struct fake_platform *fp = s->w.platform;
	unsigned *seen = mem_array(s->nanswers + 1, sizeof(*seen));

	for (size_t i = 0; i < fp->nsent; i++) {
		const struct answer *a = answer_in(s, &fp->sent[i]);

		if (a && !fp->sent[i].is_edit && fake_arrived(fp, &fp->sent[i]))
			seen[a - s->answers]++;
	}
	for (size_t i = 0; i < s->nanswers; i++)
		if (seen[i] > 1 + s->answers[i].again &&
		    !s->w.opts.delivery.repeat_unknown)
			fail_sim(s, "stands twice: ans", i);
	mem_free(seen);
}

/* Without trouble all that is owed comes within a day; nothing stays undone. */
static void
checkpoint(struct sim *s)
{
	s->calm = true;
	for (int i = 0; i < 200 && (s->nqueue > 0 || i < 3); i++)
		pass(s, 10000);
	assert_int_equal(s->nqueue, 0);
	for (int i = 0; i < 30; i++) {
		pass(s, HOUR);
		if (gateway_idle(s->w.gw))
			break;
	}
	assert_true(gateway_idle(s->w.gw));
	note_answers(s);
	for (size_t i = 0; i < s->nwords; i++)
		if (s->words[i].acked && !s->words[i].answered &&
		    !s->words[i].excused)
			fail_sim(s, "lost: the message with t", i);
	check_doubles(s);
	for (size_t i = 0; i < fake_sandbox.n; i++)
		if (strncmp(fake_sandbox.commands[i].text, "effect", 6) == 0 &&
		    fake_sandbox_ran(fake_sandbox.commands[i].text) > 1)
			fail_sim(s, "ran twice: command", i);
	for (size_t i = 0; i < ARRAY_LEN(people); i++) {
		CLEANUP_FREE char *screen = fake_screen(s->w.platform, people[i]);

		if (strstr(screen, CURSOR "|") || ends_with(screen, CURSOR))
			s->checked++;
	}
	fake_model_forget(s->w.model);
	s->calm = false;
}

static void
sim_run(uint64_t seed, unsigned steps)
{
	struct sim *s = mem_alloc(sizeof(*s));

	s->seed = seed;
	s->rnd = seed * 0x9E3779B97F4A7C15u + 1;
	s->answers = mem_array(ANSWERS_MAX, sizeof(*s->answers));
	world_init(&s->w, seed);
	s->w.platform->meet = meet;
	s->w.platform->meet_arg = s;
	fake_model_on_request(s->w.model, think, s);
	s->w.served.previews = chance(s, 50);
	s->w.opts.delivery.preview_min = 5;
	s->w.opts.delivery.cursor = CURSOR;
	s->w.opts.delivery.repeat_unknown = chance(s, 25);
	s->w.opts.busy = chance(s, 25) ? BUSY_QUEUE : BUSY_INTERRUPT;
	fake_sandbox.isolated = !chance(s, 20);
	fake_sandbox.dying_ms = (msec_t)below(s, 3000);
	msec_t began = loop_now(s->w.loop);

	boot(s);
	for (unsigned i = 1; i <= steps; i++) {
		step(s);
		if (i % 40 == 0 || i == steps)
			checkpoint(s);
	}
	fprintf(stderr, "# seed %llu: %lld h, %zu messages, %zu answers, %zu "
	    "commands, %zu sends, %u restarts, %u disk faults, %u outages\n",
	    (unsigned long long)seed, (long long)(loop_now(s->w.loop) - began) /
	    HOUR, s->nwords, s->nanswers, fake_sandbox.n, s->w.platform->nsent,
	    s->kills, s->faults, s->outages);
	world_done(&s->w);
	mem_free(s->answers);
	mem_free(s);
}

static uint64_t
number(const char *name, uint64_t unset)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : unset;
}

static void
nothing_is_lost_or_doubled_whatever_happens(void **state)
{
	uint64_t seed = number("SIM_SEED", 1);
	uint64_t n = number("SIM_SEEDS", getenv("SOAK") ? 200 : 6);
	unsigned steps = (unsigned)number("SIM_STEPS", getenv("SOAK") ? 400 : 200);

	(void)state;
	unsetenv("SIM_SEED");	/* world_init() would add it to its own */
	for (uint64_t i = 0; i < n; i++)
		sim_run(seed + i, steps);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_or_doubled_whatever_happens),
	};

	fault_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
