#include "platforms/telegram_content.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define LABEL_MAX 240
#define QUOTE_MAX 1000

/* Foreign words on one line of ours: no line breaks, no brackets, bounded. */
static void
add_label(struct buf *out, const char *s, size_t max)
{
	size_t len = strlen(s);
	size_t cut = utf8_cut(s, len, max);

	for (size_t i = 0; i < cut; i++)
		buf_add_char(out, (unsigned char)s[i] < ' ' ? ' ' :
			s[i] == '[' ? '(' : s[i] == ']' ? ')' : s[i]);
	if (cut < len)
		buf_add_str(out, "...");
}

bool
telegram_content_service(const struct json *message)
{
	static const char *const keys[] = { "new_chat_members",
		"left_chat_member", "new_chat_title", "new_chat_photo",
		"delete_chat_photo", "group_chat_created",
		"supergroup_chat_created", "channel_chat_created",
		"message_auto_delete_timer_changed", "pinned_message",
		"forum_topic_created", "forum_topic_edited",
		"forum_topic_closed", "forum_topic_reopened",
		"general_forum_topic_hidden", "general_forum_topic_unhidden",
		"video_chat_scheduled", "video_chat_started",
		"video_chat_ended", "video_chat_participants_invited",
		"boost_added", "chat_background_set", "write_access_allowed",
		"users_shared", "chat_shared", "connected_website",
		"proximity_alert_triggered", "giveaway_created", "giveaway",
		"giveaway_winners", "giveaway_completed", "chat_owner_left",
		"chat_owner_changed" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (json_get(message, keys[i]))
			return true;
	return false;
}

/* key: in the message; name: for people; label: member that names it, or NULL */
struct media { const char *key; const char *name; const char *label; };

static const struct media media_kinds[] = {
	{ "photo", "photo", NULL },
	{ "voice", "voice message", NULL },
	{ "audio", "audio", "title" },
	{ "video", "video", "file_name" },
	{ "video_note", "video note", NULL },
	/* an animation comes with a document of the same file: first */
	{ "animation", "animation", "file_name" },
	{ "document", "document", "file_name" },
	{ "sticker", "sticker", "emoji" },
	/* a venue comes with a location: first */
	{ "venue", "venue", "title" },
	{ "location", "location", NULL },
	{ "contact", "contact", "first_name" },
	{ "poll", "poll", "question" },
	{ "dice", "dice", "emoji" },
	{ "story", "story", NULL },
	{ "game", "game", "title" },
	{ "checklist", "checklist", "title" },
	{ "paid_media", "paid media", NULL },
	{ "rich_message", "rich message", NULL },
};

bool
telegram_content_media(struct buf *out, const struct json *message)
{
	for (size_t i = 0; i < ARRAY_LEN(media_kinds); i++) {
		const struct media *kind = &media_kinds[i];
		const struct json *m = json_get(message, kind->key);

		if (!m)
			continue;
		if (!out)
			return true;
		buf_printf(out, "[%s", kind->name);
		if (!strcmp(kind->key, "location")) {
			buf_printf(out, ": %.6f, %.6f",
				json_get_num(m, "latitude", 0),
				json_get_num(m, "longitude", 0));
		} else if (kind->label && json_get_str(m, kind->label, NULL)) {
			buf_add_str(out, ": ");
			add_label(out, json_get_str(m, kind->label, ""), LABEL_MAX);
		}
		buf_add_char(out, ']');
		/* words follow: a caption, or the text of a rich message */
		if (json_get_str(message, "caption", NULL) ||
		    json_get_str(message, "text", NULL))
			buf_add_char(out, '\n');
		return true;
	}
	return false;
}

static const char *
chat_or_user_name(const struct json *who)
{
	const char *name = json_get_str(who, "title", NULL);

	if (!name)
		name = json_get_str(who, "first_name", NULL);
	return name ? name : json_get_str(who, "username", "someone");
}

static void
add_origin(struct buf *out, const struct json *origin)
{
	const struct json *who = json_get(origin, "sender_user");
	const char *hidden = json_get_str(origin, "sender_user_name", NULL);

	if (!who)
		who = json_get(origin, "sender_chat");
	if (!who)
		who = json_get(origin, "chat");
	buf_add_str(out, "[Forwarded from ");
	add_label(out, hidden ? hidden : chat_or_user_name(who), LABEL_MAX);
	buf_add_str(out, "]\n");
}

static void
add_quote(struct buf *out, const struct json *reply, const char *text)
{
	buf_add_str(out, "[Replying to ");
	if (reply) {
		const struct json *who = json_get(reply, "sender_chat");

		add_label(out, chat_or_user_name(who ? who :
			json_get(reply, "from")), LABEL_MAX);
		buf_add_str(out, ": ");
	}
	buf_add_char(out, '"');
	add_label(out, text, QUOTE_MAX);
	buf_add_str(out, "\"]\n");
}

void
telegram_content_context(struct buf *out, const struct json *message,
	const struct json *reply, bool reply_to_bot)
{
	const struct json *origin = json_get(message, "forward_origin");
	const char *quote = json_get_str(json_get(message, "quote"), "text", NULL);

	if (json_is_object(origin))
		add_origin(out, origin);
	if (!quote && reply && !reply_to_bot) {
		quote = json_get_str(reply, "text", NULL);
		if (!quote)
			quote = json_get_str(reply, "caption", NULL);
	}
	if (quote)
		add_quote(out, reply, quote);
}
