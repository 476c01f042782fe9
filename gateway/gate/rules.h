/*
 * Rules: one function a kind of command, found by the command's name in the
 * tables of rules_*.c.  A rule looks at the fields of one simple command, says
 * what would need a yes (walk_ask, walk_never), hands on what runs inside
 * (walk_fields, walk_text), and says what comes out (c->out).
 */
#ifndef GATEHOUSE_GATE_RULES_H
#define GATEHOUSE_GATE_RULES_H

#include "gateway/gate/walk.h"

typedef void gate_rule_fn(struct walk *w, struct gate_cmd *c, const char *arg);

struct gate_kind {
	const char *names;	/* separated by blanks */
	gate_rule_fn *rule;
	const char *arg;	/* for the rule: options, key, table */
};

/* Each rules_*.c ends with one of these, closed by names == NULL. */
extern const struct gate_kind kinds_plain[], kinds_shell[], kinds_wrap[],
	kinds_interp[], kinds_text[], kinds_files[], kinds_disk[], kinds_git[],
	kinds_net[], kinds_proc[], kinds_pkg[], kinds_cloud[], kinds_data[],
	kinds_find[], kinds_system[], kinds_build[],
	kinds_fetch[], kinds_verbs[], kinds_forge[],
	kinds_grep[];

/* NULL: no such kind. */
const struct gate_kind *kind_find(const char *name);
bool kind_is_system(const char *name);	/* disks, processes, settings */
bool kind_runs_others(const char *name);	/* shells, wrappers, interpreters */

/* ---- options (opts.c) ---- */
enum { OPT_END = 0, OPT_LONG = 256, OPT_WORD = 257 };

struct opts {
	const struct gate_cmd *c;
	size_t i;		/* the field looked at next */
	size_t sub;		/* inside a cluster of short options */
	const char *shorts;	/* getopt's; only those with ':' matter */
	const char *longs;	/* names that take a value, between blanks */
	bool posix;		/* the first operand ends the options */
	bool ended;		/* "--" was seen */
	const struct gate_field *word;	/* OPT_WORD */
	size_t word_at;
	const char *name;	/* OPT_LONG, without dashes */
	size_t name_len;
	const char *val;	/* NULL: none */
	struct gate_field val_field;
};

void opts_init(struct opts *o, const struct gate_cmd *c, const char *shorts,
	const char *longs);
int opts_next(struct opts *o);	/* a short option's letter, or OPT_* */
/* The long option at hand is `full` or an abbreviation of at least min. */
bool opts_long(const struct opts *o, const char *full, size_t min);
/* Is any of these options given? letters: short ones; longs: between blanks. */
bool opts_has(const struct gate_cmd *c, const char *shorts, const char *letters,
	const char *longs);
bool field_is(const struct gate_field *f, const char *s);
bool field_starts(const struct gate_field *f, const char *s);
bool cmd_arg_is(const struct gate_cmd *c, size_t i, const char *s);
bool word_in(const char *s, size_t len, const char *list);	/* between blanks */

/* ---- paths (paths.c) ---- */
enum path_zone {
	ZONE_UNKNOWN,		/* can't be told */
	ZONE_INSIDE,		/* the workspace and below */
	ZONE_TMP,
	ZONE_STREAM,		/* /dev/null, stdout, tty */
	ZONE_DEVICE,		/* other devices */
	ZONE_BLOCK,		/* raw disks */
	ZONE_PROC,		/* /proc, /sys */
	ZONE_HOME,		/* in a home, outside the workspace */
	ZONE_SYSTEM,
	ZONE_OTHER,
};

struct path {
	enum path_zone zone;
	const char *norm;	/* absolute, without . and .. */
	bool vital;		/* losing all of it loses the machine or a home */
	bool vital_file;	/* no log-in or no start without it */
	bool all;		/* it stood for everything below norm (/ *) */
	bool glob;
	bool ours;		/* our own state directory (rules 4.5) */
	bool cred;		/* a credential lives there */
	const char *guarded;	/* why writing it is no ordinary write, or NULL */
	const char *guard_key;
};

struct path path_of(struct walk *w, const struct gate_field *f);
bool path_beneath(const char *p, const char *dir);
/* The name from another directory, without . and .. */
const char *path_from(struct walk *w, const char *dir, const char *name);
/* Where it is, NULL if that can't be told. */
const char *path_known(struct walk *w, const struct gate_field *f);
/* Each says what it finds; verb is for people: "writes", "copies into". */
void path_check_write(struct walk *w, const struct gate_field *f,
	const char *verb);
/* The same, where all that was in it is lost. */
void path_check_replace(struct walk *w, const struct gate_field *f,
	const char *verb);
void path_check_read(struct walk *w, const struct gate_field *f);
void path_check_delete(struct walk *w, const struct gate_field *f,
	bool recursive);
/* A whole tree changes its mode, owner or place. */
void path_check_tree(struct walk *w, const struct gate_field *f,
	const char *verb);
void path_note_written(struct walk *w, const struct gate_field *f, bool fetched);
void path_note_link(struct walk *w, const char *link, const char *target);
/* Was it written by this same command, or is it from the network? */
bool path_was_written(struct walk *w, const struct gate_field *f);

/* ---- shared by kinds ---- */
const char *gate_unmark(struct arena *a, const char *s);	/* globs as text again */
void rule_run_script(struct walk *w, struct gate_cmd *c, const struct gate_field *f);
void rule_env(struct walk *w, const char *name, const struct gate_field *value,
	bool exported);
void rule_program(struct walk *w, struct gate_cmd *c);	/* path-qualified names */
void rule_readers(struct walk *w, struct gate_cmd *c, size_t from);
void rule_inline(struct walk *w, const char *lang, const struct gate_field *code);
bool rule_url_local(const char *url);
bool rule_is_metadata(const char *url);
/* What leaves as a part of an address or a name. */
void rule_check_address(struct walk *w, const struct gate_field *f);
void rule_ask_sends(struct walk *w, const char *what);
/* arg: "class|key|why", asked whatever the operands are. */
void rule_says(struct walk *w, struct gate_cmd *c, const char *arg);
/* A name with a subscript that a builtin would run. */
void rule_subscript(struct walk *w, const struct gate_field *f);
/* wrappers: where the inner command starts (c->n: nowhere), by the grammar in
 * arg; the fields from there on as one text that a shell is given */
size_t rule_inner_at(const struct gate_cmd *c, const char *arg);
void rule_rest_as_text(struct walk *w, struct gate_cmd *c, size_t from);
void rule_xargs(struct walk *w, struct gate_cmd *c, const char *arg);
void rule_parallel(struct walk *w, struct gate_cmd *c, const char *arg);
/* arg: "reading subcommands or options|class|key|why". */
void rule_unless(struct walk *w, struct gate_cmd *c, const char *arg);
/* Options of any tool that write a file or name a program. */
void rule_options(struct walk *w, struct gate_cmd *c);
/* Does a value that names a program name a known, harmless one? */
bool rule_program_is_harmless(const char *value);
void rule_data_loss(struct walk *w, struct gate_cmd *c);	/* db:drop and its kind */
void rule_build(struct walk *w, struct gate_cmd *c);	/* runs project code */

#endif
