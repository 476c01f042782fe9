/* Every command, one row each. An entry point is written by whoever owns it. */
#include "base/mem.h"
#include "gateway/cli.h"
#include "gateway/config_cmd.h"
#include "gateway/doctor.h"
#include "gateway/gate/check.h"
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

const struct cli_command cli_commands[] = {
	{ "config check", "[FILE]", 0, 1, "Check the configuration.",
	  check_options, 0, config_check_main },
	{ "config path", "", 0, 0, "Print where the configuration is looked for.",
	  NULL, 0, config_path_main },
	{ "config set", "KEY VALUE...", 2, 1001, "Write one key; comments and the "
	  "rest of the file stay. A secret is read: give - and standard input.",
	  NULL, CLI_NEEDS_HOME, config_set_main },
	{ "config dump-docs", "yaml|env|man|defaults|bash", 1, 1,
	  "Print documentation made from the table of keys.", NULL,
	  CLI_HIDDEN | CLI_STANDALONE, config_dump_docs_main },
	{ "doctor", "", 0, 0, "Try what a start needs; say what is wrong and the cure.",
	  json_options, CLI_NEEDS_HOME, doctor_main },
	{ "gate check", "[--] [COMMAND...]", 0, 1000, "Show what the approval gate "
	  "would decide; nothing runs. Exit status 0 allow, 10 ask, 20 never.",
	  gate_check_options, CLI_STANDALONE, gate_check_main },
	{ "status", "", 0, 0, "Show what runs, and what a start would use.",
	  json_options, 0, status_main },
	{ "version", "", 0, 0, "Print the version.", NULL,
	  CLI_STANDALONE, version_main },
};
const size_t cli_ncommands = ARRAY_LEN(cli_commands);
