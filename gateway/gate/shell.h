/*
 * The shell scanner: Bash text to a tree, in one pass, without running or
 * resolving anything.  What it can't read it reports as an error beside the
 * part that it could; the caller turns that into "ask".  All nodes live in the
 * caller's arena and point into the caller's text.
 */
#ifndef GATEHOUSE_GATE_SHELL_H
#define GATEHOUSE_GATE_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#include "gateway/gate/arena.h"

#define SHELL_DEPTH_MAX 64	/* nesting of commands in commands */
#define SHELL_COMMANDS_MAX 200	/* simple commands in one text */

enum sh_part_type {
	SH_LIT,			/* text, decoded where it had to be */
	SH_PARAM,		/* $name ${name...} */
	SH_SUBST,		/* $(...) `...` */
	SH_ARITH,		/* $((...)): arg holds what is inside */
	SH_PROC,		/* <(...) >(...) */
};

struct sh_node;

/* A piece of a word. `quoted`: no splitting, globbing, braces. */
struct sh_part {
	struct sh_part *next;
	enum sh_part_type type;
	bool quoted;
	char proc_dir;		/* '<' or '>' for SH_PROC */
	const char *text;	/* literal, or the parameter's name */
	size_t len;
	/* ${name OP arg}: "" none, ":-" "-" ":=" "=" ":?" "?" ":+" "+",
	 * "!" indirect, "#" length, "@P", "%" "%%" "#<" "##" removal of a
	 * pattern, "*" any other transformation. */
	const char *op;
	struct sh_word *arg;
	struct sh_node *script;	/* what a substitution runs */
};

struct sh_word {
	struct sh_word *next;
	struct sh_part *parts;
	size_t start, end;	/* bytes of the text being parsed */
};

struct sh_assign {
	struct sh_assign *next;
	const char *name;
	bool append, subscript, array;
	bool operand;		/* of declare, export ... */
	struct sh_word *index;	/* inside [...] */
	struct sh_word *value;	/* array: list; NULL is empty */
};

enum sh_redir_type {
	SH_IN, SH_OUT, SH_APPEND, SH_INOUT, SH_DUP, SH_OUT_BOTH,
	SH_HEREDOC, SH_HERESTRING,
};

struct sh_redir {
	struct sh_redir *next;
	enum sh_redir_type type;
	int fd;			/* -1: the operator's own */
	struct sh_word *target;	/* file, fd text, or the body */
	bool quoted;		/* here-document with a quoted delimiter */
};

enum sh_node_type {
	SH_SIMPLE, SH_PIPE, SH_ANDOR, SH_SEQ, SH_SUBSHELL, SH_GROUP, SH_IF,
	SH_LOOP, SH_FOR, SH_CASE, SH_CLAUSE, SH_FUNC, SH_TEST, SH_ARITH_CMD,
	SH_COPROC,
};

struct sh_node {
	struct sh_node *next;	/* sibling */
	struct sh_node *kids;
	enum sh_node_type type;
	char join;		/* how it hangs on its elder in SH_ANDOR: & or | */
	bool background;
	const char *name;	/* SH_FUNC, SH_FOR */
	bool in_args;		/* SH_FOR without "in": over "$@" */
	struct sh_word *words;
	struct sh_assign *assigns;
	struct sh_redir *redirs;
	size_t start, end;	/* bytes of the text, SH_SIMPLE */
};

struct sh_text {
	struct sh_node *root;	/* SH_SEQ; what was read before an error */
	const char *error;	/* NULL, or what couldn't be read */
	size_t commands;	/* simple commands seen */
	size_t steps;		/* work done: bytes looked at */
};

/* depth: how deep this text already hangs in others. */
void shell_parse(const char *text, size_t len, unsigned depth, struct arena *a,
	struct sh_text *ret);

#endif
