/* Whether commands of backend native are alone with their uid (rules 5.4). */
#ifndef GATEHOUSE_DOCTOR_UID_H
#define GATEHOUSE_DOCTOR_UID_H

#include <sys/types.h>

#include "base/buf.h"

/*
 * Processes with this uid that no launcher of ours has started: how many, and
 * the first ones as "PID (NAME), ..." in out.
 */
unsigned doctor_uid_foreign(uid_t uid, struct buf *out);

#endif
