/* The manual page gatehouse(1) and completion, made from the table of commands. */
#ifndef GATEHOUSE_CLI_DOCS_H
#define GATEHOUSE_CLI_DOCS_H

#include <stdio.h>

void cli_docs_man(FILE *out);
void cli_docs_bash(FILE *out);
/* Text for troff: hyphens and backslashes stay what they are. */
void cli_docs_troff(FILE *out, const char *s);

#endif
