#include "gateway/start_dir.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

bool
start_dir_is_placeholder(const char *cwd)
{
	return !*cwd || strcmp(cwd, ".") == 0 || strcmp(cwd, "auto") == 0 ||
		strcmp(cwd, "cwd") == 0;
}

static char *
trimmed(const char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	for (n = strlen(s); n && isspace((unsigned char)s[n - 1]); n--)
		;
	return n ? mem_strn(s, n) : NULL;
}

/* What only a host has, or what is relative to somewhere on it. */
static bool
is_host_path(const char *path)
{
	static const char *const begins[] = { "/home/", "/Users/" };

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (strncmp(path, begins[i], strlen(begins[i])) == 0)
			return true;
	return path[0] != '/';
}

static char *
on_local(const struct start_dir *in)
{
	char *old = trimmed(in->messaging);

	if (!start_dir_is_placeholder(in->configured)) {
		mem_free(old);
		return mem_str(in->configured);
	}
	if (in->chat && old)
		return old;
	mem_free(old);
	return in->chat ? mem_str("~") : NULL;
}

char *
start_dir(const struct start_dir *in)
{
	bool explicit = !start_dir_is_placeholder(in->configured);

	if (!*in->backend || strcmp(in->backend, "local") == 0)
		return on_local(in);
	if (strcmp(in->backend, "native") == 0)
		return NULL;
	if (strcmp(in->backend, "ssh") == 0)
		return explicit ? mem_str(in->configured) : NULL;
	if (in->mount && explicit)
		return mem_str(in->configured);
	if (in->mount && !start_dir_is_placeholder(in->messaging))
		return trimmed(in->messaging);
	return explicit && !is_host_path(in->configured) ?
		mem_str(in->configured) : NULL;
}
