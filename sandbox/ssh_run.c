/* A command over SSH to its end, for what is short and ours. */
#include "base/mem.h"
#include "base/buf.h"
#include "sandbox/ssh_link.h"

#define OUT_MAX (256 * 1024)

struct ssh_run_op {
	struct op op;
	struct ssh_chan *chan;	/* NULL: closed */
	struct timer *timer;
	struct loop *loop;
	struct buf out;
	ssh_run_cb *cb;
	void *arg;
};

static void
run_free(struct ssh_run_op *run)
{
	ssh_chan_free(&run->chan);
	loop_cancel(&run->timer);
	buf_done(&run->out);
	mem_free(run);
}

static void
run_cancel(struct op *op)
{
	run_free((struct ssh_run_op *)(void *)op);
}

static const struct op_type run_type = { "ssh run", run_cancel };

static void
on_data(void *arg, int fd, const char *data, size_t len)
{
	struct ssh_run_op *run = arg;

	(void)fd;
	(void)buf_add(&run->out, data, len);
}

static void
run_finish(struct ssh_run_op *run, int status, const struct err *err)
{
	op_finish(&run->op);
	run->cb(run->arg, status, run->out.data, run->out.len, err);
	run_free(run);
}

static void
on_closed(void *arg, int status, const char *signal, const struct err *err)
{
	struct ssh_run_op *run = arg;

	(void)signal;
	run->chan = NULL;
	run_finish(run, status, err);
}

static void
on_late(void *arg)
{
	struct ssh_run_op *run = arg;
	struct err err;

	run->timer = NULL;
	err_set(&err, ERR_TIMEOUT, "ssh: a command of ours did not end in time");
	run_finish(run, -1, &err);
}

struct op *
ssh_run(struct ssh_link *link, struct loop *loop, const char *command,
	const void *input, size_t len, bool urgent, msec_t limit_ms, ssh_run_cb *cb,
	void *arg)
{
	static const struct ssh_chan_events events = { NULL, on_data, on_closed };
	struct ssh_run_op *run = mem_alloc(sizeof(*run));

	op_init(&run->op, &run_type);
	run->cb = cb;
	run->arg = arg;
	buf_init(&run->out, OUT_MAX);
	run->chan = ssh_chan_exec(link, command, urgent, &events, run);
	if (len)
		(void)ssh_chan_send(run->chan, input, len);
	ssh_chan_send_eof(run->chan);
	run->timer = loop_after(loop, limit_ms, "ssh run", on_late, run);
	return &run->op;
}
