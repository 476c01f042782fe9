#include "gateway/parts.h"

#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/model_find.h"
#include "gateway/policy.h"

static void on_model(void *arg, struct model *model);
static void make_reviewer(struct parts *p);
static void on_probed(void *arg);

static void
on_launcher_gone(void *arg, const struct err *err)
{
	struct parts *p = arg;

	log_error("launcher", NULL, "%s", err->text);
	if (p->launcher_gone)
		p->launcher_gone(p->launcher_arg, err);
}

static int
open_store(struct parts *p)
{
	struct err err = { ERR_NONE, "" };
	CLEANUP_FREE char *path = home_path(&p->ctx->home, "state.db");
	struct store_opts opts = { .path = path, .profile = HOME_PROFILE };
	bool is_new = false;

	if (home_instance(&p->ctx->home, p->instance_id, &is_new, &err) < 0) {
		cli_complain("%s", err.text);
		return CLI_CONFIG;
	}
	p->store = store_open(p->loop, &opts, &err);
	if (!p->store) {
		cli_complain("%s", err.text);
		return CLI_FAIL;
	}
	return -1;
}

static int
open_sandboxes(struct parts *p)
{
	struct err err = { ERR_NONE, "" };
	struct report rep;

	report_init(&rep);
	bool ok = override_resolve(p->ctx->config, &p->where, &rep) == 0;

	cli_print_report(&rep, p->kind == PARTS_RUN);
	report_done(&rep);
	if (!ok)
		return CLI_CONFIG;
	if (p->kind == PARTS_RUN) {
		CLEANUP_FREE char *line = override_line(&p->where);
		CLEANUP_FREE char *policy = policy_line(p->ctx->config, &p->where);

		if (p->where.overridden)
			log_info("gateway", NULL, "%s", line);
		log_info("gateway", NULL, "%s", policy);
	}
	config_sandbox_init(&p->sandbox, p->ctx->config, &p->where,
	    p->ctx->environ);
	p->sandbox.opts.state_dir = p->ctx->home.dir;
	p->sandbox.opts.instance_id = p->instance_id;
	p->sandboxes = sandboxes_new(p->loop, p->ctx->launcher, p->store,
	    &p->sandbox.opts, &err);
	if (!p->sandboxes) {
		cli_complain("%s", err.text);
		return CLI_CONFIG;
	}
	return -1;
}

static void
add_platform(struct parts *p, const struct platform *platform,
    const void *opts, const char *account, bool vital, bool previews)
{
	REQUIRE(p->nplatforms < PARTS_PLATFORMS);
	p->platforms[p->nplatforms++] = (struct gateway_platform){
		platform, opts, account, vital, previews };
}

/* The platform's own word (display.platforms.NAME.streaming) counts first. */
static bool
has_previews(const struct config *cfg, const char *own)
{
	if (strcmp(own, "auto") != 0)
		return strcmp(own, "true") == 0;
	return cfg->streaming.enabled &&
	    strcmp(cfg->streaming.transport, "off") != 0;
}

static void
make_platforms(struct parts *p)
{
	static const char *const anybody[] = { "*", NULL };
	const struct config *cfg = p->ctx->config;

	p->auth[0] = (struct auth_rule){ .platform = "console",
		.users = anybody };	/* whoever may open the socket or tty */
	add_platform(p, &platform_console, &p->console, "", false, false);
	if (p->kind != PARTS_RUN || !config_telegram_on(cfg))
		return;
	p->telegram = config_telegram_opts(cfg);
	p->telegram_account = mem_strn(p->telegram.token,
	    strcspn(p->telegram.token, ":"));
	config_people_init(&p->people, cfg);
	p->auth[1] = (struct auth_rule){
		.platform = "telegram",
		.users = p->people.users,
		.group_users =
		    (const char *const *)cfg->telegram.group_allowed_users.items,
		.group_chats =
		    (const char *const *)cfg->telegram.group_allowed_chats.items,
		.admins = (const char *const *)cfg->telegram.admins.items,
		.group_admins =
		    (const char *const *)cfg->telegram.group_admins.items,
		.user_commands =
		    (const char *const *)cfg->telegram.user_commands.items,
		.group_user_commands =
		    (const char *const *)cfg->telegram.group_user_commands.items,
		.allow_all = p->people.allow_all,
		.require_mention = cfg->telegram.require_mention,
	};
	add_platform(p, &platform_telegram, &p->telegram, p->telegram_account,
	    true, has_previews(cfg, cfg->display.telegram_streaming));
}

int
parts_open(struct parts *p, struct cli_ctx *ctx, enum parts_kind kind)
{
	p->ctx = ctx;
	p->kind = kind;
	p->loop = loop_new();
	if (ctx->launcher) {
		log_debug("launcher", NULL, "pid=%d",
		    (int)launcher_pid(ctx->launcher));
		launcher_attach(ctx->launcher, p->loop, on_launcher_gone, p);
	}
	struct http_opts http = config_http_opts(ctx->config);

	p->http = http_new(p->loop, &http);
	int status = open_store(p);

	if (status < 0)
		status = open_sandboxes(p);
	if (status >= 0) {
		parts_close(p);
		return status;
	}
	p->pids[0] = getpid();
	p->pids[1] = ctx->launcher ? launcher_pid(ctx->launcher) : 0;
	make_platforms(p);
	struct err err;

	/* Without it "always" is not offered; all else works. */
	p->keeper = keeper_new(p->loop, ctx->config->path, &err);
	if (!p->keeper)
		log_error("gateway", NULL, "approvals can't be stored: %s",
		    err.text);
	loop_watchdog_start(p->loop);
	return -1;
}

