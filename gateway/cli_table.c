/* Every command, one row each. An entry point is written by whoever owns it. */
#include "base/mem.h"
#include "gateway/approvals_cmd.h"
#include "gateway/chat.h"
#include "gateway/cli.h"
#include "gateway/config_cmd.h"
#include "gateway/doctor.h"
#include "gateway/gate/check.h"
#include "gateway/serve.h"
#include "gateway/sessions_cmd.h"
#include "gateway/sandbox_cli.h"
#include "gateway/sandbox_files.h"
#include "gateway/sandbox_list.h"
#include "gateway/sandbox_prune.h"
#include "gateway/status.h"
#include "gateway/version.h"

const struct cli_option cli_global_options[] = {
	{ "home", 0, "DIR", "state directory (GATEHOUSE_HOME, ~/.gatehouse)" },
	{ "config", 0, "FILE", "configuration instead of DIR/config.yaml" },
	{ "log-level", 0, "LEVEL", "error, warn, info, debug or trace" },
	{ "verbose", 'v', NULL, "same as --log-level debug" },
	{ "help", 'h', NULL, "this text" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_option check_options[] = {
	{ "effective", 0, NULL, "print every value in force and where it is from" },
	{ "json", 0, NULL, "print messages and values as JSON" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_option json_options[] = {
	{ "json", 0, NULL, "print JSON" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_option gate_check_options[] = {
	{ "backend", 0, "NAME", "decide as for this backend (default: no isolation)" },
	{ "json", 0, NULL, "print JSON" },
	{ "stdin", 0, NULL, "one command a line (\\\\ \\n \\t \\r \\xHH), JSON out" },
	{ "workspace", 0, "DIR", "the workspace (/home/user/workspace)" },
	{ "user-home", 0, "DIR", "the home of who runs it (/home/user)" },
	{ "cwd", 0, "DIR", "where it runs (the workspace)" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_option list_options[] = {
	{ "limit", 'n', "N", "how many (20)" },
	{ "json", 0, NULL, "print one JSON object a line" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_option export_options[] = {
	{ "format", 0, "FORM", "jsonl (one message a line) or md" },
	{ "output", 'o', "FILE", "a new file instead of standard output" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_option yes_options[] = {
	{ "yes", 'y', NULL, "do not ask" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_option prune_options[] = {
	{ "older-than", 0, "DAYS", "days without a message (90)" },
	{ "yes", 'y', NULL, "do not ask" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_option sandbox_prune_options[] = {
	{ "older-than", 0, "DAYS", "days without a command (30); 0: all" },
	{ "yes", 'y', NULL, "do not ask" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_option files_options[] = {
	{ "backend", 0, "NAME", "instead of the configured one" },
	{ "session", 0, "KEY", "in the workspace of this chat session" },
	{ "timeout", 0, "SECONDS", "of each command there (terminal.timeout)" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_option exec_options[] = {
	{ "backend", 0, "NAME", "instead of the configured one" },
	{ "session", 0, "KEY", "in the workspace of this chat session" },
	{ "timeout", 0, "SECONDS", "end it after so long (terminal.timeout)" },
	{ "network", 0, "NAME", "instead of native.network" },
	{ NULL, 0, NULL, NULL },
};

static const struct cli_option chat_options[] = {
	{ "message", 'm', "TEXT", "say this, print the answer, end" },
	{ "session", 's', "NAME", "conversation to go on with (main)" },
	{ NULL, 0, NULL, NULL },
};

const struct cli_command cli_commands[] = {
	{ "chat", "", 0, 0, "Talk to the assistant here.", chat_options,
	  CLI_NEEDS_LAUNCHER | CLI_NEEDS_CONFIG | CLI_NEEDS_HOME, chat_main },
	{ "run", "", 0, 0, "Run the gateway: serve the configured platforms.",
	  NULL, CLI_NEEDS_LAUNCHER | CLI_NEEDS_CONFIG | CLI_NEEDS_HOME,
	  serve_main },
	{ "backup", "FILE", 1, 1, "Copy the database into a new file, also while "
	  "gatehouse runs.", NULL, 0, backup_main },
	{ "config check", "[FILE]", 0, 1, "Check the configuration.",
	  check_options, 0, config_check_main },
	{ "config path", "", 0, 0, "Print where the configuration is looked for.",
	  NULL, 0, config_path_main },
	{ "config set", "KEY VALUE...", 2, 1001, "Write one key; comments and the "
	  "rest of the file stay. A secret is read: give - and standard input.",
	  NULL, CLI_NEEDS_HOME, config_set_main },
	{ "config dump-docs", "yaml|env|man1|man5|defaults|backends|bash", 1, 1,
	  "Print documentation made from the table of keys.", NULL,
	  CLI_HIDDEN | CLI_STANDALONE, config_dump_docs_main },
	{ "approvals list", "", 0, 0, "List what was asked and decided, newest "
	  "first.", json_options, 0, approvals_list_main },
	{ "approvals grants", "", 0, 0, "List what is allowed beyond one command, "
	  "of the running gatehouse.", json_options, 0, approvals_grants_main },
	{ "approvals revoke", "[SESSION]", 0, 1, "Take back what is allowed beyond "
	  "one command, of one session or of all.", NULL, 0,
	  approvals_revoke_main },
	{ "doctor", "", 0, 0, "Try what a start needs; say what is wrong and the cure.",
	  json_options, CLI_NEEDS_HOME | CLI_TRIES_LAUNCHER, doctor_main },
	{ "gate check", "[--] [COMMAND...]", 0, 1000, "Show what the approval gate "
	  "would decide; nothing runs. Exit status 0 allow, 10 ask, 20 never.",
	  gate_check_options, CLI_STANDALONE, gate_check_main },
	{ "sessions list", "", 0, 0, "List conversations, newest first.",
	  list_options, 0, sessions_list_main },
	{ "sessions show", "SESSION", 1, 1, "Print a conversation. SESSION is an "
	  "id or its beginning, a title, or a session key.",
	  json_options, 0, sessions_show_main },
	{ "sessions export", "SESSION", 1, 1, "Write a conversation out.",
	  export_options, 0, sessions_export_main },
	{ "sessions search", "WORDS...", 1, 100, "Find words in conversations, in "
	  "any language.", list_options, 0, sessions_search_main },
	{ "sessions rename", "SESSION [TITLE...]", 1, 100, "Give a conversation "
	  "a title, or none.", NULL, 0, sessions_rename_main },
	{ "sessions delete", "SESSION...", 1, 100, "Erase conversations.",
	  yes_options, 0, sessions_delete_main },
	{ "sessions prune", "", 0, 0, "Erase conversations that are old.",
	  prune_options, 0, sessions_prune_main },
	{ "sandbox list", "", 0, 0, "List the sandboxes that are open now.",
	  json_options, 0, sandbox_list_main },
	{ "sandbox prune", "", 0, 0, "Delete workspaces that were not used for long. "
	  "Those in use stay.", sandbox_prune_options,
	  CLI_NEEDS_LAUNCHER | CLI_NEEDS_CONFIG | CLI_NEEDS_HOME,
	  sandbox_prune_main },
	{ "sandbox exec", "-- COMMAND...", 1, 1000, "Run one command in a sandbox, its "
	  "input empty, and exit with its code.", exec_options,
	  CLI_NEEDS_LAUNCHER | CLI_NEEDS_CONFIG | CLI_NEEDS_HOME,
	  sandbox_exec_main },
	{ "sandbox put", "FILE [DIRECTORY]", 1, 2, "Copy a file or a directory into a "
	  "directory of a sandbox (its workspace).", files_options,
	  CLI_NEEDS_LAUNCHER | CLI_NEEDS_CONFIG | CLI_NEEDS_HOME,
	  sandbox_put_main },
	{ "sandbox get", "FILE [DIRECTORY]", 1, 2, "Copy a file or a directory of a "
	  "sandbox into a directory here (this one).", files_options,
	  CLI_NEEDS_LAUNCHER | CLI_NEEDS_CONFIG | CLI_NEEDS_HOME,
	  sandbox_get_main },
	{ "status", "", 0, 0, "Show what runs, and what a start would use.",
	  json_options, 0, status_main },
	{ "version", "", 0, 0, "Print the version.", NULL,
	  CLI_STANDALONE, version_main },
};
const size_t cli_ncommands = ARRAY_LEN(cli_commands);
