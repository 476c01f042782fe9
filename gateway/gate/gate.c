/*
 * The requests: DECIDE (judge) > LOOK (at the scene, where it is not simply
 * allowed; then what is granted already, who is there to ask) > REVIEW (by a
 * model, in mode smart) > WAIT (for a question of question.c) > SETTLED.  One exit: request_settle().
 */
#include "gateway/gate/gate_priv.h"

#include <string.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/gate/display.h"
#include "gateway/gate/smart.h"
#include "sandbox/permit.h"
#include "sandbox/scene.h"

#define TIMEOUT_MS 300000
#define REQUESTS_MAX 256	/* of the whole process */
#define ALLOW_MAX 4096

static void on_decide(void *arg);

static void
request_enter(struct request *r, enum request_step step)
{
	static const char *const names[] = {
		[REQ_DECIDE] = "decide", [REQ_LOOK] = "look",
		[REQ_REVIEW] = "review", [REQ_WAIT] = "wait",
		[REQ_SETTLED] = "settled",
	};

	log_debug("gate", NULL, "session=%s request step=%s was=%s",
	    r->session_key, names[step], names[r->step]);
	r->step = step;
}

struct gate *
gate_new(struct loop *loop, struct store *store, const struct gate_opts *opts,
    const struct gate_host *host)
{
	struct gate *gate = mem_alloc(sizeof(*gate));

	gate->loop = loop;
	gate->store = store;
	gate->opts = *opts;
	gate->host = *host;
	if (gate->opts.timeout_ms <= 0)
		gate->opts.timeout_ms = TIMEOUT_MS;
	TAILQ_INIT(&gate->questions);
	TAILQ_INIT(&gate->keepings);
	TAILQ_INIT(&gate->pasts);
	gate->grants = grants_new();
	gate->opts.allow = NULL;
	for (const char *const *a = opts->allow; a && *a; a++)
		gate_allow_add(gate, *a);
	return gate;
}

void
gate_free(struct gate **gatep)
{
	if (!*gatep)
		return;
	struct gate *gate = STEAL(*gatep);

	REQUIRE(TAILQ_EMPTY(&gate->questions) && gate->nrequests == 0);
	while (!TAILQ_EMPTY(&gate->keepings))
		keeping_free(TAILQ_FIRST(&gate->keepings));
	while (!TAILQ_EMPTY(&gate->pasts)) {
		struct past *past = TAILQ_FIRST(&gate->pasts);

		TAILQ_REMOVE(&gate->pasts, past, link);
		mem_free(past->id);
		mem_free(past->text);
		mem_free(past);
	}
	for (size_t i = 0; i < gate->nallow; i++)
		mem_free(gate->allow[i]);
	mem_free(gate->allow);
	grants_free(&gate->grants);
	mem_free(gate);
}

void
gate_allow_add(struct gate *gate, const char *entry)
{
	for (size_t i = 0; i < gate->nallow; i++)
		if (strcmp(gate->allow[i], entry) == 0)
			return;
	if (gate->nallow >= ALLOW_MAX) {
		log_warn("gate", NULL, "command_allowlist has over %d entries: "
		    "the rest is asked about", ALLOW_MAX);
		return;
	}
	gate->allow = mem_grow(gate->allow, gate->nallow + 2,
	    sizeof(*gate->allow));
	gate->allow[gate->nallow++] = mem_str(entry);
	gate->allow[gate->nallow] = NULL;
	gate->opts.allow = (const char *const *)gate->allow;
}

/* ---- one request ------------------------------------------------------------- */

static void
req_copy(struct gate_req *to, const struct gate_req *from)
{
	*to = *from;
	to->command = mem_strn(from->command, from->command_len);
	to->input = mem_dup(from->input ? from->input : "", from->input_len);
	to->workdir = mem_str(from->workdir ? from->workdir : "");
	to->dir = mem_str(from->dir);
	to->sandbox = mem_str(from->sandbox);
	to->program = mem_str(from->program ? from->program : "");
	to->judged = mem_str(from->judged);
	to->shown = mem_str(from->shown);
	to->what = mem_str(from->what);
	to->changed = mem_str(from->changed);
}

static void
req_done(struct gate_req *req)
{
	const void *const owned[] = {
		req->command, req->input, req->workdir, req->dir, req->sandbox,
		req->program, req->judged, req->shown, req->what, req->changed,
	};

	for (size_t i = 0; i < ARRAY_LEN(owned); i++)
		mem_free((void *)(uintptr_t)owned[i]);
}

