/* For tests with a real native sandbox. */
#ifndef GATEHOUSE_TEST_REAL_NATIVE_H
#define GATEHOUSE_TEST_REAL_NATIVE_H

#include "base/buf.h"
#include "sandbox/native.h"
#include "tests/real.h"

struct nat {
	struct real real;
	struct backend_inst *inst;
	struct sandbox_props props;
	char *state, *workspace;
	struct box *box;
	bool probed, opened, closed;
	bool stops_loop;	/* the end of an open or a command ends loop_run() */
	char error[1024];	/* of the last probe, open or close */
};

struct nat_run {
	struct nat *nat;
	struct proc *proc;	/* NULL once dead */
	bool started, exited, dead;
	int pid, status;
	unsigned leftovers;
	struct buf out, err, given;
	char error[1024];
};

/* Launcher and backend, not yet tried. False: refused, error says why. */
bool nat_start(struct nat *nat, const struct native_opts *opts, const char *image);
/* Tries it; false if this machine cannot: error says why. */
bool nat_probe(struct nat *nat);
struct op *nat_open_start(struct nat *nat);	/* sets opened when it is */
bool nat_open(struct nat *nat);		/* nat->box, nat->workspace */
void nat_close(struct nat *nat);
void nat_stop(struct nat *nat);

/* In the environment of every command: for real_count(). */
const char *nat_mark(void);
enum { NAT_SPLIT = 1, NAT_KEEP = 2, NAT_RAW = 4 };
/* The script gets the wrapper's first line in front, unless NAT_RAW. */
void nat_spawn(struct nat *nat, struct nat_run *run, const char *script,
	unsigned flags, const char *input);
/* Spawns and waits until all is dead. */
void nat_run(struct nat *nat, struct nat_run *run, const char *script);
void nat_kill(struct nat_run *run);
void nat_run_done(struct nat_run *run);
/* Fails the test if code or output (NULL: any) differ. */
void nat_expect(struct nat *nat, const char *script, int code, const char *out);
int nat_exit_code(const struct nat_run *run);	/* 128 + signal for signals */

/*
 * cmocka fixtures: *state is a struct nat with an open box, or NULL where this
 * machine allows no sandbox; then NAT() skips, and the reason is on stderr.
 */
extern const struct native_opts nat_defaults;
int nat_setup(void **state);
int nat_teardown(void **state);
#define NAT(state) ({ if (!*(state)) skip(); (struct nat *)*(state); })
/* The whole program once more as uid 12345; its wait status. */
int nat_again(char **argv);

#endif
