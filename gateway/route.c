#include "gateway/route.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

/*
 * Ids come from platforms.  A separator or a path character in one would make
 * two different chats share a key, so those bytes are written as %XX.
 */
static void
add_id(struct buf *b, const char *id)
{
	for (const unsigned char *p = (const unsigned char *)id; *p; p++) {
		if (*p <= ' ' || *p == ':' || *p == '/' || *p == '\\' ||
		    *p == '%' || *p == 127 || (*p == '.' && p[1] == '.'))
			buf_printf(b, "%%%02X", *p);
		else
			buf_add_char(b, (char)*p);
	}
}

char *
route_id(const char *id)
{
	struct buf b;

	buf_init(&b, 4096);
	add_id(&b, id);
	return buf_take(&b);
}

static bool
per_user(const struct route_opts *opts, const struct msg *msg)
{
	if (msg->chat_type == CHAT_DM)
		return false;
	return msg->thread_id[0] ? opts->thread_sessions_per_user :
	    opts->group_sessions_per_user;
}

char *
route_session_key(const struct route_opts *opts, const struct msg *msg)
{
	struct buf b;

	buf_init(&b, 4096);
	buf_printf(&b, "agent:%s:%s:%s:", opts->profile, msg->platform,
	    chat_type_name(msg->chat_type));
	add_id(&b, msg->chat_id[0] ? msg->chat_id : msg->user_id);
	if (msg->thread_id[0]) {
		buf_add_char(&b, ':');
		add_id(&b, msg->thread_id);
	}
	if (per_user(opts, msg) && msg->user_id[0]) {
		buf_add_char(&b, ':');
		add_id(&b, msg->user_id);
	}
	return buf_take(&b);
}

char *
route_key_moved(const char *key, const char *old_id, const char *new_id)
{
	struct buf CLEANUP_BUF was;
	struct buf CLEANUP_BUF now;
	struct buf b;

	buf_init(&was, 4096);
	buf_init(&now, 4096);
	buf_init(&b, 8192);
	add_id(&was, old_id);
	add_id(&now, new_id);
	for (const char *at = key; ; at++) {
		size_t len = strcspn(at, ":");

		if (len == was.len && memcmp(at, was.data, len) == 0)
			buf_add(&b, now.data, now.len);
		else
			buf_add(&b, at, len);
		at += len;
		if (*at == '\0')
			return buf_take(&b);
		buf_add_char(&b, ':');
	}
}

void
origin_from_msg(struct origin *o, const struct route_opts *opts,
    const struct msg *msg)
{
	o->platform = mem_str(msg->platform);
	o->account = mem_str(msg->account);
	o->chat_id = mem_str(msg->chat_id);
	o->thread_id = mem_str(msg->thread_id);
	o->user_id = mem_str(msg->user_id);
	o->user_name = mem_str(msg->user_name);
	o->chat_type = msg->chat_type;
	o->shared = msg->chat_type != CHAT_DM && !per_user(opts, msg);
}

struct json *
origin_json(const struct origin *o)
{
	struct json *node = json_object();

	json_set_str(node, "platform", o->platform);
	json_set_str(node, "account", o->account);
	json_set_str(node, "chat_id", o->chat_id);
	json_set_str(node, "thread_id", o->thread_id);
	json_set_str(node, "user_id", o->user_id);
	json_set_str(node, "user_name", o->user_name);
	json_set_str(node, "chat_type", chat_type_name(o->chat_type));
	json_set_bool(node, "shared", o->shared);
	return node;
}

static enum chat_type
chat_type_parse(const char *name)
{
	for (enum chat_type t = CHAT_DM; t <= CHAT_FORUM; t++)
		if (strcmp(chat_type_name(t), name) == 0)
			return t;
	return CHAT_DM;
}

void
origin_from_json(struct origin *o, const struct json *node)
{
	o->platform = mem_str(json_get_str(node, "platform", ""));
	o->account = mem_str(json_get_str(node, "account", ""));
	o->chat_id = mem_str(json_get_str(node, "chat_id", ""));
	o->thread_id = mem_str(json_get_str(node, "thread_id", ""));
	o->user_id = mem_str(json_get_str(node, "user_id", ""));
	o->user_name = mem_str(json_get_str(node, "user_name", ""));
	o->chat_type = chat_type_parse(json_get_str(node, "chat_type", "dm"));
	o->shared = json_get_bool(node, "shared", false);
}

void
origin_done(struct origin *o)
{
	mem_free(o->platform);
	mem_free(o->account);
	mem_free(o->chat_id);
	mem_free(o->thread_id);
	mem_free(o->user_id);
	mem_free(o->user_name);
	memset(o, 0, sizeof(*o));
}
