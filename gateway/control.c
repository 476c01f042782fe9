#include "gateway/control.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/gate/grants.h"
#include "gateway/gate/words.h"
#include "gateway/version.h"

#define PRESS "ea:"		/* "ea:<word>:<request id>" */
#define PRESS_RESEND "rs:"
#define STAMP_MS 1000		/* platforms stamp whole seconds */

static bool
starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static const struct {
	const char *word;
	enum gate_answer answer;
} presses[] = {
	{ "once", GATE_ANSWER_ONCE }, { "session", GATE_ANSWER_SESSION },
	{ "always", GATE_ANSWER_ALWAYS }, { "deny", GATE_ANSWER_NO },
};

static const char *
press_word(enum gate_answer answer)
{
	for (size_t i = 0; i < ARRAY_LEN(presses); i++)
		if (presses[i].answer == answer)
			return presses[i].word;
	return "";
}

/* "ea:word:id": the id, NULL if the data is no answer. */
static const char *
press_parse(const char *data, enum gate_answer *ret)
{
	const char *id = starts_with(data, PRESS) ?
	    strchr(data + strlen(PRESS), ':') : NULL;

	for (size_t i = 0; id && i < ARRAY_LEN(presses); i++) {
		const char *word = presses[i].word;
		size_t n = (size_t)(id - data) - strlen(PRESS);

		if (strlen(word) != n ||
		    strncmp(data + strlen(PRESS), word, n) != 0)
			continue;
		*ret = presses[i].answer;
		return id + 1;
	}
	return NULL;
}

/*
 * Plain words count with exactly one open question, and for that one: another
 * that is asked meanwhile is not answered by it.  In a private chat, or as the
 * reply to the very message that asks.
 */
static char *
plain_answer(const struct control_env *env, const struct msg *msg,
    const char *session_key)
{
	enum gate_answer answer;

	if (msg->kind != MSG_TEXT || !words_plain(msg->text, &answer))
		return NULL;
	CLEANUP_JSON struct json *open = gate_open_requests(env->gate,
	    session_key);
	const struct json *one = json_at(open, 0);
	const char *asked_by = json_get_str(one, "msg_id", "");
	bool reply = asked_by[0] && strcmp(asked_by, msg->reply_to) == 0;

	if (json_len(open) != 1 || (msg->chat_type != CHAT_DM && !reply))
		return NULL;
	return mem_printf(PRESS "%s:%s", press_word(answer),
	    json_get_str(one, "id", ""));
}

struct control *
control_new(const struct control_env *env, const struct route_opts *route,
    const struct msg *msg, const char *session_key)
{
	struct command cmd = { COMMAND_NONE, "", "" };
	CLEANUP_FREE char *answer = NULL;

	if (msg->kind == MSG_TEXT)
		cmd = command_parse(msg->text);
	if (cmd.id == COMMAND_NONE && msg->kind != MSG_PRESS) {
		answer = plain_answer(env, msg, session_key);
		if (!answer)
			return NULL;
	}
	struct control *c = mem_alloc(sizeof(*c));

	origin_from_msg(&c->origin, route, msg);
	c->session_key = mem_str(session_key);
	c->event_id = mem_printf("%s/%s/%s/%s", msg->platform, msg->account,
	    msg_kind_name(msg->kind), msg->event_id);
	c->command = cmd.id;
	memcpy(c->word, cmd.word, sizeof(c->word));
	c->args = mem_str(cmd.args);
	if (msg->kind == MSG_PRESS)
		c->press_id = mem_str(msg->press_id);
	c->press_data = mem_str(answer ? answer : msg->press_data);
	c->sent_wall = msg->sent_wall;
	return c;
}

void
control_free(struct control **cp)
{
	if (!*cp)
		return;
	struct control *c = STEAL(*cp);

	origin_done(&c->origin);
	mem_free(c->session_key);
	mem_free(c->event_id);
	mem_free(c->args);
	mem_free(c->press_id);
	mem_free(c->press_data);
	mem_free(c);
}

