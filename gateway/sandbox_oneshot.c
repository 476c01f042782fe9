/*
 * A one-shot instance (rules 3.6): its own sandbox, no lock, gone when it ends.
 * Its only work is one stream, so a slow reader may hold the loop.
 */
#include "gateway/sandbox_oneshot.h"

#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/mem.h"
#include "gateway/config_opts.h"
#include "gateway/gate/operator.h"
#include "gateway/override.h"
#include "gateway/owner_client.h"
#include "gateway/scope.h"

#define TIMEOUT_MAX_S (7 * 24 * 3600)

static void
on_closed(void *arg)
{
	struct oneshot *e = arg;

	e->op = NULL;
	loop_stop(e->loop);
}

void
oneshot_finish(struct oneshot *e, int code)
{
	e->code = code;
	if (!e->interrupted)
		e->op = sandboxes_close(e->sandboxes, on_closed, e);
}

void
oneshot_stop(struct oneshot *e, int code)
{
	op_cancel(&e->op);
	if (e->interrupted) {		/* the second time: at once */
		e->code = code;
		loop_stop(e->loop);
		return;
	}
	oneshot_finish(e, code);
	e->interrupted = true;
}

static void
on_interrupt(void *arg)
{
	oneshot_stop(arg, SANDBOX_EXIT_CANCELLED);
}

static void
on_terminate(void *arg)
{
	oneshot_stop(arg, 128 + SIGTERM);
}

void
oneshot_run(struct oneshot *e, struct sandbox_cmd *cmd, sandbox_output_cb *on_output,
	sandbox_done_cb *on_ran)
{
	char *key CLEANUP_FREE = sandbox_key_text(&e->key);

	cmd->command_len = strlen(cmd->command);
	cmd->timeout_ms = e->timeout_ms;
	struct permit_terms terms = {
		.command = cmd->command, .command_len = cmd->command_len,
		.input = cmd->input, .input_len = cmd->input_len,
		.sandbox = key, .workdir = "",
		.isolation = sandbox_props(e->sandboxes, e->key.owner).isolation,
	};
	struct permit *permit = gate_permit_operator(&terms);

	e->op = sandbox_run(e->sandboxes, &e->key, cmd, &permit, on_output, on_ran,
	    e->arg);
}

static void
on_probed(void *arg)
{
	struct oneshot *e = arg;

	e->op = NULL;
	e->begin(e->arg);
}

static void
on_launcher_gone(void *arg, const struct err *err)
{
	(void)arg;
	cli_complain("%s", err->text);
}

static int
timeout_of(const char *text, msec_t *ret_ms)
{
	msec_t s = 0;

	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9' || s > TIMEOUT_MAX_S)
			return -1;
		s = s * 10 + (*p - '0');
	}
	*ret_ms = s * 1000;
	return s > 0 && s <= TIMEOUT_MAX_S ? 0 : -1;
}

/* Another backend than the configured one: with its own image. */
static int
choose_backend(const struct cli_ctx *ctx, const char *backend,
	struct sandbox_opts *opts)
{
	static const char *const names[] = {
#define BACKEND(name) #name,
#include "sandbox/list.h"
#undef BACKEND
	};

	if (!cli_one_of("backend", backend, names, ARRAY_LEN(names)))
		return CLI_USAGE;
	if (strcmp(backend, opts->console_backend) == 0)
		opts->image = opts->console_image;
	else if (strcmp(backend, opts->messaging_backend) != 0)
		opts->image = config_image(ctx->config, backend);
	opts->console_backend = backend;
	return -1;
}

/* -1: go on. */
static int
options(struct cli_ctx *ctx, struct oneshot *e, struct sandbox_opts *opts,
	struct native_opts *native)
{
	static const char *const networks[] = { "none", "filtered", "full" };
	const char *backend = cli_option(ctx, "backend");
	const char *timeout = cli_option(ctx, "timeout");
	const char *network = cli_option(ctx, "network");

	if (timeout && timeout_of(timeout, &e->timeout_ms) < 0) {
		cli_complain("--timeout: expected seconds, 1 to %d", TIMEOUT_MAX_S);
		return CLI_USAGE;
	}
	if (!timeout)
		e->timeout_ms = opts->timeout_ms;
	if (backend && choose_backend(ctx, backend, opts) >= 0)
		return CLI_USAGE;
	if (!backend && e->key.owner == SANDBOX_MESSAGING)
		opts->console_backend = opts->messaging_backend;
	else if (!backend &&
	    strcmp(opts->console_backend, opts->messaging_backend) != 0)
		opts->image = opts->console_image;
	if (network && !cli_one_of("network", network, networks, ARRAY_LEN(networks)))
		return CLI_USAGE;
	if (network && strcmp(opts->console_backend, "native") != 0) {
		cli_complain("--network is for backend native; this is %s",
		    opts->console_backend);
		return CLI_USAGE;
	}
	if (network)
		native->network = network;
	opts->messaging_backend = opts->console_backend;
	opts->timeout_max_ms = 0;
	opts->lifetime_ms = 0;
	opts->spool_max = 0;
	return -1;
}

