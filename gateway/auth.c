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

static bool
may_talk(const struct auth_rule *rule, const struct origin *who)
{
	return (rule->allow_all && who->user_id[0]) ||
	    list_has(rule->users, who->user_id) ||
	    (who->chat_type != CHAT_DM &&
	    (list_has(rule->group_users, who->user_id) ||
	    list_has(rule->group_chats, who->chat_id)));
}

/*
 * One id for many people: Telegram's anonymous admins (GroupAnonymousBot),
 * channels in groups (Channel_Bot), service messages, and chats that speak as
 * themselves (negative ids). core.telegram.org/bots/api#message, "from".
 */
static bool
is_shared_id(const struct origin *who)
{
	static const char *const shared[] = { "1087968824", "136817688", "777000" };

	if (strcmp(who->platform, "telegram") != 0)
		return who->user_id[0] == '\0';
	for (size_t i = 0; i < ARRAY_LEN(shared); i++)
		if (strcmp(shared[i], who->user_id) == 0)
			return true;
	return who->user_id[0] == '\0' || who->user_id[0] == '-';
}

/* "platform:id", or "id" on the platform where it was asked. */
static bool
is_named(const char *const *list, const struct origin *asked,
    const struct origin *who)
{
	CLEANUP_FREE char *full = mem_printf("%s:%s", who->platform,
	    who->user_id);
	bool here = strcmp(asked->platform, who->platform) == 0;

	for (; list && *list; list++)
		if (strcmp(*list, full) == 0 ||
		    (here && strcmp(*list, who->user_id) == 0))
			return true;
	return false;
}

bool
auth_may_approve(const struct auth *auth, const char *const *approvers,
    const struct origin *asked, const struct origin *who)
{
	const struct auth_rule *rule = find_rule(auth, who->platform);

	if (!rule || is_shared_id(who) || !may_talk(rule, who))
		return false;
	if (strcmp(who->platform, "console") == 0)
		return true;	/* could change the configuration as well */
	if (approvers && *approvers)	/* a name there is a right to decide */
		return is_named(approvers, asked, who);
	if (strcmp(asked->platform, who->platform) != 0)
		return false;
	if (is_named(rule->admins, asked, who) ||
	    (asked->chat_type != CHAT_DM &&
	    is_named(rule->group_admins, asked, who)))
		return true;
	return strcmp(asked->user_id, who->user_id) == 0;
}

static bool
has_any(const char *const *list)
{
	return list && *list;
}

bool
auth_has_approver(const struct auth *auth, const char *const *approvers,
    const struct origin *asked)
{
	const struct auth_rule *rule = find_rule(auth, asked->platform);

	if (has_any(approvers) || !is_shared_id(asked))
		return true;
	return rule && (has_any(rule->admins) ||
	    (asked->chat_type != CHAT_DM && has_any(rule->group_admins)));
}

bool
auth_may_command(const struct auth *auth, const struct origin *who,
    const char *command)
{
	static const char *const floor[] = { "start", "help", "whoami", "stop",
		"deny", NULL };
	const struct auth_rule *rule = find_rule(auth, who->platform);
	bool group = who->chat_type != CHAT_DM;

	if (!rule || !has_any(group ? rule->group_admins : rule->admins) ||
	    list_has(group ? rule->group_admins : rule->admins, who->user_id) ||
	    list_has(floor, command))
		return true;
	/* Without a list of its own a private chat has that of the groups. */
	return list_has(!group && has_any(rule->user_commands) ?
	    rule->user_commands : rule->group_user_commands, command);
}
