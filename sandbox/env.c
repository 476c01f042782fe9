#include "sandbox/env.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/env_refuse.h"

#define PATH_DEFAULT \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char *const basics[][2] = {
	{ "PATH", PATH_DEFAULT },
	{ "SHELL", "/bin/bash" },
	{ "LANG", "C.UTF-8" },
	{ "TERM", "dumb" },
	{ "PAGER", "cat" },		/* nobody is there to turn pages */
	{ "GIT_PAGER", "cat" },
	{ "GIT_TERMINAL_PROMPT", "0" },	/* nor to type a password */
	{ "AI_AGENT", "gatehouse" },
	{ "GATEHOUSE", "1" },
};

static const char *
lookup(const char *const *environ, const char *name)
{
	size_t n = strlen(name);

	for (; environ && *environ; environ++) {
		if (strncmp(*environ, name, n) == 0 && (*environ)[n] == '=')
			return *environ + n + 1;
	}
	return NULL;
}

static void
pass(struct vars *v, const struct env_spec *spec, const char *name)
{
	const char *value = lookup(spec->environ, name);

	if (value && !env_refused(name, spec->refuse))
		(void)vars_set(v, name, value);
}

static void
add_all(struct vars *v, const struct vars *more)
{
	for (size_t i = 0; more && i < more->n; i++)
		(void)vars_set(v, more->list[i].name, more->list[i].value);
}

void
env_build(struct vars *ret, const struct env_spec *spec)
{
	vars_init(ret, ENV_MAX);
	for (size_t i = 0; i < ARRAY_LEN(basics); i++)
		(void)vars_set(ret, basics[i][0], basics[i][1]);
	(void)vars_set(ret, "HOME", spec->home);
	(void)vars_set(ret, "USER", spec->user);
	(void)vars_set(ret, "LOGNAME", spec->user);
	if (spec->timezone && spec->timezone[0])
		(void)vars_set(ret, "TZ", spec->timezone);
	else
		pass(ret, spec, "TZ");
	for (const char *const *p = spec->backend; p && *p; p++) {
		char *name CLEANUP_FREE = mem_str(*p);
		char *value = strchr(name, '=');

		*value++ = 0;
		(void)vars_set(ret, name, value);
	}
	add_all(ret, spec->login);
	for (const char *const *p = spec->passthrough; p && *p; p++)
		pass(ret, spec, *p);
	add_all(ret, spec->exports);
}

char *
env_passthrough_refused(const char *const *passthrough,
	const char *const *refuse)
{
	struct buf b;

	buf_init(&b, 4096);
	for (const char *const *p = passthrough; p && *p; p++) {
		if (env_refused(*p, refuse))
			buf_printf(&b, "%s%s", b.len ? ", " : "", *p);
	}
	if (b.len)
		return buf_take(&b);
	buf_done(&b);
	return NULL;
}