/*
 * Whose workspace: agent:PROFILE:PLATFORM:... is a session's key; with
 * gateway.sandbox_scope: user it is user:PLATFORM:ID.  Any other name has a
 * workspace that no conversation has.
 */
static void
choose_key(const struct cli_ctx *ctx, struct sandbox_key *key)
{
	const char *session = cli_option(ctx, "session"), *platform;
	enum sandbox_scope scope = scope_parse(ctx->config->gateway.sandbox_scope);
	bool person = scope == SCOPE_USER;

	*key = (struct sandbox_key){ "main", "operator:exec", SANDBOX_CONSOLE };
	if (!session)
		return;
	platform = strncmp(session, person ? "user:" : "agent:main:",
	    person ? 5 : 11) == 0 ? session + (person ? 5 : 11) : NULL;
	if (!platform)
		cli_complain("note: \"%s\" is no %s: this is a workspace of its own",
		    session, person ? "person (gateway.sandbox_scope: user: "
		    "user:PLATFORM:ID)" :
		    "session's key (`gatehouse sessions list`)");
	key->owner = platform && strncmp(platform, "console:", 8) == 0 ?
	    SANDBOX_CONSOLE : SANDBOX_MESSAGING;
	key->scope = platform && scope == SCOPE_SHARED ? "shared" : session;
}

/*
 * The sandbox of a chat session may be in use by the process that serves it;
 * two over one workspace would not see each other.
 */
static int
check_session(struct cli_ctx *ctx)
{
	struct owner_client *owner;

	if (!cli_option(ctx, "session"))
		return -1;
	owner = owner_connect(&ctx->home, NULL);
	if (owner) {
		owner_disconnect(&owner);
		cli_complain("--session: a gatehouse process serves this state "
		    "directory and holds its sandboxes; stop it, or leave "
		    "--session out for a sandbox of your own");
		return CLI_FAIL;
	}
	return -1;
}

static int
run(struct cli_ctx *ctx, struct oneshot *e, const struct sandbox_opts *opts)
{
	struct err err = { ERR_NONE, "" };

	e->loop = loop_new();
	launcher_attach(ctx->launcher, e->loop, on_launcher_gone, e);
	e->sandboxes = sandboxes_new(e->loop, ctx->launcher, NULL, opts, &err);
	if (e->sandboxes) {
		e->on_int = loop_signal(e->loop, SIGINT, "interrupt",
		    on_interrupt, e);
		e->on_term = loop_signal(e->loop, SIGTERM, "terminate",
		    on_terminate, e);
		e->op = sandboxes_probe(e->sandboxes, on_probed, e);
		if (loop_run(e->loop) < 0)
			e->code = ONESHOT_FAILED;
		loop_signal_free(&e->on_int);
		loop_signal_free(&e->on_term);
		op_cancel(&e->op);
		if (e->ended)
			e->ended(e->arg);
		sandboxes_free(&e->sandboxes);
	} else {
		cli_complain("%s", err.text);
		e->code = CLI_CONFIG;
	}
	launcher_free(&ctx->launcher);
	loop_free(&e->loop);
	return e->code;
}

int
oneshot_main(struct cli_ctx *ctx, struct oneshot *e)
{
	struct config_sandbox s;
	struct override where;
	struct report rep;
	int code;

	report_init(&rep);
	code = override_resolve(ctx->config, &where, &rep) ? CLI_CONFIG : -1;
	cli_print_report(&rep, false);
	report_done(&rep);
	if (code >= 0)
		return code;
	config_sandbox_init(&s, ctx->config, &where, ctx->environ);
	s.opts.state_dir = ctx->home.dir;
	s.opts.instance_id = "exec";
	/* When it has ended its sandbox is gone. */
	s.docker.docker.persist_across = s.docker.podman.persist_across = false;
	choose_key(ctx, &e->key);
	code = options(ctx, e, &s.opts, &s.native);
	if (code < 0)
		code = check_session(ctx);
	if (code < 0)
		code = run(ctx, e, &s.opts);
	config_sandbox_done(&s);
	return code;
}
