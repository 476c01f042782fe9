#include "gateway/config_opts.h"

#include <string.h>

#include "base/child.h"
#include "base/mem.h"
#include "gateway/config_table.h"
#include "gateway/env.h"
#include "gateway/start_dir.h"

#define SPOOL_MAX (64 * 1024 * 1024)
#define DAY_MS ((msec_t)24 * 3600 * 1000)

/* SOURCE:TARGET[:rw], checked when the configuration was read. */
static void
fill_binds(struct config_sandbox *s, const struct config_list *list)
{
	s->binds = mem_array(list->n + 1, sizeof(*s->binds));
	s->bind_texts = mem_array(list->n + 1, sizeof(*s->bind_texts));
	for (size_t i = 0; i < list->n; i++) {
		char *source = mem_str(list->items[i]);
		char *target = strchr(source, ':');
		char *mode;

		*target++ = '\0';
		mode = strchr(target, ':');
		if (mode)
			*mode++ = '\0';
		s->bind_texts[i] = source;
		s->binds[i] = (struct native_bind){ source, target,
			mode && strcmp(mode, "rw") == 0 };
	}
}

static const char *const *
items(const struct config_list *list)
{
	return (const char *const *)list->items;
}

struct egress_opts
config_egress(const struct config *cfg)
{
	return (struct egress_opts){
		.allow = items(&cfg->native.network_allow),
		.deny = items(&cfg->native.network_deny),
		.ports = items(&cfg->native.network_ports),
		.private_allow = items(&cfg->native.network_private_allow),
	};
}

static const char *
or_null(const char *text)
{
	return text && *text ? text : NULL;
}

static void
fill_ssh(struct config_sandbox *s, const struct config *cfg,
	const struct override *where, const char *const *environ)
{
	struct start_dir dir = {
		.configured = cfg->terminal.cwd,
		.messaging = cfg->terminal.messaging_cwd,
		.backend = "ssh",
		.chat = strcmp(where->backend, "ssh") == 0,
	};
	struct err err;

	s->ssh_cwd = start_dir(&dir);
	s->helper = helper_path(&err);	/* NULL: the backend says so */
	s->ssh = (struct ssh_opts){
		.host = or_null(cfg->ssh.host), .user = or_null(cfg->ssh.user),
		.port = (unsigned)cfg->ssh.port,
		.key_file = or_null(cfg->ssh.key),
		.known_hosts = or_null(cfg->ssh.known_hosts),
		.accept_new = strcmp(cfg->ssh.host_keys, "accept-new") == 0,
		.cwd = s->ssh_cwd, .home = or_null(env_find(environ, "HOME")),
		.agent = or_null(env_find(environ, "SSH_AUTH_SOCK")),
		.helper = s->helper,
	};
}

static void
fill_singularity(struct config_sandbox *s, const struct config *cfg,
	const char *const *environ)
{
	s->singularity = (struct singularity_opts){
		.helper = s->helper ? s->helper : "gatehouse-helper",
		.scratch = *cfg->singularity.scratch ? cfg->singularity.scratch :
			NULL,
		.binds = items(&cfg->singularity.binds),
		.environ = environ,
		.persistent = cfg->docker.persistent,
		.memory = s->docker.docker.memory,
		.cpu_milli = s->docker.docker.cpu_milli,
	};
}

static void
fill_native(struct config_sandbox *s, const struct config *cfg)
{
	int cpu_milli = config_cpus(cfg->native.cpus);

	fill_binds(s, &cfg->native.binds);
	s->native = (struct native_opts){
		.uid = (uid_t)cfg->native.uid,
		.minimum = cfg->native.minimum,
		.network = cfg->native.network,
		.egress = config_egress(cfg),
		.upstream = *cfg->network.proxy != 0,
		.binds = s->binds,
		.nbinds = (unsigned)cfg->native.binds.n,
		.memory_max = (uint64_t)cfg->native.memory_max,
		.pids_max = (unsigned)cfg->native.pids_max,
		.files_max = (unsigned)cfg->native.files_max,
		.file_size_max = (uint64_t)cfg->native.file_size_max,
		.tmp_max = (uint64_t)cfg->native.tmp_max,
		.tmp_total = (uint64_t)cfg->native.tmp_total,
		.workspace_max = (uint64_t)cfg->native.workspace_max,
		.cpu_milli = cpu_milli > 0 ? (unsigned)cpu_milli : 0,
		.cpu_seconds = (unsigned)cfg->native.cpu_seconds,
	};
}

