/*
 * The files of ownership in the state directory: gatehouse.lock and
 * control.sock.  A socket's path may be 107 bytes only, a state directory's
 * may be longer: both ends go through /proc/self/fd.
 */
#ifndef GATEHOUSE_OWNER_PATH_H
#define GATEHOUSE_OWNER_PATH_H

#include <sys/types.h>

#include "base/err.h"
#include "gateway/home.h"

/* Listening, 0600, non-blocking; the holder of the lock only. */
int owner_path_listen(const struct home *home, struct err *err);
/* Connected, blocking. ERR_NOT_FOUND: nobody listens. */
int owner_path_connect(const struct home *home, struct err *err);
void owner_path_remove(const struct home *home);
/* Pid written in the lock file by whoever holds it; 0 if nobody does. */
pid_t owner_path_holder(const struct home *home);

#endif
