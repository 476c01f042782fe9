#include "sandbox/exit_meaning.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

static const struct {
	const char *name;
	int code;
	const char *meaning;
} meanings[] = {
	{ "grep", 1, "no matches found (not an error)" },
	{ "egrep", 1, "no matches found (not an error)" },
	{ "fgrep", 1, "no matches found (not an error)" },
	{ "rg", 1, "no matches found (not an error)" },
	{ "ag", 1, "no matches found (not an error)" },
	{ "ack", 1, "no matches found (not an error)" },
	{ "diff", 1, "the files differ (not an error)" },
	{ "colordiff", 1, "the files differ (not an error)" },
	{ "cmp", 1, "the files differ (not an error)" },
	{ "find", 1, "some directories could not be read; results may be partial" },
	{ "test", 1, "the condition is false (not an error)" },
	{ "[", 1, "the condition is false (not an error)" },
	{ "curl", 6, "the host name could not be resolved" },
	{ "curl", 7, "the connection failed" },
	{ "curl", 22, "the server answered with an HTTP error" },
	{ "curl", 28, "the request timed out" },
	{ "git", 1, "often normal for git, e.g. differences were found" },
};

/*
 * Start of the last simple command: after the last |, & or ; or newline that
 * is outside quotes.  A rough look is enough, it only chooses a hint.
 */
static size_t
last_segment(const char *s, size_t len)
{
	size_t start = 0;
	char quote = 0;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\\' && quote != '\'') {
			i++;
		} else if (quote) {
			if (s[i] == quote)
				quote = 0;
		} else if (s[i] == '\'' || s[i] == '"') {
			quote = s[i];
		} else if (strchr("|&;\n", s[i]) && s[i]) {
			size_t next = i + 1;
			while (next < len && (isspace((unsigned char)s[next]) ||
			    s[next] == ';'))
				next++;
			if (next < len)
				start = next;
		}
	}
	return start;
}

static bool
assignment(const char *word, size_t len)
{
	const char *eq = memchr(word, '=', len);

	return eq && eq > word &&
	    (isalpha((unsigned char)word[0]) || word[0] == '_');
}

const char *
exit_meaning(const char *command, size_t len, int exit_code)
{
	size_t i = last_segment(command, len), end;

	for (;; i = end) {
		while (i < len && isspace((unsigned char)command[i]))
			i++;
		for (end = i; end < len && !isspace((unsigned char)command[end]);)
			end++;
		if (i == end)
			return NULL;
		if (!assignment(command + i, end - i))
			break;
	}
	for (size_t k = end; k > i; k--) {
		if (command[k - 1] == '/') {
			i = k;
			break;
		}
	}
	for (size_t k = 0; k < ARRAY_LEN(meanings); k++) {
		if (meanings[k].code == exit_code &&
		    strlen(meanings[k].name) == end - i &&
		    memcmp(meanings[k].name, command + i, end - i) == 0)
			return meanings[k].meaning;
	}
	return NULL;
}

bool
sudo_failed(const char *output, size_t len)
{
	static const char *const words[] = {
		"sudo: a terminal is required to read the password",
		"sudo: a password is required",
		"sudo: no password was provided",
		"sudo: no tty present and no askpass program",
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (memmem(output, len, words[i], strlen(words[i])))
			return true;
	return memmem(output, len, "sudo: ", 6) &&
	    memmem(output, len, "incorrect password attempt", 26);
}
