/*
 * Who may talk.  By platform id only; an empty list means nobody.  The list is
 * in memory: the check comes before anything is stored (rules 1.1).
 */
#ifndef GATEHOUSE_AUTH_H
#define GATEHOUSE_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "gateway/route.h"
#include "platforms/platform.h"

struct auth_rule {
	const char *platform;
	const char *const *users;	/* ids; "*" = everybody; NULL-terminated */
	const char *const *group_users;	/* ids that count in groups only */
	const char *const *group_chats;	/* chat ids whose every member may talk */
	/* Ids that may approve for anybody; if there are any, everybody else may
	 * use only these commands (and those that stop, refuse or help). */
	const char *const *admins, *const *user_commands;
	/* The same in groups. */
	const char *const *group_admins, *const *group_user_commands;
	bool allow_all;
	bool require_mention;	/* in groups only what addresses the bot counts */
};

struct auth {
	const struct auth_rule *rules;	/* the caller keeps them */
	size_t nrules;
	uint64_t refused;
	struct map told;	/* strangers already named in the log, bounded */
};

void auth_init(struct auth *auth, const struct auth_rule *rules, size_t nrules);
void auth_done(struct auth *auth);

/* Counts and logs (once a stranger) what it refuses. */
bool auth_allows(struct auth *auth, const struct msg *msg);
/* false: words in a group that are not for the bot. */
bool auth_addressed(const struct auth *auth, const struct msg *msg);
/*
 * Who may say yes to what `asked` asks for: named approvers; without a list the
 * asker himself and the admins.  Always by platform and id together, and only
 * who may talk at all.  Ids that several people share (anonymous admins of a
 * group, channels that speak) never decide.  The console always may: whoever
 * can open it can change the configuration.
 */
bool auth_may_approve(const struct auth *auth, const char *const *approvers,
	const struct origin *asked, const struct origin *who);

/* Somebody can decide for this asker at all: not so where only he could and his
 * id is shared. */
bool auth_has_approver(const struct auth *auth, const char *const *approvers,
	const struct origin *asked);
/* May this person use this command (no slash) there? */
bool auth_may_command(const struct auth *auth, const struct origin *who,
	const char *command);

#endif
