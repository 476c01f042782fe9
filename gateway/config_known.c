#include "gateway/config_known.h"

#include <string.h>

#include "base/mem.h"

#define PLATFORM_NOTE "this platform is not part of this version"
#define BACKEND_NOTE "this backend is not part of this version"

static const struct config_known known[] = {
	{ "providers.*", NULL, NULL },
	{ "custom_providers.*", NULL, NULL },
	{ "fallback_providers.*", NULL, NULL },
	{ "credential_pool_strategies.*", NULL, NULL },
	{ "toolsets.*", NULL, NULL },
	{ "platform_toolsets.*", NULL, NULL },
	{ "compression.*", NULL, NULL },
	{ "auxiliary.*", NULL, NULL },
	{ "memory.*", NULL, NULL },
	{ "delegation.*", NULL, NULL },
	{ "privacy.*", NULL, NULL },
	{ "stt.*", NULL, NULL },
	{ "tts.*", NULL, NULL },
	{ "voice.*", NULL, NULL },
	{ "human_delay.*", NULL, NULL },
	{ "sessions.*", NULL, NULL },
	{ "session_reset.notify_exclude_platforms", NULL, NULL },
	{ "session_reset.bg_process_max_age_hours", NULL,
	  "a live background process always keeps its conversation" },
	{ "reset_by_type.*", NULL, NULL },
	{ "reset_by_platform.*", NULL, NULL },
	{ "reset_triggers.*", NULL, NULL },
	{ "quick_commands.*", NULL, NULL },
	{ "cron.*", NULL, NULL },
	{ "goals.*", NULL, NULL },
	{ "kanban.*", NULL, NULL },
	{ "checkpoints.*", NULL, NULL },
	{ "tool_loop_guardrails.*", NULL, NULL },
	{ "platform_hints.*", NULL, NULL },
	{ "hooks.*", NULL, NULL },
	{ "hooks_auto_accept", NULL, NULL },
	{ "prompt_caching.*", NULL, NULL },
	{ "mcp_servers.*", NULL, NULL },
	{ "mcp_discovery_timeout", NULL, NULL },
	{ "skills.*", NULL, NULL },
	{ "bedrock.*", NULL, NULL },
	{ "smart_model_routing.*", NULL, NULL },
	{ "dashboard.*", NULL, NULL },
	{ "onboarding.*", NULL, NULL },
	{ "updates.*", NULL, NULL },
	{ "lsp.*", NULL, NULL },
	{ "secrets.*", NULL, NULL },
	{ "prefill_messages_file", NULL, NULL },
	{ "plugins.*", NULL, NULL },
	{ "web.*", NULL, NULL },
	{ "browser.*", NULL, NULL },
	{ "code_execution.mode", NULL, NULL },
	{ "file_read_max_chars", NULL, NULL },
	{ "always_log_local", NULL, NULL },
	{ "stt_echo_transcripts", NULL, NULL },
	{ "filter_silence_narration", NULL, NULL },
	{ "session_store_max_age_days", NULL, NULL },
	{ "max_concurrent_sessions", NULL, NULL },
	{ "write_sessions_json", NULL, NULL },
	{ "multiplex_profiles", "false", NULL },
	{ "group_sessions_per_user", NULL, NULL },
	{ "thread_sessions_per_user", NULL, NULL },
	{ "unauthorized_dm_behavior", NULL,
	  "people who aren't on a list are ignored; pairing is not part of this version" },
	{ "security.redact_secrets", NULL, "secrets are always masked" },
	{ "security.*", NULL, NULL },

	{ "model.api_mode", NULL, NULL },
	{ "model.context_length", NULL, NULL },
	{ "agent.gateway_timeout", NULL, NULL },
	{ "agent.gateway_timeout_warning", NULL, NULL },
	{ "agent.gateway_notify_interval", NULL, NULL },
	{ "agent.gateway_auto_continue_freshness", NULL, NULL },
	{ "agent.clarify_timeout", NULL, NULL },
	{ "agent.image_input_mode", NULL, NULL },
	{ "agent.tool_use_enforcement", NULL, NULL },
	{ "agent.intent_ack_continuation", NULL, NULL },
	{ "agent.task_completion_guidance", NULL, NULL },
	{ "agent.parallel_tool_call_guidance", NULL, NULL },
	{ "agent.verify_on_stop", NULL, NULL },
	{ "agent.max_verify_nudges", NULL, NULL },
	{ "agent.disabled_toolsets.*", NULL, NULL },
	{ "agent.service_tier", NULL, NULL },
	{ "agent.reasoning_effort", NULL, NULL },
	{ "agent.personalities.*", NULL, NULL },
	{ "agent.verbose", NULL, NULL },
	{ "display.*", NULL, NULL },
	{ "streaming.fresh_final_after_seconds", NULL,
	  "the answer always takes the place of its preview" },
	{ "gateway.streaming.fresh_final_after_seconds", NULL,
	  "the answer always takes the place of its preview" },
	{ "agent.api_max_retries", NULL, "retries follow the kind of error" },
	{ "tool_output.max_lines", NULL, NULL },
	{ "tool_output.max_line_length", NULL, NULL },
	{ "logging.max_size_mb", NULL, NULL },
	{ "logging.backup_count", NULL, NULL },
	{ "network.force_ipv4", NULL, NULL },

	{ "approvals.single_query_mode", "deny", NULL },
	{ "approvals.unattended_mode", "deny", NULL },
	{ "approvals.denial_breaker_threshold", NULL, NULL },
	{ "approvals.mcp_reload_confirm", NULL, NULL },
	{ "approvals.destructive_slash_confirm", NULL, NULL },

	{ "terminal.modal_mode", NULL, BACKEND_NOTE },
	{ "terminal.docker_snap_compat", "false", "the hardening of containers stays on" },
	{ "terminal.docker_shared_container_key", "", "every session has a container of its own" },
	{ "terminal.modal_image", NULL, BACKEND_NOTE },
	{ "terminal.daytona_image", NULL, BACKEND_NOTE },
	{ "terminal.vercel_runtime", NULL, BACKEND_NOTE },
	{ "terminal.persistent_shell", NULL, "every sandbox keeps exports and directory" },
	{ "terminal.sandbox_dir", NULL, "workspaces are below the state directory" },
	{ "terminal.daemon_term_grace_seconds", NULL, NULL },
	{ "terminal.credential_files.*", NULL, NULL },
	{ "terminal.home_mode", NULL, NULL },
	{ "terminal.shell_init_files.*", NULL, NULL },
	{ "terminal.auto_source_bashrc", NULL, NULL },
	{ "terminal.degraded_mode", NULL, "without a sandbox commands are refused" },

	{ "gateway.platform_connect_timeout", NULL, NULL },
	{ "gateway.write_sessions_json", NULL, NULL },
	{ "gateway.scale_to_zero.*", NULL, NULL },
	{ "gateway.restart_loop_guard.*", NULL, NULL },
	{ "gateway.message_timestamps.*", NULL, NULL },
	{ "gateway.max_inbound_media_bytes", NULL, NULL },
	{ "gateway.strict", NULL, NULL },
	{ "gateway.media_delivery_allow_dirs.*", NULL, NULL },
	{ "gateway.trust_recent_files", NULL, NULL },
	{ "gateway.trust_recent_files_seconds", NULL, NULL },
	{ "gateway.api_server.*", NULL, NULL },
	{ "gateway.relay_url", "", NULL },
	{ "gateway.relay_id", NULL, NULL },
	{ "gateway.relay_secret", NULL, NULL },
	{ "gateway.relay_delivery_key", NULL, NULL },
	{ "gateway.relay_platforms.*", NULL, NULL },
	{ "gateway.multiplex_profiles", "false", NULL },

	{ "platforms.telegram.dm_policy", "allowlist",
	  "the allow lists decide" },
	{ "platforms.telegram.group_policy", "allowlist",
	  "the allow lists decide" },
	{ "platforms.telegram.allowed_chats", "", NULL },
	{ "platforms.telegram.ignored_threads", "", NULL },
	{ "platforms.telegram.unauthorized_dm_behavior", NULL,
	  "people who aren't on a list are ignored" },
	{ "platforms.telegram.home_channel.*", NULL, NULL },
	{ "platforms.telegram.reply_to_mode", NULL, NULL },
	{ "platforms.telegram.gateway_restart_notification", NULL, NULL },
	{ "platforms.telegram.typing_indicator", NULL, NULL },
	{ "platforms.telegram.channel_overrides.*", NULL, NULL },
	{ "platforms.telegram.channel_prompts.*", NULL, NULL },
	{ "platforms.telegram.channel_skill_bindings.*", NULL, NULL },
	{ "platforms.telegram.free_response_channels", NULL, NULL },
	{ "platforms.telegram.mention_patterns.*", NULL, NULL },
	{ "platforms.telegram.notice_delivery", NULL, NULL },
	{ "platforms.telegram.reply_prefix", NULL, NULL },
	{ "platforms.telegram.reply_in_thread", NULL, NULL },
	{ "platforms.telegram.reactions", NULL, NULL },
	{ "platforms.telegram.rich_messages", NULL, NULL },
	{ "platforms.telegram.rich_drafts", NULL, NULL },
	{ "platforms.telegram.webhook_url", "", "gatehouse polls" },
	{ "platforms.telegram.fallback_ips.*", NULL, NULL },

#define OTHER(name) \
	{ name ".enabled", "false", PLATFORM_NOTE }, \
	{ "platforms." name ".enabled", "false", PLATFORM_NOTE }, \
	{ name ".*", NULL, PLATFORM_NOTE }, \
	{ "platforms." name ".*", NULL, PLATFORM_NOTE },
	OTHER("discord") OTHER("slack") OTHER("whatsapp") OTHER("whatsapp_cloud")
	OTHER("signal") OTHER("matrix") OTHER("mattermost") OTHER("email")
	OTHER("sms") OTHER("dingtalk") OTHER("feishu") OTHER("wecom")
	OTHER("wecom_callback") OTHER("weixin") OTHER("bluebubbles")
	OTHER("qqbot") OTHER("yuanbao") OTHER("google_chat") OTHER("teams")
	OTHER("msgraph_webhook") OTHER("line") OTHER("ntfy") OTHER("irc")
	OTHER("simplex") OTHER("homeassistant") OTHER("photon") OTHER("raft")
	OTHER("webhook") OTHER("api_server") OTHER("relay")
#undef OTHER
};

static int
matches(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);

	if (len < 2 || strcmp(pattern + len - 2, ".*") != 0)
		return strcmp(pattern, path) == 0;
	len -= 2;
	return strncmp(pattern, path, len) == 0 && (!path[len] || path[len] == '.');
}

const struct config_known *
config_known_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (matches(known[i].path, path))
			return &known[i];
	return NULL;
}

size_t
config_known_count(void)
{
	return ARRAY_LEN(known);
}

const struct config_known *
config_known_at(size_t i)
{
	return &known[i];
}
