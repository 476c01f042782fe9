#include "sandbox/cwd.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* Letters of any script, digits, and these: nothing that quotes or expands. */
static bool
allowed(unsigned char c)
{
	return c >= 0x80 || isalnum(c) || (c && strchr("/\\:_-.~+@=, ", c));
}

int
cwd_check(const char *workdir, struct err *err)
{
	size_t len = strlen(workdir);

	if (len >= CWD_MAX)
		return err_set(err, ERR_INVALID,
		    "workdir is longer than %d bytes", CWD_MAX - 1);
	if (!utf8_valid(workdir, len))
		return err_set(err, ERR_INVALID, "workdir is not valid UTF-8");
	for (size_t i = 0; i < len; i++) {
		if (!allowed((unsigned char)workdir[i]))
			return err_set(err, ERR_INVALID,
			    "workdir may hold letters, digits, spaces and "
			    "/ \\ : _ - . ~ + @ = , only; use cd inside the "
			    "command for other names");
	}
	return 0;
}

char *
cwd_resolve(const char *tracked, const char *home, const char *workdir)
{
	if (!workdir || !workdir[0] || strcmp(workdir, ".") == 0)
		return mem_str(tracked);
	if (workdir[0] == '/')
		return mem_str(workdir);
	if (workdir[0] == '~' && (!workdir[1] || workdir[1] == '/'))
		return mem_printf("%s%s", home, workdir + 1);
	return mem_printf("%s%s%s", tracked,
	    tracked[0] && tracked[strlen(tracked) - 1] == '/' ? "" : "/",
	    workdir);
}

bool
cwd_plausible(const char *path)
{
	return path[0] == '/' && strlen(path) < CWD_MAX;
}
