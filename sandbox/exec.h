/*
 * The text that a shell gets for each command: restores the snapshot, enters
 * the directory, evaluates the exact bytes, hands back directory and exports
 * (giveback.h), keeps the exit code.  Starts no process of its own.  Pure.
 */
#ifndef GATEHOUSE_EXEC_H
#define GATEHOUSE_EXEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define EXEC_COMMAND_MAX (1024 * 1024)	/* bytes of one command */

struct exec_text {
	const char *command;	/* no NUL within; that is checked before */
	size_t command_len;
	const char *dir;	/* absolute */
	const char *fallback;	/* where to go if dir is gone; NULL: exit 126 */
	const char *functions;	/* of the snapshot; NULL: none */
	const char *aliases;
	bool bash;		/* false: a POSIX shell, after the snapshot said so */
	bool give_back;
};

/* Appends 'text' as one word for any shell: bytes as they are. The only way
 * by which text of others gets into a command that we make. */
void exec_quote(struct buf *out, const char *s, size_t len);

bool exec_wrap(struct buf *out, const struct exec_text *t);

/*
 * The script of the first shell: reads the login files and hands back exports,
 * functions and aliases.  Runs in bash and, with less, in a POSIX shell.
 */
bool exec_snapshot(struct buf *out);

#endif