void
config_sandbox_init(struct config_sandbox *s, const struct config *cfg,
	const struct override *where, const char *const *environ)
{
	memset(s, 0, sizeof(*s));
	fill_native(s, cfg);
	s->local.user = *cfg->local.user ? cfg->local.user : NULL;
	struct start_dir dir = {
		.configured = cfg->terminal.cwd,
		.messaging = cfg->terminal.messaging_cwd,
		.backend = "local",
		.chat = where->host_commands,
	};
	s->local.cwd = s->local_cwd = start_dir(&dir);
	fill_ssh(s, cfg, where, environ);
	s->opts = (struct sandbox_opts){
		.messaging_backend = where->backend,
		.console_backend = where->console_backend,
		.image = *where->image ? where->image : NULL,
		.console_image = *where->console_image ? where->console_image :
			NULL,
		.lifetime_ms = where->lifetime_s * 1000,
		.retention_ms = cfg->gateway.workspace_retention * DAY_MS,
		.timezone = cfg->timezone,
		.timeout_ms = cfg->terminal.timeout,
		.timeout_max_ms = cfg->terminal.timeout_max,
		.output_max = (size_t)cfg->tool_output.max_bytes,
		.spool_max = SPOOL_MAX,
		.plain_words = strcmp(cfg->approvals.in_sandbox, "ask") == 0,
		.env_passthrough =
			(const char *const *)cfg->terminal.env_passthrough.items,
		.environ = environ,
		.native = &s->native,
		.local = &s->local,
		.docker = &s->docker.docker,
		.podman = &s->docker.podman,
		.ssh = &s->ssh,
		.singularity = &s->singularity,
		.apptainer = &s->singularity,
	};
	config_docker_init(&s->docker, cfg, environ,
		strcmp(where->backend, "docker") == 0 ||
		strcmp(where->backend, "podman") == 0);
	fill_singularity(s, cfg, environ);
}

void
config_sandbox_done(struct config_sandbox *s)
{
	for (size_t i = 0; s->bind_texts && s->bind_texts[i]; i++)
		mem_free(s->bind_texts[i]);
	config_docker_done(&s->docker);
	mem_free(STEAL(s->local_cwd));
	mem_free(STEAL(s->ssh_cwd));
	mem_free(STEAL(s->helper));
	mem_free(STEAL(s->bind_texts));
	mem_free(STEAL(s->binds));
}

const char *
config_image(const struct config *cfg, const char *backend)
{
	const char *image = strcmp(backend, "native") == 0 ?
		cfg->terminal.native_image :
		strcmp(backend, "docker") == 0 || strcmp(backend, "podman") == 0 ?
		cfg->docker.image : strcmp(backend, "singularity") == 0 ||
		strcmp(backend, "apptainer") == 0 ? cfg->singularity.image : "";

	return *image ? image : NULL;
}

struct http_opts
config_http_opts(const struct config *cfg)
{
	return (struct http_opts){
		.proxy = *cfg->network.proxy ? cfg->network.proxy : NULL,
		.no_proxy = *cfg->network.no_proxy ? cfg->network.no_proxy : NULL,
		.ca_file = *cfg->network.ca_file ? cfg->network.ca_file : NULL,
	};
}

bool
config_telegram_on(const struct config *cfg)
{
	return cfg->telegram.enabled && *cfg->telegram.token;
}

struct telegram_opts
config_telegram_opts(const struct config *cfg)
{
	return (struct telegram_opts){
		.token = cfg->telegram.token,
		.base_url = cfg->telegram.base_url,
	};
}

