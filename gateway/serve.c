/*
 * `gatehouse run`: serves the configured platforms until a signal.  SIGTERM and
 * SIGINT stop (a second one shortens the drain), SIGUSR1 drains and exits 75 so
 * that the supervisor starts the new version.
 */
#include "gateway/serve.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/desk.h"
#include "gateway/owner.h"
#include "gateway/parts.h"
#include "gateway/supervisor.h"

#define HEALTH_LOOK_MS 1000

struct serve {
	struct parts parts;
	struct hub hub;
	struct desk *desk;
	struct supervisor *supervisor;
	struct sigwatch *sigterm, *sigint, *sigusr1;
	struct timer *health;
	bool starting;
	int exit_code;
};

static void on_ready(void *arg);
static void on_health(void *arg);
static void on_stopped(void *arg);

static void
serve_stop(struct serve *sv, int exit_code)
{
	if (exit_code != CLI_OK)
		sv->exit_code = exit_code;
	supervisor_stopping(sv->supervisor);
	if (sv->starting)
		loop_stop(sv->parts.loop);
	else
		gateway_stop(sv->parts.gateway, on_stopped, sv);
}

static void
on_stopped(void *arg)
{
	struct serve *sv = arg;

	loop_stop(sv->parts.loop);
}

static void
on_sigterm(void *arg)
{
	serve_stop(arg, CLI_OK);
}

static void
on_sigusr1(void *arg)
{
	serve_stop(arg, CLI_TEMPFAIL);
}

static void
on_restart(void *arg)
{
	serve_stop(arg, CLI_TEMPFAIL);
}

static void
on_dead(void *arg, const char *why)
{
	struct serve *sv = arg;

	log_error("gateway", NULL, "nothing is left to serve: %s", why);
	serve_stop(sv, CLI_CONFIG);
}

static void
on_launcher_gone(void *arg, const struct err *err)
{
	struct serve *sv = arg;

	log_error("gateway", NULL, "commands can't be run any more (%s): "
	    "stopping so that a supervisor starts again", err->text);
	serve_stop(sv, CLI_TEMPFAIL);
}

static bool
is_alive(void *arg)
{
	return !store_health(((struct serve *)arg)->parts.store).stalled;
}

static void
on_up(void *arg)
{
	supervisor_ready(((struct serve *)arg)->supervisor);
}

static void
on_ready(void *arg)
{
	struct serve *sv = arg;
	struct gateway_opts opts;
	struct sandbox_props props = sandbox_props(sv->parts.sandboxes,
	    SANDBOX_MESSAGING);

	log_info("gateway", NULL, "model: %s", sv->parts.model->label);
	if (props.available)
		log_info("gateway", NULL, "sandbox: %s %s, network %s; limits: %s",
		    props.backend, props.level, props.network, props.limits);
	else
		log_error("gateway", NULL, "sandbox %s is not available, "
		    "commands are refused: %s", props.backend, props.why);
	if (props.available && props.caution && props.caution[0])
		log_warn("gateway", NULL, "sandbox: not level full: %s",
		    props.caution);
	parts_gateway_opts(&sv->parts, &opts);
	hub_gateway_opts(&sv->hub, &opts);
	opts.arg = sv;
	opts.on_dead = on_dead;
	opts.on_restart = on_restart;
	opts.on_up = on_up;
	sv->starting = false;
	sv->parts.gateway = gateway_start(&opts);
	sv->hub.gateway = sv->parts.gateway;
	sv->health = loop_after(sv->parts.loop, HEALTH_LOOK_MS, "store health",
	    on_health, sv);
}

/* A store that has stalled for good is cured by a fresh start only (3.4). */
static void
on_health(void *arg)
{
	struct serve *sv = arg;
	struct store_health health = store_health(sv->parts.store);

	sv->health = loop_after(sv->parts.loop, HEALTH_LOOK_MS, "store health",
	    on_health, sv);
	if (!health.dead)
		return;
	/* A clean end would wait for the store; the launcher ends the commands. */
	log_error("store", NULL, "%s: exit 75", health.why);
	_exit(CLI_TEMPFAIL);
}

/* Is there anything to serve?  -1: yes. */
static int
check_platforms(const struct config *cfg)
{
	if (!config_telegram_on(cfg)) {
		cli_complain("no platform is configured. For Telegram set "
		    "TELEGRAM_BOT_TOKEN and TELEGRAM_ALLOWED_USERS, or "
		    "platforms.telegram.token and platforms.telegram.allow_from "
		    "in %s", cfg->path);
		return CLI_CONFIG;
	}
	return -1;
}

static int
serve_own(struct serve *sv, struct cli_ctx *ctx)
{
	struct err err = { ERR_NONE, "" };
	int status = parts_open(&sv->parts, ctx, PARTS_RUN);

	if (status >= 0)
		return status;
	struct loop *loop = sv->parts.loop;

	sv->supervisor = supervisor_new(loop, is_alive, sv);
	sv->desk = desk_open(loop, &ctx->home, &sv->hub, sv->parts.store,
	    &err);
	if (!sv->desk)
		log_error("gateway", NULL, "other commands can't reach this "
		    "process: %s", err.text);
	sv->parts.console = hub_console_opts(&sv->hub);
	sv->parts.launcher_gone = on_launcher_gone;
	sv->parts.launcher_arg = sv;
	sv->sigterm = loop_signal(loop, SIGTERM, "SIGTERM", on_sigterm, sv);
	sv->sigint = loop_signal(loop, SIGINT, "SIGINT", on_sigterm, sv);
	sv->sigusr1 = loop_signal(loop, SIGUSR1, "SIGUSR1", on_sigusr1, sv);
	parts_prepare(&sv->parts, on_ready, sv);
	loop_run(loop);
	loop_cancel(&sv->health);
	loop_signal_free(&sv->sigterm);
	loop_signal_free(&sv->sigint);
	loop_signal_free(&sv->sigusr1);
	desk_close(&sv->desk);
	supervisor_free(&sv->supervisor);
	parts_close(&sv->parts);
	log_info("gateway", NULL, "stopped, exit %d", sv->exit_code);
	return sv->exit_code;
}

int
serve_main(struct cli_ctx *ctx)
{
	struct err err = { ERR_NONE, "" };
	struct serve sv = { .starting = true };
	int status = check_platforms(ctx->config);

	if (status >= 0)
		return status;
	int lock = owner_lock(&ctx->home, OWNER_WAIT_MS, &err);

	if (lock < 0) {
		cli_complain("%s", err.text);
		return CLI_FAIL;
	}
	hub_init(&sv.hub);
	status = serve_own(&sv, ctx);
	close(lock);
	return status;
}
