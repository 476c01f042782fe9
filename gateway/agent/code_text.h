/*
 * What runs in the sandbox in front of a script: reads its settings and the
 * script from standard input, so that no secret and no code is in an argument
 * or the environment, makes the module hermes_tools (in memory, so nothing
 * else can import it) and runs the script.
 */
#ifndef GATEHOUSE_CODE_TEXT_H
#define GATEHOUSE_CODE_TEXT_H

#include "base/buf.h"

enum code_language { CODE_PYTHON, CODE_NODE, CODE_SHELL };

/* The shell command. CODE_SHELL: the script itself, NULL. */
const char *code_command(enum code_language language);
/* settings: "fd=5 token=HEX", or dir= in place of fd=. */
void code_input(struct buf *out, enum code_language language,
	const char *settings, const char *script);

#endif
