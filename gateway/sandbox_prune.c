#include "gateway/sandbox_prune.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mem.h"
#include "gateway/cli.h"
#include "gateway/config_opts.h"
#include "gateway/override.h"
#include "gateway/owner_client.h"

#define DAYS_DEFAULT 30
#define DAYS_MAX 36500
#define DAY_MS ((msec_t)24 * 60 * 60 * 1000)
#define OWNER_ANSWER_MS (60 * 60 * 1000)	/* many files take long */

static struct json *
result_json(const struct sandboxes_pruned *res, const struct err *err)
{
	struct json *j = json_object();

	json_set_int(j, "removed", (int64_t)res->removed);
	json_set_int(j, "kept", (int64_t)res->kept);
	json_set_int(j, "failed", (int64_t)res->failed);
	if (err)
		json_set_str(j, "error", err->text);
	return j;
}

/* ---- through the control socket -------------------------------------------- */

struct prune_call {
	struct owner_call *call;
	struct op *waiting;
};

static void
on_call_pruned(void *arg, const struct sandboxes_pruned *res,
	const struct err *err)
{
	struct prune_call *p = arg;
	struct owner_call *call = p->call;

	owner_call_set_data(call, NULL);
	mem_free(p);
	owner_call_end(call, result_json(res, err), err == NULL);
}

void
sandbox_prune_call(struct sandboxes *sb, struct owner_call *call,
	const struct json *req)
{
	struct prune_call *p = mem_alloc(sizeof(*p));

	p->call = call;
	owner_call_set_data(call, p);
	p->waiting = sandboxes_prune(sb, json_get_int(req, "before", 0),
		on_call_pruned, p);
}

void
sandbox_prune_gone(struct owner_call *call)
{
	struct prune_call *p = owner_call_data(call);

	if (!p)
		return;
	owner_call_set_data(call, NULL);
	op_cancel(&p->waiting);
	mem_free(p);
}

static struct json *
prune_by_owner(struct owner_client *client, msec_t before, struct err *err)
{
	struct json *req = json_set_str(json_object(), "cmd", "prune");
	struct json *frame = NULL;

	json_set_int(req, "before", before);
	if (owner_client_send(client, req, err) < 0)
		return NULL;
	int n = owner_client_receive(client, OWNER_ANSWER_MS, &frame, err);
	if (n == 0)
		err_set(err, ERR_TIMEOUT, "the running gateway did not answer");
	return n > 0 ? frame : NULL;
}

/* ---- without an owner ---------------------------------------------------------- */

struct own {
	struct loop *loop;
	struct op *waiting;
	struct json *res;
	struct err err;
};

static void
on_pruned(void *arg, const struct sandboxes_pruned *res, const struct err *err)
{
	struct own *o = arg;

	o->waiting = NULL;
	o->res = result_json(res, err);
	loop_stop(o->loop);
}

static void
on_launcher_gone(void *arg, const struct err *err)
{
	struct own *o = arg;

	o->err = *err;
	loop_stop(o->loop);
}

static struct json *
prune_here(struct cli_ctx *ctx, const struct config_sandbox *s, msec_t before,
	struct err *err)
{
	struct own o = { .loop = loop_new() };
	struct sandboxes *sb;

	launcher_attach(ctx->launcher, o.loop, on_launcher_gone, &o);
	sb = sandboxes_new(o.loop, ctx->launcher, NULL, &s->opts, &o.err);
	if (sb) {
		o.waiting = sandboxes_prune(sb, before, on_pruned, &o);
		if (loop_run(o.loop) < 0)
			err_set(&o.err, ERR_IO, "waiting failed");
		op_cancel(&o.waiting);
		sandboxes_free(&sb);
	}
	launcher_free(&ctx->launcher);
	loop_free(&o.loop);
	if (!o.res)
		*err = o.err;
	return o.res;
}

/* NULL: complained. */
static struct json *
prune(struct cli_ctx *ctx, const struct config_sandbox *s, msec_t before)
{
	struct err err = { ERR_NONE, "" };
	struct owner_client *client = NULL;
	int lock = owner_claim(&ctx->home, &client, &err);
	struct json *res = NULL;

	if (client) {
		res = prune_by_owner(client, before, &err);
		owner_disconnect(&client);
	} else if (lock >= 0) {
		res = prune_here(ctx, s, before, &err);
		close(lock);
	}
	if (!res)
		cli_complain("%s", err.text);
	return res;
}

/* -1: no number of days. */
static long
days_of(const char *text)
{
	long days = 0;

	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9' || days > DAYS_MAX)
			return -1;
		days = days * 10 + (*p - '0');
	}
	return *text && days <= DAYS_MAX ? days : -1;
}

static int
run(struct cli_ctx *ctx, const struct override *where, long days)
{
	struct config_sandbox s;
	struct loop *loop = loop_new();		/* the one source of the time */
	msec_t before = loop_wall(loop) - days * DAY_MS;

	loop_free(&loop);
	config_sandbox_init(&s, ctx->config, where, ctx->environ);
	s.opts.state_dir = ctx->home.dir;
	s.opts.instance_id = "prune";
	CLEANUP_JSON struct json *res = prune(ctx, &s, before);
	config_sandbox_done(&s);
	if (!res)
		return CLI_FAIL;
	printf("deleted %lld workspaces, kept %lld\n",
		(long long)json_get_int(res, "removed", 0),
		(long long)json_get_int(res, "kept", 0));
	if (!json_get_str(res, "error", NULL))
		return CLI_OK;
	cli_complain("%s", json_get_str(res, "error", ""));
	return CLI_FAIL;
}

int
sandbox_prune_main(struct cli_ctx *ctx)
{
	const char *text = cli_option(ctx, "older-than");
	long days = text ? days_of(text) : DAYS_DEFAULT;
	struct override where;
	struct report rep;

	if (days < 0) {
		cli_complain("--older-than: expected a number of days, from 0 on");
		return CLI_USAGE;
	}
	report_init(&rep);
	int status = override_resolve(ctx->config, &where, &rep) ? CLI_CONFIG : -1;
	cli_print_report(&rep, false);
	report_done(&rep);
	if (status >= 0)
		return status;
	CLEANUP_FREE char *what = mem_printf("deleting all workspaces not used in "
		"the last %ld days", days);
	status = cli_confirm(ctx, what);
	return status >= 0 ? status : run(ctx, &where, days);
}
