#include "gateway/config_table.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/config.h"
#include "sandbox/docker.h"

#define AT(field) offsetof(struct config, field)
#define DAY 86400
#define YEAR (366 * DAY)
#define GIB (1024LL * 1024 * 1024)
#define SAFE_FILE (CONFIG_SAFETY | CONFIG_FILE_WINS)
#define MIB (1024LL * 1024)

/* Where a kind of chat or a platform has a policy of its own. */
#define RESET(name, field, what) \
	{ name ".mode", NULL, CONFIG_ENUM, offsetof(struct config, field.mode), "default", 0, 0, \
	  "default|none|idle|daily|both", NULL, 0, \
	  "As session_reset.mode, for " what "; default: as that says." }, \
	{ name ".at_hour", NULL, CONFIG_INT, offsetof(struct config, field.at_hour), "-1", -1, 23, \
	  NULL, NULL, 0, "As session_reset.at_hour; -1: as that says." }, \
	{ name ".idle_minutes", NULL, CONFIG_INT, offsetof(struct config, field.idle_minutes), "0", 0, \
	  5256000, NULL, NULL, 0, \
	  "As session_reset.idle_minutes; 0: as that says." }

const struct config_key config_keys[] = {
	{ "_config_version", NULL, CONFIG_INT, AT(version), "0", 0, 9999, NULL,
	  NULL, 0, "Version of this file's defaults; written by gatehouse." },

	{ "model.default", "model.model", CONFIG_STR, AT(model.name), "", 0, 0,
	  NULL, NULL, 0, "Name of the model, as the server calls it." },
	{ "model.provider", NULL, CONFIG_ENUM, AT(model.provider), "auto", 0, 0,
	  "auto|custom|openrouter|openai|demo", NULL, 0,
	  "Where the model is: auto follows base_url and the keys that are set; "
	  "demo is the built-in stand-in." },
	{ "model.base_url", NULL, CONFIG_URL, AT(model.base_url), "", 0, 0, NULL,
	  NULL, 0, "Root of an OpenAI-compatible API; it usually ends in /v1." },
	{ "model.api_key", NULL, CONFIG_STR, AT(model.api_key), "", 0, 0, NULL,
	  NULL, CONFIG_SECRET, "Key for base_url. Better in .env: see key_env." },
	{ "model.key_env", "model.api_key_env", CONFIG_STR, AT(model.key_env), "",
	  0, 0, NULL, NULL, 0, "Name of the variable that holds the key." },
	{ "model.max_tokens", NULL, CONFIG_INT, AT(model.max_tokens), "0", 0,
	  10000000, NULL, NULL, 0, "Longest answer in tokens; 0: the server's own." },
	{ NULL, NULL, CONFIG_STR, AT(keys.openrouter), "", 0, 0, NULL,
	  "OPENROUTER_API_KEY", CONFIG_SECRET,
	  "Used for openrouter.ai if config.yaml names no model server." },
	{ NULL, NULL, CONFIG_STR, AT(keys.openai), "", 0, 0, NULL,
	  "OPENAI_API_KEY", CONFIG_SECRET,
	  "Used for api.openai.com if neither config.yaml nor OPENROUTER_API_KEY "
	  "names a model server." },
	{ NULL, NULL, CONFIG_URL, AT(keys.openai_base_url), "", 0, 0, NULL,
	  "OPENAI_BASE_URL", 0, "Another server for OPENAI_API_KEY." },

	{ "agent.max_turns", NULL, CONFIG_INT, AT(agent.max_turns), "90", 1, 1000,
	  NULL, "HERMES_MAX_ITERATIONS", 0, "Model calls in one run." },
	{ "agent.system_prompt", NULL, CONFIG_STR, AT(agent.system_prompt), "", 0,
	  0, NULL, NULL, 0, "Text put before the built-in system prompt." },
	{ "agent.environment_probe", NULL, CONFIG_BOOL,
	  AT(agent.environment_probe), "true", 0, 0, NULL, NULL, 0,
	  "Looks once, at the start, at what a sandbox offers (system, tools), and "
	  "tells the model." },
	{ "agent.environment_hint", NULL, CONFIG_STR, AT(agent.environment_hint), "",
	  0, 0, NULL, "HERMES_ENVIRONMENT_HINT", 0,
	  "Words for the model on where its commands run." },
	{ "agent.restart_drain_timeout", NULL, CONFIG_SECONDS,
	  AT(agent.restart_drain_timeout), "10", 0, 3600, NULL,
	  "HERMES_RESTART_DRAIN_TIMEOUT", 0,
	  "How long a stopping gateway lets runs finish." },

	{ "terminal.backend", NULL, CONFIG_STR, AT(terminal.backend), "", 0, 0, NULL,
	  "TERMINAL_ENV", SAFE_FILE,
	  "Where commands run; empty: native. `local` here means the operator's "
	  "own console only." },
	{ "terminal.cwd", NULL, CONFIG_STR, AT(terminal.cwd), ".", 0, 0, NULL,
	  "TERMINAL_CWD", SAFE_FILE,
	  "First directory of commands on backend local; ., auto, cwd or nothing: "
	  "where gatehouse was started, for messaging sessions the home. Native "
	  "begins in its workspace, whatever is written here." },
	{ NULL, NULL, CONFIG_PATH, AT(terminal.messaging_cwd), "", 0, 0, NULL,
	  "MESSAGING_CWD", CONFIG_SAFETY, "Old name: set terminal.cwd." },
	{ "terminal.timeout", NULL, CONFIG_SECONDS, AT(terminal.timeout), "180", 1,
	  DAY, NULL, "TERMINAL_TIMEOUT", SAFE_FILE,
	  "Time limit of a command that asks for none." },
	{ "terminal.max_foreground_timeout", NULL, CONFIG_SECONDS,
	  AT(terminal.timeout_max), "600", 1, DAY, NULL,
	  "TERMINAL_MAX_FOREGROUND_TIMEOUT", SAFE_FILE,
	  "Highest time limit that a command may ask for." },
	{ "terminal.lifetime_seconds", NULL, CONFIG_INT, AT(terminal.lifetime_s),
	  "300", 0, YEAR, NULL, "TERMINAL_LIFETIME_SECONDS", SAFE_FILE,
	  "Idle seconds until a sandbox is torn down; 0: never." },
	{ "terminal.native_image", NULL, CONFIG_PATH, AT(terminal.native_image), "",
	  0, 0, NULL, "TERMINAL_NATIVE_IMAGE", SAFE_FILE,
	  "Directory of a root file system for backend native; empty: the host's "
	  "own system, read-only." },
	{ "terminal.env_passthrough", NULL, CONFIG_LIST,
	  AT(terminal.env_passthrough), "", 0, 0, NULL, NULL, CONFIG_SAFETY,
	  "Names of variables that commands may see; credentials can't be passed." },

	{ "terminal.docker_image", NULL, CONFIG_STR, AT(docker.image), "", 0, 0, NULL,
	  "TERMINAL_DOCKER_IMAGE", SAFE_FILE,
	  "Image for backends docker and podman; empty: " DOCKER_IMAGE "." },
	{ "terminal.docker_network", NULL, CONFIG_STR, AT(docker.network), "true", 0,
	  0, NULL, "TERMINAL_DOCKER_NETWORK", SAFE_FILE,
	  "Network of containers: true (the engine's bridge), false (none), or the "
	  "name of a network." },
	{ "terminal.docker_forward_env", NULL, CONFIG_LIST, AT(docker.forward_env),
	  "", 0, 0, NULL, "TERMINAL_DOCKER_FORWARD_ENV", SAFE_FILE,
	  "Names of variables whose values commands in containers see, "
	  "credentials too." },
	{ "terminal.docker_env", NULL, CONFIG_MAP, AT(docker.env), "", 0, 0, NULL,
	  "TERMINAL_DOCKER_ENV", SAFE_FILE,
	  "Variables with values for commands in containers." },
	{ "terminal.docker_volumes", NULL, CONFIG_LIST, AT(docker.volumes), "", 0, 0,
	  NULL, "TERMINAL_DOCKER_VOLUMES", SAFE_FILE,
	  "HOST:CONTAINER[:ro] each; a writable directory of the host ends the "
	  "isolation." },
	{ "terminal.docker_extra_args", NULL, CONFIG_LIST, AT(docker.extra_args), "",
	  0, 0, NULL, "TERMINAL_DOCKER_EXTRA_ARGS", SAFE_FILE,
	  "Arguments as of `docker run`; what can't be followed stops the start." },
	{ "terminal.docker_mount_cwd_to_workspace", NULL, CONFIG_BOOL,
	  AT(docker.mount_cwd), "false", 0, 0, NULL,
	  "TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE", SAFE_FILE,
	  "terminal.cwd of the host is /workspace of containers." },
	{ "terminal.docker_run_as_host_user", NULL, CONFIG_BOOL,
	  AT(docker.host_user), "false", 0, 0, NULL,
	  "TERMINAL_DOCKER_RUN_AS_HOST_USER", SAFE_FILE,
	  "Commands in containers run with the user and group of gatehouse." },
	{ "terminal.docker_persist_across_processes", NULL, CONFIG_BOOL,
	  AT(docker.persist_across), "true", 0, 0, NULL,
	  "TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES", SAFE_FILE,
	  "Containers are stopped and kept, not removed, when they are not used." },
	{ "terminal.docker_orphan_reaper", NULL, CONFIG_BOOL, AT(docker.reap), "true",
	  0, 0, NULL, "TERMINAL_DOCKER_ORPHAN_REAPER", SAFE_FILE,
	  "Containers whose gatehouse process is gone are removed." },
	{ "terminal.docker_shm_size", NULL, CONFIG_SIZE, AT(docker.shm_size), "1G",
	  MIB, 1024 * GIB, NULL, "TERMINAL_DOCKER_SHM_SIZE",
	  SAFE_FILE, "Size of /dev/shm in containers." },
	{ "terminal.container_cpu", NULL, CONFIG_STR, AT(docker.cpu), "1", 0, 0, NULL,
	  "TERMINAL_CONTAINER_CPU", SAFE_FILE,
	  "Processors of a container, e.g. 1.5; 0: no limit." },
	{ "terminal.container_memory", NULL, CONFIG_INT, AT(docker.memory_mb), "5120",
	  0, 100000000, NULL, "TERMINAL_CONTAINER_MEMORY", SAFE_FILE,
	  "Memory of a container in MiB; 0: no limit." },
	{ "terminal.container_disk", NULL, CONFIG_INT, AT(docker.disk_mb), "51200", 0,
	  1000000000, NULL, "TERMINAL_CONTAINER_DISK", SAFE_FILE,
	  "Disk of a container in MiB; said to be unlimited where the engine "
	  "can't limit it." },
	{ "terminal.container_persistent", NULL, CONFIG_BOOL, AT(docker.persistent),
	  "true", 0, 0, NULL, "TERMINAL_CONTAINER_PERSISTENT", SAFE_FILE,
	  "Files in /workspace and the home directory outlive the container." },
	{ "terminal.ssh_host", NULL, CONFIG_STR, AT(ssh.host), "", 0, 0, NULL,
	  "TERMINAL_SSH_HOST", SAFE_FILE,
	  "Host that commands of backend ssh run on." },
	{ "terminal.ssh_user", NULL, CONFIG_STR, AT(ssh.user), "", 0, 0, NULL,
	  "TERMINAL_SSH_USER", SAFE_FILE,
	  "Account there; empty: the name of who runs gatehouse." },
	{ "terminal.ssh_port", NULL, CONFIG_INT, AT(ssh.port), "22", 1, 65535, NULL,
	  "TERMINAL_SSH_PORT", SAFE_FILE, "Port of its sshd." },
	{ "terminal.ssh_key", NULL, CONFIG_PATH, AT(ssh.key), "", 0, 0, NULL,
	  "TERMINAL_SSH_KEY", SAFE_FILE,
	  "Private key without passphrase; empty: the agent, then ~/.ssh/id_*." },
#include "gateway/config_rows_singularity.inc"

	{ "gateway.terminal_backend", NULL, CONFIG_STR, AT(gateway.terminal_backend),
	  "", 0, 0, NULL, NULL, CONFIG_SAFETY,
	  "Backend of every session that comes from a platform; wins over "
	  "terminal.backend. Only here does `local` count for them." },
	{ "gateway.sandbox_image", NULL, CONFIG_STR, AT(gateway.sandbox_image), "", 0,
	  0, NULL, NULL, CONFIG_SAFETY, "Image for gateway.terminal_backend." },
	{ "gateway.sandbox_lifetime", NULL, CONFIG_INT,
	  AT(gateway.sandbox_lifetime_s), "", 0, YEAR, NULL, NULL, CONFIG_SAFETY,
	  "Idle seconds until such a sandbox is torn down; 0: never; absent: "
	  "terminal.lifetime_seconds." },
	{ "gateway.user", NULL, CONFIG_STR, AT(gateway.user), "", 0, 0, NULL, NULL,
	  CONFIG_SAFETY, "Whom gatehouse becomes when root starts it; only the "
	  "launcher of sandboxes stays root." },
	{ "gateway.sandbox_scope", "sandbox_scope", CONFIG_ENUM,
	  AT(gateway.sandbox_scope), "session", 0, 0, "session|user|shared", NULL,
	  CONFIG_SAFETY, "Who shares a sandbox and its workspace: nobody but the "
	  "conversation itself, all conversations of a person, or all." },
	{ "gateway.workspace_retention", "workspace_retention", CONFIG_INT,
	  AT(gateway.workspace_retention), "0", 0, 36500, NULL, NULL, CONFIG_SAFETY,
	  "Days after which a workspace that nobody used is deleted; 0: never." },
	{ "gateway.pending_max_age", NULL, CONFIG_SECONDS,
	  AT(gateway.pending_max_age), "0", 0, YEAR, NULL, NULL, 0,
	  "What waited at the platform for longer is not answered, and each such "
	  "message is told so; 0: all is answered." },
	{ "gateway.allowed_users", NULL, CONFIG_IDS, AT(gateway.allowed_users), "", 0,
	  0, NULL, "GATEWAY_ALLOWED_USERS", CONFIG_SAFETY,
	  "User ids that may talk on every platform." },
	{ "gateway.allow_all_users", NULL, CONFIG_BOOL, AT(gateway.allow_all_users),
	  "false", 0, 0, NULL, "GATEWAY_ALLOW_ALL_USERS", CONFIG_SAFETY,
	  "Everybody may talk on every platform that has no list of its own." },

	{ "platforms.telegram.enabled", NULL, CONFIG_BOOL, AT(telegram.enabled),
	  "true", 0, 0, NULL, NULL, CONFIG_SAFETY,
	  "Serve Telegram if there is a token." },
	{ "platforms.telegram.token", "platforms.telegram.bot_token", CONFIG_STR,
	  AT(telegram.token), "", 0, 0, NULL, "TELEGRAM_BOT_TOKEN",
	  CONFIG_SECRET | CONFIG_SAFETY, "Bot token from @BotFather." },
	{ "platforms.telegram.base_url", NULL, CONFIG_URL, AT(telegram.base_url),
	  "https://api.telegram.org", 0, 0, NULL, NULL, CONFIG_SAFETY,
	  "Root of the Bot API, with or without a trailing /bot." },
	{ "platforms.telegram.allowed_users", "platforms.telegram.allow_from",
	  CONFIG_IDS, AT(telegram.allowed_users), "", 0, 0, NULL,
	  "TELEGRAM_ALLOWED_USERS", CONFIG_SAFETY,
	  "User ids that may talk; empty: nobody." },
	{ "platforms.telegram.allow_all_users", NULL, CONFIG_BOOL,
	  AT(telegram.allow_all_users), "false", 0, 0, NULL,
	  "TELEGRAM_ALLOW_ALL_USERS", CONFIG_SAFETY, "Everybody may talk." },
	{ "platforms.telegram.group_allowed_users",
	  "platforms.telegram.group_allow_from", CONFIG_IDS,
	  AT(telegram.group_allowed_users), "", 0, 0, NULL,
	  "TELEGRAM_GROUP_ALLOWED_USERS", CONFIG_SAFETY,
	  "User ids that may talk in groups only." },
	{ "platforms.telegram.group_allowed_chats", NULL, CONFIG_IDS,
	  AT(telegram.group_allowed_chats), "", 0, 0, NULL,
	  "TELEGRAM_GROUP_ALLOWED_CHATS", CONFIG_SAFETY,
	  "Group ids in which every member may talk." },
	{ "platforms.telegram.allow_admin_from", NULL, CONFIG_IDS,
	  AT(telegram.admins), "", 0, 0, NULL, NULL, CONFIG_SAFETY,
	  "User ids that may answer everybody's questions and use every command; if "
	  "any are named, others may use only user_allowed_commands." },
	{ "platforms.telegram.group_allow_admin_from", NULL, CONFIG_IDS,
	  AT(telegram.group_admins), "", 0, 0, NULL, NULL, CONFIG_SAFETY,
	  "The same in groups." },
	{ "platforms.telegram.user_allowed_commands", NULL, CONFIG_LIST,
	  AT(telegram.user_commands), "", 0, 0, NULL, NULL, CONFIG_SAFETY,
	  "Commands (without the slash) that people who are no admins may use." },
	{ "platforms.telegram.group_user_allowed_commands", NULL, CONFIG_LIST,
	  AT(telegram.group_user_commands), "", 0, 0, NULL, NULL, CONFIG_SAFETY,
	  "The same in groups." },
	{ "platforms.telegram.require_mention", NULL, CONFIG_BOOL,
	  AT(telegram.require_mention), "false", 0, 0, NULL,
	  "TELEGRAM_REQUIRE_MENTION", CONFIG_SAFETY,
	  "In groups only messages that address the bot count." },

	{ "approvals.mode", NULL, CONFIG_ENUM, AT(approvals.mode), "manual", 0, 0,
	  "manual|smart|off", NULL, CONFIG_SAFETY,
	  "Who decides about risky commands: people; a model that may allow, ask or "
	  "refuse (smart); nobody, they run (off)." },
	{ "approvals.timeout", NULL, CONFIG_SECONDS, AT(approvals.timeout), "60", 5,
	  YEAR, NULL, NULL, CONFIG_SAFETY,
	  "How long a question on the console waits; silence means no." },
	{ "approvals.gateway_timeout", NULL, CONFIG_SECONDS,
	  AT(approvals.gateway_timeout), "300", 5, YEAR, NULL, NULL, CONFIG_SAFETY,
	  "How long a question in a chat waits; silence means no." },
	{ "approvals.in_sandbox", NULL, CONFIG_ENUM, AT(approvals.in_sandbox),
	  "allow", 0, 0, "allow|ask", NULL, CONFIG_SAFETY,
	  "ask: also isolated sandboxes ask about risky commands." },
	{ "approvals.cron_mode", NULL, CONFIG_ENUM, AT(approvals.cron_mode), "deny",
	  0, 0, "deny|approve", NULL, CONFIG_SAFETY,
	  "What becomes of a risky command of a scheduled run, where nobody can be "
	  "asked." },
	{ "approvals.smart_policy", NULL, CONFIG_STR, AT(approvals.smart_policy), "",
	  0, 0, NULL, NULL, CONFIG_SAFETY,
	  "Your own words to the model that reviews commands in mode smart." },
	{ "approvals.deny", NULL, CONFIG_LIST, AT(approvals.deny), "", 0, 0, NULL,
	  NULL, CONFIG_SAFETY, "Patterns of commands that never run." },
	{ "approvals.approvers", NULL, CONFIG_IDS, AT(approvals.approvers), "", 0, 0,
	  NULL, NULL, CONFIG_SAFETY,
	  "Who may approve: an id of the asker's platform, or telegram:ID; empty: "
	  "whoever asked, and the admins." },
	{ "auxiliary.approval.provider", NULL, CONFIG_ENUM, AT(reviewer.provider),
	  "auto", 0, 0, "auto|main|custom", NULL, 0,
	  "Who reviews in mode smart: custom is base_url below, else the main "
	  "model's server." },
	{ "auxiliary.approval.model", NULL, CONFIG_STR, AT(reviewer.model), "", 0, 0,
	  NULL, NULL, 0, "Its name; empty: the main model's." },
	{ "auxiliary.approval.base_url", NULL, CONFIG_URL, AT(reviewer.base_url), "",
	  0, 0, NULL, NULL, 0, "Another OpenAI-compatible server for it." },
	{ "auxiliary.approval.api_key", NULL, CONFIG_STR, AT(reviewer.api_key), "", 0,
	  0, NULL, NULL, CONFIG_SECRET, "Key for that server." },
	{ "command_allowlist", NULL, CONFIG_LIST, AT(command_allowlist), "", 0, 0,
	  NULL, NULL, CONFIG_SAFETY, "Rules that were approved for always." },

	{ "group_sessions_per_user", NULL, CONFIG_BOOL, AT(group_sessions_per_user),
	  "true", 0, 0, NULL, NULL, 0,
	  "In groups everybody has a conversation of his own." },
	{ "thread_sessions_per_user", NULL, CONFIG_BOOL,
	  AT(thread_sessions_per_user), "false", 0, 0, NULL, NULL, 0,
	  "In threads and topics, too; else a thread is shared." },

	{ "display.busy_input_mode", NULL, CONFIG_ENUM, AT(display.busy_input_mode),
	  "interrupt", 0, 0, "interrupt|queue", "HERMES_GATEWAY_BUSY_INPUT_MODE", 0,
	  "What a new message does to a run under way." },

	{ "display.background_process_notifications", NULL, CONFIG_ENUM,
	  AT(display.background_process_notifications), "all", 0, 0,
	  "all|result|error|off", "HERMES_BACKGROUND_NOTIFICATIONS", 0,
	  "What you are told of background processes besides the model's own "
	  "words: their ends and watched lines, ends, failures, nothing." },
	{ "display.platforms.telegram.streaming", NULL, CONFIG_ENUM,
	  AT(display.telegram_streaming), "auto", 0, 0, "auto|true|false", NULL, 0,
	  "Shows answers while they come; auto: as streaming.enabled says." },
	{ "session_reset.mode", NULL, CONFIG_ENUM, AT(session_reset.mode), "none",
	  0, 0, "none|idle|daily|both", NULL, 0,
	  "Ends a conversation that rests: after idle_minutes, at at_hour, or both." },
	{ "session_reset.at_hour", NULL, CONFIG_INT, AT(session_reset.at_hour), "4",
	  0, 23, NULL, "SESSION_RESET_HOUR", 0, "Local hour of the daily reset." },
	{ "session_reset.idle_minutes", NULL, CONFIG_INT,
	  AT(session_reset.idle_minutes), "1440", 1, 5256000, NULL,
	  "SESSION_IDLE_MINUTES", 0, "Minutes without a word until the idle reset." },
	{ "session_reset.notify", NULL, CONFIG_BOOL, AT(session_reset.notify),
	  "true", 0, 0, NULL, NULL, 0, "Says in the chat that a new one begins." },
	RESET("reset_by_type.dm", reset_dm, "private chats"),
	RESET("reset_by_type.group", reset_group, "groups and channels"),
	RESET("reset_by_type.thread", reset_thread, "threads and topics"),
	RESET("reset_by_platform.telegram", reset_telegram,
	    "all chats of Telegram, whatever reset_by_type says"),
	{ "streaming.enabled", "gateway.streaming.enabled", CONFIG_BOOL,
	  AT(streaming.enabled), "false", 0, 0, NULL, NULL, 0,
	  "Shows an answer while it comes: one message that is edited." },
	{ "streaming.transport", "gateway.streaming.transport", CONFIG_ENUM,
	  AT(streaming.transport), "auto", 0, 0, "auto|draft|edit|off", NULL, 0,
	  "How it is shown: auto, draft and edit all edit a message; off: not." },
	{ "streaming.edit_interval", "gateway.streaming.edit_interval",
	  CONFIG_SECONDS, AT(streaming.edit_interval), "0.8", 0, 60, NULL, NULL, 0,
	  "Seconds between two edits, at least." },
	{ "streaming.buffer_threshold", "gateway.streaming.buffer_threshold",
	  CONFIG_INT, AT(streaming.buffer_threshold), "24", 1, 100000, NULL, NULL,
	  0, "Bytes that are shown at once; fewer wait for edit_interval." },
	{ "streaming.cursor", "gateway.streaming.cursor", CONFIG_STR,
	  AT(streaming.cursor), " \xe2\x96\x89", 0, 0, NULL, NULL, 0,
	  "Stands at the end of a text that still comes." },

#include "gateway/config_rows_native.inc"
	{ "local.user", NULL, CONFIG_STR, AT(local.user), "", 0, 0, NULL, NULL,
	  CONFIG_SAFETY, "User that commands of backend local run as; must be "
	  "written when gatehouse runs as root." },

	{ "ssh.host_keys", NULL, CONFIG_ENUM, AT(ssh.host_keys), "known", 0, 0,
	  "known|accept-new", NULL, CONFIG_SAFETY,
	  "accept-new writes down the key of a host that is not known yet. A changed "
	  "key is always refused." },
	{ "ssh.known_hosts", NULL, CONFIG_PATH, AT(ssh.known_hosts), "", 0, 0, NULL,
	  NULL, CONFIG_SAFETY,
	  "File of known host keys; empty: ~/.ssh/known_hosts." },

	{ "network.proxy", NULL, CONFIG_STR, AT(network.proxy), "", 0, 0, NULL,
	  "HTTPS_PROXY https_proxy ALL_PROXY all_proxy",
	  CONFIG_SECRET | CONFIG_SAFETY,
	  "Proxy of gatehouse's own traffic: http://..., socks5h://..." },
	{ "network.no_proxy", NULL, CONFIG_STR, AT(network.no_proxy), "", 0, 0, NULL,
	  "NO_PROXY no_proxy", CONFIG_SAFETY, "Hosts that are reached directly." },
	{ "network.ca_file", NULL, CONFIG_PATH, AT(network.ca_file), "", 0, 0, NULL,
	  "SSL_CERT_FILE", CONFIG_SAFETY, "Certificates to trust instead of the "
	  "system's." },

	{ "code_execution.timeout", NULL, CONFIG_SECONDS,
	  AT(code_execution.timeout), "300", 1, 3600, NULL, NULL, 0,
	  "Time limit of a script of execute_code, the calls it makes included." },
	{ "code_execution.max_tool_calls", NULL, CONFIG_INT,
	  AT(code_execution.max_tool_calls), "50", 1, 1000, NULL, NULL, 0,
	  "Tool calls that one script may make." },
	{ "tool_output.max_bytes", NULL, CONFIG_INT, AT(tool_output.max_bytes),
	  "50000", 1000, 1000000, NULL, NULL, 0,
	  "Bytes of a command's output that the model sees." },
	{ "delivery.unknown", NULL, CONFIG_ENUM, AT(delivery.unknown), "ask", 0, 0,
	  "ask|repeat_labelled", NULL, 0,
	  "After a send whose outcome is unknown: say so with a resend button, or "
	  "send again with a label." },
	{ "logging.level", NULL, CONFIG_ENUM, AT(logging.level), "info", 0, 0,
	  "error|warn|info|debug|trace", NULL, 0, "How much is logged." },
	{ "timezone", NULL, CONFIG_STR, AT(timezone), "", 0, 0, NULL,
	  "HERMES_TIMEZONE", 0,
	  "Zone of times shown to people, e.g. Europe/Berlin; empty: the host's." },
};
const size_t config_nkeys = ARRAY_LEN(config_keys);

