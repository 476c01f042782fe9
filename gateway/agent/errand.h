/*
 * One command that a tool of ours makes itself, in the session's sandbox: it
 * passes the gate like any other, has its row before it acts, and its output
 * comes back whole and raw (bounded).  GATE > RECORD > RUN.
 */
#ifndef GATEHOUSE_ERRAND_H
#define GATEHOUSE_ERRAND_H

#include "gateway/agent/tool.h"

struct errand_req {
	const char *call_id;
	const char *tool;		/* with args: its row, if it has effects */
	const struct json *args;
	bool effects;
	const struct file_act *act;	/* or: */
	const char *command;
	const void *input;		/* NULL: none */
	size_t input_len;
	/* What the gate judges and a person is shown: see gate_req. */
	const char *judged, *shown, *what;
	msec_t timeout_ms;		/* 0: 30 s */
	size_t output_max;		/* bytes of stdout that are kept */
};

/* Borrowed. */
struct errand_result {
	const char *refused;	/* in plain words: it was not run; NULL: it was */
	bool blocked;		/* refused by the gate or a person */
	bool lost;		/* it may have had effects */
	int exit_code;
	const char *out;	/* stdout, raw, with a NUL behind it */
	size_t len;
	bool cut;		/* there was more than output_max */
	const char *err;	/* stderr, its first bytes */
};
typedef void errand_cb(void *arg, const struct errand_result *res);

/* The op contract. req is copied. */
struct op *errand_start(const struct tool_env *env, const struct errand_req *req,
	errand_cb *cb, void *arg);
/* The result for the model of what was not run. */
struct json *errand_refusal(const struct errand_result *res);

#endif
