/* See check.h. The directories are those of an ordinary workspace below a home
 * unless options say otherwise: the answer doesn't depend on this machine. */
#include "gateway/gate/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "gateway/cli.h"
#include "gateway/gate/classify.h"

#define LINE_BYTES_MAX (4 * 1024 * 1024)

enum { EXIT_ALLOW = 0, EXIT_ASK = 10, EXIT_NEVER = 20 };

static int
hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
		c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* \\ \n \t \r \xHH; in place. Another escape stays as it is. */
static size_t
unescape(char *s, size_t len)
{
	size_t n = 0;
	for (size_t i = 0; i < len; i++) {
		char c = i + 1 < len ? s[i + 1] : '\0';
		bool byte = s[i] == '\\' && c == 'x' && i + 3 < len &&
			hex(s[i + 2]) >= 0 && hex(s[i + 3]) >= 0;
		if (byte) {
			s[n++] = (char)(hex(s[i + 2]) * 16 + hex(s[i + 3]));
			i += 3;
		} else if (s[i] == '\\' && c && strchr("\\ntr", c)) {
			s[n++] = c == 'n' ? '\n' : c == 't' ? '\t' :
				c == 'r' ? '\r' : '\\';
			i++;
		} else {
			s[n++] = s[i];
		}
	}
	return n;
}

/* Exactly these keys: what reads it may refuse others. */
static struct json *
verdict_json(const struct gate_ctx *ctx, const struct gate_verdict *v)
{
	struct json *root = json_object();
	struct json *rules = json_array(), *commands = json_array();
	for (size_t i = 0; i < v->nrules; i++) {
		struct json *r = json_object();
		json_set_str(r, "key", v->rules[i].key);
		json_set_str(r, "why", v->rules[i].why);
		json_add_take(rules, r);
	}
	for (size_t i = 0; i < v->ncommands; i++)
		json_add_take(commands, json_string(v->commands[i]));
	json_set_str(root, "verdict", gate_level_name(gate_effective(ctx, v)));
	json_set_take(root, "rules", rules);
	json_set_take(root, "commands", commands);
	return root;
}

static enum gate_level
check_one(const struct gate_ctx *ctx, const char *s, size_t len, bool as_json)
{
	struct gate_verdict v;
	gate_classify(ctx, s, len, &v);
	enum gate_level level = gate_effective(ctx, &v);
	if (as_json) {
		CLEANUP_JSON struct json *root = verdict_json(ctx, &v);
		CLEANUP_FREE char *text = json_text(root);
		printf("%s\n", text);
	} else {
		printf("%s\n", gate_level_name(level));
		bool severe = false;
		for (size_t i = 0; i < v.nrules; i++) {
			bool counts = gate_rule_counts(ctx, &v.rules[i]);

			severe |= counts && v.rules[i].severe;
			printf("  %s: %s (%s)%s\n", gate_level_name(v.rules[i].level),
				v.rules[i].key, v.rules[i].why, counts ? "" :
				"; not in an isolated sandbox");
		}
		for (size_t i = 0; i < v.ncommands; i++)
			printf("  runs: %s\n", v.commands[i]);
		if (v.always && level == GATE_ASK && !severe)
			printf("  \"always\" would allow: %s\n", v.always);
	}
	gate_verdict_done(&v);
	return level;
}

static int
check_lines(const struct gate_ctx *ctx)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	while ((n = getline(&line, &size, stdin)) > 0 && n < LINE_BYTES_MAX) {
		size_t len = (size_t)n - (line[n - 1] == '\n');
		len = unescape(line, len);
		check_one(ctx, line, len, true);
	}
	free(line);
	if (n < LINE_BYTES_MAX)
		return CLI_OK;
	cli_complain("a line is longer than 4 MiB");
	return CLI_FAIL;
}

/* The first are isolated as a rule; a running gateway looks at real properties. */
#define ISOLATED 7
static const char *const backends[] = { "native", "docker", "podman", "modal",
	"daytona", "vercel_sandbox", "e2b", "local", "ssh", "singularity",
	"apptainer", "tenki", "sprites" };

static bool
usually_isolated(const char *backend)
{
	for (size_t i = 0; i < ISOLATED; i++)
		if (strcmp(backends[i], backend) == 0)
			return true;
	return false;
}

int
gate_check_main(struct cli_ctx *cli)
{
	const char *backend = cli_option(cli, "backend");
	const char *workspace = cli_option(cli, "workspace");
	const char *home = cli_option(cli, "user-home");
	struct gate_ctx ctx = {
		.workspace = workspace ? workspace : "/home/user/workspace",
		.home = home ? home : "/home/user",
		.cwd = cli_option(cli, "cwd"),
		.backend = backend,
		.isolated = backend && usually_isolated(backend),
		.network = GATE_NET_FILTERED,
	};
	if (backend && !cli_one_of("backend", backend, backends, ARRAY_LEN(backends)))
		return CLI_USAGE;
	if (cli_option(cli, "stdin"))
		return check_lines(&ctx);
	if (cli->nargs == 0) {
		cli_complain("give a command after --, or --stdin");
		return CLI_USAGE;
	}
	CLEANUP_BUF struct buf text;
	buf_init(&text, LINE_BYTES_MAX);
	for (size_t i = 0; i < cli->nargs; i++) {
		if (i > 0)
			buf_add_char(&text, ' ');
		buf_add_str(&text, cli->args[i]);
	}
	switch (check_one(&ctx, text.data, text.len, cli_option(cli, "json"))) {
	case GATE_ALLOW:
		return EXIT_ALLOW;
	case GATE_ASK:
		return EXIT_ASK;
	case GATE_NEVER:
		break;
	}
	return EXIT_NEVER;
}
