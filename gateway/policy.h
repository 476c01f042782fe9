/* The effective policy in words: who may talk, what asks, where commands run. */
#ifndef GATEHOUSE_POLICY_H
#define GATEHOUSE_POLICY_H

#include "gateway/config.h"
#include "gateway/override.h"

/* One line, without ids or secrets; caller frees. */
char *policy_line(const struct config *cfg, const struct override *where);
/* "nobody", "everybody" or "3 user ids"; caller frees. */
char *policy_people(const struct config *cfg);

#endif
