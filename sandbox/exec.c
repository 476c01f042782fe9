#include "sandbox/exec.h"

#include <string.h>

#include "base/mem.h"

/*
 * The text comes to bash by the reader of shell.h, in $REPLY; other shells read
 * it from descriptor 4 themselves.
 *
 * Facts about bash this stands on (5.0 to 5.2):
 * - The script stays on one line up to the command, so that line numbers in
 *   messages are those of the command.
 * - `{ exec 87>&10; } 3<&0` copies our descriptor 3, which the redirection
 *   parked close-on-exec at 10, and the copy is close-on-exec too: children
 *   never see it, while `exit` and `set -e`, which skip what follows, still
 *   reach it from the EXIT trap.
 * - `export -p` is a builtin: nothing is started.
 */
#define KEEP "{ exec 87>&10; } 3<&0; exec 3>&-; "
#define GIVE "{ builtin set +xve; builtin printf \"P\"; builtin pwd; " \
	"builtin printf \"\\0E\"; builtin export -p; " \
	"builtin printf \"\\0.\\0\"; } >&87; "
#define GIVE_SH "{ set +xve; printf P; pwd; printf \"\\0E\"; export -p; " \
	"printf \"\\0.\\0\"; } >&3"

void
exec_quote(struct buf *out, const char *s, size_t len)
{
	const char *end = s + len, *q;

	buf_add_char(out, '\'');
	while ((q = memchr(s, '\'', (size_t)(end - s)))) {
		buf_add(out, s, (size_t)(q - s));
		buf_add_str(out, "'\\''");
		s = q + 1;
	}
	buf_add(out, s, (size_t)(end - s));
	buf_add_char(out, '\'');
}

/* $'text' for bash: without a line break, which would move line numbers. */
static void
quote_line(struct buf *out, const char *s)
{
	buf_add_str(out, "$'");
	for (; *s; s++) {
		if (*s == '\n')
			buf_add_str(out, "\\n");
		else if (*s == '\'' || *s == '\\')
			buf_printf(out, "\\%c", *s);
		else
			buf_add_char(out, *s);
	}
	buf_add_char(out, '\'');
}

static void
restore(struct buf *out, const char *text)
{
	if (!text || !text[0])
		return;
	buf_add_str(out, "builtin eval -- ");
	quote_line(out, text);
	buf_add_str(out, " >/dev/null 2>&1; ");
}

/* `cd`, or the fallback, or 126; fd is where the record goes. */
static void
enter(struct buf *out, const struct exec_text *t, const char *builtin,
	const char *fd)
{
	buf_printf(out, "%scd -- ", builtin);
	exec_quote(out, t->dir, strlen(t->dir));
	buf_add_str(out, " >/dev/null 2>&1 || { ");
	if (t->fallback) {
		if (t->give_back)
			buf_printf(out, "%sprintf 'D\\0' >&%s; ", builtin, fd);
		buf_printf(out, "%scd -- ", builtin);
		exec_quote(out, t->fallback, strlen(t->fallback));
		buf_add_str(out, " >/dev/null 2>&1; } || { ");
	}
	buf_printf(out, "%sprintf 'X\\0' >&%s; %strap - EXIT; %sexit 126; }; ",
	    builtin, fd, builtin, builtin);
}

static void
wrap_bash(struct buf *out, const struct exec_text *t)
{
	buf_add_str(out, "unset -v REPLY; " KEEP);
	if (t->give_back)
		buf_add_str(out, "builtin trap '{ " GIVE "} 2>/dev/null' EXIT; ");
	enter(out, t, "builtin ", "87");
	if (t->aliases && t->aliases[0])
		buf_add_str(out, "builtin shopt -s expand_aliases; ");
	restore(out, t->functions);
	restore(out, t->aliases);
	buf_add_str(out, "builtin eval -- ");
	exec_quote(out, t->command, t->command_len);
	if (t->give_back)
		buf_add_str(out, "; { builtin set -- \"$?\"; " GIVE
		    "exec 87>&-; } 2>/dev/null; builtin exit \"$1\"");
	buf_add_char(out, '\n');
}

/*
 * A POSIX shell has no close-on-exec copy: the directory and exports of a
 * command that calls `exit` are not handed back.
 */
static void
wrap_sh(struct buf *out, const struct exec_text *t)
{
	buf_add_str(out, "exec 4<&-; ");
	enter(out, t, "", "3");
	buf_add_str(out, "eval ");
	exec_quote(out, t->command, t->command_len);
	buf_add_str(out, " 3>&-");
	if (t->give_back)
		buf_add_str(out, "; { set -- \"$?\"; " GIVE_SH
		    "; } 2>/dev/null; exit \"$1\"");
	buf_add_char(out, '\n');
}

bool
exec_wrap(struct buf *out, const struct exec_text *t)
{
	REQUIRE(t->dir && !memchr(t->command, 0, t->command_len));
	if (t->bash)
		wrap_bash(out, t);
	else
		wrap_sh(out, t);
	return !out->over;
}

bool
exec_snapshot(struct buf *out)
{
	/*
	 * The login files may exit or print: neither may spoil the records.
	 * What only bash can read is behind eval, for POSIX shells.
	 */
	buf_add_str(out,
	    "unset -v REPLY; exec 4<&- >/dev/null 2>&1\n"
	    "gh_list() { set +xve; unset -f gh_list gh_give\n"
	    "if [ -n \"$BASH_VERSION\" ]; then\n"
	    "printf 'F'; declare -f; printf '\\0A'; alias -p; printf '\\0'\n"
	    "else printf 'S\\0'\n"
	    "fi\n"
	    "printf 'E'; export -p; printf '\\0.\\0'\n"
	    "}\n"
	    "if [ -n \"$BASH_VERSION\" ]; then\n"
	    "eval '" KEEP "gh_give() { gh_list >&87; }'\n"
	    "else gh_give() { gh_list >&3; }\n"
	    "fi\n"
	    "trap gh_give EXIT\n"
	    "[ ! -r /etc/profile ] || . /etc/profile\n"
	    "for gh_file in .bash_profile .bash_login .profile; do\n"
	    "if [ -r \"$HOME/$gh_file\" ]; then\n"
	    ". \"$HOME/$gh_file\"; break\n"
	    "fi\n"
	    "done\n"
	    "unset gh_file\n"
	    "exit 0\n");
	return !out->over;
}
