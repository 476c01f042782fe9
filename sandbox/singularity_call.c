/* A whole call of the program: from its start to its end as one op. */
#include "sandbox/singularity_priv.h"

#include <sys/wait.h>

#include "base/mem.h"

struct run {
	struct op op;
	struct cli *cli;
	struct timer *timer;
	struct err err;
	cli_done_cb *done;
	void *arg;
};

static void
run_cancel(struct op *op)
{
	struct run *r = (struct run *)(void *)op;

	cli_forget(&r->cli);
	loop_cancel(&r->timer);
	mem_free(r);
}

static const struct op_type run_type = { "container call", run_cancel };

static void
run_end(struct run *r, const struct cli_end *end)
{
	cli_done_cb *done = r->done;
	void *arg = r->arg;

	op_finish(&r->op);
	loop_cancel(&r->timer);
	cli_forget(&r->cli);
	mem_free(r);
	done(arg, end);
}

static void
on_run_exited(void *arg, const struct cli_end *end)
{
	run_end(arg, end);
}

static void
on_run_failed(void *arg)
{
	struct run *r = arg;
	struct err err = r->err;
	struct cli_end end = { .out = "", .said = "", .err = &err };

	r->timer = NULL;
	run_end(r, &end);
}

struct op *
cli_run(struct backend_inst *inst, const struct cli_spec *spec, cli_done_cb *done,
	void *arg)
{
	static const struct cli_events events = { .exited = on_run_exited };
	struct run *r = mem_alloc(sizeof(*r));

	op_init(&r->op, &run_type);
	r->done = done;
	r->arg = arg;
	r->cli = cli_start(inst, spec, &events, r, &r->err);
	if (!r->cli)
		r->timer = loop_defer(inst->loop, "container call", on_run_failed,
		    r);
	return &r->op;
}

int
cli_failed(struct err *err, const struct cli_end *end, const char *tried)
{
	if (end->err)
		return err_set(err, end->err->code, "%s: %s%s%s", tried,
		    end->err->text, *end->said ? ": " : "", end->said);
	if (WIFEXITED(end->status))
		return err_set(err, ERR_UNAVAILABLE, "%s: status %d%s%s", tried,
		    WEXITSTATUS(end->status), *end->said ? ": " : "", end->said);
	return err_set(err, ERR_UNAVAILABLE, "%s: killed by signal %d%s%s", tried,
	    WTERMSIG(end->status), *end->said ? ": " : "", end->said);
}
