#include "gateway/cli_docs.h"

#include <string.h>

#include "gateway/cli.h"

void
cli_docs_troff(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '-')
			fputs("\\-", out);
		else if (*s == '\\')
			fputs("\\e", out);
		else
			fputc(*s, out);
	}
}

static void
print_man_options(FILE *out, const struct cli_option *options)
{
	for (; options && options->name; options++) {
		fputs(".TP\n.B ", out);
		if (options->letter)
			fprintf(out, "\\-%c, ", options->letter);
		fputs("\\-\\-", out);
		cli_docs_troff(out, options->name);
		if (options->arg)
			fprintf(out, " \\fI%s\\fR", options->arg);
		fputs("\n", out);
		cli_docs_troff(out, options->help);
		fputs("\n", out);
	}
}

static void
print_man_command(FILE *out, const struct cli_command *c)
{
	fputs(".TP\n.B ", out);
	cli_docs_troff(out, c->words);
	if (*c->args) {
		fputs(" \\fI", out);
		cli_docs_troff(out, c->args);
		fputs("\\fR", out);
	}
	fputs("\n", out);
	cli_docs_troff(out, c->help);
	fputs("\n", out);
	if (c->options) {
		fputs(".RS\n", out);
		print_man_options(out, c->options);
		fputs(".RE\n", out);
	}
}

static const char man_head[] =
	".\\\" Made by `gatehouse config dump-docs man1`; don't edit.\n"
	".TH GATEHOUSE 1 \"\" gatehouse \"User commands\"\n"
	".SH NAME\n"
	"gatehouse \\- talk to an AI assistant that runs commands in a sandbox\n"
	".SH SYNOPSIS\n.B gatehouse\n.I COMMAND\n.RI [ OPTION ]...\n"
	".SH DESCRIPTION\n"
	"gatehouse connects chat platforms and the terminal to a language model, "
	"and\nlets that model run commands in a built\\-in Linux sandbox.\n"
	"A new message cancels what is under way.\n"
	"Commands that could do harm are asked about first.\n"
	".SH COMMANDS\n";

static const char man_options[] =
	".SH OPTIONS\n"
	"Options may stand before or after the command's words;\n"
	".B \\-\\-\nends them.\n";

static const char man_tail[] =
	".SH EXIT STATUS\n"
	".TP\n.B 0\nDone.\n"
	".TP\n.B 1\nFailed.\n"
	".TP\n.B 2\nThe command line was wrong.\n"
	".TP\n.B 75\nA part was lost that a new start brings back; a supervisor "
	"should start\ngatehouse again.\n"
	".TP\n.B 78\nThe configuration must be changed by a person; a supervisor "
	"should not start\ngatehouse again.\n"
	".PP\n.B gate check\nexits with 0 (allow), 10 (ask) or 20 (never);\n"
	".B sandbox exec\nwith the status of its command, 124 if its time was up, "
	"125 if it was not run,\n130 if it was cancelled.\n"
	".SH FILES\nBelow the state directory\n"
	".RB ( \\-\\-home ,\nelse\n.BR GATEHOUSE_HOME ,\nelse\n"
	".IR ~/.gatehouse ),\n"
	"which must belong to the user who runs gatehouse and is kept private:\n"
	".TP\n.I config.yaml\nThe configuration, see\n.BR gatehouse.yaml (5);\n"
	".I config.yaml.bak\nis the file before the last change by gatehouse.\n"
	".TP\n.I .env\nSecrets, one NAME=value a line; mode 0600.\n"
	".TP\n.I state.db\nConversations, and what is under way.\n"
	".TP\n.I control.sock\nThrough it other commands reach the running "
	"gatehouse.\n"
	".TP\n.I gatehouse.lock\nHeld by the running gatehouse; contains its "
	"process id.\n"
	".SH SEE ALSO\n.BR gatehouse.yaml (5)\n";

void
cli_docs_man(FILE *out)
{
	fputs(man_head, out);
	for (size_t i = 0; i < cli_ncommands; i++)
		if (!(cli_commands[i].needs & CLI_HIDDEN))
			print_man_command(out, &cli_commands[i]);
	fputs(man_options, out);
	print_man_options(out, cli_global_options);
	fputs(man_tail, out);
}

static void
print_words(FILE *out, const struct cli_option *options)
{
	for (; options && options->name; options++)
		fprintf(out, " --%s", options->name);
}

/* What may follow the words given: first words, second words, options. */
void
cli_docs_bash(FILE *out)
{
	fputs("# Completion of gatehouse for bash. Made by "
		"`gatehouse config dump-docs bash`.\n_gatehouse()\n{\n"
		"\tlocal words='' cur=${COMP_WORDS[COMP_CWORD]}\n"
		"\tcase \"${COMP_WORDS[*]:1:COMP_CWORD-1} \" in\n", out);
	for (size_t i = 0; i < cli_ncommands; i++) {
		const struct cli_command *c = &cli_commands[i];

		if (c->needs & CLI_HIDDEN)
			continue;
		fprintf(out, "\t'%s '*) words='", c->words);
		print_words(out, c->options);
		print_words(out, cli_global_options);
		fputs("' ;;\n", out);
	}
	for (size_t i = 0; i < cli_ncommands; i++) {
		const char *words = cli_commands[i].words;
		size_t len = strcspn(words, " ");
		bool again = i > 0 &&
			strncmp(words, cli_commands[i - 1].words, len + 1) == 0;

		if (!words[len] || again)
			continue;
		fprintf(out, "\t'%.*s ') words='", (int)len, words);
		for (size_t k = 0; k < cli_ncommands; k++)
			if (strncmp(cli_commands[k].words, words, len + 1) == 0 &&
			    !(cli_commands[k].needs & CLI_HIDDEN))
				fprintf(out, " %s", cli_commands[k].words + len + 1);
		fputs("' ;;\n", out);
	}
	fputs("\t' ') words='", out);
	for (size_t i = 0; i < cli_ncommands; i++) {
		const char *words = cli_commands[i].words;
		size_t len = strcspn(words, " ");

		if (i == 0 || strncmp(words, cli_commands[i - 1].words, len) != 0)
			fprintf(out, " %.*s", (int)len, words);
	}
	print_words(out, cli_global_options);
	fputs("' ;;\n\tesac\n"
		"\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
		"}\ncomplete -o default -F _gatehouse gatehouse\n", out);
}
