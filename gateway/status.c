#include "gateway/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "gateway/cli.h"
#include "gateway/config_model.h"
#include "gateway/config_opts.h"
#include "gateway/owner_client.h"
#include "gateway/owner_path.h"
#include "gateway/override.h"
#include "gateway/sessions_ask.h"
#include "gateway/policy.h"
#include "gateway/version.h"

#define ANSWER_MS 5000

static const char *
model_text(const struct config_model *m)
{
	switch (m->choice) {
	case MODEL_SERVER:
		return m->base_url;
	case MODEL_PROBE_LOCAL:
		return "a server on this machine, else the demo";
	case MODEL_DEMO:
		return "the built-in demo";
	}
	return "";
}

static struct json *
sandbox_json(const struct config *cfg, const struct override *where)
{
	struct json *j = json_object();

	json_set_str(j, "backend", where->backend);
	json_set_str(j, "image", where->image);
	json_set_int(j, "lifetime_s", where->lifetime_s);
	json_set_bool(j, "override", where->overridden);
	json_set_bool(j, "host_commands", where->host_commands);
	json_set_str(j, "console_backend", where->console_backend);
	if (strcmp(where->backend, "native") == 0 ||
	    strcmp(where->console_backend, "native") == 0) {
		json_set_str(j, "network", cfg->native.network);
		json_set_int(j, "network_allow", (int64_t)cfg->native.network_allow.n);
	}
	return j;
}

/* What a start with this configuration would use; NULL if it can't be. */
static struct json *
config_json(struct cli_ctx *ctx, struct report *rep)
{
	struct config *cfg = cli_load_config(ctx, NULL, rep);
	struct config_model model;
	struct override where;
	struct json *j;

	if (!cfg || override_resolve(cfg, &where, rep)) {
		config_free(&cfg);
		return NULL;
	}
	model = config_model_choice(cfg, false);
	j = json_object();
	json_set_str(j, "file", cfg->path);
	json_set_bool(j, "exists", cfg->file_exists);
	json_set_str(j, "model", model_text(&model));
	json_set_str(j, "model_name", model.name);
	json_set_bool(j, "telegram", config_telegram_on(cfg));
	CLEANUP_FREE char *people = policy_people(cfg);
	CLEANUP_FREE char *line = policy_line(cfg, &where);
	json_set_str(j, "who_may_talk", people);
	json_set_str(j, "approvals", cfg->approvals.mode);
	json_set_str(j, "policy", line);
	json_set_take(j, "sandbox", sandbox_json(cfg, &where));
	config_free(&cfg);
	return j;
}

/* What is stored, read beside an owner or without one; NULL: nothing yet. */
static struct json *
stored_json(struct cli_ctx *ctx)
{
	struct sessions_ask ask;
	struct json *res = NULL;
	struct err err;

	if (sessions_ask_open(&ask, &ctx->home, true, &err) < 0) {
		if (err.code != ERR_NOT_FOUND)
			res = json_set_str(json_object(), "error", err.text);
		return res;
	}
	store_summary(ask.store, sessions_on_answer, &ask);
	if (sessions_ask_wait(&ask) == 0)
		res = STEAL(ask.res);
	else
		res = json_set_str(json_object(), "error", ask.err.text);
	sessions_ask_close(&ask);
	return res;
}

static struct json *
status_json(struct cli_ctx *ctx, struct report *rep)
{
	struct json *j = json_object();
	struct json *config = config_json(ctx, rep), *owner;
	struct json *stored = stored_json(ctx);
	struct err err = { .code = ERR_NONE };
	pid_t pid = owner_path_holder(&ctx->home);

	json_set_str(j, "version", version_text());
	json_set_str(j, "home", ctx->home.dir);
	json_set_bool(j, "running", pid != 0);
	if (pid)
		json_set_int(j, "pid", pid);
	json_set_int(j, "config_errors", (int64_t)rep->errors);
	json_set_int(j, "config_warnings", (int64_t)rep->warnings);
	if (config)
		json_set_take(j, "config", config);
	if (stored)
		json_set_take(j, "stored", stored);
	owner = pid ? owner_ask(&ctx->home, "status", ANSWER_MS, &err) : NULL;
	if (owner)
		json_set_take(j, "owner", owner);
	else if (pid)
		json_set_str(j, "owner_error", err.text);
	return j;
}

/* The file may have changed since the start of what runs; that counts. */
static void
print_backend(const char *what, const char *written, const struct json *running)
{
	const char *now = json_get_str(running, "backend", written);
	bool same = strcmp(now, written) == 0;

	printf("%s in: %s", what, now);
	if (!same)
		printf(" (since the start; the configuration says %s by now)",
			written);
}

