#include "gateway/control.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/version.h"

#define PRESS_YES "ea:once:"
#define PRESS_NO "ea:deny:"
#define PRESS_RESEND "rs:"
#define STAMP_MS 1000		/* platforms stamp whole seconds */

static bool
starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/*
 * Plain yes or no counts in a private chat with exactly one open question, and
 * for that one: another that is asked meanwhile is not answered by it.
 */
static char *
plain_answer(const struct control_env *env, const struct msg *msg,
    const char *session_key)
{
	static const char *const words[][2] = {
		{ "y", PRESS_YES }, { "yes", PRESS_YES },
		{ "n", PRESS_NO }, { "no", PRESS_NO },
	};

	if (msg->kind != MSG_TEXT || msg->chat_type != CHAT_DM)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcasecmp(msg->text, words[i][0]) != 0)
			continue;
		CLEANUP_JSON struct json *open = gate_open_requests(env->gate,
		    session_key);

		return json_len(open) != 1 ? NULL : mem_printf("%s%s",
		    words[i][1], json_get_str(json_at(open, 0), "id", ""));
	}
	return NULL;
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
	if (c->command == COMMAND_NONE)
		return starts_with(c->press_data, PRESS_NO);
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

	for (const struct json *r = json_first(open); r; r = json_next(r))
		if (c->sent_wall > 0 && json_get_int(r, "asked_wall", 0) >
		    c->sent_wall + STAMP_MS)
			return true;
	return false;
}

static char *
act_decide(const struct control_env *env, const struct control *c,
    enum gate_answer answer)
{
	char *rest = NULL;
	CLEANUP_FREE char *args = mem_str(c->args);
	const char *id = "";
	const char *reason = args;
	bool all = false;
	char *word = strtok_r(args, " \t\n", &rest);

	if (word && strcasecmp(word, "all") == 0) {
		all = true;
		reason = rest;
	} else if (word && strlen(word) == 8 &&
	    strspn(word, "0123456789abcdef") == 8) {
		id = word;
		reason = rest;
	} else if (word && answer == GATE_ANSWER_YES) {
		return mem_printf("Only single commands can be approved: "
		    "/approve or /approve ID. '%.40s' is not understood, "
		    "nothing was approved.", word);
	} else {
		reason = c->args;
	}
	if (answer == GATE_ANSWER_YES && !id[0] && is_stale_yes(env, c))
		return mem_str("This was written before the question that waits "
		    "now: nothing was approved. Look with /approvals, then send "
		    "/approve ID.");
	return gate_decide(env->gate, c->session_key, id, all, answer, reason,
	    c->origin.platform, c->origin.user_id);
}

static char *
act_approvals(const struct control_env *env, const struct control *c)
{
	CLEANUP_JSON struct json *open = gate_open_requests(env->gate,
	    c->session_key);
	struct buf b;

	if (json_len(open) == 0)
		return mem_str("Nothing waits for an answer here.");
	buf_init(&b, 16384);
	for (const struct json *r = json_first(open); r; r = json_next(r))
		buf_printf(&b, "%s: %.500s\n", json_get_str(r, "id", ""),
		    json_get_str(r, "command", ""));
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
		return act_decide(env, c, GATE_ANSWER_YES);
	case COMMAND_DENY:
		return act_decide(env, c, GATE_ANSWER_NO);
	case COMMAND_APPROVALS:
		return act_approvals(env, c);
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
	store_outbox_resend(env->store, id, to.chat_id, loop_wall(env->loop),
	    on_resent, NULL);
	delivery_kick(env->delivery, &to);
	return mem_str("It is sent again unless it has arrived by now.");
}

static char *
act_press(const struct control_env *env, const struct control *c)
{
	const char *data = c->press_data;
	bool yes = starts_with(data, PRESS_YES);

	if (yes || starts_with(data, PRESS_NO))
		return gate_decide(env->gate, c->session_key,
		    data + strlen(yes ? PRESS_YES : PRESS_NO), false,
		    yes ? GATE_ANSWER_YES : GATE_ANSWER_NO, "",
		    c->origin.platform, c->origin.user_id);
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
	if (c->press_id)
		*ret_press = STEAL(text);
	else if (text[0])
		delivery_notice(env->delivery, &to, text, NULL, 0);
}
