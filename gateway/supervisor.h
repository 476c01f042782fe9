/*
 * Tells the supervisor that started us how we are: sd_notify(3)'s datagrams to
 * $NOTIFY_SOCKET, without its library.  Without that variable nothing is said.
 *
 * The watchdog ($WATCHDOG_USEC, for $WATCHDOG_PID if that is set) is pinged
 * twice as often as it asks for, from a timer of the loop and only while
 * `alive` says that the rest makes progress: a loop that hangs, or a store that
 * does, is a ping that fails to come (rules 3.4).
 */
#ifndef GATEHOUSE_SUPERVISOR_H
#define GATEHOUSE_SUPERVISOR_H

#include <stdbool.h>

#include "base/loop.h"

struct supervisor;

/* Takes the variables out of the environment: no child is to use them. */
struct supervisor *supervisor_new(struct loop *loop, bool (*alive)(void *arg),
	void *arg);
void supervisor_free(struct supervisor **supervisor);

void supervisor_ready(struct supervisor *supervisor);	/* and pings from now on */
void supervisor_stopping(struct supervisor *supervisor);

#endif
