#include "gateway/cli_help.h"

#include <string.h>

#include "base/mem.h"

bool
cli_help_is_group(const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < cli_ncommands; i++)
		if (strncmp(cli_commands[i].words, word, len) == 0 &&
		    cli_commands[i].words[len] == ' ')
			return true;
	return false;
}

void
cli_help_usage(FILE *out, const struct cli_command *command)
{
	fprintf(out, "usage: gatehouse %s%s%s%s\n", command->words,
		command->options ? " [OPTION]..." : "", *command->args ? " " : "",
		command->args);
}

static void
print_options(FILE *out, const struct cli_option *options)
{
	for (; options && options->name; options++) {
		CLEANUP_FREE char *name = mem_printf("%s%s%s", options->name,
			options->arg ? " " : "", options->arg ? options->arg : "");

		if (options->letter)
			fprintf(out, "  -%c, --%-20s %s\n", options->letter, name,
				options->help);
		else
			fprintf(out, "      --%-20s %s\n", name, options->help);
	}
}

void
cli_help_list(FILE *out, const char *group)
{
	fprintf(out, "usage: gatehouse %s [OPTION]...\n\ncommands:\n",
		group ? group : "COMMAND");
	for (size_t i = 0; i < cli_ncommands; i++) {
		const struct cli_command *c = &cli_commands[i];
		size_t len = group ? strlen(group) : 0;
		CLEANUP_FREE char *left = mem_printf("%s%s%s", c->words,
			*c->args ? " " : "", c->args);

		if (c->needs & CLI_HIDDEN || strncmp(c->words, group ? group : "", len))
			continue;
		if (strlen(left) > 26)
			fprintf(out, "  %s\n  %-26s %s\n", left, "", c->help);
		else
			fprintf(out, "  %-26s %s\n", left, c->help);
	}
	fprintf(out, "\noptions of every command:\n");
	print_options(out, cli_global_options);
	fprintf(out, "\nSee gatehouse(1) and gatehouse.yaml(5).\n");
}

int
cli_help(const struct cli_command *command, const char *word)
{
	if (!command && word && !cli_help_is_group(word)) {
		cli_complain("unknown command '%s': see `gatehouse --help`", word);
		return CLI_USAGE;
	}
	if (!command) {
		cli_help_list(stdout, word);
		return CLI_OK;
	}
	cli_help_usage(stdout, command);
	printf("\n%s\n", command->help);
	if (command->options) {
		printf("\noptions:\n");
		print_options(stdout, command->options);
	}
	printf("\noptions of every command:\n");
	print_options(stdout, cli_global_options);
	return CLI_OK;
}
