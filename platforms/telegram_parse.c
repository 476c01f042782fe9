#include "platforms/telegram_parse.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "platforms/telegram_content.h"
#include "platforms/telegram_text.h"

#define TEXT_MAX (64u << 20)	/* an answer has at most 4 MiB */
#define UNREADABLE_MAX 4096

static char *
keep(struct telegram_batch *b, char *s)
{
	if (b->nstrings == b->room) {
		b->room = b->room ? b->room * 2 : 16;
		b->strings = mem_grow(b->strings, b->room, sizeof(*b->strings));
	}
	b->strings[b->nstrings++] = s;
	return s;
}

/* An id as text; "" if there is none. */
static const char *
id_text(struct telegram_batch *b, const struct json *node)
{
	int64_t id;

	if (!json_id(node, &id))
		return "";
	return keep(b, mem_printf("%lld", (long long)id));
}

static const char *
get_id(struct telegram_batch *b, const struct json *obj, const char *key)
{
	return id_text(b, json_get(obj, key));
}

static const char *
name_of(struct telegram_batch *b, const struct json *who)
{
	const char *title = json_get_str(who, "title", NULL);
	const char *first = json_get_str(who, "first_name", NULL);
	const char *last = json_get_str(who, "last_name", NULL);

	if (title)
		return title;
	if (!first)
		return json_get_str(who, "username", "");
	return last ? keep(b, mem_printf("%s %s", first, last)) : first;
}

/* ---- where and who ------------------------------------------------------------ */

static enum chat_type
chat_type_of(const struct json *chat, bool topic)
{
	const char *type = json_get_str(chat, "type", "private");

	if (!strcmp(type, "private"))
		return CHAT_DM;
	if (!strcmp(type, "channel"))
		return CHAT_CHANNEL;
	return topic || json_get_bool(chat, "is_forum", false) ? CHAT_FORUM :
		CHAT_GROUP;
}

static void
fill_place(struct telegram_batch *b, struct msg *m, const struct json *message)
{
	const struct json *chat = json_get(message, "chat");
	bool topic = json_get_bool(message, "is_topic_message", false);

	m->chat_id = get_id(b, chat, "id");
	/*
	 * message_thread_id is also on plain replies, and 1 is the General
	 * topic: sending to either fails with "message thread not found".
	 */
	if (topic && json_get_int(message, "message_thread_id", 1) != 1)
		m->thread_id = get_id(b, message, "message_thread_id");
	m->chat_type = chat_type_of(chat, m->thread_id[0] != '\0');
	m->msg_id = get_id(b, message, "message_id");
}

/* Who speaks: a chat (anonymous admin, channel) if one does, else a person. */
static void
fill_sender(struct telegram_batch *b, struct msg *m, const struct json *message)
{
	const struct json *who = json_get(message, "sender_chat");

	if (!json_is_object(who)) {
		who = json_get(message, "from");
		m->from_bot = json_get_bool(who, "is_bot", false);
	}
	if (!json_is_object(who))
		who = json_get(message, "chat");	/* old channel posts */
	m->user_id = get_id(b, who, "id");
	m->user_name = name_of(b, who);
}

static msec_t
unix_ms(int64_t date)
{
	/* some servers that imitate Telegram's send milliseconds */
	return date <= 0 ? 0 : date > 100000000000 ? date : date * 1000;
}

/* ---- words ----------------------------------------------------------------------- */

static bool
is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		(c >= 'a' && c <= 'z') || c == '_' || (unsigned char)c >= 0x80;
}

/* "@name" as a word of its own, in any case. */
static bool
names_bot(const char *text, const char *username)
{
	size_t n = strlen(username);

	for (const char *p = text; n && (p = strchr(p, '@')); p++)
		if ((p == text || !is_word(p[-1])) &&
		    !strncasecmp(p + 1, username, n) && !is_word(p[1 + n]))
			return true;
	return false;
}

static bool
text_mentions(const struct json *entities, const struct telegram_self *self)
{
	for (const struct json *e = json_first(entities); e; e = json_next(e)) {
		int64_t id;

		if (strcmp(json_get_str(e, "type", ""), "text_mention") ||
		    !json_id(json_path(e, "user.id"), &id))
			continue;
		CLEANUP_FREE char *text = mem_printf("%lld", (long long)id);
		if (!strcmp(text, self->id))
			return true;
	}
	return false;
}

/* Length of "/word" (behind white space), 0 if the text is no command. */
static size_t
command_len(const char *text)
{
	size_t i = strspn(text, " \t\n");

	if (text[i++] != '/' || !is_word(text[i]))
		return 0;
	while (is_word(text[i]))
		i++;
	return i;
}

enum command_for { COMMAND_NONE, COMMAND_ANY, COMMAND_OWN, COMMAND_OTHER };

