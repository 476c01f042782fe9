#include "gateway/policy.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/config_opts.h"

char *
policy_people(const struct config *cfg)
{
	struct config_people people;
	size_t n = 0;
	bool all;

	config_people_init(&people, cfg);
	all = people.allow_all;
	for (; people.users[n]; n++)
		all = all || strcmp(people.users[n], "*") == 0;
	config_people_done(&people);
	if (all)
		return mem_str("everybody");
	return n ? mem_printf("%zu user id%s", n, n == 1 ? "" : "s") :
		mem_str("nobody");
}

char *
policy_line(const struct config *cfg, const struct override *where)
{
	CLEANUP_FREE char *people = policy_people(cfg);
	size_t chats = cfg->telegram.group_allowed_chats.n;
	CLEANUP_FREE char *groups = chats ?
		mem_printf(" and members of %zu group%s", chats, chats == 1 ? "" : "s") :
		mem_str("");

	return mem_printf("%s%s may talk; risky commands: %s%s; sessions run "
		"commands in %s%s", people, groups,
		strcmp(cfg->approvals.mode, "off") == 0 ? "not asked about" :
		strcmp(cfg->approvals.mode, "smart") == 0 ?
		"reviewed by a model, then asked about" : "asked about",
		strcmp(cfg->approvals.in_sandbox, "ask") == 0 ?
		" (also in isolated sandboxes)" : "",
		where->backend, where->host_commands ? ", isolated by nothing" : "");
}
