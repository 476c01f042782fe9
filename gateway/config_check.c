/* What no single value shows: keys that need or contradict each other. */
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/config_opts.h"
#include "gateway/config_priv.h"
#include "gateway/env.h"
#include "gateway/override.h"
#include "gateway/start_dir.h"
#include "sandbox/docker_plan.h"

#define ZONES "/usr/share/zoneinfo"

static void
fail(struct config_reader *r, const char *path, const char *why)
{
	const struct config_key *key = config_key_find(path);
	const struct config_origin *at = config_origin_of(r->cfg, key);

	report_add(r->rep, REPORT_ERROR,
		at->source == CONFIG_FILE ? r->cfg->path :
		at->source == CONFIG_DOTENV ? r->in->dotenv_file : NULL,
		at->line, 0, "%s: %s", path, why);
}

static void
warn(struct config_reader *r, const char *path, const char *why)
{
	const struct config_origin *at = config_origin_of(r->cfg,
		config_key_find(path));

	report_add(r->rep, REPORT_WARN,
		at->source == CONFIG_FILE ? r->cfg->path :
		at->source == CONFIG_DOTENV ? r->in->dotenv_file : NULL,
		at->line, 0, "%s: %s", path, why);
}

static bool
uses(const struct config *cfg, const char *backend)
{
	return strcmp(cfg->gateway.terminal_backend, backend) == 0 ||
	    strcmp(cfg->terminal.backend, backend) == 0;
}

/* model.key_env names a variable: its value becomes the key. */
static void
check_model_key(struct config_reader *r)
{
	struct config *cfg = r->cfg;
	const char *name = cfg->model.key_env;
	const char *value;

	if (!*name)
		return;
	if (!env_name_valid(name, strlen(name))) {
		fail(r, "model.key_env", "expected the name of a variable");
		return;
	}
	if (*cfg->model.api_key) {
		fail(r, "model.key_env", "model.api_key is set too: keep one");
		return;
	}
	value = config_look(r, name, NULL);
	if (!value) {
		CLEANUP_FREE char *why = mem_printf("the variable %s is not set",
			name);

		fail(r, "model.key_env", why);
		return;
	}
	mem_free(cfg->model.api_key);
	cfg->model.api_key = mem_str(value);
}

static void
check_model(struct config_reader *r)
{
	const struct config *cfg = r->cfg;
	const char *provider = cfg->model.provider;

	check_model_key(r);
	if (strcmp(provider, "custom") == 0 && !*cfg->model.base_url)
		fail(r, "model.provider", "custom needs model.base_url");
	if (strcmp(provider, "openrouter") == 0 && !*cfg->model.api_key &&
	    !*cfg->keys.openrouter)
		fail(r, "model.provider", "openrouter needs OPENROUTER_API_KEY");
	if (strcmp(provider, "openai") == 0 && !*cfg->model.api_key &&
	    !*cfg->keys.openai)
		fail(r, "model.provider", "openai needs OPENAI_API_KEY");
	if (*cfg->model.api_key && !*cfg->model.base_url &&
	    strcmp(provider, "auto") == 0)
		fail(r, "model.api_key", "model.provider or model.base_url must say "
			"which server it is for");
	if (*cfg->model.base_url && !*cfg->model.name)
		fail(r, "model.base_url", "model.default must name the model too");
}

/* "<digits>:<secret>"; the value itself never goes into a message. */
static bool
telegram_token_valid(const char *token)
{
	size_t digits = strspn(token, "0123456789");
	const char *secret = token + digits + 1;

	return digits && token[digits] == ':' && strlen(secret) >= 8 &&
		secret[strspn(secret, "abcdefghijklmnopqrstuvwxyz"
			"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0';
}

static bool
has(const struct config_list *list, const char *word)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i], word) == 0)
			return true;
	return false;
}

static void
check_native(struct config_reader *r)
{
	int milli = config_cpus(r->cfg->native.cpus);

	/* Less than a millisecond of a turn is refused by the kernel. */
	if (milli < 0 || (milli > 0 && milli < 50))
		fail(r, "native.cpus", "expected 0 or a number of processors, at "
			"least 0.05");
}

/* What can't be followed would be believed to be in force. */
static void
check_docker(struct config_reader *r)
{
	struct config_docker d;
	struct docker_plan plan;
	struct err err;

	/* Stale keys of a backend that isn't chosen hurt nobody. */
	if (!uses(r->cfg, "docker") && !uses(r->cfg, "podman"))
		return;
	if (config_cpus(r->cfg->docker.cpu) < 0)
		fail(r, "terminal.container_cpu", "expected a number of processors");
	if (r->cfg->docker.mount_cwd &&
	    start_dir_is_placeholder(r->cfg->terminal.cwd))
		fail(r, "terminal.docker_mount_cwd_to_workspace", "terminal.cwd must "
			"name the directory");
	config_docker_init(&d, r->cfg, r->in->environ, false);
	if (docker_plan_make(&plan, &d.docker, &err) < 0)
		report_add(r->rep, REPORT_ERROR, r->cfg->path, 0, 0, "%s", err.text);
	else {
		if (*plan.risks)
			report_add(r->rep, REPORT_WARN, r->cfg->path, 0, 0,
				"containers are not isolated: %s; risky commands ask",
				plan.risks);
		docker_plan_done(&plan);
	}
	config_docker_done(&d);
}

static void
check_ssh(struct config_reader *r)
{
	if (uses(r->cfg, "ssh") && !*r->cfg->ssh.host)
		warn(r, "terminal.ssh_host", "backend ssh is chosen, and no host: "
			"commands will be refused");
}

