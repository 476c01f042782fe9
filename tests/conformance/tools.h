/*
 * The tools of the model over the conformance suite's sandboxes: a store, a
 * gate with a person who answers, a run.  Tools are called as the model would.
 */
#ifndef GATEHOUSE_TESTS_CONFORMANCE_TOOLS_H
#define GATEHOUSE_TESTS_CONFORMANCE_TOOLS_H

#include "gateway/agent/tool.h"
#include "tests/conformance/harness.h"

struct tw {
	struct tool_env env;
	struct gate *gate;
	enum tool_phase phase;
	unsigned prompts;	/* how often a person was asked */
	bool says_no;
	unsigned yes_first;	/* but yes so often before */
	char prompt[8192];	/* the last */
	struct timer *answer;
	char request[16];
	/* the last call */
	bool done, bad_input, unknown;
	struct json *result;
};

extern struct tw tw;

void tw_start(void);
void tw_stop(void);
struct op *tw_begin(const char *tool, struct json *args);	/* takes args */
void tw_wait(void);
/* To the end; the result, which stays until the next call. Takes args. */
const struct json *tw_call(const char *tool, struct json *args);
/* {"k": "v", ...}: pairs of strings, NULL at the end. */
struct json *tw_args(const char *key, ...);
const char *tw_str(const char *key);	/* of the result; "" */
/* A command's output in key_a; borrowed until the next. */
const char *tw_shell(const char *command);
/* cf.props.workspace/name; four at a time. */
const char *tw_path(const char *name);

void files_add_cases(void);
void code_add_cases(const char *backend);

#endif
