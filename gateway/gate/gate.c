#include "gateway/gate/gate.h"

#include <string.h>
#include <sys/queue.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/gate/display.h"
#include "gateway/gate/judge.h"
#include "sandbox/permit.h"

#define TIMEOUT_MS 300000
#define OPEN_MAX 256		/* requests of the whole process */

enum request_step { REQ_DECIDE, REQ_COMMIT, REQ_ASKED, REQ_SETTLED };

/* One request: an op. Lives in the gate's list while it is open. */
struct request {
	struct op op;
	struct gate *gate;
	TAILQ_ENTRY(request) link;
	enum request_step step;
	char id[9];
	char *session_key;
	struct gate_req req;		/* strings owned by this struct */
	struct origin asker;
	struct op *waiting;		/* REQ_COMMIT */
	struct timer *timer;
	struct judgement judged;
	msec_t asked_at;		/* boottime; expiry is checked at use */
	msec_t asked_wall;		/* to compare with a message's time stamp */
	gate_cb *cb;
	void *arg;
};

struct gate {
	struct loop *loop;
	struct store *store;
	struct gate_opts opts;
	struct gate_host host;
	TAILQ_HEAD(, request) open;
	unsigned count;
};

static void on_decide(void *arg);
static void on_committed(void *arg, const struct err *err);
static void on_timeout(void *arg);

static const char *const step_names[] = {
	[REQ_DECIDE] = "decide", [REQ_COMMIT] = "commit",
	[REQ_ASKED] = "asked", [REQ_SETTLED] = "settled",
};

static const char *
outcome_name(enum gate_outcome outcome)
{
	static const char *const names[] = {
		[GATE_ALLOWED] = "allowed", [GATE_DENIED] = "denied",
		[GATE_TIMEOUT] = "timeout", [GATE_UNREACHABLE] = "unreachable",
		[GATE_FORBIDDEN] = "never",
	};

	return names[outcome];
}

static void
request_enter(struct request *r, enum request_step step)
{
	log_debug("gate", NULL, "request=%s step=%s was=%s", r->id,
	    step_names[step], step_names[r->step]);
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
	TAILQ_INIT(&gate->open);
	return gate;
}

void
gate_free(struct gate **gatep)
{
	if (!*gatep)
		return;
	struct gate *gate = STEAL(*gatep);

	REQUIRE(TAILQ_EMPTY(&gate->open));
	mem_free(gate);
}

static void
request_free(struct request *r)
{
	op_cancel(&r->waiting);
	loop_cancel(&r->timer);
	TAILQ_REMOVE(&r->gate->open, r, link);
	r->gate->count--;
	origin_done(&r->asker);
	mem_free(r->session_key);
	mem_free((void *)(uintptr_t)r->req.command);
	mem_free((void *)(uintptr_t)r->req.workdir);
	mem_free((void *)(uintptr_t)r->req.dir);
	mem_free((void *)(uintptr_t)r->req.judged);
	mem_free((void *)(uintptr_t)r->req.shown);
	mem_free((void *)(uintptr_t)r->req.what);
	mem_free((void *)(uintptr_t)r->req.input);
	mem_free((void *)(uintptr_t)r->req.program);
	judgement_done(&r->judged);
	mem_free((void *)(uintptr_t)r->req.sandbox);
	mem_free(r);
}

static void
close_row(struct request *r, const char *outcome, const char *who)
{
	if (r->step != REQ_ASKED)
		return;
	store_approval_close(r->gate->store, r->id, outcome, who,
	    loop_wall(r->gate->loop), NULL, NULL);
	CLEANUP_FREE char *text = mem_printf("%s: %s%s%s", r->id, outcome,
	    who[0] ? " by " : "", who);

	r->gate->host.settled(r->gate->host.arg, &r->asker, r->id, text);
}