static struct reset_policy
policy_of(const struct config *cfg, const struct config_reset *own)
{
	const char *mode = strcmp(own->mode, "default") == 0 ?
	    cfg->session_reset.mode : own->mode;
	bool both = strcmp(mode, "both") == 0;

	return (struct reset_policy){
		.idle = both || strcmp(mode, "idle") == 0,
		.daily = both || strcmp(mode, "daily") == 0,
		.idle_ms = (own->idle_minutes > 0 ? own->idle_minutes :
		    cfg->session_reset.idle_minutes) * 60000,
		.at_hour = (int)(own->at_hour >= 0 ? own->at_hour :
		    cfg->session_reset.at_hour),
		.notify = cfg->session_reset.notify,
	};
}

static bool
has_own(const struct config_reset *own)
{
	return strcmp(own->mode, "default") != 0 || own->at_hour >= 0 ||
	    own->idle_minutes > 0;
}

struct reset_rules
config_reset_rules(const struct config *cfg)
{
	static char as_all[] = "default";
	const struct config_reset none = { as_all, -1, 0 };

	return (struct reset_rules){
		.all = policy_of(cfg, &none),
		.dm = policy_of(cfg, &cfg->reset_dm),
		.group = policy_of(cfg, &cfg->reset_group),
		.thread = policy_of(cfg, &cfg->reset_thread),
		.on_platform = policy_of(cfg, &cfg->reset_telegram),
		.has_dm = has_own(&cfg->reset_dm),
		.has_group = has_own(&cfg->reset_group),
		.has_thread = has_own(&cfg->reset_thread),
		.platform = has_own(&cfg->reset_telegram) ? "telegram" : NULL,
	};
}

void
config_people_init(struct config_people *p, const struct config *cfg)
{
	const struct config_list *own = &cfg->telegram.allowed_users;
	const struct config_list *all = &cfg->gateway.allowed_users;
	size_t n = 0;

	p->users = mem_array(own->n + all->n + 1, sizeof(*p->users));
	for (size_t i = 0; i < own->n; i++)
		p->users[n++] = own->items[i];
	for (size_t i = 0; i < all->n; i++)
		p->users[n++] = all->items[i];
	/* The gateway's word counts only where the platform has no list. */
	p->allow_all = cfg->telegram.allow_all_users ||
		(cfg->gateway.allow_all_users && n == 0);
}

void
config_people_done(struct config_people *p)
{
	mem_free(STEAL(p->users));
}

static struct override_word
word_of(const struct config *cfg, const char *path, const char *text)
{
	const struct config_key *key = config_key_find(path);
	const struct config_origin *at = &cfg->origins[key - config_keys];
	bool from_env = at->source == CONFIG_DOTENV || at->source == CONFIG_ENV;

	return (struct override_word){
		.text = text,
		.name = from_env ? at->env : path,
		.file = at->source == CONFIG_FILE ? cfg->path : NULL,
		.line = at->source == CONFIG_FILE ? at->line : 0,
	};
}

int
override_resolve(const struct config *cfg, struct override *ret,
	struct report *rep)
{
	struct override_in in = {
		.gateway_backend = word_of(cfg, "gateway.terminal_backend",
			cfg->gateway.terminal_backend),
		.gateway_image = word_of(cfg, "gateway.sandbox_image",
			cfg->gateway.sandbox_image),
		.gateway_lifetime_s = cfg->gateway.sandbox_lifetime_s,
		.terminal_backend = word_of(cfg, "terminal.backend",
			cfg->terminal.backend),
		.native_image = word_of(cfg, "terminal.native_image",
			cfg->terminal.native_image),
		.docker_image = word_of(cfg, "terminal.docker_image",
			cfg->docker.image),
		.singularity_image = word_of(cfg, "terminal.singularity_image",
			cfg->singularity.image),
		.terminal_lifetime_s = cfg->terminal.lifetime_s,
	};

	return override_decide(&in, ret, rep);
}
