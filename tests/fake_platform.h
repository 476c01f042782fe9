/*
 * A chat platform in memory: one bot "900", any chats.  Invariants inside:
 * never two sends of one chat in flight, an event is acknowledged only after
 * committed(), nothing is sent to an unknown chat, an edit names a message that
 * was sent to that chat.
 */
#ifndef GATEHOUSE_TESTS_FAKE_PLATFORM_H
#define GATEHOUSE_TESTS_FAKE_PLATFORM_H

#include "platforms/platform.h"

#define FAKE_SENT_MAX 16384

struct fake_sent {
	msec_t at;		/* loop time of the request */
	char *chat_id, *thread_id, *text, *buttons0;	/* first button's data */
	char *buttons;		/* all of them: "data data" */
	char msg_id[16];	/* what the platform answered with; of edits: whose */
	bool is_edit, is_typing, is_press, is_file, done;
	bool ghost;		/* of a process that was killed: never left it */
	bool lost;		/* an unknown outcome that did not arrive */
	enum send_outcome outcome;
};

/* What the next sends (not typing) meet; used up in order. */
struct fake_trouble {
	const char *chat;	/* only there; NULL: the next send anywhere */
	msec_t delay;
	enum send_outcome outcome;
	enum send_error error;
	msec_t retry_after;
	const char *new_chat_id;
	bool lost;		/* SEND_UNKNOWN: it did not arrive */
};

struct fake_platform {		/* one at a time: platform_fake uses it */
	struct loop *loop;
	struct platform_host host;
	struct platform_instance *inst;
	struct fake_sent sent[FAKE_SENT_MAX];
	size_t nsent;
	struct fake_trouble trouble[64];
	size_t ntrouble, trouble_at;
	/* Instead of the list: what this send meets; false: nothing. */
	bool (*meet)(void *arg, const char *chat, bool edit,
		struct fake_trouble *ret);
	void *meet_arg;
	uint64_t batch;
	uint64_t committed_ok, committed_failed;
	msec_t delay;		/* of every send */
	bool paused;
	msec_t stamp_ms;	/* added to the time stamp of what is said */
	const char *reply_to;	/* message id that what is said replies to */
	bool dead;		/* between a kill and the next start */
	bool deaf;		/* what has an unknown outcome did not arrive */
	unsigned next_event, next_msg;
};

extern const struct platform platform_fake;
extern struct fake_platform *fake_platform;

void fake_platform_init(struct fake_platform *fp, struct loop *loop);
void fake_platform_done(struct fake_platform *fp);
void fake_platform_trouble(struct fake_platform *fp,
	const struct fake_trouble *trouble);
/* The process is killed: what is on the wire arrives, nothing more does. */
void fake_platform_kill(struct fake_platform *fp);
/* One update with one message in a private chat; returns its message id. */
unsigned fake_say(struct fake_platform *fp, const char *user, const char *text);
/* In a group; mentions the bot. */
void fake_say_in(struct fake_platform *fp, const char *user, const char *chat,
	const char *text);
/* In a group, to the others. */
void fake_say_aside(struct fake_platform *fp, const char *user,
	const char *chat, const char *text);
/* A press on a button of a message in that group. */
void fake_press_in(struct fake_platform *fp, const char *user, const char *chat,
	const char *data);
/* The service message: the group has a new id. */
void fake_moved(struct fake_platform *fp, const char *old_id,
	const char *new_id);
/* One update of the test's own making. */
void fake_offer(struct fake_platform *fp, const struct msg *msg);
/* No batch is open and it takes more. */
bool fake_may_offer(const struct fake_platform *fp);
/* Several texts of one getUpdates answer. */
void fake_say_batch(struct fake_platform *fp, const char *user,
	const char *const *texts, size_t n);
void fake_say_again(struct fake_platform *fp, const char *user,
	const char *text, unsigned event);	/* a redelivery */
void fake_edit(struct fake_platform *fp, const char *user, unsigned msg,
	const char *text);
void fake_press(struct fake_platform *fp, const char *user, const char *data);
/* Messages (no typing, no press answers) that arrived at the chat. */
size_t fake_count(const struct fake_platform *fp, const char *chat);
const char *fake_text(const struct fake_platform *fp, const char *chat, size_t i);
const char *fake_last(const struct fake_platform *fp, const char *chat);
/* The newest message with a button whose data begins so, or NULL. */
const struct fake_sent *fake_asked(const struct fake_platform *fp,
	const char *data);
bool fake_saw(const struct fake_platform *fp, const char *chat, const char *part);
/* It stands on the screen, also if its sender does not know that. */
bool fake_arrived(const struct fake_platform *fp, const struct fake_sent *s);
/* What stands on the screen of a chat, edits applied: "one|two"; caller frees. */
char *fake_screen(const struct fake_platform *fp, const char *chat);

#endif
