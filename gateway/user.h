/*
 * gateway.user: whom gatehouse becomes when root has started it (rules 5.4).
 * What needs rights is the launcher's, which was started before.
 */
#ifndef GATEHOUSE_USER_H
#define GATEHOUSE_USER_H

#include "base/err.h"
#include "gateway/home.h"

/*
 * For good: ids, groups, no new privileges; HOME, USER and LOGNAME in the
 * environment.  A state directory that isn't there yet is made for that user
 * first; one of another owner is an error with the cure.
 */
int user_become(const char *name, struct home *home, struct err *err);

#endif