/* Whose command it is; *ret_tail is what follows the word and its @name. */
static enum command_for
command_for(const char *text, size_t len, const struct telegram_self *self,
	const char **ret_tail)
{
	const char *at = text + len;
	size_t n = 1;

	*ret_tail = at;
	if (len == 0)
		return COMMAND_NONE;
	if (*at != '@')
		return COMMAND_ANY;
	while (is_word(at[n]))
		n++;
	*ret_tail = at + n;
	return n - 1 == strlen(self->username) &&
		!strncasecmp(at + 1, self->username, n - 1) ?
		COMMAND_OWN : COMMAND_OTHER;
}

/*
 * An explicit reply. In a topic every message carries one to the message that
 * made the topic; that one says nothing.
 */
static const struct json *
reply_of(const struct json *message)
{
	const struct json *reply = json_get(message, "reply_to_message");
	int64_t id = json_get_int(reply, "message_id", -1);

	if (json_get(reply, "forum_topic_created") ||
	    (json_get_bool(message, "is_topic_message", false) &&
	    id == json_get_int(message, "message_thread_id", -2)))
		return NULL;
	return reply;
}

static void
fill_reply(struct telegram_batch *b, struct msg *m, const struct json *message,
	const struct telegram_self *self)
{
	const struct json *reply = reply_of(message);

	m->reply_to = get_id(b, reply, "message_id");
	m->reply_to_bot = !strcmp(id_text(b, json_path(reply, "from.id")), self->id);
}

/* False: nothing for us in it. */
static bool
fill_text(struct telegram_batch *b, struct msg *m, const struct json *message,
	const struct telegram_self *self)
{
	const char *raw = json_get_str(message, "text", NULL);
	const char *key = raw ? "entities" : "caption_entities";
	const char *tail;
	struct buf out;

	if (!raw)
		raw = json_get_str(message, "caption", "");
	const struct json *entities = json_get(message, key);
	bool forwarded = json_is_object(json_get(message, "forward_origin"));
	size_t len = forwarded ? 0 : command_len(raw);
	enum command_for whose = command_for(raw, len, self, &tail);

	if (whose == COMMAND_OTHER)
		return false;
	m->mentions_bot = whose == COMMAND_OWN || m->reply_to_bot ||
		names_bot(raw, self->username) || text_mentions(entities, self);
	m->text_units = utf8_units16(raw, strlen(raw));
	buf_init(&out, TEXT_MAX);
	if (whose == COMMAND_NONE) {
		telegram_content_context(&out, message, reply_of(message),
			m->reply_to_bot);
		telegram_content_media(&out, message);
	}
	if (whose == COMMAND_OWN) {
		/* the text without the name: entities would no longer fit */
		buf_add(&out, raw, len);
		buf_add_str(&out, tail);
	} else {
		telegram_text_markdown(&out, raw, entities, len);
	}
	m->text = keep(b, buf_take(&out));
	return true;
}

/* ---- kinds of updates ------------------------------------------------------------- */

static struct msg
blank_msg(const struct telegram_self *self, enum msg_kind kind)
{
	return (struct msg){ .kind = kind, .platform = "telegram",
		.account = self->id, .event_id = "", .chat_id = "",
		.thread_id = "", .user_id = "", .user_name = "", .msg_id = "",
		.reply_to = "", .text = "", .press_id = "", .press_data = "" };
}

enum parsed { PARSED, SKIPPED, UNREADABLE };

static enum parsed
parse_migration(struct telegram_batch *b, struct msg *m,
	const struct json *message, const struct telegram_self *self)
{
	const char *here = m->chat_id;
	const char *to = get_id(b, message, "migrate_to_chat_id");
	const char *from = get_id(b, message, "migrate_from_chat_id");

	*m = blank_msg(self, MSG_MIGRATED);
	m->chat_type = CHAT_GROUP;
	m->chat_id = to[0] ? here : from;
	m->text = to[0] ? to : here;
	/* both groups tell it: the same event */
	m->event_id = keep(b, mem_printf("%s>%s", m->chat_id, m->text));
	return PARSED;
}

static enum parsed
parse_message(struct telegram_batch *b, struct msg *m,
	const struct json *message, bool edited, const struct telegram_self *self)
{
	*m = blank_msg(self, edited ? MSG_EDIT : MSG_TEXT);
	fill_place(b, m, message);
	if (!m->chat_id[0] || !m->msg_id[0])
		return UNREADABLE;
	if (json_get(message, "migrate_to_chat_id") ||
	    json_get(message, "migrate_from_chat_id"))
		return parse_migration(b, m, message, self);
	if (telegram_content_service(message))
		return SKIPPED;
	if (!json_get_str(message, "text", NULL) &&
	    !telegram_content_media(NULL, message))
		return UNREADABLE;
	fill_sender(b, m, message);
	fill_reply(b, m, message, self);
	if (!fill_text(b, m, message, self))
		return SKIPPED;
	m->sent_wall = unix_ms(json_get_int(message,
		edited ? "edit_date" : "date", 0));
	/* message ids count per chat */
	m->event_id = keep(b, edited ?
		mem_printf("%s:%s:%lld", m->chat_id, m->msg_id,
			(long long)json_get_int(message, "edit_date", 0)) :
		mem_printf("%s:%s", m->chat_id, m->msg_id));
	return PARSED;
}

