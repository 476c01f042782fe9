/*
 * The asking half by itself: a real store, people made of callbacks, and every
 * order of press, time-out, withdrawal and failed prompt.  Which bugs: a second
 * outcome, a permit without a yes, a request that waits for ever.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/gate/gate.h"
#include "tests/loop_sim.h"
#include "tests/store_sync.h"

#define KEY "agent:main:fake:dm:42"
#define TIMEOUT 60000

struct desk {			/* what people see */
	struct sync s;
	struct gate *gate;
	struct origin asker, stranger;
	char last[9];		/* id of the newest question */
	char ids[64][9];
	unsigned prompts, settled;
	unsigned offers;
	char outcome[256];
	bool unreachable, nobody;
};

struct answer {			/* what the run was told */
	struct op *op;
	int n;
	enum gate_outcome outcome;
	bool permitted;
	char reason[300];
};

static bool
on_prompt(void *arg, const struct gate_prompt *prompt)
{
	struct desk *d = arg;

	if (d->unreachable)
		return false;
	assert_true(d->prompts < ARRAY_LEN(d->ids));
	assert_int_equal(mem_copy_str(d->last, sizeof(d->last), prompt->id), 0);
	memcpy(d->ids[d->prompts++], d->last, sizeof(d->last));
	d->offers = prompt->offers;
	return true;
}

static void
on_settled(void *arg, const struct origin *to, const char *id, const char *text)
{
	struct desk *d = arg;

	(void)to, (void)id;
	d->settled++;
	assert_int_equal(mem_format(d->outcome, sizeof(d->outcome), "%s", text),
	    0);
}

static bool
on_may(void *arg, const struct origin *asked, const struct origin *who)
{
	(void)arg;
	return strcmp(asked->user_id, who->user_id) == 0;
}

static bool
on_any(void *arg, const struct origin *asked, const char **ret_note)
{
	(void)asked;
	*ret_note = NULL;
	return !((struct desk *)arg)->nobody;
}

static void
on_say(void *arg, const struct origin *to, const char *text)
{
	(void)arg, (void)to, (void)text;
}

static struct origin
person(const char *id)
{
	return (struct origin){ mem_str("fake"), mem_str("900"), mem_str("42"),
		mem_str(""), mem_str(id), mem_str(id), CHAT_DM, false };
}

static void
open_desk(struct desk *d, const struct gate_opts *opts)
{
	struct gate_opts own = opts ? *opts : (struct gate_opts){ 0 };
	const struct gate_host host = {
		.arg = d, .prompt = on_prompt, .settled = on_settled,
		.may_decide = on_may, .has_decider = on_any, .say = on_say,
	};

	memset(d, 0, sizeof(*d));
	sync_init(&d->s);
	own.timeout_ms = TIMEOUT;
	d->asker = person("1001");
	d->stranger = person("1002");
	assert_int_equal(sync_say(&d->s, KEY, "e1", "please", true), ERR_NONE);
	d->gate = gate_new(d->s.loop, d->s.store, &own, &host);
}

static void
close_desk(struct desk *d)
{
	gate_free(&d->gate);
	origin_done(&d->asker);
	origin_done(&d->stranger);
	sync_done(&d->s);
	assert_int_equal(op_live(), 0);
	assert_int_equal(permit_live(), 0);
}

static void
drain(struct desk *d)
{
	sim_run_until_idle(d->s.loop);
	while (store_health(d->s.store).depth > 0) {
		sim_wait(d->s.loop, 5000);
		sim_run_until_idle(d->s.loop);
	}
}

static void
on_outcome(void *arg, enum gate_outcome outcome, struct permit *permit,
    const char *reason)
{
	struct answer *a = arg;

	a->op = NULL;
	a->n++;
	a->outcome = outcome;
	a->permitted = permit != NULL;
	assert_int_equal(a->permitted, outcome == GATE_ALLOWED);
	assert_int_equal(mem_format(a->reason, sizeof(a->reason), "%.290s",
	    reason), 0);
	permit_free(&permit);
}

