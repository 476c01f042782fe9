/* What a survey said, in words for the model. Foreign bytes. */
#include "sandbox/survey.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define VALUE_MAX 60
#define WORDS_MAX 1500

/* Plain words only: an image may name itself as it likes. */
static char *
plain(const char *s, size_t len)
{
	char *out = mem_strn(s, len < VALUE_MAX ? len : VALUE_MAX);

	for (char *p = out; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		    "0123456789 ._+-/()~", *p))
			*p = ' ';
	return out;
}

/* The value of the n-th line with this name; NULL: there is none. */
static char *
value(const char *text, const char *name, unsigned n)
{
	size_t len = strlen(name);

	for (const char *line = text; line && *line;) {
		const char *nl = strchr(line, '\n');
		if (strncmp(line, name, len) == 0 && line[len] == '\t' && n-- == 0)
			return plain(line + len + 1, nl ?
			    (size_t)(nl - line) - len - 1 :
			    strlen(line + len + 1));
		line = nl ? nl + 1 : NULL;
	}
	return NULL;
}

/* "Python 3.11.2" and "v20.1" are versions; so is the last word otherwise. */
static const char *
version(const char *words)
{
	const char *digit = strpbrk(words, "0123456789");

	return digit ? digit : "";
}

static void
add_tools(struct buf *out, const char *text)
{
	static const char *const versioned[] = { "python3", "node", "git" };
	char *managed CLEANUP_FREE = value(text, "managed", 0);
	bool any = false;

	buf_add_str(out, " Tools:");
	for (size_t i = 0; i < ARRAY_LEN(versioned); i++) {
		char *words CLEANUP_FREE = value(text, versioned[i], 0);
		if (!words)
			continue;
		buf_printf(out, "%s %s %.20s", any ? "," : "", versioned[i],
		    version(words));
		any = true;
	}
	for (unsigned n = 0; n < 20; n++) {
		char *name CLEANUP_FREE = value(text, "has", n);
		if (!name)
			break;
		buf_printf(out, "%s %.20s", any ? "," : "", name);
		any = true;
	}
	buf_add_str(out, any ? "." : " none of the usual.");
	if (managed)
		buf_add_str(out, " Python is externally managed (PEP 668): "
		    "install packages into a venv.");
}

bool
survey_has(const char *output, size_t len, const char *program)
{
	char *text CLEANUP_FREE = mem_strn(output, len);
	char *words CLEANUP_FREE = value(text, program, 0);

	return words != NULL;
}

char *
survey_words(const char *output, size_t len)
{
	char *text CLEANUP_FREE = mem_strn(output, len);
	char *os CLEANUP_FREE = value(text, "os", 0);
	char *machine CLEANUP_FREE = value(text, "machine", 0);
	char *shell CLEANUP_FREE = value(text, "shell", 0);
	char *user CLEANUP_FREE = value(text, "user", 0);
	char *home CLEANUP_FREE = value(text, "home", 0);
	char *end CLEANUP_FREE = value(text, "end", 0);
	struct buf out;

	if (!os || !machine || !shell || !user || !home || !end)
		return NULL;
	buf_init(&out, WORDS_MAX);
	buf_printf(&out, "System: %s, %s, %s; user %s, home %s.", os, machine,
	    shell, user, home);
	add_tools(&out, text);
	return buf_take(&out);
}