void
parts_prepare(struct parts *p, void (*ready)(void *arg), void *arg)
{
	struct config_model wanted = config_model_choice(p->ctx->config,
	    p->kind == PARTS_CHAT);

	p->ready = ready;
	p->ready_arg = arg;
	p->waiting = model_find(p->loop, p->http, &wanted, on_model, p);
}

static void
on_model(void *arg, struct model *model)
{
	struct parts *p = arg;

	p->model = model;
	make_reviewer(p);
	p->waiting = sandboxes_probe(p->sandboxes, on_probed, p);
}

static void
on_probed(void *arg)
{
	struct parts *p = arg;

	p->waiting = NULL;
	p->ready(p->ready_arg);
}

/* A server of its own for the reviews; without one the main model does them. */
static void
make_reviewer(struct parts *p)
{
	const struct config *cfg = p->ctx->config;
	const struct openai_opts opts = {
		.base_url = cfg->reviewer.base_url,
		.api_key = cfg->reviewer.api_key,
		.model = *cfg->reviewer.model ? cfg->reviewer.model :
		    cfg->model.name,
	};

	if (*cfg->reviewer.base_url &&
	    strcmp(cfg->reviewer.provider, "main") != 0)
		p->reviewer = openai_new(p->loop, p->http, &opts);
}

static struct op *
on_keep(void *arg, const char *entry, gate_kept_cb *cb, void *cb_arg)
{
	return keeper_add(arg, entry, cb, cb_arg);
}

void
parts_gateway_opts(struct parts *p, struct gateway_opts *ret_opts)
{
	const struct config *cfg = p->ctx->config;

	*ret_opts = (struct gateway_opts){
		.loop = p->loop, .http = p->http, .store = p->store,
		.sandboxes = p->sandboxes, .model = p->model,
		.platforms = p->platforms, .nplatforms = p->nplatforms,
		.auth = p->auth, .nauth = p->nplatforms,
		.approvers = (const char *const *)cfg->approvals.approvers.items,
		.keep = p->keeper ? on_keep : NULL, .keep_arg = p->keeper,
		.route = { HOME_PROFILE, cfg->group_sessions_per_user,
		    cfg->thread_sessions_per_user },
		.gate = {
			.timeout_ms = p->kind == PARTS_CHAT ?
			    cfg->approvals.timeout : cfg->approvals.gateway_timeout,
			.ask_in_sandbox =
			    strcmp(cfg->approvals.in_sandbox, "ask") == 0,
			.off = strcmp(cfg->approvals.mode, "off") == 0,
			.smart = strcmp(cfg->approvals.mode, "smart") == 0,
			.reviewer = p->reviewer ? p->reviewer : p->model,
			.reviewer_model = cfg->reviewer.model,
			.smart_policy = cfg->approvals.smart_policy,
			.cron_approve =
			    strcmp(cfg->approvals.cron_mode, "approve") == 0,
			.deny = (const char *const *)cfg->approvals.deny.items,
			.allow = (const char *const *)cfg->command_allowlist.items,
			.state_dir = p->ctx->home.dir,
			.pids = p->pids, .npids = p->pids[1] ? 2 : 1,
		},
		.delivery = {
			.repeat_unknown =
			    strcmp(cfg->delivery.unknown, "repeat_labelled") == 0,
			.edit_interval_ms = cfg->streaming.edit_interval,
			.preview_min = (size_t)cfg->streaming.buffer_threshold,
			.cursor = cfg->streaming.cursor,
		},
		.survey = cfg->agent.environment_probe,
		.hint = cfg->agent.environment_hint,
		.notices = notices_show_parse(
		    cfg->display.background_process_notifications),
		.busy = strcmp(cfg->display.busy_input_mode, "interrupt") == 0 ?
		    BUSY_INTERRUPT : BUSY_QUEUE,
		.scope = scope_parse(cfg->gateway.sandbox_scope),
		.reset = config_reset_rules(cfg),
		.pending_max_ms = cfg->gateway.pending_max_age,
		.persona = cfg->agent.system_prompt,
		.code = {
			.timeout_ms = cfg->code_execution.timeout,
			.max_calls = (unsigned)cfg->code_execution.max_tool_calls,
		},
		.max_turns = (unsigned)cfg->agent.max_turns,
		.max_tokens = cfg->model.max_tokens,
		.drain_ms = cfg->agent.restart_drain_timeout,
	};
}

void
parts_close(struct parts *p)
{
	op_cancel(&p->waiting);
	gateway_free(&p->gateway);
	keeper_free(&p->keeper);
	sandboxes_free(&p->sandboxes);
	store_close(&p->store);
	model_free(&p->reviewer);
	model_free(&p->model);
	http_free(&p->http);
	launcher_free(&p->ctx->launcher);
	if (op_live() > 0 || permit_live() > 0)
		log_error("gateway", NULL, "a bug: %zu operations and %zu permits "
		    "were left", op_live(), permit_live());
	loop_free(&p->loop);
	config_sandbox_done(&p->sandbox);
	config_people_done(&p->people);
	mem_free(p->telegram_account);
}