bool
control_is_at_once(const struct control *c)
{
	enum gate_answer answer;

	if (c->command == COMMAND_NONE)
		return press_parse(c->press_data, &answer) &&
		    answer == GATE_ANSWER_NO;
	const struct command_def *def = command_def(c->command);

	return def && def->at_once;
}

/*
 * A yes that names no question means what its writer saw: one that was sent
 * before a question was asked (and came late) can't mean that question.
 */
static bool
is_stale_yes(const struct control_env *env, const struct control *c)
{
	CLEANUP_JSON struct json *open = gate_open_requests(env->gate,
	    c->session_key);
	CLEANUP_JSON struct json *here = gate_open_in_chat(env->gate,
	    &c->origin);
	const struct json *list = json_len(open) > 0 ? open : here;

	for (const struct json *r = json_first(list); r; r = json_next(r))
		if (c->sent_wall > 0 && json_get_int(r, "asked_wall", 0) >
		    c->sent_wall + STAMP_MS)
			return true;
	return false;
}

static char *
act_decide(const struct control_env *env, const struct control *c, bool yes)
{
	struct words_args args = words_args_parse(c->args, yes);
	const struct gate_reply reply = {
		.session_key = c->session_key, .who = &c->origin,
		.id = args.id, .all = args.all, .answer = args.answer,
		.reason = args.reason,
	};

	if (args.unknown[0])
		return mem_printf("'%s' is not understood, nothing was approved: "
		    "/approve [all|ID] [once|hour|session|always].",
		    args.unknown);
	if (yes && !args.id[0] && is_stale_yes(env, c))
		return mem_str("This was written before the question that waits "
		    "now: nothing was approved. Look with /approvals, then send "
		    "/approve ID.");
	return gate_decide(env->gate, &reply);
}

static void
add_grants(struct buf *b, const struct json *grants)
{
	if (json_len(grants) > 0)
		buf_printf(b, "%sAllowed here without a question:\n",
		    b->len ? "\n" : "");
	for (const struct json *g = json_first(grants); g; g = json_next(g)) {
		int64_t left = json_get_int(g, "left_ms", 0);

		buf_printf(b, "- %s, for %s", strcmp(json_get_str(g, "rule", ""),
		    GRANT_ALL) == 0 ? "everything that would ask" :
		    json_get_str(g, "rule", ""), json_get_str(g, "asker", ""));
		if (left > 0)
			buf_printf(b, " (%lld min left)",
			    (long long)(left / 60000) + 1);
		buf_add_char(b, '\n');
	}
}

static char *
act_approvals(const struct control_env *env, const struct control *c)
{
	CLEANUP_JSON struct json *open = gate_open_requests(env->gate,
	    c->session_key);
	CLEANUP_JSON struct json *here = gate_open_in_chat(env->gate,
	    &c->origin);
	CLEANUP_JSON struct json *grants = gate_grants(env->gate,
	    c->session_key);
	const struct json *list = json_len(open) > 0 ? open : here;
	struct buf b;

	buf_init(&b, 65536);
	for (const struct json *r = json_first(list); r; r = json_next(r))
		buf_printf(&b, "%s: %.500s\n", json_get_str(r, "id", ""),
		    json_get_str(r, "command", ""));
	if (b.len == 0)
		buf_add_str(&b, "Nothing waits for an answer here.\n");
	add_grants(&b, grants);
	return buf_take(&b);
}

static char *
act_unknown(const struct control *c)
{
	const char *near = command_nearest(c->word);

	return near ? mem_printf("There is no command /%s. Did you mean /%s? "
	    "See /help.", c->word, near) :
	    mem_printf("There is no command /%s. See /help.", c->word);
}

/* Phones make a long dash of two. */
static bool
is_wipe(const char *args)
{
	static const char *const words[] = { "--wipe", "\u2014wipe", "\u2013wipe" };
	size_t len = strcspn(args, " \t\n");

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i]) == len && strncmp(args, words[i], len) == 0)
			return true;
	return false;
}

