/*
 * What a person is asked: COMMIT (the row first) > OPEN (shown, waiting) >
 * KEEP (an "always" is being written down) > OVER.  Exactly one outcome, for
 * all requests that wait for it.
 */
#include <string.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/gate/display.h"
#include "gateway/gate/gate_priv.h"
#include "sandbox/scene.h"

#define PASTS_MAX 256

static void on_committed(void *arg, const struct err *err);
static void on_timeout(void *arg);

static void
question_enter(struct question *q, enum question_step step)
{
	static const char *const names[] = {
		[ASK_COMMIT] = "commit", [ASK_OPEN] = "open",
		[ASK_KEEP] = "keep", [ASK_OVER] = "over",
	};

	log_debug("gate", NULL, "request=%s step=%s was=%s", q->id, names[step],
	    names[q->step]);
	q->step = step;
	loop_cancel(&q->timer);
}

/* ---- what is over --------------------------------------------------------------- */

void
gate_note_past(struct gate *gate, const char *id, const char *text)
{
	struct past *past = mem_alloc(sizeof(*past));

	past->id = mem_str(id);
	past->text = mem_str(text);
	TAILQ_INSERT_HEAD(&gate->pasts, past, link);
	if (++gate->npasts <= PASTS_MAX)
		return;
	past = TAILQ_LAST(&gate->pasts, past_list);
	TAILQ_REMOVE(&gate->pasts, past, link);
	gate->npasts--;
	mem_free(past->id);
	mem_free(past->text);
	mem_free(past);
}

const char *
gate_past(const struct gate *gate, const char *id)
{
	const struct past *past;

	TAILQ_FOREACH(past, &gate->pasts, link)
		if (strcmp(past->id, id) == 0)
			return past->text;
	return NULL;
}

static void
question_free(struct question *q)
{
	struct keeping *k;

	TAILQ_FOREACH(k, &q->gate->keepings, link)
		if (k->question == q)
			k->question = NULL;
	op_cancel(&q->waiting);
	loop_cancel(&q->timer);
	mem_free(q->msg_id);
	mem_free(q);
}

/* From here on nobody finds it; its requests are still there. */
static void
question_close(struct question *q, const char *how, const char *who)
{
	struct gate *gate = q->gate;
	const struct request *first = TAILQ_FIRST(&q->requests);
	CLEANUP_FREE char *text = mem_printf("%s: %s%s%s", q->id, how,
	    who[0] ? " by " : "", who);

	log_info("gate", NULL, "request=%s session=%s outcome=%s who=%s", q->id,
	    first->session_key, how, who[0] ? who : "-");
	if (q->step == ASK_OPEN || q->step == ASK_KEEP) {
		store_approval_close(gate->store, q->id, how, who,
		    loop_wall(gate->loop), NULL, NULL);
		gate->host.settled(gate->host.arg, &first->asker, q->id, text);
	}
	gate_note_past(gate, q->id, text);
	question_enter(q, ASK_OVER);
	TAILQ_REMOVE(&gate->questions, q, link);
	gate->nquestions--;
}

void
question_settle(struct question *q, enum gate_outcome outcome, const char *how,
    const char *who, const char *reason)
{
	CLEANUP_FREE char *words = mem_str(reason);
	struct request *r;

	question_close(q, how, who);
	while ((r = TAILQ_FIRST(&q->requests))) {
		TAILQ_REMOVE(&q->requests, r, link);
		r->question = NULL;
		request_settle(r, outcome, words);
	}
	question_free(q);
}

void
question_leave(struct request *r)
{
	struct question *q = r->question;

	if (TAILQ_NEXT(r, link) || TAILQ_FIRST(&q->requests) != r ||
	    q->step == ASK_OVER) {
		TAILQ_REMOVE(&q->requests, r, link);
		return;
	}
	question_close(q, "withdrawn", "");
	TAILQ_REMOVE(&q->requests, r, link);
	question_free(q);
}

/* ---- asking --------------------------------------------------------------------- */