/* The only exit of a request that was not cancelled. */
static void
request_settle(struct request *r, enum gate_outcome outcome, const char *who,
    const char *reason)
{
	struct permit *permit = NULL;
	gate_cb *cb = r->cb;
	void *arg = r->arg;

	close_row(r, outcome_name(outcome), who);
	request_enter(r, REQ_SETTLED);
	if (outcome == GATE_ALLOWED) {
		struct permit_terms terms = {
			.command = r->req.command,
			.command_len = r->req.command_len,
			.input = r->req.input,
			.input_len = r->req.input_len,
			.sandbox = r->req.sandbox,
			.workdir = r->req.workdir,
			.generation = r->req.run.generation,
			.isolation = r->req.props.isolation,
			.background = r->req.background,
		};

		permit = permit_issue(&terms);
	}
	log_info("gate", NULL, "request=%s session=%s outcome=%s who=%s", r->id,
	    r->session_key, outcome_name(outcome), who[0] ? who : "-");
	op_finish(&r->op);
	request_free(r);
	cb(arg, outcome, permit, reason);
}

static void
request_cancel(struct op *op)
{
	struct request *r = (struct request *)op;

	close_row(r, "withdrawn", "");
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
	ids_hex(r->id, 8);
	r->session_key = mem_str(req->run.session_key);
	r->req = *req;
	r->req.run.session_key = r->session_key;
	r->req.command = mem_strn(req->command, req->command_len);
	r->req.workdir = mem_str(req->workdir ? req->workdir : "");
	r->req.dir = mem_str(req->dir);
	r->req.sandbox = mem_str(req->sandbox);
	r->req.judged = mem_str(req->judged);
	r->req.shown = mem_str(req->shown);
	r->req.what = mem_str(req->what);
	r->req.input = mem_dup(req->input ? req->input : "", req->input_len);
	r->req.program = mem_str(req->program ? req->program : "");
	CLEANUP_JSON struct json *origin = origin_json(req->asker);

	origin_from_json(&r->asker, origin);
	r->req.asker = &r->asker;
	TAILQ_INSERT_TAIL(&gate->open, r, link);
	gate->count++;
	r->timer = loop_defer(gate->loop, "gate decide", on_decide, r);
	return &r->op;
}

/* Judges the exact bytes; keeps why a person is asked. */
static enum gate_level
request_judge(struct request *r)
{
	judge_request(&r->gate->opts, &r->req, &r->judged);
	return r->judged.level == GATE_ASK && r->gate->opts.off ? GATE_ALLOW :
	    r->judged.level;
}

static void
on_decide(void *arg)
{
	struct request *r = arg;
	struct gate *gate = r->gate;
	enum gate_level level = request_judge(r);

	r->timer = NULL;
	if (level == GATE_ALLOW) {
		request_settle(r, GATE_ALLOWED, "", "");
		return;
	}
	if (level == GATE_NEVER) {
		CLEANUP_FREE char *reason = mem_printf(
		    "this is never allowed here: %s", r->judged.why);

		request_settle(r, GATE_FORBIDDEN, "", reason);
		return;
	}
	if (gate->count > OPEN_MAX) {
		request_settle(r, GATE_UNREACHABLE, "",
		    "too many commands wait for an answer already");
		return;
	}
	CLEANUP_JSON struct json *row = json_object();

	json_set_take(row, "asker", origin_json(&r->asker));
	json_set_str(row, "command", gate_shown(&r->req));
	json_set_str(row, "workdir", r->req.workdir);
	json_set_str(row, "backend", r->req.props.backend);
	json_set_str(row, "sandbox", r->req.sandbox);
	json_set_str(row, "why", r->judged.why);
	json_set_bool(row, "background", r->req.background);
	json_set_int(row, "expires",
	    loop_wall(gate->loop) + gate->opts.timeout_ms);
	request_enter(r, REQ_COMMIT);
	r->waiting = store_approval_open(gate->store, &r->req.run, r->id, row,
	    loop_wall(gate->loop), on_committed, r);
}

static void
on_committed(void *arg, const struct err *err)
{
	struct request *r = arg;
	struct gate *gate = r->gate;

	r->waiting = NULL;
	if (err) {
		CLEANUP_FREE char *reason = mem_printf(
		    "the request could not be recorded: %s", err->text);

		request_settle(r, GATE_UNREACHABLE, "", reason);
		return;
	}
	request_enter(r, REQ_ASKED);
	r->asked_at = loop_boottime(gate->loop);
	r->asked_wall = loop_wall(gate->loop);
	CLEANUP_FREE char *text = gate_display(&r->req, r->id,
	    gate->opts.timeout_ms, r->judged.why);

	if (!text) {
		request_settle(r, GATE_UNREACHABLE, "", "the command is too "
		    "long to be shown whole to the person who decides; write "
		    "it to a file in pieces or make it shorter");
		return;
	}
	if (!gate->host.prompt(gate->host.arg, &r->req.run, &r->asker, r->id,
	    text)) {
		request_settle(r, GATE_UNREACHABLE, "",
		    "no approver is reachable from this session");
		return;
	}
	r->timer = loop_after(gate->loop, gate->opts.timeout_ms, "gate timeout",
	    on_timeout, r);
}