const struct config_change config_changes[] = {
	{ 0, NULL, NULL },
};

const struct config_key *
config_key_find(const char *path)
{
	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *key = &config_keys[i];

		if (key->path && strcmp(key->path, path) == 0)
			return key;
		if (key->alias && strcmp(key->alias, path) == 0)
			return key;
	}
	return NULL;
}

const char *
config_key_name(const struct config_key *key)
{
	return key->path ? key->path : key->env;
}

const char *const config_platforms[] = {
#define PLATFORM(name) #name,
#include "platforms/list.h"
#undef PLATFORM
};
const size_t config_nplatforms = ARRAY_LEN(config_platforms);

/* path begins with word and ends there or goes on with a dot. */
static bool
begins_with(const char *path, const char *word)
{
	size_t len = strlen(word);

	return strncmp(path, word, len) == 0 && (!path[len] || path[len] == '.');
}

char *
config_canonical(const char *path)
{
	const char *rest = path;

	if (begins_with(rest, "gateway.platforms"))
		rest += strlen("gateway.");
	if (begins_with(rest, "platforms") && rest[strlen("platforms")])
		rest += strlen("platforms.");
	for (size_t i = 0; i < config_nplatforms; i++) {
		const char *name = config_platforms[i];
		const char *tail;

		if (!begins_with(rest, name))
			continue;
		tail = rest + strlen(name);
		if (begins_with(tail, ".extra"))
			tail += strlen(".extra");
		return mem_printf("platforms.%s%s", name, tail);
	}
	if (begins_with(path, "gateway.platforms"))
		return mem_str(path + strlen("gateway."));
	return mem_str(path);
}

static bool
below(const char *path, const char *section)
{
	size_t len = strlen(section);

	return path && strncmp(path, section, len) == 0 && path[len] == '.';
}

bool
config_is_section(const char *path)
{
	for (size_t i = 0; i < config_nkeys; i++)
		if (below(config_keys[i].path, path) ||
		    below(config_keys[i].alias, path))
			return true;
	return false;
}

bool
config_is_safety(const char *path)
{
	CLEANUP_FREE char *section = mem_str(path);
	const struct config_key *key = config_key_find(path);
	char *dot;

	if (key)
		return key->flags & CONFIG_SAFETY;
	while ((dot = strrchr(section, '.'))) {
		*dot = '\0';
		for (size_t i = 0; i < config_nkeys; i++)
			if (config_keys[i].flags & CONFIG_SAFETY &&
			    below(config_keys[i].path, section))
				return true;
	}
	return false;
}

void
config_each_env(const struct config_key *key,
	void (*cb)(void *arg, const char *name), void *arg)
{
	for (const char *p = key->env; p && *p; ) {
		size_t len = strcspn(p, " ");
		CLEANUP_FREE char *name = mem_strn(p, len);

		cb(arg, name);
		p += len;
		p += *p == ' ';
	}
}
