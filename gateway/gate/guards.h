/* Credentials and files that others obey; used by paths.c only. */
#ifndef GATEHOUSE_GATE_GUARDS_H
#define GATEHOUSE_GATE_GUARDS_H

#include "gateway/gate/rules.h"

void guard_path(struct walk *w, struct path *p);

#endif