static enum parsed
parse_press(struct telegram_batch *b, struct msg *m, const struct json *press,
	const struct telegram_self *self)
{
	const struct json *message = json_get(press, "message");

	*m = blank_msg(self, MSG_PRESS);
	m->press_id = json_get_str(press, "id", "");
	m->press_data = json_get_str(press, "data", "");
	/* the message may be inaccessible: chat, message_id and date 0 only */
	fill_place(b, m, message);
	m->user_id = id_text(b, json_path(press, "from.id"));
	m->user_name = name_of(b, json_get(press, "from"));
	m->from_bot = json_get_bool(json_get(press, "from"), "is_bot", false);
	m->event_id = m->press_id;
	return m->press_id[0] && m->user_id[0] ? PARSED : UNREADABLE;
}

static enum parsed
parse_member(struct telegram_batch *b, struct msg *m, const struct json *change,
	int64_t update_id, const struct telegram_self *self)
{
	*m = blank_msg(self, MSG_MEMBER);
	m->chat_id = id_text(b, json_path(change, "chat.id"));
	m->chat_type = chat_type_of(json_get(change, "chat"), false);
	m->user_id = id_text(b, json_path(change, "from.id"));
	m->user_name = name_of(b, json_get(change, "from"));
	m->text = json_get_str(json_get(change, "new_chat_member"), "status", "");
	m->sent_wall = unix_ms(json_get_int(change, "date", 0));
	m->event_id = keep(b, mem_printf("u%lld", (long long)update_id));
	return m->chat_id[0] && m->text[0] ? PARSED : UNREADABLE;
}

static enum parsed
parse_update(struct telegram_batch *b, struct msg *m, const struct json *update,
	int64_t id, const struct telegram_self *self)
{
	static const struct { const char *key; bool edited; } messages[] = {
		{ "message", false }, { "edited_message", true },
		{ "channel_post", false }, { "edited_channel_post", true },
	};
	const struct json *body;

	for (size_t i = 0; i < ARRAY_LEN(messages); i++)
		if ((body = json_get(update, messages[i].key)))
			return parse_message(b, m, body, messages[i].edited, self);
	if ((body = json_get(update, "callback_query")))
		return parse_press(b, m, body, self);
	if ((body = json_get(update, "my_chat_member")))
		return parse_member(b, m, body, id, self);
	return SKIPPED;
}

static void
add_update(struct telegram_batch *b, const struct json *update,
	const struct telegram_self *self)
{
	struct msg *m = &b->msgs[b->n];
	int64_t id;

	if (!json_id(json_get(update, "update_id"), &id) || id < 0)
		return;
	if (id >= b->next_offset)
		b->next_offset = id + 1;
	switch (parse_update(b, m, update, id, self)) {
	case PARSED:
		b->n++;
		break;
	case SKIPPED:
		b->skipped++;
		break;
	case UNREADABLE: {
		char *text = json_text(update);
		size_t len = strlen(text);

		*m = blank_msg(self, MSG_UNREADABLE);
		text[utf8_cut(text, len, UNREADABLE_MAX)] = '\0';
		m->text = keep(b, text);
		m->event_id = keep(b, mem_printf("u%lld", (long long)id));
		b->n++;
		break;
	}
	}
}

int
telegram_batch_init(struct telegram_batch *b, struct json *root,
	const struct telegram_self *self, struct err *err)
{
	const struct json *list = json_get(root, "result");

	memset(b, 0, sizeof(*b));
	b->root = root;
	if (!json_is_array(list))
		return err_set(err, ERR_PROTOCOL,
			"getUpdates: the answer holds no list of updates");
	b->updates = json_len(list);
	b->msgs = mem_array(b->updates + 1, sizeof(*b->msgs));
	for (const struct json *u = json_first(list); u; u = json_next(u))
		add_update(b, u, self);
	if (b->updates && !b->next_offset)
		return err_set(err, ERR_PROTOCOL,
			"getUpdates: none of %zu updates has an id", b->updates);
	return 0;
}

void
telegram_batch_done(struct telegram_batch *b)
{
	for (size_t i = 0; i < b->nstrings; i++)
		mem_free(b->strings[i]);
	mem_free(b->strings);
	mem_free(b->msgs);
	json_free(&b->root);
	memset(b, 0, sizeof(*b));
}