static void
request_free(struct request *r)
{
	loop_cancel(&r->timer);
	op_cancel(&r->waiting);
	scene_free(&r->scene);
	r->gate->nrequests--;
	origin_done(&r->asker);
	mem_free(r->asker_name);
	mem_free(r->session_key);
	req_done(&r->req);
	judgement_done(&r->judged);
	mem_free(r);
}

static struct permit *
make_permit(struct request *r)
{
	const struct gate_req *req = &r->req;
	struct permit_terms terms = {
		.command = req->command,
		.command_len = req->command_len,
		.input = req->input,
		.input_len = req->input_len,
		.sandbox = req->sandbox,
		.workdir = req->workdir,
		.generation = req->run.generation,
		.isolation = req->props.isolation,
		.background = req->background,
		.scene = STEAL(r->scene),
	};

	return permit_issue(&terms);
}

void
request_settle(struct request *r, enum gate_outcome outcome, const char *reason)
{
	struct permit *permit = NULL;
	gate_cb *cb = r->cb;
	void *arg = r->arg;

	request_enter(r, REQ_SETTLED);
	if (outcome == GATE_ALLOWED)
		permit = make_permit(r);
	op_finish(&r->op);
	request_free(r);
	cb(arg, outcome, permit, reason);
}

static void
request_cancel(struct op *op)
{
	struct request *r = (struct request *)op;

	if (r->step == REQ_WAIT)
		question_leave(r);
	request_free(r);
}

static const struct op_type request_type = { "gate request", request_cancel };

struct op *
gate_ask(struct gate *gate, const struct gate_req *req, gate_cb *cb, void *arg)
{
	struct request *r = mem_alloc(sizeof(*r));

	op_init(&r->op, &request_type);
	r->gate = gate;
	r->cb = cb;
	r->arg = arg;
	r->session_key = mem_str(req->run.session_key);
	req_copy(&r->req, req);
	r->req.run.session_key = r->session_key;
	CLEANUP_JSON struct json *origin = origin_json(req->asker);

	origin_from_json(&r->asker, origin);
	r->req.asker = &r->asker;
	r->asker_name = mem_printf("%s:%s", r->asker.platform, r->asker.user_id);
	gate->nrequests++;
	r->timer = loop_defer(gate->loop, "gate decide", on_decide, r);
	return &r->op;
}

/* ---- without asking ------------------------------------------------------------- */

struct json *
request_row(const struct request *r)
{
	struct json *row = json_object();

	json_set_take(row, "asker", origin_json(&r->asker));
	json_set_str(row, "command", gate_shown(&r->req));
	json_set_str(row, "workdir", r->req.workdir);
	json_set_str(row, "dir", r->req.dir);
	json_set_str(row, "backend", r->req.props.backend);
	json_set_str(row, "sandbox", r->req.sandbox);
	json_set_str(row, "why", r->judged.why);
	json_set_bool(row, "background", r->req.background);
	return row;
}

/* The audit row of a decision that nobody was asked about. */
static void
request_note(struct request *r, const char *outcome, const char *who)
{
	CLEANUP_JSON struct json *row = request_row(r);
	char id[9];

	ids_hex(id, 8);
	log_info("gate", NULL, "request=%s session=%s outcome=%s who=%s", id,
	    r->session_key, outcome, who[0] ? who : "-");
	store_approval_note(r->gate->store, &r->req.run, id, row, outcome, who,
	    loop_wall(r->gate->loop), NULL, NULL);
}

/* Everything that would be asked about was allowed by a person before. */
static bool
is_granted(const struct request *r)
{
	struct grants *grants = r->gate->grants;
	const struct judgement *j = &r->judged;
	msec_t now = loop_boottime(r->gate->loop);

	if (grants_cover(grants, r->session_key, r->asker_name, GRANT_ALL, now))
		return true;
	if (j->severe || j->unreadable || j->nkeys == 0)
		return false;
	for (size_t i = 0; i < j->nkeys; i++)
		if (!grants_cover(grants, r->session_key, r->asker_name,
		    j->keys[i], now))
			return false;
	return true;
}

static void
settle_alone(struct request *r)
{
	bool cron = r->req.caller == GATE_BY_CRON;

	if (cron && r->gate->opts.cron_approve) {
		request_note(r, "allowed-cron", "");
		request_settle(r, GATE_ALLOWED, "");
		return;
	}
	CLEANUP_FREE char *reason = mem_printf("nobody can be asked in a run "
	    "that nobody attends%s, and it needs a yes: %s",
	    cron ? " (approvals.cron_mode is deny)" : "", r->judged.why);

	request_note(r, "denied-unattended", "");
	request_settle(r, GATE_UNREACHABLE, reason);
}