static char *
act_command(const struct control_env *env, const struct control *c)
{
	const struct command_def *def = command_def(c->command);

	if (def && !auth_may_command(env->auth, &c->origin, def->name))
		return mem_printf("Only an admin may use /%s here.", def->name);
	switch (c->command) {
	case COMMAND_NONE:
		break;
	case COMMAND_UNKNOWN:
		return act_unknown(c);
	case COMMAND_START:
		return mem_str("Hello. Write what you need; /help lists the "
		    "commands.");
	case COMMAND_HELP:
		return command_help();
	case COMMAND_STATUS:
		return session_status(env->sessions, c->session_key,
		    &c->origin);
	case COMMAND_STOP:
		return session_stop(env->sessions, c->session_key, &c->origin);
	case COMMAND_NEW:
		return session_reset(env->sessions, c->session_key, &c->origin,
		    is_wipe(c->args));
	case COMMAND_APPROVE:
		return act_decide(env, c, true);
	case COMMAND_DENY:
		return act_decide(env, c, false);
	case COMMAND_YOLO:
		return gate_yolo(env->gate, c->session_key, &c->origin);
	case COMMAND_APPROVALS:
		return act_approvals(env, c);
	case COMMAND_SESSIONS:
	case COMMAND_RESUME:
	case COMMAND_TITLE:
	case COMMAND_UNDO:
	case COMMAND_RETRY:
	case COMMAND_MODEL:
		return talk_act(env->talks, c->command, c->args, c->session_key,
		    &c->origin);
	case COMMAND_RESTART:
		return restart_request(env->restart, &c->origin);
	case COMMAND_VERSION:
		return mem_printf("gatehouse %s", version_text());
	case COMMAND_WHOAMI:
		return mem_printf("You are user %s on %s, in chat %s.",
		    c->origin.user_id, c->origin.platform, c->origin.chat_id);
	}
	return mem_str("");
}

static void
on_resent(void *arg, const struct err *err)
{
	(void)arg;
	if (err)
		log_error("control", NULL, "a resend could not be queued: %s",
		    err->text);
}

static char *
act_resend(const struct control_env *env, const struct control *c)
{
	char *end;
	long long id = strtoll(c->press_data + strlen(PRESS_RESEND), &end, 10);
	struct place to = { c->origin.platform, c->origin.account,
		c->origin.chat_id, c->origin.thread_id };

	if (*end || id <= 0)
		return mem_str("This button is not understood.");
	store_outbox_resend(env->store, id, to.chat_id, NULL,
	    loop_wall(env->loop), on_resent, NULL);
	delivery_kick(env->delivery, &to);
	return mem_str("It is sent again unless it has arrived by now.");
}

static char *
act_press(const struct control_env *env, const struct control *c)
{
	const char *data = c->press_data;
	enum gate_answer answer = GATE_ANSWER_NO;
	const struct gate_reply reply = {
		.session_key = c->session_key, .who = &c->origin,
		.id = press_parse(data, &answer), .answer = answer,
		.reason = "",
	};

	if (reply.id)
		return gate_decide(env->gate, &reply);
	if (starts_with(data, PRESS_RESEND))
		return act_resend(env, c);
	return mem_str("This button is not known any more.");
}

void
control_act(const struct control_env *env, const struct control *c,
    char **ret_press)
{
	struct place to = { c->origin.platform, c->origin.account,
		c->origin.chat_id, c->origin.thread_id };
	CLEANUP_FREE char *text = c->command == COMMAND_NONE ?
	    act_press(env, c) : act_command(env, c);

	*ret_press = NULL;
	if (!text)		/* it answers later */
		return;
	if (c->press_id)
		*ret_press = STEAL(text);
	else if (text[0])
		delivery_notice(env->delivery, &to, text, NULL, 0);
}
