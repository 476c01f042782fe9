#include "gateway/talk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"

#define OPEN_MAX 256		/* commands whose answer is not there yet */
#define LISTED 10
#define TITLE_MAX 100		/* characters */
#define MODEL_MAX 200
#define UNDO_MAX 50

struct talk {
	TAILQ_ENTRY(talk) link;
	struct talks *talks;
	enum command_id command;
	char *key, *args;
	struct origin origin;
	struct op *waiting;
};

struct talks {
	struct loop *loop;
	struct store *store;
	struct sessions *sessions;
	struct delivery *delivery;
	TAILQ_HEAD(, talk) open;
	size_t nopen;
};

struct talks *
talks_new(struct loop *loop, struct store *store, struct sessions *sessions,
    struct delivery *delivery)
{
	struct talks *talks = mem_alloc(sizeof(*talks));

	talks->loop = loop;
	talks->store = store;
	talks->sessions = sessions;
	talks->delivery = delivery;
	TAILQ_INIT(&talks->open);
	return talks;
}

static void
talk_free(struct talk *t)
{
	op_cancel(&t->waiting);
	TAILQ_REMOVE(&t->talks->open, t, link);
	t->talks->nopen--;
	origin_done(&t->origin);
	mem_free(t->key);
	mem_free(t->args);
	mem_free(t);
}

void
talks_free(struct talks **talksp)
{
	if (!*talksp)
		return;
	struct talks *talks = STEAL(*talksp);

	while (!TAILQ_EMPTY(&talks->open))
		talk_free(TAILQ_FIRST(&talks->open));
	mem_free(talks);
}

/* ---- answers ------------------------------------------------------------------ */

static void
talk_say(const struct talk *t, const char *text)
{
	struct place to = { t->origin.platform, t->origin.account,
		t->origin.chat_id, t->origin.thread_id };

	delivery_notice(t->talks->delivery, &to, text, NULL, 0);
}

static void
talk_failed(struct talk *t, const struct err *err)
{
	CLEANUP_FREE char *say = err->code == ERR_NOT_FOUND ||
	    err->code == ERR_INVALID || err->code == ERR_EXISTS ?
	    mem_printf("Not done: %s.", err->text) :
	    mem_printf("Not done, the store failed: %.200s.", err->text);

	talk_say(t, say);
	talk_free(t);
}

