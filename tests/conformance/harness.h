/*
 * What the cases of the conformance suite stand on: one backend, a real loop,
 * a real launcher, and commands that are waited for.
 */
#ifndef GATEHOUSE_TESTS_CONFORMANCE_HARNESS_H
#define GATEHOUSE_TESTS_CONFORMANCE_HARNESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "sandbox/docker.h"
#include "sandbox/sandbox.h"
#include "sandbox/singularity.h"
#include "sandbox/ssh.h"
#include "tests/real.h"

struct cf {
	struct real real;
	const char *backend;
	struct sandboxes *sb;
	struct sandbox_opts opts;
	char dir[64];		/* state directory and, for local, first directory */
	struct sandbox_props props;
	unsigned alarms;
};

/* One command and what came of it. */
struct ran {
	struct cf *cf;
	struct op *op;
	bool done;
	int code;
	char *output, *error, *note, *cwd, *process, *spool, *spool_id;
	size_t output_len;
	unsigned long long total;
	bool started, lost, pty;
	struct buf raw[2];	/* as it streamed: stdout, stderr */
};

extern struct docker_opts cf_docker;	/* of an engine's backends */
extern struct cf cf;		/* the suite's only one */
extern const struct sandbox_key key_a, key_b;

/* ssh.c: NULL, or why there is no sshd here. */
const char *cf_ssh_start(void);
const struct ssh_opts *cf_ssh(void);
void cf_ssh_stop(void);
void ssh_add(void);
/* singularity.c: NULL, or why it can't run here. */
const char *cf_singularity_start(void);
const struct singularity_opts *cf_singularity(void);
const char *cf_singularity_image(void);
void cf_singularity_stop(void);
void singularity_add(void);

void cf_start(const char *backend);	/* and proves it */
void cf_stop(void);
void cf_close(void);			/* all of the sandboxes, and frees them */
/* As another process would: also a new launcher, which is sealed only once. */
void cf_restart(void);

/* Permit included. NULL fields of cmd are filled in. */
void cf_begin(struct ran *r, const struct sandbox_key *key,
	const struct sandbox_cmd *cmd);
/* With this permit, whatever it is; the key is key_a. */
void cf_begin_with(struct ran *r, const struct sandbox_cmd *cmd,
	struct permit **permit);
void cf_wait(struct ran *r);
void cf_run(struct ran *r, const char *command);	/* key_a, to the end */
void cf_done(struct ran *r);
struct permit *cf_permit(const struct sandbox_key *key,
	const struct sandbox_cmd *cmd);

/* Runs it and wants this output and code; frees. */
void cf_expect(const char *command, const char *output, int code);
/* Turns the loop until a file exists in the workspace, at most 20 s. */
void cf_until_output(struct ran *r, const char *text);
/* real_none_left(), and the loop turns: a far end is told by it. */
bool cf_none_left(const char *mark);
/* A number for sleep that no other process has. */
const char *cf_mark(void);

void table_add(void);
void env_add(void);
void input_add(void);
void transfer_add(void);
void life_add(void);
void output_add_cases(void);
/* Registers a case. */
void cf_case(const char *name, void (*run)(void **state), void *state);

#endif
