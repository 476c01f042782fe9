/*
 * The operator's own command line is its own approval: whoever can start
 * `gatehouse sandbox exec` can run the command without us.  Used by nothing that
 * serves a model or a chat.
 */
#ifndef GATEHOUSE_OPERATOR_H
#define GATEHOUSE_OPERATOR_H

#include "sandbox/permit.h"

struct permit *gate_permit_operator(const struct permit_terms *terms);

#endif