static void
settle_never(struct request *r)
{
	CLEANUP_FREE char *reason = mem_printf("this is never allowed here: %s",
	    r->judged.why);

	request_note(r, "never", "");
	request_settle(r, GATE_FORBIDDEN, reason);
}

/* A model's word; only a person's goes further than this one command. */
static void
on_reviewed(void *arg, enum smart_choice choice)
{
	struct request *r = arg;

	r->waiting = NULL;
	switch (choice) {
	case SMART_ALLOW:
		request_note(r, "allowed-smart", "model");
		request_settle(r, GATE_ALLOWED,
		    "auto-approved by the reviewing model");
		return;
	case SMART_DENY:
		request_note(r, "denied-smart", "model");
		request_settle(r, GATE_DENIED,
		    "the reviewing model refused it (approvals.mode is smart)");
		return;
	case SMART_ASK:
		break;
	}
	request_enter(r, REQ_WAIT);
	question_ask(r);
}

/* It would be asked about: is that answered already, and who is there? */
static void
request_answer(struct request *r)
{
	struct gate *gate = r->gate;

	if (gate->opts.off) {
		request_note(r, "allowed-off", "");
		request_settle(r, GATE_ALLOWED, "");
	} else if (is_granted(r)) {
		request_note(r, "allowed-granted", "");
		request_settle(r, GATE_ALLOWED, "");
	} else if (r->req.caller != GATE_BY_PERSON) {
		settle_alone(r);
	} else if (gate->nrequests > REQUESTS_MAX) {
		request_note(r, "unreachable", "");
		request_settle(r, GATE_UNREACHABLE,
		    "too many commands wait for an answer already");
	} else if (gate->opts.smart && !r->judged.severe &&
	    !r->judged.unreadable) {
		request_enter(r, REQ_REVIEW);
		r->waiting = smart_review(gate->loop, &gate->opts, &r->req,
		    r->scene, r->judged.why, on_reviewed, r);
	} else {
		request_enter(r, REQ_WAIT);
		question_ask(r);
	}
}

/* A script that can't be read whole is never allowed beyond once (rules 4.3). */
static void
on_looked(void *arg, struct scene *scene)
{
	struct request *r = arg;

	r->waiting = NULL;
	r->scene = scene;
	for (size_t i = 0; i < scene->nfiles; i++)
		r->judged.unreadable |= !scene->files[i].whole;
	request_answer(r);
}

static void
on_decide(void *arg)
{
	struct request *r = arg;
	const struct gate_host *host = &r->gate->host;

	r->timer = NULL;
	judge_request(&r->gate->opts, &r->req, &r->judged);
	if (r->judged.level == GATE_ALLOW) {
		log_debug("gate", NULL, "session=%s allowed by the rules",
		    r->session_key);
		request_settle(r, GATE_ALLOWED, "");
	} else if (r->judged.level == GATE_NEVER) {
		settle_never(r);
	} else if (host->look && r->req.act == GATE_COMMAND) {
		request_enter(r, REQ_LOOK);
		r->waiting = host->look(host->arg, r->req.sandbox, r->req.dir,
		    (const char *const *)r->judged.scripts, r->judged.nscripts,
		    on_looked, r);
	} else {
		request_answer(r);
	}
}

/* ---- grants --------------------------------------------------------------------- */

struct json *
gate_grants(struct gate *gate, const char *session_key)
{
	return grants_list(gate->grants, session_key,
	    loop_boottime(gate->loop));
}

unsigned
gate_forget_grants(struct gate *gate, const char *session_key)
{
	return grants_forget(gate->grants, session_key, NULL, NULL);
}

char *
gate_yolo(struct gate *gate, const char *session_key, const struct origin *who)
{
	CLEANUP_FREE char *name = mem_printf("%s:%s", who->platform,
	    who->user_id);
	const struct grant all = { session_key, name, GRANT_ALL, name, 0 };

	if (grants_forget(gate->grants, session_key, name, GRANT_ALL) > 0) {
		log_info("gate", NULL, "session=%s yolo off by %s", session_key,
		    name);
		return mem_str("Risky commands are asked about again.");
	}
	if (!gate->host.may_decide(gate->host.arg, who, who))
		return mem_str("Only an approver can switch the questions off.");
	grants_add(gate->grants, &all);
	log_warn("gate", NULL, "session=%s yolo on by %s: risky commands run "
	    "without a question", session_key, name);
	return mem_str("Nothing you ask for here is asked about any more, until "
	    "/yolo, /new or a restart. What is never allowed stays refused.");
}