static void
say_list(struct talk *t, const struct json *list)
{
	struct buf b;
	unsigned n = 0;

	buf_init(&b, 16384);
	buf_add_str(&b, "Conversations of this chat; /resume NUMBER goes back to "
	    "one.\n");
	for (const struct json *c = json_first(list); c; c = json_next(c)) {
		time_t at = (time_t)(json_get_int(c, "updated_at", 0) / 1000);
		const char *title = json_get_str(c, "title", "");
		char when[32] = "";
		struct tm tm;

		if (localtime_r(&at, &tm))
			(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
		buf_printf(&b, "%u. %s%s%s (%lld messages, %s)%s\n", ++n,
		    title[0] ? title : json_get_str(c, "session_id", ""),
		    title[0] ? " - " : "", title[0] ?
		    json_get_str(c, "session_id", "") : "",
		    (long long)json_get_int(c, "messages", 0), when,
		    json_get_int(c, "current", 0) ? " - this one" : "");
	}
	talk_say(t, b.data);
	buf_done(&b);
}

static void
say_switched(struct talk *t, const struct json *res)
{
	const char *title = json_get_str(res, "title", "");
	CLEANUP_FREE char *say = json_get_int(res, "current", 0) ?
	    mem_str("You are in that conversation already.") :
	    mem_printf("Back in %s%s%s (%lld messages). Files in the workspace "
	    "are as they are now.", title[0] ? title :
	    json_get_str(res, "session_id", ""), title[0] ? ", " : "",
	    title[0] ? json_get_str(res, "session_id", "") : "",
	    (long long)json_get_int(res, "messages", 0));

	talk_say(t, say);
}

static void
say_rewound(struct talk *t, const struct json *res)
{
	long long turns = json_get_int(res, "turns", 0);
	const char *text = json_get_str(res, "text", "");

	if (turns == 0) {
		talk_say(t, "There is nothing to take back here.");
		return;
	}
	if (t->command == COMMAND_RETRY) {
		session_again(t->talks->sessions, t->key, &t->origin);
		return;		/* the new answer says it all */
	}
	size_t n = utf8_cut(text, strlen(text), 80);
	CLEANUP_FREE char *say = mem_printf("Taken back: %lld exchange%s, from "
	    "\"%.*s%s\" on. What commands did is not undone.", turns,
	    turns == 1 ? "" : "s", (int)n, text, text[n] ? "..." : "");

	talk_say(t, say);
}

static void
on_json(void *arg, const struct json *res, const struct err *err)
{
	struct talk *t = arg;

	t->waiting = NULL;
	if (err) {
		talk_failed(t, err);
		return;
	}
	if (t->command == COMMAND_RESUME && t->args[0]) {
		session_model_set(t->talks->sessions, t->key, "");
		say_switched(t, res);
	} else if (t->command == COMMAND_RESUME ||
	    t->command == COMMAND_SESSIONS) {
		say_list(t, res);
	} else {
		say_rewound(t, res);
	}
	talk_free(t);
}

static void
on_title(void *arg, const struct json *res, const struct err *err)
{
	struct talk *t = arg;
	const char *title = "";

	t->waiting = NULL;
	if (err) {
		talk_failed(t, err);
		return;
	}
	for (const struct json *c = json_first(res); c; c = json_next(c))
		if (json_get_int(c, "current", 0))
			title = json_get_str(c, "title", "");
	CLEANUP_FREE char *say = title[0] ? mem_printf("This conversation is "
	    "called \"%s\".", title) : mem_str("This conversation has no title; "
	    "/title WORDS gives it one.");
	talk_say(t, say);
	talk_free(t);
}

static void
on_done(void *arg, const struct err *err)
{
	struct talk *t = arg;

	t->waiting = NULL;
	if (err) {
		talk_failed(t, err);
		return;
	}
	if (t->command == COMMAND_MODEL)
		session_model_set(t->talks->sessions, t->key, t->args);
	CLEANUP_FREE char *say = t->command == COMMAND_TITLE ?
	    mem_printf("This conversation is called \"%s\" now.", t->args) :
	    t->args[0] ? mem_printf("This conversation uses the model %s from "
	    "the next message on. /model default goes back.", t->args) :
	    mem_str("This conversation uses the configured model again.");
	talk_say(t, say);
	talk_free(t);
}

/* ---- acting --------------------------------------------------------------------- */

/* Control characters and line breaks become blanks; NULL: too long. */
static char *
one_line(const char *text, size_t max)
{
	char *line = mem_str(text);
	size_t len, chars = 0;

	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	for (len = strlen(line); len > 0 && line[len - 1] == ' '; len--)
		line[len - 1] = '\0';
	for (const char *p = line; *p; p++)
		chars += ((unsigned char)*p & 0xC0) != 0x80;
	if (chars <= max)
		return line;
	mem_free(line);
	return NULL;
}

/* 1 where nothing is said; 0: not understood. */
static unsigned
turns_of(const char *args)
{
	char *end;
	unsigned long n = args[0] ? strtoul(args, &end, 10) : 1;

	if (args[0] && (*end || end == args || n > UNDO_MAX))
		return 0;
	return (unsigned)n;
}

static void
start_rewind(struct talk *t, unsigned turns)
{
	struct talks *all = t->talks;

	session_interrupt(all->sessions, t->key);
	t->waiting = store_rewind(all->store, t->key, turns,
	    t->command == COMMAND_RETRY, loop_wall(all->loop), on_json, t);
}

static void
start_resume(struct talk *t)
{
	struct talks *all = t->talks;

	session_interrupt(all->sessions, t->key);
	t->waiting = store_switch(all->store, t->key, t->args,
	    loop_wall(all->loop), on_json, t);
}

static void
talk_start(struct talk *t, unsigned turns)
{
	struct store *store = t->talks->store;
	bool words = t->args[0] != '\0';

	if (t->command == COMMAND_TITLE && words)
		t->waiting = store_title(store, t->key, t->args, on_done, t);
	else if (t->command == COMMAND_TITLE)
		t->waiting = store_session_list(store, t->key, 0, on_title, t);
	else if (t->command == COMMAND_MODEL)
		t->waiting = store_model_set(store, t->key, t->args, on_done, t);
	else if (t->command == COMMAND_RESUME && words)
		start_resume(t);
	else if (t->command == COMMAND_UNDO || t->command == COMMAND_RETRY)
		start_rewind(t, turns);
	else
		t->waiting = store_session_list(store, t->key, LISTED, on_json, t);
}

char *
talk_act(struct talks *talks, enum command_id command, const char *args,
    const char *session_key, const struct origin *origin)
{
	bool is_model = command == COMMAND_MODEL;
	unsigned turns = command == COMMAND_UNDO ? turns_of(args) : 1;

	if (turns == 0)
		return mem_printf("/undo takes a number from 1 to %d.", UNDO_MAX);
	if (is_model && !args[0])
		return session_model(talks->sessions, session_key);
	if (is_model && strcmp(args, "default") == 0)
		args = "";
	char *line = one_line(args, is_model ? MODEL_MAX : TITLE_MAX);

	if (!line || (is_model && strchr(line, ' '))) {
		mem_free(line);
		return is_model ? mem_str("A model's name is one word of at most "
		    "200 characters. The provider, its address and key are the "
		    "operator's to change.") : mem_printf("That is longer than "
		    "%d characters.", TITLE_MAX);
	}
	if (talks->nopen >= OPEN_MAX) {
		mem_free(line);
		return mem_str("Too much is under way; try again in a moment.");
	}
	struct talk *t = mem_alloc(sizeof(*t));
	CLEANUP_JSON struct json *copy = origin_json(origin);

	t->talks = talks;
	t->command = command;
	t->key = mem_str(session_key);
	t->args = line;
	origin_from_json(&t->origin, copy);
	TAILQ_INSERT_TAIL(&talks->open, t, link);
	talks->nopen++;
	talk_start(t, turns);
	return NULL;
}