static bool
same_scene(const struct request *a, const struct request *b)
{
	if (!a->scene || !b->scene)
		return a->scene == b->scene;
	CLEANUP_FREE char *what = scene_difference(a->scene, b->scene);

	return !what;
}

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Everything that a permit is bound to, and what is shown. */
static bool
is_same(const struct request *a, const struct request *b)
{
	const struct gate_req *x = &a->req, *y = &b->req;

	return strcmp(a->session_key, b->session_key) == 0 &&
	    strcmp(a->asker_name, b->asker_name) == 0 &&
	    x->act == y->act && x->command_len == y->command_len &&
	    memcmp(x->command, y->command, x->command_len) == 0 &&
	    x->input_len == y->input_len &&
	    memcmp(x->input, y->input, x->input_len) == 0 &&
	    strcmp(x->workdir, y->workdir) == 0 &&
	    strcmp(x->dir, y->dir) == 0 &&
	    strcmp(x->sandbox, y->sandbox) == 0 &&
	    strcmp(x->program, y->program) == 0 &&
	    same_text(x->judged, y->judged) && same_text(x->shown, y->shown) &&
	    same_text(x->what, y->what) &&
	    x->run.generation == y->run.generation &&
	    x->props.isolation == y->props.isolation &&
	    x->background == y->background && same_scene(a, b);
}

static unsigned
offers_of(const struct request *r)
{
	unsigned offers = GATE_OFFER(GATE_ANSWER_NO) |
	    GATE_OFFER(GATE_ANSWER_ONCE);

	if (r->judged.severe || r->judged.unreadable)
		return offers;
	offers |= GATE_OFFER(GATE_ANSWER_HOUR) | GATE_OFFER(GATE_ANSWER_SESSION);
	if (r->judged.always && r->gate->host.keep)
		offers |= GATE_OFFER(GATE_ANSWER_ALWAYS);
	return offers;
}

void
question_ask(struct request *r)
{
	struct gate *gate = r->gate;
	struct question *q;

	TAILQ_FOREACH(q, &gate->questions, link) {
		if (is_same(TAILQ_FIRST(&q->requests), r)) {
			TAILQ_INSERT_TAIL(&q->requests, r, link);
			r->question = q;
			return;
		}
	}
	q = mem_alloc(sizeof(*q));
	q->gate = gate;
	ids_hex(q->id, 8);
	q->offers = offers_of(r);
	TAILQ_INIT(&q->requests);
	TAILQ_INSERT_TAIL(&q->requests, r, link);
	r->question = q;
	TAILQ_INSERT_TAIL(&gate->questions, q, link);
	gate->nquestions++;
	CLEANUP_JSON struct json *row = request_row(r);

	json_set_int(row, "expires",
	    loop_wall(gate->loop) + gate->opts.timeout_ms);
	q->waiting = store_approval_open(gate->store, &r->req.run, q->id, row,
	    loop_wall(gate->loop), on_committed, q);
}

static bool
has_room(const struct gate *gate, const struct request *r, const char *text,
    bool *ret_files)
{
	size_t room = gate->host.room ? gate->host.room(gate->host.arg,
	    &r->asker, ret_files) : 0;

	return utf8_units16(text, strlen(text)) <=
	    (room > DISPLAY_UNITS_MAX ? room : DISPLAY_UNITS_MAX);
}

