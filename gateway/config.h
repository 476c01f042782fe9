/*
 * The configuration: read once at start, passed down as a plain struct.
 *
 * Sources, weakest first: defaults < config.yaml < .env < process environment.
 * So TELEGRAM_BOT_TOKEN and its kind win over config.yaml.  Exception (as the
 * table's CONFIG_FILE_WINS says): for terminal.* the file wins over both
 * environments, so that a stale TERMINAL_ENV can't move commands to the host.
 * An empty variable counts as absent.  Within config.yaml a platform's key may
 * stand under `telegram:`, `platforms.telegram:` or `gateway.platforms.telegram:`,
 * with or without `extra:` between.
 *
 * What can't be understood is in the report: an error stops the start with exit
 * 78 and config_load() gives NULL.
 */
#ifndef GATEHOUSE_CONFIG_H
#define GATEHOUSE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/loop.h"
#include "gateway/report.h"

/* items is NULL-terminated and never NULL. */
struct config_list {
	char **items;
	size_t n;
};

enum config_source { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_DOTENV, CONFIG_ENV };

/* Where a row's value comes from. */
struct config_origin {
	enum config_source source;
	unsigned line;		/* of the file or .env; 0 otherwise */
	const char *env;	/* the variable's name or NULL */
	const char *kept;	/* an older version's default, to be written out */
};

/* Strings are never NULL; "" = not set. Times in milliseconds. */
struct config {
	int64_t version;
	struct {
		char *name, *provider, *base_url, *api_key, *key_env;
		int64_t max_tokens;
	} model;
	struct {		/* what the usual variables hold */
		char *openrouter, *openai, *openai_base_url;
	} keys;
	struct {
		int64_t max_turns;
		msec_t restart_drain_timeout;
		char *system_prompt, *environment_hint;
		bool environment_probe;
	} agent;
	struct {
		char *backend, *cwd, *messaging_cwd, *native_image;
		msec_t timeout, timeout_max;
		int64_t lifetime_s;
		struct config_list env_passthrough;
	} terminal;
	struct {		/* keys of section terminal for containers */
		char *image, *network, *cpu;
		struct config_list forward_env, env, volumes, extra_args;
		bool mount_cwd, host_user, persistent, persist_across, reap;
		int64_t shm_size, memory_mb, disk_mb;
	} docker;
	struct {		/* keys of section terminal for singularity */
		char *image, *scratch;
		struct config_list binds;
	} singularity;
	struct {
		char *terminal_backend, *sandbox_image, *user;
		int64_t sandbox_lifetime_s;	/* -1: not set */
		char *sandbox_scope;
		int64_t workspace_retention;	/* days; 0: never */
		msec_t pending_max_age;
		struct config_list allowed_users;
		bool allow_all_users;
	} gateway;
	struct {
		bool enabled;
		char *token, *base_url;
		struct config_list allowed_users, group_allowed_users,
			group_allowed_chats, admins, group_admins,
			user_commands, group_user_commands;
		bool allow_all_users, require_mention;
	} telegram;
	struct {
		char *mode, *in_sandbox, *cron_mode;
		msec_t timeout, gateway_timeout;
		char *smart_policy;
		struct config_list deny, approvers;
	} approvals;
	struct {		/* auxiliary.approval: who reviews in mode smart */
		char *provider, *model, *base_url, *api_key;
	} reviewer;
	struct config_list command_allowlist;
	bool group_sessions_per_user, thread_sessions_per_user;
	struct {
		char *busy_input_mode, *telegram_streaming;
		char *background_process_notifications;
	} display;
	struct {
		char *mode;
		int64_t at_hour, idle_minutes;
		bool notify;
	} session_reset;
	struct config_reset {		/* unlike session_reset, where set */
		char *mode;
		int64_t at_hour, idle_minutes;
	} reset_dm, reset_group, reset_thread, reset_telegram;
	struct {
		bool enabled;
		char *transport, *cursor;
		msec_t edit_interval;
		int64_t buffer_threshold;
	} streaming;
	struct {
		int64_t uid, memory_max, pids_max, files_max, file_size_max,
			tmp_max, tmp_total, workspace_max, cpu_seconds;
		char *minimum, *network, *cpus;
		struct config_list binds, network_allow, network_deny,
			network_ports, network_private_allow;
	} native;
	struct {
		char *user;
	} local;
	struct {
		char *host, *user, *key, *host_keys, *known_hosts;
		int64_t port;
	} ssh;
	struct {
		char *proxy, *no_proxy, *ca_file;
	} network;
	struct {
		msec_t timeout;
		int64_t max_tool_calls;
	} code_execution;
	struct {
		int64_t max_bytes;
	} tool_output;
	struct {
		char *unknown;
	} delivery;
	struct {
		char *level;
	} logging;
	char *timezone;

	char *path;			/* config.yaml as read, or looked for */
	bool file_exists;
	struct config_origin *origins;	/* one a row of the table */
};

struct config_change;

struct config_input {
	const char *file;		/* config.yaml */
	bool file_required;		/* named by the operator: must exist */
	const char *dotenv_file;	/* NULL: none */
	const char *const *environ;	/* the process environment, or NULL */
	const struct config_change *changes;	/* NULL: config_changes */
};

/* Registers every secret it reads with the masker. */
struct config *config_load(const struct config_input *in, struct report *rep);
void config_free(struct config **cfg);	/* secrets are wiped */

/* The row's value was written somewhere. path must be in the table. */
bool config_is_set(const struct config *cfg, const char *path);

/*
 * What is in force: {key: {value, from}}, secrets masked.  from is "default",
 * "config.yaml:12", ".env:3" or the variable's name.
 */
struct json *config_effective(const struct config *cfg);

#endif
