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
#include "tests/sim.h"

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

	/*
	 * Rules 3.1: after a kill a run that lost sight of a command does not
	 * go on, and under a living process no result is lost.
	 */
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

/* ---- the oracle ---------------------------------------------------------------------- */

static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/* The answer that a notice speaks of: `...begins with "ans 12: ...`. */
struct answer *
sim_answer_of(struct sim *s, const char *text)
{
	const char *p = strstr(text, "ans ");
	unsigned long n = p ? strtoul(p + 4, NULL, 10) : s->nanswers;

	return p && n < s->nanswers ? &s->answers[n] : NULL;
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
	return sim_answer_of(s, sent->text);
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
	unsigned *may = mem_array(s->nanswers + 1, sizeof(*may));

	for (size_t i = 0; i < fp->nsent; i++) {
		const struct answer *a = answer_in(s, &fp->sent[i]);
		const struct answer *told = strncmp(fp->sent[i].text,
		    "I send the answer", 17) == 0 ?
		    sim_answer_of(s, fp->sent[i].text) : NULL;

		if (told)	/* rules 2.5: a labelled repeat is no duplicate */
			may[told - s->answers]++;

		if (a && !fp->sent[i].is_edit && fake_arrived(fp, &fp->sent[i]))
			seen[a - s->answers]++;
	}
	for (size_t i = 0; i < s->nanswers; i++)
		if (seen[i] > 1 + s->answers[i].again + may[i])
			fail_sim(s, "stands twice: ans", i);
	mem_free(seen);
	mem_free(may);
}

/* Without trouble all that is owed comes within a day; nothing stays undone. */
static void
checkpoint(struct sim *s)
{
	s->calm = true;
	for (int i = 0; i < 200 && (s->nqueue > 0 || i < 3); i++)
		sim_pass(s, 10000);
	assert_int_equal(s->nqueue, 0);
	for (int i = 0; i < 30; i++) {
		sim_pass(s, HOUR);
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
	for (size_t i = 0; i < ARRAY_LEN(sim_people); i++) {
		CLEANUP_FREE char *screen = fake_screen(s->w.platform, sim_people[i]);

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
	s->w.platform->meet = sim_meet;
	s->w.platform->meet_arg = s;
	fake_model_on_request(s->w.model, think, s);
	s->w.served.previews = chance(s, 50);
	s->w.opts.delivery.preview_min = 5;
	s->w.opts.delivery.cursor = CURSOR;
	s->w.opts.delivery.repeat_unknown = chance(s, 25);
	s->w.opts.reset.all = (struct reset_policy){ .idle = chance(s, 25),
		.daily = chance(s, 25), .idle_ms = 3 * HOUR, .at_hour = 4,
		.notify = true };
	s->w.opts.busy = chance(s, 25) ? BUSY_QUEUE : BUSY_INTERRUPT;
	fake_sandbox.isolated = !chance(s, 20);
	fake_sandbox.dying_ms = (msec_t)below(s, 3000);
	msec_t began = loop_now(s->w.loop);

	sim_boot(s);
	for (unsigned i = 1; i <= steps; i++) {
		sim_step(s);
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
