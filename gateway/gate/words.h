/*
 * What people write to answer a question: the plain words, and the arguments of
 * /approve and /deny.  Pure.
 */
#ifndef GATEHOUSE_GATE_WORDS_H
#define GATEHOUSE_GATE_WORDS_H

#include <stdbool.h>

#include "gateway/gate/gate.h"

/* The whole text is one of the words that mean yes or no. */
bool words_plain(const char *text, enum gate_answer *ret);

struct words_args {
	bool all;
	char id[9];		/* "" none */
	enum gate_answer answer;
	const char *reason;	/* of a no: the rest of the text */
	char unknown[41];	/* of a yes: a word that means nothing here; "" */
};
/* yes: the arguments of /approve, else of /deny. */
struct words_args words_args_parse(const char *args, bool yes);

#endif