static void
on_timeout(void *arg)
{
	struct request *r = arg;

	r->timer = NULL;
	request_settle(r, GATE_TIMEOUT, "",
	    "nobody answered in time, and that means no");
}

static struct request *
find_request(struct gate *gate, const char *session_key, const char *id)
{
	struct request *r;

	TAILQ_FOREACH(r, &gate->open, link) {
		if (r->step != REQ_ASKED)
			continue;
		if (id && id[0] ? strcmp(r->id, id) == 0 :
		    (session_key && strcmp(r->session_key, session_key) == 0))
			return r;
	}
	return NULL;
}

/* Suspend does not stop the clock that a person's answer is measured by. */
static bool
has_expired(const struct request *r)
{
	return loop_boottime(r->gate->loop) - r->asked_at >
	    r->gate->opts.timeout_ms;
}

/* Returns what the person is told; *ret_settled: the request is gone. */
static char *
decide_one(struct request *r, enum gate_answer answer, const char *reason,
    const char *platform, const char *user_id, bool *ret_settled)
{
	struct gate *gate = r->gate;
	CLEANUP_FREE char *id = mem_str(r->id);
	CLEANUP_FREE char *said = NULL;

	*ret_settled = gate->host.may_decide(gate->host.arg, &r->asker,
	    platform, user_id);
	if (!*ret_settled)
		return mem_printf("Only the person who asked for %s, or an "
		    "approver, may decide about it.", id);
	if (has_expired(r)) {
		loop_cancel(&r->timer);
		on_timeout(r);
		return mem_printf("%s has expired; it was not run.", id);
	}
	if (answer == GATE_ANSWER_YES) {
		request_settle(r, GATE_ALLOWED, user_id, "");
		return mem_printf("Approved %s.", id);
	}
	said = reason && reason[0] ?
	    mem_printf("a person refused it: %.280s", reason) :
	    mem_str("a person refused it");
	request_settle(r, GATE_DENIED, user_id, said);
	return mem_printf("Denied %s.", id);
}

char *
gate_decide(struct gate *gate, const char *session_key, const char *id,
    bool all, enum gate_answer answer, const char *reason,
    const char *platform, const char *user_id)
{
	struct request *r = find_request(gate, session_key, id);
	bool settled = true;
	char *text = NULL;

	if (!r && id && id[0])
		return mem_printf("There is no open request %s: it was "
		    "decided, withdrawn or has expired.", id);
	if (!r)
		return mem_str("Nothing waits for an answer here.");
	while (r && settled) {
		mem_free(text);
		text = decide_one(r, answer, reason, platform, user_id,
		    &settled);
		r = all ? find_request(gate, session_key, NULL) : NULL;
	}
	return text;
}

void
gate_prompt_failed(struct gate *gate, const char *request_id, const char *why)
{
	struct request *r = find_request(gate, NULL, request_id);

	if (!r)
		return;
	CLEANUP_FREE char *reason = mem_printf(
	    "no approver could be reached: the prompt was not delivered (%s)",
	    why);

	request_settle(r, GATE_UNREACHABLE, "", reason);
}

struct json *
gate_open_requests(struct gate *gate, const char *session_key)
{
	struct json *list = json_array();
	struct request *r;

	TAILQ_FOREACH(r, &gate->open, link) {
		if (r->step != REQ_ASKED ||
		    (session_key && strcmp(session_key, r->session_key) != 0))
			continue;
		struct json *row = json_object();

		json_set_str(row, "id", r->id);
		json_set_str(row, "session_key", r->session_key);
		json_set_str(row, "command", gate_shown(&r->req));
		json_set_str(row, "workdir", r->req.workdir);
		json_set_str(row, "backend", r->req.props.backend);
		json_set_int(row, "age_ms",
		    loop_boottime(gate->loop) - r->asked_at);
		json_set_int(row, "asked_wall", r->asked_wall);
		json_add_take(list, row);
	}
	return list;
}
