/*
 * Names of environment variables: which may never be passed into a sandbox
 * (credentials, by name and by shape), and which a command cannot leave behind
 * for the next one (what changes the meaning of later commands).  Pure.
 */
#ifndef GATEHOUSE_ENV_REFUSE_H
#define GATEHOUSE_ENV_REFUSE_H

#include <stdbool.h>

/*
 * more: further names, NULL-terminated (the credential columns of the model,
 * platform and backend tables); may be NULL.  Upper and lower case are alike.
 */
bool env_refused(const char *name, const char *const *more);

/* Whether an exported variable of this name is kept for the next command. */
bool env_may_persist(const char *name);

#endif