static void
question_show(struct question *q)
{
	struct gate *gate = q->gate;
	struct request *r = TAILQ_FIRST(&q->requests);
	const char *note = NULL;
	bool any = !gate->host.has_decider ||
	    gate->host.has_decider(gate->host.arg, &r->asker, &note);
	const struct gate_display show = { q->id, gate->opts.timeout_ms,
		r->judged.why, q->offers, note, r->scene };
	CLEANUP_FREE char *whole = gate_display(&r->req, &show);
	CLEANUP_FREE char *file_name = mem_printf("command-%s.txt", q->id);
	bool files = false;
	bool fits = whole && has_room(gate, r, whole, &files);
	CLEANUP_FREE char *brief = whole && !fits && files ?
	    gate_display_brief(&r->req, &show, file_name) : NULL;
	const struct gate_prompt prompt = { &r->req.run, &r->asker, q->id,
		brief ? brief : whole, brief ? whole : NULL, file_name,
		q->offers };

	if (!any)
		question_settle(q, GATE_UNREACHABLE, "unreachable", "",
		    "nobody may approve this: it was asked under an id that "
		    "several people share, and no approver is named "
		    "(approvals.approvers)");
	else if (!fits && !brief)
		question_settle(q, GATE_UNREACHABLE, "unreachable", "",
		    "the command is too long to be shown whole to the person who "
		    "decides; write it to a file in pieces or make it shorter");
	else if (!gate->host.prompt(gate->host.arg, &prompt))
		question_settle(q, GATE_UNREACHABLE, "unreachable", "",
		    "no approver is reachable from this session");
	else
		q->timer = loop_after(gate->loop, gate->opts.timeout_ms,
		    "gate timeout", on_timeout, q);
}

static void
on_committed(void *arg, const struct err *err)
{
	struct question *q = arg;

	q->waiting = NULL;
	if (err) {
		CLEANUP_FREE char *reason = mem_printf(
		    "the request could not be recorded: %s", err->text);

		question_settle(q, GATE_UNREACHABLE, "unreachable", "", reason);
		return;
	}
	question_enter(q, ASK_OPEN);
	q->asked_at = loop_boottime(q->gate->loop);
	q->asked_wall = loop_wall(q->gate->loop);
	question_show(q);
}

static void
on_timeout(void *arg)
{
	struct question *q = arg;

	q->timer = NULL;
	question_timed_out(q);
}

void
question_timed_out(struct question *q)
{
	question_settle(q, GATE_TIMEOUT, "timeout", "",
	    "nobody answered in time, and that means no");
}

/* ---- the longer yes ----------------------------------------------------------- */

void
question_grant(struct question *q, const char *who, msec_t length_ms)
{
	struct gate *gate = q->gate;
	const struct request *r = TAILQ_FIRST(&q->requests);

	for (size_t i = 0; i < r->judged.nkeys; i++) {
		const struct grant grant = {
			.session_key = r->session_key, .asker = r->asker_name,
			.rule = r->judged.keys[i], .by = who,
			.until = length_ms > 0 ?
			    loop_boottime(gate->loop) + length_ms : 0,
		};

		grants_add(gate->grants, &grant);
	}
}

void
keeping_free(struct keeping *k)
{
	TAILQ_REMOVE(&k->gate->keepings, k, link);
	op_cancel(&k->op);
	mem_free(k->entry);
	mem_free(k->who);
	mem_free(k);
}

/* Committed before it is used (rules 4.4); a failure leaves a single yes. */
static void
on_kept(void *arg, const struct err *err)
{
	struct keeping *k = arg;
	struct gate *gate = k->gate;
	struct question *q = k->question;

	k->op = NULL;
	if (err)
		log_error("gate", NULL, "command_allowlist was not written: %s",
		    err->text);
	else
		gate_allow_add(gate, k->entry);
	if (q && err) {
		const struct request *r = TAILQ_FIRST(&q->requests);
		CLEANUP_FREE char *text = mem_printf("%s is allowed this once; "
		    "\"always\" could not be stored: %s", q->id, err->text);

		gate->host.say(gate->host.arg, &r->asker, text);
	}
	if (q)
		question_settle(q, GATE_ALLOWED, err ? "allowed" :
		    "allowed-always", k->who, "");
	keeping_free(k);
}

void
question_keep(struct question *q, const char *who)
{
	struct gate *gate = q->gate;
	struct keeping *k = mem_alloc(sizeof(*k));

	k->gate = gate;
	k->question = q;
	k->entry = mem_str(TAILQ_FIRST(&q->requests)->judged.always);
	k->who = mem_str(who);
	TAILQ_INSERT_TAIL(&gate->keepings, k, link);
	question_enter(q, ASK_KEEP);
	k->op = gate->host.keep(gate->host.arg, k->entry, on_kept, k);
}
