/*
 * sandbox.h in memory, chosen at link time.  Invariants inside: no command
 * without an unused permit for exactly these bytes in this sandbox; no command
 * starts in a sandbox while what an earlier cancel left there is dying.
 */
#ifndef GATEHOUSE_TESTS_FAKE_SANDBOX_H
#define GATEHOUSE_TESTS_FAKE_SANDBOX_H

#include "sandbox/sandbox.h"

#define FAKE_COMMANDS_MAX 4096

struct fake_command {
	char *text, *sandbox;
	uint64_t generation;
	msec_t started, ended;	/* loop time; ended 0: lives */
	bool cancelled;
	bool background, pty;
	char process[24];	/* its id */
	char input[256];
	int code;
	bool apart;		/* a tool's own: beside another command */
};

struct fake_sandbox {
	struct fake_command commands[FAKE_COMMANDS_MAX];
	size_t n;
	size_t refused;		/* attempts without a right permit */
	msec_t dying_ms;	/* how long a cancelled tree takes to die */
	bool isolated;		/* true: nothing asks */
	unsigned unable;	/* sandbox_abilities() that it has not */
	bool has_pty;
	/* The scene, as a test changes it between an ask and a start. */
	uint64_t dir_ino;
	unsigned exports;
	const char *script;	/* what every script file holds; NULL: unreadable */
	size_t changed;		/* starts refused for another scene */
	struct loop *loop;
	size_t resets, ended_processes;
	char files[64];		/* what acts on files see as /workspace */
	size_t warmed, described;
	char *wiped;		/* sandbox_key_text of the last wipe; NULL: none */
	sandbox_alarm_cb *alarm;	/* a test raises it itself */
	void *alarm_arg;
	sandbox_news_cb *news;		/* so it does with this */
	void *news_arg;
	process_event_cb *on_process;
	void *on_process_arg;
};

/* The one of this test; commands "sleep N" take N s, "fail" exits 3. */
extern struct fake_sandbox fake_sandbox;
void fake_sandbox_init(void);
void fake_sandbox_done(void);
/* The newest command that is a living background process; it must exist. */
struct fake_command *fake_sandbox_process(void);
/* It ends, or prints what is watched for. */
void fake_sandbox_end(struct fake_command *process, int code, const char *output);
void fake_sandbox_match(struct fake_command *process, const char *line);
/* The scene of a command there, as it is now; yours. */
struct scene *fake_scene_now(const char *dir, const char *const *files, size_t n);
/* How often a command with this text was started. */
size_t fake_sandbox_ran(const char *text);

#endif
