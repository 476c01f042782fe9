/* Help texts, made from the table of commands. */
#ifndef GATEHOUSE_CLI_HELP_H
#define GATEHOUSE_CLI_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "gateway/cli.h"

/* word begins commands of several words: "config". */
bool cli_help_is_group(const char *word);
void cli_help_usage(FILE *out, const struct cli_command *command);
/* All commands, or those of a group. */
void cli_help_list(FILE *out, const char *group);
/* --help: of a command, of a group, or of all. Gives the exit status. */
int cli_help(const struct cli_command *command, const char *word);

#endif
