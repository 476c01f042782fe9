/*
 * The walker: goes through a scanned text in the order in which a shell would
 * run it, resolves what can be resolved statically, and hands each simple
 * command to its rule.  Branches are all taken.  What can't be known is kept as
 * a marker byte inside a field, so that rules see how much they know.
 */
#ifndef GATEHOUSE_GATE_WALK_H
#define GATEHOUSE_GATE_WALK_H

#include <stdint.h>

#include "gateway/gate/arena.h"
#include "gateway/gate/classify.h"
#include "gateway/gate/shell.h"

/* Markers in a field's text. Real bytes of these values become 0x06. */
#define MARK_ANY '\x01'		/* anything at all */
#define MARK_NAME '\x02'	/* something harmless: a number, a name, a date */
#define MARK_STAR '\x03'	/* active globs */
#define MARK_QUEST '\x04'
#define MARK_BRACKET '\x05'

enum field_flag {
	FIELD_ANY = 1,		/* holds MARK_ANY */
	FIELD_NAME = 2,
	FIELD_GLOB = 4,
	FIELD_SUBST = 8,	/* came (partly) from a command's output */
	FIELD_VAR = 16,		/* came (partly) from a variable */
	FIELD_QUOTED = 32,
	FIELD_PROC = 64,	/* <(...) */
	FIELD_FETCHED = 128,	/* from the network */
	FIELD_SECRET = 256,	/* from a credential */
	FIELD_DECODED = 512,	/* by base64 and its kind */
	FIELD_OWN_PID = 1024,	/* $! */
	FIELD_DATA = 2048,	/* from files or commands */
};
#define FIELD_TAINT (FIELD_FETCHED | FIELD_SECRET | FIELD_DECODED)

struct gate_field {
	const char *s;		/* NUL-terminated */
	size_t len;
	unsigned flags;
};

/* What goes through a pipe or out of a substitution. */
struct gate_flow {
	const char *text;	/* NULL: not known */
	size_t len;
	unsigned flags;		/* FIELD_* taints; FIELD_NAME: harmless words */
	const char *base;	/* names below this path, e.g. of find */
	bool present;		/* there is one */
	bool heredoc;		/* given in the command itself */
};

struct gate_cmd {
	const struct gate_field *v;
	size_t n;
	const char *name;	/* v[0] without directory */
	struct gate_flow in;
	struct gate_flow out;	/* set by the rule */
	bool wrapped;		/* reached through another command */
	bool piped;		/* its output goes into another command */
};

struct walk_var {
	struct walk_var *next;
	const char *name;
	const char *value;
	size_t len;
	unsigned flags;
	bool known;
};

struct walk_func {
	struct walk_func *next;
	struct walk_func *elder;	/* defined before it, wherever */
	const char *name;
	const struct sh_node *body;	/* NULL: an alias, or unset */
	const char *text;	/* the alias */
	bool called;
	bool unsure;		/* what it hides may be what runs */
};

struct walk_dir {		/* pushd's */
	struct walk_dir *next;
	const char *path;
};

/* What a subshell can't change for the shell around it. */
struct walk_scope {
	struct walk_var *vars;
	struct walk_var *hidden;	/* from here on: not seen by a new shell */
	struct walk_func *funcs;
	struct walk_dir *dirs;
	const char *cwd;	/* NULL: not known */
	const char *cwd_else;	/* where it is if a cd failed; NULL: none could */
	const char *cwd_before;	/* for cd -; NULL: not known */
	const struct gate_field *args;	/* $1..; NULL: not known */
	size_t nargs;
	bool errexit;		/* set -e: what fails ends it */
};

struct walk_path {		/* something this command wrote, linked, fetched */
	struct walk_path *next;
	const char *path;
	const char *target;	/* of a link */
	bool fetched;
};

struct walk {
	const struct gate_ctx *ctx;
	struct gate_verdict *out;
	struct arena *arena;
	struct walk_scope s;
	struct walk_func *all_funcs;	/* of every scope */
	struct walk_path *written;
	unsigned depth;		/* of texts in texts and of calls */
	unsigned calls;
	size_t nvars, nwritten;
	size_t commands;	/* handed to rules */
	bool tree_fetched;	/* a clone or an unpacked download */
	bool archive_fetched;
	bool ifs_changed;
	bool code_in_values;	/* a literal that arithmetic would run */
	bool made_executable;
	bool stop;		/* too complex: said, nothing more is walked */
	bool compound;
	bool in_container;	/* paths are not the host's */
	bool never_only;	/* looking into code that asks anyway */
	bool keeps_trap;	/* text that runs later, with what is defined then */
	bool excused;		/* the operator's allow list named this command */
};

/* A rule that fired. level is GATE_ASK or GATE_NEVER. */
void walk_ask(struct walk *w, enum gate_class class, const char *key,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void walk_ask_severe(struct walk *w, enum gate_class class, const char *key,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void walk_never(struct walk *w, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void walk_too_complex(struct walk *w, const char *why);

/* Shell text inside the command: -c payloads, eval, here-documents. */
void walk_text(struct walk *w, const char *text, size_t len,
	const struct gate_flow *in, struct gate_flow *ret_out);
/* The same in a new shell: no functions, variables that may not be exported. */
void walk_new_shell(struct walk *w, const char *text, size_t len,
	const struct gate_flow *in, struct gate_flow *ret_out);
/* Until the caller puts the scope back. */
void walk_enter_shell(struct walk *w);
void walk_define(struct walk *w, struct walk_func *f);
/* fields[from..] run as a command of their own, with c's input. */
void walk_fields(struct walk *w, struct gate_cmd *c, size_t from);
void walk_command(struct walk *w, struct gate_cmd *c);
void walk_node(struct walk *w, const struct sh_node *n,
	const struct gate_flow *in, struct gate_flow *ret_out);

/* expand.c */
struct field_list {
	struct gate_field *v;
	size_t n, size;
};
void expand_word(struct walk *w, const struct sh_word *word, bool split,
	struct field_list *out);
struct gate_field expand_one(struct walk *w, const struct sh_word *word);
void field_push(struct walk *w, struct field_list *list, struct gate_field f);
struct gate_field field_text(struct walk *w, const char *s, size_t len,
	unsigned flags);
bool brace_expand(struct walk *w, const struct sh_word *word,
	struct sh_word **ret_words);

/* ${v%pat} and its kind, in place, where value and pattern are known well
 * enough; false: not known. */
bool expand_trim(struct walk *w, const struct sh_part *part,
	const struct gate_field *arg, struct gate_field *v);

/* vars */
void var_set(struct walk *w, const char *name, const struct gate_field *value);
const struct walk_var *var_get(const struct walk *w, const char *name,
	size_t len);
void var_forget_since(struct walk *w, const struct walk_var *old);

#endif
