/*
 * How a command's script gets to the shell, the same on each backend that
 * starts a local bash: descriptor 3 is the give-back pipe, 4 a sealed memfd
 * with the script (an argv string ends at 128 KiB).  The reader takes the script
 * from 4, closes it and evaluates; so messages say "bash: line N", and nothing
 * but 0 to 3 is left open.  The script runs commands with 3 closed (3>&-), so
 * nothing but 0, 1, 2 reaches a command.
 */
#ifndef GATEHOUSE_SHELL_H
#define GATEHOUSE_SHELL_H

#define SHELL_PATH "/bin/bash"
#define SHELL_READER \
	"IFS= read -rd '' -u 4; exec 4<&-; eval \"$REPLY\""
#define SHELL_ARGV \
	"bash", "--noprofile", "--norc", "-c", SHELL_READER, "bash", (void *)0
enum { SHELL_FD_GIVEBACK = 3, SHELL_FD_SCRIPT = 4 };

/* Only where a tool's script talks to us (sandbox_cmd.rpc): a socket. */
enum { SHELL_FD_RPC = 5 };

#endif
