/*
 * What gate.c (the requests), question.c (what people are asked) and reply.c
 * (what they answer) share.  Identical requests wait for one question; each
 * gets a permit of its own.
 */
#ifndef GATEHOUSE_GATE_PRIV_H
#define GATEHOUSE_GATE_PRIV_H

#include <sys/queue.h>

#include "gateway/gate/gate.h"
#include "gateway/gate/grants.h"
#include "gateway/gate/judge.h"

enum request_step { REQ_DECIDE, REQ_LOOK, REQ_REVIEW, REQ_WAIT, REQ_SETTLED };

/* One request: an op. */
struct request {
	struct op op;
	struct gate *gate;
	enum request_step step;
	TAILQ_ENTRY(request) link;	/* of its question, while REQ_WAIT */
	struct question *question;
	struct gate_req req;		/* strings owned by this struct */
	char *session_key;
	struct origin asker;
	char *asker_name;		/* "platform:user id" */
	struct judgement judged;
	struct timer *timer;		/* REQ_DECIDE */
	struct op *waiting;		/* REQ_LOOK, REQ_REVIEW */
	struct scene *scene;		/* NULL: the permit isn't bound to one */
	gate_cb *cb;
	void *arg;
};

enum question_step { ASK_COMMIT, ASK_OPEN, ASK_KEEP, ASK_OVER };

/* What a person is asked; the first of its requests is what is shown. */
struct question {
	struct gate *gate;
	enum question_step step;
	TAILQ_ENTRY(question) link;
	TAILQ_HEAD(, request) requests;
	char id[9];
	unsigned offers;		/* bits of enum gate_answer */
	struct op *waiting;		/* ASK_COMMIT */
	struct timer *timer;		/* ASK_OPEN */
	char *msg_id;			/* of the prompt, once it is known */
	msec_t asked_at;		/* boottime; expiry is checked at use */
	msec_t asked_wall;		/* to compare with a message's time stamp */
};

/* "always", on its way into the configuration; outlives its question. */
struct keeping {
	struct gate *gate;
	TAILQ_ENTRY(keeping) link;
	struct question *question;	/* NULL: withdrawn meanwhile */
	char *entry;
	char *who;
	struct op *op;
};

/* What became of a question that is over, for late presses. */
struct past {
	TAILQ_ENTRY(past) link;
	char *id, *text;
};

struct gate {
	struct loop *loop;
	struct store *store;
	struct gate_opts opts;		/* allow points to our own list */
	struct gate_host host;
	TAILQ_HEAD(, question) questions;	/* oldest first */
	TAILQ_HEAD(, keeping) keepings;
	TAILQ_HEAD(past_list, past) pasts;	/* newest first */
	unsigned nquestions, npasts, nrequests;
	char **allow;
	size_t nallow;
	struct grants *grants;
};

/* gate.c: the only exit of a request that was not cancelled. */
void request_settle(struct request *r, enum gate_outcome outcome,
	const char *reason);
void gate_allow_add(struct gate *gate, const char *entry);
/* What the row of a question or decision holds. */
struct json *request_row(const struct request *r);

/* question.c */
void question_ask(struct request *r);		/* joins or opens one */
void question_leave(struct request *r);		/* cancelled: perhaps withdrawn */
/* how: what the row and the prompt say ("allowed", "denied", ...). */
void question_settle(struct question *q, enum gate_outcome outcome,
	const char *how, const char *who, const char *reason);
/* A person's "always": written down first, then settled. */
void question_keep(struct question *q, const char *who);
/* The longer yes of a person, as grants. */
void question_grant(struct question *q, const char *who, msec_t length_ms);
void question_timed_out(struct question *q);
void keeping_free(struct keeping *k);
/* NULL: nothing is known of it. */
const char *gate_past(const struct gate *gate, const char *id);

#endif