static struct gate_req
request(const struct desk *d, const char *command)
{
	return (struct gate_req){
		.run = { KEY, d->s.claim.generation }, .asker = &d->asker,
		.command = command, .command_len = strlen(command),
		.workdir = "", .dir = "/w", .sandbox = "main/x",
		.props = { .backend = "local", .network = "host",
		    .workspace = "/w" },
	};
}

static void
ask(struct desk *d, struct answer *a, const char *command)
{
	struct gate_req req = request(d, command);

	*a = (struct answer){ 0 };
	a->op = gate_ask(d->gate, &req, on_outcome, a);
	drain(d);
}

static char *
reply(struct desk *d, const struct origin *who, const char *id,
    enum gate_answer answer)
{
	const struct gate_reply r = { .session_key = KEY, .who = who, .id = id,
		.answer = answer, .reason = "" };
	char *said = gate_decide(d->gate, &r);

	drain(d);
	return said;
}

static void
say(struct desk *d, const char *id, enum gate_answer answer)
{
	mem_free(reply(d, &d->asker, id, answer));
}

/* hermes-agent#81026: the second of two equal ones swallowed the first. */
static void
identical_requests_share_one_question(void **state)
{
	struct desk d;
	struct answer a, b, other;

	(void)state;
	open_desk(&d, NULL);
	ask(&d, &a, "rm -r x");
	ask(&d, &b, "rm -r x");
	ask(&d, &other, "rm -r y");
	assert_int_equal(d.prompts, 2);
	say(&d, d.ids[0], GATE_ANSWER_ONCE);
	assert_int_equal(a.outcome, GATE_ALLOWED);
	assert_int_equal(b.outcome, GATE_ALLOWED);
	assert_int_equal(a.n + b.n, 2);
	assert_int_equal(other.n, 0);
	say(&d, d.ids[1], GATE_ANSWER_NO);
	assert_int_equal(other.outcome, GATE_DENIED);
	assert_int_equal(d.settled, 2);
	close_desk(&d);
}

/* The first is withdrawn: the question stays for the one that waits. */
static void
a_question_lives_as_long_as_somebody_waits(void **state)
{
	struct desk d;
	struct answer a, b;

	(void)state;
	open_desk(&d, NULL);
	ask(&d, &a, "rm -r x");
	ask(&d, &b, "rm -r x");
	op_cancel(&a.op);
	drain(&d);
	assert_int_equal(d.settled, 0);
	say(&d, d.last, GATE_ANSWER_ONCE);
	assert_int_equal(a.n, 0);
	assert_int_equal(b.outcome, GATE_ALLOWED);
	ask(&d, &a, "rm -r x");
	op_cancel(&a.op);
	drain(&d);
	assert_non_null(strstr(d.outcome, "withdrawn"));
	say(&d, d.last, GATE_ANSWER_ONCE);
	assert_int_equal(a.n, 0);
	close_desk(&d);
}

/* hermes-agent#64001 */
static void
an_answer_goes_to_the_question_it_names(void **state)
{
	struct desk d;
	struct answer a, b;

	(void)state;
	open_desk(&d, NULL);
	ask(&d, &a, "rm -r victim");
	ask(&d, &b, "rm -r ok");
	CLEANUP_FREE char *said = reply(&d, &d.asker, "", GATE_ANSWER_ONCE);

	assert_non_null(strstr(said, d.ids[0]));
	assert_non_null(strstr(said, d.ids[1]));
	assert_int_equal(a.n + b.n, 0);
	say(&d, d.ids[1], GATE_ANSWER_ONCE);
	say(&d, d.ids[0], GATE_ANSWER_NO);
	assert_int_equal(b.outcome, GATE_ALLOWED);
	assert_int_equal(a.outcome, GATE_DENIED);
	close_desk(&d);
}

