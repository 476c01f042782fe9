/*
 * When a conversation that rested ends by itself (session_reset.*): none unless
 * the operator chose it.  Only instants are compared, so that a clock change
 * neither skips a day's reset nor does it twice.  Pure, but for the process's
 * time zone.
 */
#ifndef GATEHOUSE_RESET_POLICY_H
#define GATEHOUSE_RESET_POLICY_H

#include <stdbool.h>

#include "base/loop.h"
#include "platforms/platform.h"

struct reset_policy {
	bool idle, daily;
	msec_t idle_ms;
	int at_hour;		/* local time */
	bool notify;
};

/* Which policy holds where: of the platform, else of the kind of chat, else all. */
struct reset_rules {
	struct reset_policy all, dm, group, thread, on_platform;
	bool has_dm, has_group, has_thread;
	const char *platform;		/* of on_platform; NULL: none */
};

const struct reset_policy *reset_rule(const struct reset_rules *rules,
	const char *platform, enum chat_type type, bool in_thread);

/*
 * What was last active before this instant (Unix ms) is over; 0: nothing is.
 * An hour that a day does not have: its first moment after the gap; one that
 * comes twice: the first time.
 */
msec_t reset_boundary(const struct reset_policy *policy, msec_t now);

#endif
