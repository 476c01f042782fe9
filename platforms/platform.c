#include "platforms/platform.h"

const char *
chat_type_name(enum chat_type type)
{
	static const char *const names[] = {
		[CHAT_DM] = "dm", [CHAT_GROUP] = "group",
		[CHAT_CHANNEL] = "channel", [CHAT_THREAD] = "thread",
		[CHAT_FORUM] = "forum",
	};

	return names[type];
}

const char *
msg_kind_name(enum msg_kind kind)
{
	static const char *const names[] = {
		[MSG_TEXT] = "message", [MSG_EDIT] = "edit",
		[MSG_PRESS] = "press", [MSG_MEMBER] = "member",
		[MSG_MIGRATED] = "migrated", [MSG_UNREADABLE] = "unreadable",
	};

	return names[kind];
}

const char *
platform_state_name(enum platform_state state)
{
	static const char *const names[] = {
		[PLATFORM_STOPPED] = "stopped", [PLATFORM_STARTING] = "starting",
		[PLATFORM_UP] = "connected", [PLATFORM_BACKOFF] = "waiting",
		[PLATFORM_FAILED] = "failed",
	};

	return names[state];
}
