/*
 * A request as the classifier sees it: which text runs, where, and what of its
 * verdict counts there.  Pure: nothing is looked up outside the request.
 */
#ifndef GATEHOUSE_GATE_JUDGE_H
#define GATEHOUSE_GATE_JUDGE_H

#include "gateway/gate/classify.h"
#include "gateway/gate/gate.h"

/* Owned by whoever holds it; judgement_done(). */
struct judgement {
	enum gate_level level;
	char *why;		/* of the rules that count, in plain words */
	char **keys;		/* theirs, without repeats */
	size_t nkeys;
	bool severe;		/* one of them is always a person's decision */
	bool unreadable;	/* the text shows less than it does */
	char *always;		/* what "always" may store, or NULL */
	char **scripts;		/* absolute paths of script files it names */
	size_t nscripts;
};

void judge_request(const struct gate_opts *opts, const struct gate_req *req,
	struct judgement *ret);
void judgement_done(struct judgement *j);

#endif
