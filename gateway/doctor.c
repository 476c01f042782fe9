#include "gateway/doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/op.h"
#include "base/rmtree.h"
#include "gateway/agent/tool.h"
#include "gateway/cli.h"
#include "gateway/config_model.h"
#include "gateway/config_opts.h"
#include "gateway/owner_path.h"
#include "gateway/doctor_trial.h"
#include "gateway/doctor_uid.h"
#include "gateway/gate/operator.h"
#include "gateway/override.h"

#define TRIAL_MS 10000
#define OUTPUT_MAX 65536

enum finding { FINDING_OK, FINDING_WARN, FINDING_FAIL };

struct doctor {
	struct cli_ctx *ctx;
	struct json *findings;
	bool failed;
	struct loop *loop;
	struct op *waiting;	/* for the sandboxes */
	bool launcher_gone;
	int port;		/* we listen there, on 127.0.0.1 */
	int exit_code;		/* of the last trial */
	struct buf output;
	struct config *cfg;
};

static void
find(struct doctor *d, enum finding result, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void
find(struct doctor *d, enum finding result, const char *what, const char *fmt, ...)
{
	static const char *const names[] = { "ok", "warning", "failed" };
	struct json *row = json_object();
	struct buf text CLEANUP_BUF;
	va_list ap;

	buf_init(&text, 4096);
	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	json_set_str(row, "what", what);
	json_set_str(row, "result", names[result]);
	json_set_str(row, "text", text.data);
	json_add_take(d->findings, row);
	d->failed = d->failed || result == FINDING_FAIL;
}

static void
look_at_state(struct doctor *d)
{
	pid_t pid = owner_path_holder(&d->ctx->home);
	char id[HOME_INSTANCE_MAX];
	struct err err;
	bool is_new;

	find(d, d->ctx->home.tightened ? FINDING_WARN : FINDING_OK,
		"state directory", "%s%s", d->ctx->home.dir, d->ctx->home.tightened ?
		": others could enter it; corrected to mode 0700" : "");
	if (pid)
		find(d, FINDING_OK, "running", "yes, pid %d", (int)pid);
	else
		find(d, FINDING_OK, "running", "no");
	if (access("/etc/machine-id", R_OK))
		find(d, FINDING_WARN, "machine id", "/etc/machine-id can't be read: a "
			"cloned machine can't be told from this one");
	if (home_instance(&d->ctx->home, id, &is_new, &err))
		find(d, FINDING_FAIL, "instance", "%s", err.text);
	else
		find(d, FINDING_OK, "instance", "%s%s", id, is_new ? " (new)" : "");
}

static void
look_at_config(struct doctor *d)
{
	struct report rep;

	report_init(&rep);
	d->cfg = cli_load_config(d->ctx, NULL, &rep);
	for (size_t i = 0; i < rep.n; i++) {
		struct buf line CLEANUP_BUF;

		buf_init(&line, 4096);
		report_item_text(&rep.items[i], &line);
		if (rep.items[i].level != REPORT_NOTE)
			find(d, rep.items[i].level == REPORT_ERROR ? FINDING_FAIL :
				FINDING_WARN, "configuration", "%s", line.data);
	}
	if (d->cfg && !rep.warnings)
		find(d, FINDING_OK, "configuration", "%s%s", d->cfg->path,
			d->cfg->file_exists ? "" : " (absent: defaults)");
	report_done(&rep);
}

static void
look_at_model(struct doctor *d)
{
	struct config_model m = config_model_choice(d->cfg, false);

	if (m.choice == MODEL_SERVER)
		find(d, FINDING_OK, "model", "%s at %s (from %s)%s", m.name, m.base_url,
			m.why, *m.api_key ? "" : ", without a key");
	else
		find(d, FINDING_WARN, "model", "the built-in demo, a stand-in: set "
			"OPENROUTER_API_KEY or OPENAI_API_KEY, or model.base_url and "
			"model.default");
}

static void
look_at_platforms(struct doctor *d)
{
	const struct config *cfg = d->cfg;

	if (config_telegram_on(cfg))
		find(d, FINDING_OK, "telegram", "on, %s", cfg->telegram.base_url);
	else
		find(d, FINDING_WARN, "telegram", "off: set TELEGRAM_BOT_TOKEN and "
			"TELEGRAM_ALLOWED_USERS (`gatehouse run` has nothing to serve)");
}

/* ---- sandboxes ------------------------------------------------------------ */

static void
on_done(void *arg)
{
	struct doctor *d = arg;

	d->waiting = NULL;
	loop_stop(d->loop);
}

/* Turns the loop until the op is done, or the launcher is gone. */
static void
wait_for(struct doctor *d, struct op *op)
{
	d->waiting = op;
	(void)loop_run(d->loop);
	op_cancel(&d->waiting);
}

static void
on_trial(void *arg, const struct sandbox_result *res)
{
	struct doctor *d = arg;

	d->exit_code = res->exit_code;
	buf_clear(&d->output);
	buf_add(&d->output, res->output, res->output_len);
	if (res->error)
		buf_printf(&d->output, "%s", res->error);
	on_done(d);
}

/* The operator asked for this command by asking for the doctor. */
static void
run_command(struct doctor *d, struct sandboxes *sb, enum sandbox_owner owner,
	const char *command)
{
	const struct sandbox_key key = { HOME_PROFILE, "doctor", owner };
	CLEANUP_FREE char *key_text = sandbox_key_text(&key);
	const struct sandbox_cmd cmd = { .command = command,
		.command_len = strlen(command), .timeout_ms = TRIAL_MS };
	const struct permit_terms terms = { .command = command,
		.command_len = cmd.command_len, .sandbox = key_text, .workdir = "",
		.isolation = sandbox_props(sb, owner).isolation };
	struct permit *permit = gate_permit_operator(&terms);

	d->exit_code = SANDBOX_EXIT_REFUSED;
	wait_for(d, sandbox_run(sb, &key, &cmd, &permit, NULL, on_trial, d));
}

static void
try_claims(struct doctor *d, struct sandboxes *sb, enum sandbox_owner owner,
	const char *what, const struct sandbox_props *props)
{
	for (unsigned i = 0; i < doctor_ntrials && !d->launcher_gone; i++) {
		const struct doctor_trial *t = &doctor_trials[i];

		if (t->level && strcmp(t->level, props->level) != 0)
			continue;
		if (t->network && strcmp(t->network, props->network) != 0)
			continue;
		if ((t->bit & props->isolation) != t->bit) {
			find(d, FINDING_WARN, what, "it is not claimed that %s", t->claim);
			continue;
		}
		CLEANUP_FREE char *command = doctor_trial_command(t,
			d->ctx->home.dir, (int)getpid(), d->port);

		run_command(d, sb, owner, command);
		if (d->exit_code == 0)
			find(d, FINDING_OK, what, "%s (tried)", t->claim);
		else
			find(d, FINDING_FAIL, what, "NOT TRUE that %s: %.300s; %s",
				t->claim, d->output.data, t->cure);
	}
}

/* What the model is offered there, and why not more. */
static void
look_at_tools(struct doctor *d, struct sandboxes *sb, enum sandbox_owner owner,
	const char *what)
{
	unsigned can = SANDBOX_COMMANDS | SANDBOX_SCRIPTS;

	run_command(d, sb, owner, "for p in python3 node; do command -v $p "
		">/dev/null 2>&1 && { echo $p; exit 0; }; done; exit 1");
	if (d->exit_code != 0)
		can = SANDBOX_COMMANDS;
	CLEANUP_FREE char *offered = tool_names(can, false);
	CLEANUP_FREE char *missing = tool_names(can, true);

	find(d, FINDING_OK, what, "tools: %s", offered);
	if (*missing)
		find(d, FINDING_WARN, what, "not offered: %s; there is neither "
			"python3 nor node in the sandbox: put one of them into %s",
			missing, *sandbox_props(sb, owner).image ? "its image" :
			"the system that it runs on");
}

static void
say_sandbox(struct doctor *d, struct sandboxes *sb, enum sandbox_owner owner,
	const char *what)
{
	struct sandbox_props p = sandbox_props(sb, owner);

	if (!p.available) {
		CLEANUP_FREE char *missing = tool_names(0, true);

		find(d, FINDING_FAIL, what, "%s: %s", p.backend, p.why);
		find(d, FINDING_WARN, what, "not offered to the model until that "
			"is mended: %s", missing);
		return;
	}
	find(d, FINDING_OK, what, "%s%s%s works (image: %s, network: %s)",
		p.backend, *p.level ? ", level " : "", p.level,
		*p.image ? p.image : "default", p.network);
	if (p.caution && *p.caution)
		find(d, FINDING_WARN, what, "not level full: %s", p.caution);
	look_at_tools(d, sb, owner, what);
	if (p.limits && *p.limits)
		find(d, FINDING_OK, what, "limits: %s", p.limits);
	/* A writable directory may be meant; the host itself is too much. */
	if (p.risks && *p.risks)
		find(d, p.isolation & SANDBOX_NO_HOST_PROCS ? FINDING_WARN :
			FINDING_FAIL, what, "not isolated: %s; risky commands ask",
			p.risks);
	if (p.isolation == 0)
		find(d, FINDING_WARN, what, "%s isolates nothing: commands run on %s "
			"with the rights of their user", p.backend,
			strcmp(p.backend, "local") == 0 ? "this host" : p.image);
	else
		try_claims(d, sb, owner, what, &p);
}

/* As a start would, with workspaces of its own that are removed afterwards. */
static void
try_sandboxes(struct doctor *d, const struct override *where, const char *dir)
{
	struct config_sandbox own;
	struct sandboxes *sb;
	struct err err;

	config_sandbox_init(&own, d->cfg, where, d->ctx->environ);
	own.opts.state_dir = dir;
	own.opts.instance_id = "doctor";
	own.docker.docker.persist_across = own.docker.podman.persist_across = false;
	own.opts.spool_max = 0;
	sb = sandboxes_new(d->loop, d->ctx->launcher, NULL, &own.opts, &err);
	if (!sb) {
		find(d, FINDING_FAIL, "sandbox", "%s", err.text);
		config_sandbox_done(&own);
		return;
	}
	wait_for(d, sandboxes_probe(sb, on_done, d));
	say_sandbox(d, sb, SANDBOX_MESSAGING, "sandbox of sessions");
	if (strcmp(where->backend, where->console_backend) != 0)
		say_sandbox(d, sb, SANDBOX_CONSOLE, "sandbox of the console");
	wait_for(d, sandboxes_close(sb, on_done, d));
	sandboxes_free(&sb);
	config_sandbox_done(&own);
}

static void
on_launcher_gone(void *arg, const struct err *err)
{
	struct doctor *d = arg;

	d->launcher_gone = true;
	find(d, FINDING_FAIL, "launcher", "it went away: %s", err->text);
	loop_stop(d->loop);
}

static void
look_at_launcher(struct doctor *d)
{
	struct err err;
	CLEANUP_FREE char *helper = helper_path(&err);

	if (d->ctx->launcher)
		find(d, FINDING_OK, "launcher", "%s%s", helper ? helper : "",
			launcher_is_root(d->ctx->launcher) && geteuid() != 0 ?
			"; root, the gateway has given that up" : "");
	else
		find(d, FINDING_FAIL, "launcher", "%s", d->ctx->launcher_err.text);
}

static void
look_at_uid(struct doctor *d, const struct override *where)
{
	uid_t uid = (uid_t)d->cfg->native.uid;
	struct buf names CLEANUP_BUF;

	buf_init(&names, 4096);
	if (!launcher_is_root(d->ctx->launcher) ||
	    (strcmp(where->backend, "native") != 0 &&
	    strcmp(where->console_backend, "native") != 0))
		return;
	unsigned n = doctor_uid_foreign(uid, &names);
	if (n)
		find(d, FINDING_WARN, "native.uid", "%u processes that gatehouse did "
			"not start have the uid of commands, %u: %s; end them, or set "
			"native.uid to a uid that nobody has", n, (unsigned)uid,
			names.data);
	else
		find(d, FINDING_OK, "native.uid", "%u, which no other process has",
			(unsigned)uid);
}

static void
look_at_sandboxes(struct doctor *d)
{
	CLEANUP_FREE char *dir = home_path(&d->ctx->home, "doctor-XXXXXX");
	struct override where;
	struct report rep;

	report_init(&rep);
	if (!d->ctx->launcher || override_resolve(d->cfg, &where, &rep)) {
		report_done(&rep);
		return;
	}
	report_done(&rep);
	look_at_uid(d, &where);
	launcher_attach(d->ctx->launcher, d->loop, on_launcher_gone, d);
	if (!mkdtemp(dir)) {
		find(d, FINDING_FAIL, "sandbox", "can't make %s", dir);
		return;
	}
	/* Passable for a sandbox's own uid if the state directory is. */
	struct stat st;
	if (stat(d->ctx->home.dir, &st) == 0)
		(void)chmod(dir, 0700 | (st.st_mode & 0011));
	CLEANUP_CLOSE int listener = doctor_trial_listen(&d->port);
	if (listener < 0)
		find(d, FINDING_WARN, "network", "127.0.0.1 can't be listened on: the "
			"sandbox's network can't be tried");
	buf_init(&d->output, OUTPUT_MAX);
	try_sandboxes(d, &where, dir);
	buf_done(&d->output);
	rmtree(dir);
}

static void
print_findings(const struct doctor *d)
{
	for (const struct json *f = json_first(d->findings); f; f = json_next(f))
		printf("%-8s %s: %s\n", json_get_str(f, "result", ""),
			json_get_str(f, "what", ""), json_get_str(f, "text", ""));
}

int
doctor_main(struct cli_ctx *ctx)
{
	struct doctor d = { .ctx = ctx, .findings = json_array() };

	look_at_launcher(&d);
	d.loop = loop_new();
	look_at_state(&d);
	look_at_config(&d);
	if (d.cfg) {
		look_at_model(&d);
		look_at_platforms(&d);
		look_at_sandboxes(&d);
	}
	launcher_free(&ctx->launcher);
	if (cli_option(ctx, "json")) {
		CLEANUP_FREE char *text = json_text_pretty(d.findings);

		printf("%s\n", text);
	} else {
		print_findings(&d);
	}
	json_free(&d.findings);
	config_free(&d.cfg);
	loop_free(&d.loop);
	return d.failed ? CLI_FAIL : CLI_OK;
}
