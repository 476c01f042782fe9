#include "gateway/scope.h"

#include <string.h>

#include "base/mem.h"

enum sandbox_scope
scope_parse(const char *name)
{
	return strcmp(name, "user") == 0 ? SCOPE_USER :
		strcmp(name, "shared") == 0 ? SCOPE_SHARED : SCOPE_SESSION;
}

char *
scope_text(enum sandbox_scope scope, const char *session_key,
	const struct origin *origin)
{
	if (scope == SCOPE_SHARED)
		return mem_str("shared");
	if (scope == SCOPE_SESSION || !origin->user_id[0])
		return mem_str(session_key);
	CLEANUP_FREE char *id = route_id(origin->user_id);
	return mem_printf("user:%s:%s", origin->platform, id);
}