static void
who_may_not_decide_changes_nothing(void **state)
{
	struct desk d;
	struct answer a;

	(void)state;
	open_desk(&d, NULL);
	ask(&d, &a, "rm -r x");
	for (int i = GATE_ANSWER_NO; i <= GATE_ANSWER_ALWAYS; i++) {
		CLEANUP_FREE char *said = reply(&d, &d.stranger, d.last,
		    (enum gate_answer)i);

		assert_non_null(strstr(said, "Only the person who asked"));
	}
	assert_int_equal(a.n, 0);
	assert_int_equal(d.settled, 0);
	say(&d, d.last, GATE_ANSWER_ONCE);
	assert_int_equal(a.outcome, GATE_ALLOWED);
	close_desk(&d);
}

static void
no_prompt_is_a_denial_that_names_the_cause(void **state)
{
	struct desk d;
	struct answer a;

	(void)state;
	open_desk(&d, NULL);
	d.unreachable = true;
	ask(&d, &a, "rm -r x");
	assert_int_equal(a.outcome, GATE_UNREACHABLE);
	assert_non_null(strstr(a.reason, "no approver is reachable"));
	d.unreachable = false;
	d.nobody = true;
	ask(&d, &a, "rm -r x");
	assert_int_equal(a.outcome, GATE_UNREACHABLE);
	assert_non_null(strstr(a.reason, "nobody may approve"));
	d.nobody = false;
	ask(&d, &a, "rm -r x");
	gate_prompt_failed(d.gate, d.last, "blocked by the user");
	drain(&d);
	assert_int_equal(a.outcome, GATE_UNREACHABLE);
	assert_non_null(strstr(a.reason, "blocked by the user"));
	close_desk(&d);
}

/* hermes-agent#35164: nobody there was a yes. */
static void
nobody_to_ask_is_a_no_at_once(void **state)
{
	const struct gate_opts approve = { .cron_approve = true };
	static const struct {
		enum gate_caller caller;
		bool approve;
		const char *command;
		enum gate_outcome outcome;
	} rows[] = {
		{ GATE_BY_CRON, false, "rm -r x", GATE_UNREACHABLE },
		{ GATE_BY_CRON, true, "rm -r x", GATE_ALLOWED },
		{ GATE_BY_CRON, true, "mkfs.ext4 /dev/sda1", GATE_FORBIDDEN },
		{ GATE_BY_SERVICE, true, "rm -r x", GATE_UNREACHABLE },
		{ GATE_BY_SERVICE, false, "ls", GATE_ALLOWED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct desk d;
		struct answer a = { 0 };

		open_desk(&d, rows[i].approve ? &approve : NULL);
		struct gate_req req = request(&d, rows[i].command);

		req.caller = rows[i].caller;
		a.op = gate_ask(d.gate, &req, on_outcome, &a);
		drain(&d);
		assert_int_equal(a.n, 1);
		assert_int_equal(a.outcome, rows[i].outcome);
		assert_int_equal(d.prompts, 0);
		close_desk(&d);
	}
}

/* A row for whatever was asked, refused or let through by somebody's word. */
static void
each_decision_leaves_a_row(void **state)
{
	struct desk d;
	struct answer a;
	static const char *const want[] = { "never", "denied", "allowed-session",
		"allowed-granted", "timeout" };

	(void)state;
	open_desk(&d, NULL);
	ask(&d, &a, "mkfs.ext4 /dev/sda1");
	ask(&d, &a, "rm -r x");
	say(&d, d.last, GATE_ANSWER_NO);
	ask(&d, &a, "rm -r x");
	say(&d, d.last, GATE_ANSWER_SESSION);
	ask(&d, &a, "rm -r y");
	ask(&d, &a, "docker stop web");
	sim_advance(d.s.loop, TIMEOUT + 1);
	drain(&d);
	assert_int_equal(a.outcome, GATE_TIMEOUT);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		CLEANUP_FREE char *sql = mem_printf("SELECT count(*) FROM "
		    "approval WHERE outcome = '%s' AND state = 'closed'", want[i]);

		assert_int_equal(sync_sql(&d.s, sql), 1);
	}
	assert_int_equal(sync_sql(&d.s, "SELECT count(*) FROM approval WHERE "
	    "who = 'fake:1001'"), 2);
	close_desk(&d);
}

