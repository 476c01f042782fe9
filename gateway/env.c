#include "gateway/env.h"

#include <string.h>

#include "base/mem.h"
#include "base/redact.h"

const char *
env_find(const char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

bool
env_name_valid(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			c == '_';

		if (!letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return len > 0;
}

bool
env_name_secret(const char *name, size_t len)
{
	static const char *const ends[] = {
		"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS",
		"WEBHOOK_URL", "DSN",
	};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t n = strlen(ends[i]);

		if (len >= n && memcmp(name + len - n, ends[i], n) == 0)
			return true;
	}
	return false;
}

void
env_hide_secrets(char **envp)
{
	for (; *envp; envp++) {
		char *equals = strchr(*envp, '=');

		if (!equals || !env_name_secret(*envp, (size_t)(equals - *envp)))
			continue;
		redact_add_secret(equals + 1);
		explicit_bzero(equals + 1, strlen(equals + 1));
	}
}