static void
print_config(const struct json *c, const struct json *owner)
{
	const struct json *s = json_get(c, "sandbox");
	const char *image = json_get_str(s, "image", "");
	const char *name = json_get_str(c, "model_name", "");

	printf("configuration: %s%s\n", json_get_str(c, "file", ""),
		json_get_bool(c, "exists", false) ? "" : " (absent: defaults)");
	printf("model: %s%s%s\n", name, *name ? " at " : "",
		json_get_str(c, "model", ""));
	printf("telegram: %s\npolicy: %s\n",
		json_get_bool(c, "telegram", false) ? "on" : "off",
		json_get_str(c, "policy", ""));
	print_backend("sessions run commands", json_get_str(s, "backend", ""),
		json_get(owner, "sandbox"));
	printf(" (image: %s; idle end: %" PRId64 " s)%s\n",
		*image ? image : "default", json_get_int(s, "lifetime_s", 0),
		json_get_bool(s, "host_commands", false) ?
		"  WARNING: on this host itself, isolated by nothing" : "");
	print_backend("the console runs commands",
		json_get_str(s, "console_backend", ""),
		json_get(owner, "console_sandbox"));
	putchar('\n');
	const char *network = json_get_str(s, "network", "");
	if (strcmp(network, "filtered") == 0)
		printf("network of native: filtered, %" PRId64 " entries allowed\n",
			json_get_int(s, "network_allow", 0));
	else if (*network)
		printf("network of native: %s\n", network);
}

static void
print_sandbox(const char *whose, const struct json *s)
{
	const char *level = json_get_str(s, "level", "");
	const char *limits = json_get_str(s, "limits", "");
	const char *caution = json_get_str(s, "caution", "");

	if (!json_get_bool(s, "available", true)) {
		printf("  %s: %s is NOT AVAILABLE: %s\n", whose,
			json_get_str(s, "backend", "?"), json_get_str(s, "why", ""));
		return;
	}
	printf("  %s: %s%s%s, network %s, %s%s%s\n", whose,
		json_get_str(s, "backend", "?"), *level ? " " : "", level,
		json_get_str(s, "network", "?"),
		json_get_bool(s, "isolated", false) ? "isolated" : "NOT isolated",
		*limits ? "; limits: " : "", limits);
	if (*caution)
		printf("    not level full: %s\n", caution);
}

static void
print_owner(const struct json *owner)
{
	const struct json *list = json_get(owner, "platforms");

	for (const struct json *p = json_first(list); p; p = json_next(p)) {
		const char *why = json_get_str(p, "why", "");

		printf("  %s: %s%s%s\n", json_get_str(p, "name", "?"),
			json_get_str(p, "state", "?"), *why ? ", " : "", why);
	}
	if (json_get(owner, "sandbox"))
		print_sandbox("sandbox of sessions", json_get(owner, "sandbox"));
	if (json_get(owner, "console_sandbox"))
		print_sandbox("sandbox of the console",
			json_get(owner, "console_sandbox"));
	printf("  runs under way: %zu\n", json_len(json_get(owner, "runs")));
	printf("  open approvals: %zu\n", json_len(json_get(owner, "approvals")));
	if (!json_get_bool(json_get(owner, "store"), "ok", true))
		printf("  nothing can be saved: %s\n",
			json_get_str(json_get(owner, "store"), "why", ""));
	list = json_get(owner, "sandboxes");
	for (const struct json *s = json_first(list); s; s = json_next(s))
		printf("  sandbox %s: %s\n", json_get_str(s, "sandbox", "?"),
			json_get_str(s, "why", ""));
}

static void
print_stored(const struct json *s)
{
	const char *error = json_get_str(s, "error", NULL);

	if (error) {
		printf("stored: can't be read: %s\n", error);
		return;
	}
	printf("stored: %" PRId64 " sessions; to be answered: %" PRId64
		"; to be sent: %" PRId64 "; sent with unknown outcome: %" PRId64
		"\n", json_get_int(s, "sessions", 0),
		json_get_int(s, "inbox_waiting", 0) +
		json_get_int(s, "inbox_owned", 0),
		json_get_int(s, "outbox_waiting", 0) +
		json_get_int(s, "outbox_sending", 0),
		json_get_int(s, "outbox_unknown", 0));
}

static void
print_status(const struct json *j)
{
	const char *error = json_get_str(j, "owner_error", NULL);

	printf("gatehouse %s, state in %s\n", json_get_str(j, "version", ""),
		json_get_str(j, "home", ""));
	if (!json_get_bool(j, "running", false))
		printf("not running\n");
	else
		printf("running, pid %" PRId64 "%s%s\n", json_get_int(j, "pid", 0),
			error ? "; it does not answer: " : "", error ? error : "");
	if (json_get(j, "owner"))
		print_owner(json_get(j, "owner"));
	if (json_get(j, "stored"))
		print_stored(json_get(j, "stored"));
	if (json_get(j, "config"))
		print_config(json_get(j, "config"), json_get(j, "owner"));
	else
		printf("configuration: can't be used (gatehouse config check)\n");
}

int
status_main(struct cli_ctx *ctx)
{
	struct json *j CLEANUP_JSON = NULL;
	struct report rep;
	bool ok;

	report_init(&rep);
	j = status_json(ctx, &rep);
	if (cli_option(ctx, "json")) {
		CLEANUP_FREE char *text = json_text_pretty(j);

		printf("%s\n", text);
	} else {
		cli_print_report(&rep, false);
		print_status(j);
	}
	ok = rep.errors == 0;
	report_done(&rep);
	if (json_get(j, "owner_error"))
		return CLI_FAIL;
	return ok ? CLI_OK : CLI_CONFIG;
}
