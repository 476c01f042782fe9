/* The state of one simulation, and what its parts offer each other. */
#ifndef GATEHOUSE_TESTS_SIM_H
#define GATEHOUSE_TESTS_SIM_H

#include <stdbool.h>
#include <stdint.h>

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

static inline uint64_t
rnd(struct sim *s)
{
	s->rnd ^= s->rnd << 13;
	s->rnd ^= s->rnd >> 7;
	s->rnd ^= s->rnd << 17;
	return s->rnd * 2685821657736338717u >> 11;
}

static inline bool
chance(struct sim *s, unsigned percent)
{
	return rnd(s) % 100 < percent;
}

static inline uint64_t
below(struct sim *s, uint64_t n)
{
	return rnd(s) % n;
}

/* sim_people.c: what the platform does with a send; fake_platform.meet. */
bool sim_meet(void *arg, const char *chat, bool edit, struct fake_trouble *ret);
/* Time passes; what the platform holds back is offered. */
void sim_pass(struct sim *s, msec_t ms);
void sim_boot(struct sim *s);
/* One thing happens, and some time passes. */
void sim_step(struct sim *s);
extern const char *const sim_people[3];

/* test_sim.c: the answer that a text speaks of: `...begins with "ans 12: ...`. */
struct answer *sim_answer_of(struct sim *s, const char *text);

#endif
