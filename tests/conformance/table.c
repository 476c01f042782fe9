/* Cases that are one command, its output and its code. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "tests/conformance/harness.h"

static struct simple {
	const char *name, *command, *output;
	int code;
} table[] = {
	{ "a command's words come back", "echo hello", "hello\n", 0 },
	{ "no output is no output", "true", "", 0 },
	{ "a last line without its end is kept", "printf abc", "abc", 0 },
	{ "the exit code is the command's", "exit 7", "", 7 },
	{ "the exit code of the last one counts", "true; (exit 9)", "", 9 },
	{ "a pipeline has its last code", "false | true", "", 0 },
	{ "pipefail is obeyed", "set -o pipefail; false | true", "", 1 },
	{ "set -e ends it with that code", "set -e; echo a; false; echo b", "a\n", 1 },
	{ "a killed shell is 128 and the signal", "kill -9 $$", "", 137 },
	{ "exec replaces the shell and keeps its code", "exec sh -c 'exit 5'", "", 5 },
	{ "a missing command is 127", "no_such_word 2>/dev/null", "", 127 },
	{ "what is not executable is 126", "/etc/passwd 2>/dev/null", "", 126 },
	{ "a syntax error is 2 and said",
	  "if then", "bash: eval: line 1: syntax error near unexpected token `then'\n"
	  "bash: eval: line 1: `if then'\n", 2 },
	{ "an open quote does not hang",
	  "echo 'abc", "bash: eval: line 1: unexpected EOF while looking for matching "
	  "`''\n", 2 },
	{ "an open heredoc ends with the command",
	  "cat 2>/dev/null <<X\nwords\nX\n", "words\n", 0 },
	{ "many lines are one command", "a=1\nb=2\n\necho $a$b\n", "12\n", 0 },
	{ "comments are comments", "# nothing\necho x # y", "x\n", 0 },
	{ "a trailing ampersand is no error", "true &", "", 0 },
	{ "a trailing backslash is no error", "echo x\\", "x\\\n", 0 },
	{ "input is empty, not open", "cat; echo end", "end\n", 0 },
	{ "read meets the end of input", "read x; echo $?", "1\n", 0 },
	{ "bash it is", "[[ a == a ]] && echo ${BASH_VERSION:+yes}", "yes\n", 0 },
	{ "arrays and process substitution work",
	  "a=(1 2 3); cat <(echo ${#a[@]})", "3\n", 0 },
	{ "the shell is not interactive", "[[ $- == *i* ]] || echo no", "no\n", 0 },
	{ "order of stdout and stderr is kept", "echo 1; echo 2 >&2; echo 3", "1\n2\n3\n", 0 },
	{ "a dash first is no option of ours", "-x 2>/dev/null", "", 127 },
	{ "NUL bytes in output are dropped", "printf 'a\\0b'", "ab", 0 },
	{ "invalid UTF-8 is replaced", "printf 'a\\377b'", "a\xef\xbf\xbd" "b", 0 },
	{ "a half surrogate is replaced", "printf 'x\\355\\240\\200y'",
	  "x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy", 0 },
	{ "letters of any script pass", "printf 'привет 漢 😀'", "привет 漢 😀", 0 },
	{ "colours are stripped", "printf '\\033[1;31mred\\033[0m'", "red", 0 },
	{ "titles and links are stripped",
	  "printf '\\033]0;t\\007a\\033]8;;http://x\\033\\\\b'", "ab", 0 },
	{ "a progress bar leaves its last state", "printf '1%%\\r2%%\\r3%%\\n'", "3%\n", 0 },
	{ "CRLF is a line end", "printf 'a\\r\\nb\\r\\n'", "a\nb\n", 0 },
	{ "nobody turns pages", "echo $PAGER $GIT_PAGER $TERM", "cat cat dumb\n", 0 },
	{ "we are named to programs", "echo $AI_AGENT", "gatehouse\n", 0 },
	{ "text is UTF-8", "echo $LANG", "C.UTF-8\n", 0 },
	{ "the time zone is the gateway's", "echo $TZ", "Europe/Berlin\n", 0 },
	{ "the clock is right", "[ $(date +%s) -gt 1700000000 ] && echo ok", "ok\n", 0 },
	{ "a variable may be passed on", "echo \"$PASSED_ON\"", "yes it was\n", 0 },
	{ "a credential may not, even if asked", "echo \"<$CANARY_API_KEY>\"", "<>\n", 0 },
	{ "nothing else of the gateway's environment is there",
	  "env | grep -c zzz-canary; tr '\\0' '\\n' </proc/self/environ | "
	  "grep -c zzz-canary", "0\n0\n", 1 },
	{ "the parent tells nothing either",
	  "cat /proc/$PPID/environ /proc/1/environ 2>/dev/null | "
	  "grep -ac zzz-canary", "0\n", 1 },
	{ "no agent sockets", "echo \"$SSH_AUTH_SOCK$DBUS_SESSION_BUS_ADDRESS\"", "\n", 0 },
	{ "three descriptors, no more", "ls /proc/self/fd", "0\n1\n2\n3\n", 0 },
	{ "also for a child of a child",
	  "bash -c 'sh -c \"ls /proc/self/fd\"'", "0\n1\n2\n3\n", 0 },
	{ "no variable of ours is left in the shell",
	  "set | grep -c '^REPLY\\|^gh_'", "0\n", 1 },
	{ "umask and limits are usable", "umask; ulimit -n >/dev/null && echo ok", "0022\nok\n", 0 },
	{ "temporary files can be made", "f=$(mktemp) && echo x >$f && cat $f && rm $f", "x\n", 0 },
	{ "no terminal is there", "tty; [ -t 0 ] || echo none", "not a tty\nnone\n", 0 },
	{ "it cannot reach a terminal", "(echo x >/dev/tty) 2>/dev/null || echo no", "no\n", 0 },
	{ "signals are not blocked or ignored",
	  "{ sh -c 'kill -TERM $$; echo deaf'; } 2>/dev/null; echo $?", "143\n", 0 },
	{ "a broken pipe ends the writer", "yes | head -1; echo ${PIPESTATUS[0]}", "y\n141\n", 0 },
};

static void
simple(void **state)
{
	const struct simple *s = *state;

	cf_expect(s->command, s->output, s->code);
}

void
table_add(void)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		cf_case(table[i].name, simple, &table[i]);
}