static void
check_telegram(struct config_reader *r)
{
	const struct config *cfg = r->cfg;

	if (config_is_set(cfg, "platforms.telegram.enabled") &&
	    cfg->telegram.enabled && !*cfg->telegram.token)
		fail(r, "platforms.telegram.enabled",
			"there is no token: set TELEGRAM_BOT_TOKEN");
	if (!*cfg->telegram.token || !cfg->telegram.enabled)
		return;
	if (!telegram_token_valid(cfg->telegram.token))
		fail(r, "platforms.telegram.token",
			"expected the form 123456789:AbC... that @BotFather gives");
	if (!cfg->telegram.allowed_users.n && !cfg->telegram.allow_all_users &&
	    !cfg->telegram.group_allowed_users.n &&
	    !cfg->telegram.group_allowed_chats.n &&
	    !cfg->gateway.allowed_users.n && !cfg->gateway.allow_all_users)
		warn(r, "platforms.telegram.allowed_users",
			"the list is empty: nobody may talk to the bot "
			"(set TELEGRAM_ALLOWED_USERS)");
	if (cfg->telegram.allow_all_users || cfg->gateway.allow_all_users ||
	    has(&cfg->telegram.allowed_users, "*") ||
	    has(&cfg->gateway.allowed_users, "*"))
		warn(r, "platforms.telegram.allowed_users",
			"everybody may talk to the bot");
}

/* SOURCE:TARGET or SOURCE:TARGET:rw|ro, both absolute. */
static bool
bind_valid(const char *bind)
{
	const char *colon = strchr(bind, ':');
	const char *mode = colon ? strchr(colon + 1, ':') : NULL;

	return bind[0] == '/' && colon && colon[1] == '/' && !strstr(bind, "/../") &&
		(!mode || strcmp(mode, ":rw") == 0 || strcmp(mode, ":ro") == 0);
}

/* List by list, so that the mistake is told with its line. */
static void
check_network(struct config_reader *r)
{
	const struct egress_opts all = config_egress(r->cfg);
	const struct {
		const char *path;
		struct egress_opts opts;
	} lists[] = {
		{ "native.network_allow", { .allow = all.allow } },
		{ "native.network_deny", { .deny = all.deny } },
		{ "native.network_ports", { .ports = all.ports } },
		{ "native.network_private_allow", { .private_allow = all.private_allow } },
	};
	bool filtered = strcmp(r->cfg->native.network, "filtered") == 0;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		struct err err = { ERR_NONE, "" };
		struct egress *e = egress_new(&lists[i].opts, &err);
		const char *why = strstr(err.text, ": ");

		if (!e)
			fail(r, lists[i].path, why ? why + 2 : err.text);
		egress_free(&e);
	}
	if (filtered && r->cfg->native.network_allow.n == 0)
		warn(r, "native.network", "filtered with an empty "
			"native.network_allow: nothing can be reached");
	if (!filtered && r->cfg->native.network_allow.n)
		warn(r, "native.network_allow", "has no effect: native.network is "
			"not filtered");
}

static void
check_sandbox(struct config_reader *r)
{
	const struct config *cfg = r->cfg;

	for (size_t i = 0; i < cfg->native.binds.n; i++)
		if (!bind_valid(cfg->native.binds.items[i]))
			fail(r, "native.binds",
				"expected /host/path:/path/inside or ...:rw");
	check_network(r);
	for (size_t i = 0; i < cfg->terminal.env_passthrough.n; i++) {
		const char *name = cfg->terminal.env_passthrough.items[i];

		if (!env_name_valid(name, strlen(name)))
			fail(r, "terminal.env_passthrough",
				"expected names of variables");
		else if (env_name_secret(name, strlen(name)))
			fail(r, "terminal.env_passthrough",
				"a credential can't be passed to commands");
	}
	if (cfg->terminal.timeout > cfg->terminal.timeout_max)
		fail(r, "terminal.timeout",
			"longer than terminal.max_foreground_timeout");
	for (size_t i = 0; i < cfg->command_allowlist.n; i++)
		if (strcmp(cfg->command_allowlist.items[i], "*") == 0)
			fail(r, "command_allowlist", "* can't be allowed for always");
	if (*cfg->terminal.messaging_cwd)
		report_add(r->rep, REPORT_WARN, NULL, 0, 0,
			"MESSAGING_CWD is an old name: set terminal.cwd");
	if (!start_dir_is_placeholder(cfg->terminal.cwd) &&
	    *cfg->terminal.cwd != '/' && *cfg->terminal.cwd != '~')
		fail(r, "terminal.cwd", "expected an absolute path, or . for where "
			"the backend begins");
}

/* Where the host has the files of zones, the name must be one of them. */
static void
check_timezone(struct config_reader *r)
{
	const char *zone = r->cfg->timezone;
	CLEANUP_FREE char *path = mem_printf(ZONES "/%s", zone);

	if (*zone && access(ZONES, X_OK) == 0 &&
	    (*zone == '/' || strstr(zone, "..") || access(path, R_OK)))
		fail(r, "timezone", "there is no zone of this name; expected one like "
			"Europe/Berlin");
}

void
config_check(struct config_reader *r)
{
	struct override where;

	check_model(r);
	check_telegram(r);
	check_native(r);
	check_docker(r);
	check_ssh(r);
	check_sandbox(r);
	check_timezone(r);
	(void)override_resolve(r->cfg, &where, r->rep);
}
