#include "gateway/command.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"

static const struct command_def defs[] = {
	{ COMMAND_START, "start", NULL, "", "say hello", false },
	{ COMMAND_HELP, "help", "commands", "", "this list", false },
	{ COMMAND_STATUS, "status", NULL, "",
	    "session, model, sandbox and what is running", false },
	{ COMMAND_STOP, "stop", NULL, "",
	    "stop what is running now; nothing waits behind it", true },
	{ COMMAND_NEW, "new", "reset", "[--wipe]",
	    "start a new conversation; files stay, or --wipe removes them", false },
	{ COMMAND_SESSIONS, "sessions", NULL, "",
	    "conversations of this chat", false },
	{ COMMAND_RESUME, "resume", NULL, "[number|id|title]",
	    "go back to one of them", false },
	{ COMMAND_TITLE, "title", NULL, "[words]",
	    "show or set this conversation's title", false },
	{ COMMAND_UNDO, "undo", NULL, "[N]",
	    "take back the last exchanges; what commands did stays", false },
	{ COMMAND_RETRY, "retry", NULL, "",
	    "take back the last answer and ask again", false },
	{ COMMAND_MODEL, "model", NULL, "[name|default]",
	    "show or choose this conversation's model", false },
	{ COMMAND_APPROVE, "approve", NULL,
	    "[all|id] [once|hour|session|always]",
	    "allow what waits for an answer", false },
	{ COMMAND_DENY, "deny", NULL, "[all|id] [reason]",
	    "refuse what waits for an answer", true },
	{ COMMAND_APPROVALS, "approvals", NULL, "",
	    "what waits for an answer, and what is allowed for longer", false },
	{ COMMAND_YOLO, "yolo", NULL, "",
	    "stop or resume the questions of this conversation", false },
	{ COMMAND_RESTART, "restart", NULL, "",
	    "finish what runs and start the gateway again", false },
	{ COMMAND_WHOAMI, "whoami", NULL, "", "your id, as this bot sees it",
	    false },
	{ COMMAND_VERSION, "version", "v", "", "the program's version", false },
};

static const struct command_def *
find_word(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(defs); i++)
		if (strcmp(defs[i].name, word) == 0 ||
		    (defs[i].alias && strcmp(defs[i].alias, word) == 0))
			return &defs[i];
	return NULL;
}

/* A first word with a second slash is a path; "/" alone is no command. */
struct command
command_parse(const char *text)
{
	struct command cmd = { COMMAND_NONE, "", "" };
	size_t n = 0;

	while (isspace((unsigned char)*text))
		text++;
	if (*text != '/')
		return cmd;
	const char *p = text + 1;

	for (; *p && !isspace((unsigned char)*p); p++) {
		if (*p == '/' || n + 1 >= sizeof(cmd.word))
			return (struct command){ COMMAND_NONE, "", "" };
		cmd.word[n++] = (char)(*p == '-' ? '_' :
		    tolower((unsigned char)*p));
	}
	if (n == 0 || !isalpha((unsigned char)cmd.word[0]))
		return (struct command){ COMMAND_NONE, "", "" };
	while (isspace((unsigned char)*p))
		p++;
	const struct command_def *def = find_word(cmd.word);

	cmd.args = p;
	cmd.id = def ? def->id : COMMAND_UNKNOWN;
	return cmd;
}

const struct command_def *
command_def(enum command_id id)
{
	for (size_t i = 0; i < ARRAY_LEN(defs); i++)
		if (defs[i].id == id)
			return &defs[i];
	return NULL;
}

char *
command_help(void)
{
	struct buf b;

	buf_init(&b, 8192);
	for (size_t i = 0; i < ARRAY_LEN(defs); i++)
		buf_printf(&b, "/%s%s%s - %s\n", defs[i].name,
		    defs[i].args[0] ? " " : "", defs[i].args, defs[i].help);
	return buf_take(&b);
}

const char *
command_nearest(const char *word)
{
	const char *names[ARRAY_LEN(defs)];

	for (size_t i = 0; i < ARRAY_LEN(defs); i++)
		names[i] = defs[i].name;
	return nearest_name(word, names, ARRAY_LEN(defs));
}
