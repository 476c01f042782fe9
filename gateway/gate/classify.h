/*
 * The deciding half of the gate: what a shell command would do, as a verdict.
 * Pure: no I/O, no loop, no state between calls; the same context and bytes
 * give the same verdict.  Asking people is gate.h's business.
 */
#ifndef GATEHOUSE_GATE_CLASSIFY_H
#define GATEHOUSE_GATE_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>

#define GATE_PARSE_MAX (128 * 1024)	/* longer: never, the text is kept */
#define GATE_RULES_MAX 16
#define GATE_COMMANDS_MAX 200
#define GATE_SCRIPTS_MAX 16

enum gate_level { GATE_ALLOW, GATE_ASK, GATE_NEVER };

/* What a rule is about; isolation excuses some and not others. */
enum gate_class {
	GATE_CLASS_FILES,	/* loss or change of files, processes, services */
	GATE_CLASS_CODE,	/* code that wasn't read, or can't be */
	GATE_CLASS_NETWORK,	/* something leaves, or a remote is changed */
	GATE_CLASS_CREDENTIALS,
	GATE_CLASS_DISPLAY,	/* the text would not look like what it does */
};

/* What the network of the sandbox allows. */
enum gate_network { GATE_NET_FULL, GATE_NET_FILTERED, GATE_NET_NONE };

/* A function or alias of the login shell's snapshot (rules 4.2). */
struct gate_word {
	const char *name;
	const char *body;	/* shell text: the alias, or the function's body */
	bool is_alias;
};

/* All strings are borrowed for the call; zeroed means: nothing known. */
struct gate_ctx {
	const char *workspace;	/* absolute */
	const char *home;	/* absolute */
	const char *cwd;	/* absolute; NULL: the workspace */
	const char *state_dir;	/* ours: touching it is never; NULL in sandboxes */
	const char *backend;	/* its name, for texts only */
	const long *pids;	/* gateway and launcher, where visible */
	size_t npids;
	bool isolated;		/* rules 4.1, decided from real properties */
	enum gate_network network;
	bool ask_in_sandbox;	/* approvals.in_sandbox: ask */
	const struct gate_word *words;
	size_t nwords;
	const char *const *deny;	/* approvals.deny: globs on parsed commands */
	size_t ndeny;
	const char *const *allow;	/* command_allowlist: the same */
	size_t nallow;
};

struct gate_rule {
	const char *key;	/* stable; stored by "session" and "always" */
	const char *why;	/* plain words for a person */
	enum gate_level level;
	enum gate_class class;
	bool severe;		/* always a person's decision, never a model's */
	bool denied;		/* by approvals.deny: no isolation excuses it */
};

struct arena;

struct gate_verdict {
	enum gate_level level;
	size_t nrules;
	struct gate_rule rules[GATE_RULES_MAX];	/* strictest kept when full */
	size_t ncommands;
	const char *commands[GATE_COMMANDS_MAX];	/* as resolved, for people */
	/* The one simple command that "always" may store, NULL if there is
	 * none: compounds, wrappers, interpreters, unresolved words. */
	const char *always;
	/* Files that would be run as code, absolute; a name that is only known
	 * at run time isn't among them (that asks by itself). */
	size_t nscripts;
	const char *scripts[GATE_SCRIPTS_MAX];
	size_t steps;		/* work done; linear in len */
	struct arena *arena;	/* owns all strings above */
};

/* The text may hold any bytes. ret is done with gate_verdict_done(). */
void gate_classify(const struct gate_ctx *ctx, const char *command, size_t len,
	struct gate_verdict *ret);
void gate_verdict_done(struct gate_verdict *v);
const char *gate_level_name(enum gate_level level);

/* What is left to ask where the command runs isolated (rules 4.1): "never" and
 * approvals.deny stay; with an open network so do remotes and credentials. */
enum gate_level gate_effective(const struct gate_ctx *ctx,
	const struct gate_verdict *v);
/* The same of one rule. */
bool gate_rule_counts(const struct gate_ctx *ctx, const struct gate_rule *rule);

#endif
