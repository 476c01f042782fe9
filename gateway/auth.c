#include "gateway/auth.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define STRANGERS_MAX 256

void
auth_init(struct auth *auth, const struct auth_rule *rules, size_t nrules)
{
	auth->rules = rules;
	auth->nrules = nrules;
	auth->refused = 0;
	map_init(&auth->told);
}

void
auth_done(struct auth *auth)
{
	map_done(&auth->told);
}

static bool
list_has(const char *const *list, const char *id)
{
	for (; list && *list && id[0]; list++)
		if (strcmp(*list, "*") == 0 || strcmp(*list, id) == 0)
			return true;
	return false;
}

static const struct auth_rule *
find_rule(const struct auth *auth, const char *platform)
{
	for (size_t i = 0; i < auth->nrules; i++)
		if (strcmp(auth->rules[i].platform, platform) == 0)
			return &auth->rules[i];
	return NULL;
}

static bool
rule_allows(const struct auth_rule *rule, const struct msg *msg)
{
	if (rule->allow_all && msg->user_id[0])
		return true;
	if (msg->chat_type != CHAT_DM &&
	    (list_has(rule->group_chats, msg->chat_id) ||
	    list_has(rule->group_users, msg->user_id)))
		return true;
	return list_has(rule->users, msg->user_id);
}

bool
auth_allows(struct auth *auth, const struct msg *msg)
{
	const struct auth_rule *rule = find_rule(auth, msg->platform);

	if (!msg->from_bot && rule && rule_allows(rule, msg))
		return true;
	auth->refused++;
	if (auth->told.used < STRANGERS_MAX && msg->user_id[0] &&
	    !map_get(&auth->told, msg->user_id)) {
		map_set(&auth->told, msg->user_id, auth);
		log_info("auth", NULL, "platform=%s user=%s chat=%s refused: not "
		    "in the allow list; add the id to it if this person may "
		    "use the assistant", msg->platform, msg->user_id,
		    msg->chat_id);
	}
	return false;
}

bool
auth_addressed(const struct auth *auth, const struct msg *msg)
{
	const struct auth_rule *rule = find_rule(auth, msg->platform);

	return msg->chat_type == CHAT_DM || msg->mentions_bot ||
	    msg->reply_to_bot || !rule || !rule->require_mention;
}

bool
auth_allows_user(const struct auth *auth, const char *platform,
    const char *user_id)
{
	const struct auth_rule *rule = find_rule(auth, platform);

	return rule && ((rule->allow_all && user_id[0]) ||
	    list_has(rule->users, user_id) ||
	    list_has(rule->group_users, user_id));
}