enum act { PRESS_YES, PRESS_NO, TIME_OUT, WITHDRAW, FAIL, ACTS };

static void
do_act(struct desk *d, struct answer *a, enum act act)
{
	switch (act) {
	case PRESS_YES:
		say(d, d->last, GATE_ANSWER_ONCE);
		break;
	case PRESS_NO:
		say(d, d->last, GATE_ANSWER_NO);
		break;
	case TIME_OUT:
		sim_advance(d->s.loop, TIMEOUT + 1);
		drain(d);
		break;
	case WITHDRAW:
		op_cancel(&a->op);
		drain(d);
		break;
	case FAIL:
		gate_prompt_failed(d->gate, d->last, "gone");
		drain(d);
		break;
	case ACTS:
		break;
	}
}

static const char *const first_word[] = {
	[PRESS_YES] = ": allowed by", [PRESS_NO] = ": denied by",
	[TIME_OUT] = ": timeout", [WITHDRAW] = ": withdrawn",
	[FAIL] = ": unreachable",
};

/* hermes-agent#60897: the first wins, and only its word is shown. */
static void
every_order_has_the_outcome_of_its_first(void **state)
{
	struct desk d;

	(void)state;
	open_desk(&d, NULL);
	for (int n = 0; n < ACTS * ACTS * ACTS / 2; n++) {
		enum act order[] = { (enum act)(n % ACTS),
			(enum act)(n / ACTS % ACTS), (enum act)(n / 25 % ACTS) };
		unsigned settled = d.settled;
		struct answer a;

		d.prompts = 0;
		ask(&d, &a, "rm -r x");
		assert_int_equal(d.prompts, 1);
		for (size_t i = 0; i < ARRAY_LEN(order); i++)
			do_act(&d, &a, order[i]);
		assert_int_equal(d.settled, settled + 1);
		assert_non_null(strstr(d.outcome, first_word[order[0]]));
		assert_int_equal(a.n, order[0] == WITHDRAW ? 0 : 1);
		assert_int_equal(a.permitted, order[0] == PRESS_YES);
	}
	close_desk(&d);
}

/* The press comes before its own question is on disk, or exactly at its end. */
static void
a_press_around_the_edges_of_time_is_no_yes(void **state)
{
	struct desk d;
	struct answer a;

	(void)state;
	open_desk(&d, NULL);
	for (int jitter = -50; jitter <= 50; jitter++) {
		d.prompts = 0;
		ask(&d, &a, "rm -r x");
		sim_advance(d.s.loop, TIMEOUT + jitter);
		say(&d, d.last, GATE_ANSWER_ONCE);
		assert_int_equal(a.n, 1);
		assert_int_equal(a.permitted, jitter < 0);
		assert_int_equal(strstr(d.outcome, "allowed") != NULL, jitter < 0);
	}
	/* Asleep: the timer did not run, the time did. */
	ask(&d, &a, "rm -r x");
	sim_suspend(d.s.loop, TIMEOUT + 1);
	say(&d, d.last, GATE_ANSWER_ONCE);
	assert_int_equal(a.outcome, GATE_TIMEOUT);
	close_desk(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identical_requests_share_one_question),
		cmocka_unit_test(a_question_lives_as_long_as_somebody_waits),
		cmocka_unit_test(an_answer_goes_to_the_question_it_names),
		cmocka_unit_test(who_may_not_decide_changes_nothing),
		cmocka_unit_test(no_prompt_is_a_denial_that_names_the_cause),
		cmocka_unit_test(nobody_to_ask_is_a_no_at_once),
		cmocka_unit_test(each_decision_leaves_a_row),
		cmocka_unit_test(every_order_has_the_outcome_of_its_first),
		cmocka_unit_test(a_press_around_the_edges_of_time_is_no_yes),
	};

	return cmocka_run_group_tests_name("gate ask", tests, NULL, NULL);
}
