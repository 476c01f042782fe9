/*
 * What every platform speaks.  A platform turns foreign bytes into struct msg
 * and struct reply back; it knows nothing of sessions, models or sandboxes.
 *
 * Down: struct platform (the vtable, one a platform, listed in list.h).
 * Up:   struct platform_host (given at start by the gateway).
 * All on the loop's thread.
 */
#ifndef GATEHOUSE_PLATFORM_H
#define GATEHOUSE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/http.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/op.h"

enum chat_type { CHAT_DM, CHAT_GROUP, CHAT_CHANNEL, CHAT_THREAD, CHAT_FORUM };
const char *chat_type_name(enum chat_type type);	/* "dm", "group", ... */

enum msg_kind {
	MSG_TEXT,
	MSG_EDIT,		/* of an earlier message: see msg_id */
	MSG_PRESS,		/* a button: data, press_id */
	MSG_MEMBER,		/* blocked, unblocked, removed: no words */
	MSG_MIGRATED,		/* the chat has a new id: text is the new one */
	MSG_UNREADABLE,		/* could not be parsed: stored and passed */
};
const char *msg_kind_name(enum msg_kind kind);

/* Inbound event. Strings are borrowed for the call; never NULL ("" instead). */
struct msg {
	enum msg_kind kind;
	const char *platform;	/* "telegram" */
	const char *account;	/* bot id at the platform */
	/* With platform, account and kind: the key of the event (rules 1.2). */
	const char *event_id;
	const char *chat_id;
	enum chat_type chat_type;
	const char *thread_id;	/* "" if none */
	const char *user_id;	/* whose right counts (sender_chat if it speaks) */
	const char *user_name;	/* a label, never an identity */
	const char *msg_id;
	const char *reply_to;	/* message id or "" */
	bool reply_to_bot;
	bool mentions_bot;	/* addressed: mention, reply, own command form */
	bool from_bot;
	const char *text;	/* UTF-8; own @name stripped from a command */
	const char *press_id;	/* to be answered by answer_press */
	const char *press_data;
	msec_t sent_wall;	/* the platform's time stamp; 0 unknown */
	size_t text_units;	/* length as the platform counts; 1.9 needs it */
};

/* A button under a message: data comes back as press_data (64 bytes at most). */
struct button { const char *label; const char *data; };

/* Where a text goes. */
struct chat_ref {
	const char *chat_id;
	const char *thread_id;	/* "" if none */
};

enum send_outcome { SEND_YES, SEND_NO, SEND_UNKNOWN };	/* law 3 */

enum send_error {
	SEND_ERR_NONE,
	SEND_ERR_RATE,		/* wait retry_after_ms, then again: nothing was done */
	SEND_ERR_TRANSIENT,	/* not sent: try again later */
	SEND_ERR_TARGET_GONE,	/* blocked, kicked, chat deleted: for good */
	SEND_ERR_FORMAT,	/* the markup was refused (plain text was tried) */
	SEND_ERR_TOO_LONG,
	SEND_ERR_MIGRATED,	/* chat has a new id: new_chat_id */
	SEND_ERR_MSG_GONE,	/* edit: no such message */
	SEND_ERR_REFUSED,	/* any other clear no */
	SEND_ERR_CONFIG,	/* bad token: fatal for the platform */
};

/* Borrowed during the callback. */
struct send_result {
	enum send_outcome outcome;
	enum send_error error;
	const char *msg_id;	/* "" if unknown */
	msec_t retry_after_ms;
	const char *new_chat_id;
	const struct err *err;
};
typedef void send_cb(void *arg, const struct send_result *res);

/* One message: text is Markdown as models write it, at most one chunk long. */
struct outgoing {
	struct chat_ref to;
	const char *text;
	bool plain;		/* text is no Markdown: show it as it is */
	/* Not NULL: text is what a file of this name holds, and is sent as that
	 * (PLATFORM_CAN_FILES; new messages only; buttons don't count). */
	const char *file_name;
	const char *reply_to;	/* or "" */
	const struct button *buttons;	/* rows of one, `nbuttons` of them */
	size_t nbuttons;
	const char *nonce;	/* idempotency key where the platform has one */
	bool silent;
};

enum platform_state {
	PLATFORM_STOPPED, PLATFORM_STARTING, PLATFORM_UP, PLATFORM_BACKOFF,
	PLATFORM_FAILED,	/* fatal: will not come up by itself */
};
const char *platform_state_name(enum platform_state state);

/*
 * Upwards.  on_batch hands over all events of one answer of the platform; the
 * platform may confirm them to its peer (offset, ack) only after the gateway
 * has called ops->committed(batch_id, true).  false: commit failed, keep and
 * offer again after back-off.  One batch is open at a time.  The instance may
 * not be stopped from inside these.
 */
struct platform_host {
	void *arg;
	void (*on_batch)(void *arg, const char *platform, const struct msg *msgs,
		size_t n, uint64_t batch_id, const char *cursor);
	void (*on_state)(void *arg, const char *platform,
		enum platform_state state, const char *why);
};

struct platform_env {
	struct loop *loop;
	struct http *http;
	const struct platform_host *host;
	/* What ops->committed last stored for this account, "" if none (or too old). */
	const char *cursor;
	const char *cursor_account;
};

enum { PLATFORM_CAN_EDIT = 1, PLATFORM_CAN_TYPING = 2, PLATFORM_CAN_BUTTONS = 4,
	PLATFORM_CAN_NONCE = 8,
	PLATFORM_STATELESS = 16,	/* answers a request; nothing can follow */
	PLATFORM_CAN_FILES = 64 };

struct platform_instance;

/*
 * opts is the platform's own option struct (struct telegram_opts ...), filled
 * by the gateway's configuration and valid for the instance's life.
 * Every send-like function returns an op and reports by callback.
 */
struct platform {
	const char *name;
	unsigned flags;
	size_t text_limit;	/* in the unit of text_len */
	size_t (*text_len)(const char *text, size_t len);
	struct platform_instance *(*start)(const struct platform_env *env,
		const void *opts, struct err *err);
	/* No callback after it; requires that no op of the instance is left. */
	void (*stop)(struct platform_instance **inst);
	void (*committed)(struct platform_instance *inst, uint64_t batch_id, bool ok);
	/* Stop asking for more (drain); sends go on. */
	void (*pause)(struct platform_instance *inst);
	struct op *(*send)(struct platform_instance *inst,
		const struct outgoing *out, send_cb *cb, void *arg);
	struct op *(*edit)(struct platform_instance *inst, const char *msg_id,
		const struct outgoing *out, send_cb *cb, void *arg);
	struct op *(*typing)(struct platform_instance *inst,
		const struct chat_ref *to, send_cb *cb, void *arg);
	struct op *(*answer_press)(struct platform_instance *inst,
		const char *press_id, const char *text, send_cb *cb, void *arg);
};

#endif
