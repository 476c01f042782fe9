/* One bot: what telegram.c, telegram_poll.c and telegram_send.c share. */
#ifndef GATEHOUSE_TELEGRAM_PRIV_H
#define GATEHOUSE_TELEGRAM_PRIV_H

#include "base/log.h"
#include "platforms/platform.h"
#include "platforms/telegram_api.h"
#include "platforms/telegram_parse.h"

enum telegram_step {
	TELEGRAM_WHO, TELEGRAM_POLL, TELEGRAM_COMMIT, TELEGRAM_WAIT,
	TELEGRAM_PAUSED, TELEGRAM_FAILED,
};

struct platform_instance {
	struct loop *loop;
	const struct platform_host *host;
	struct telegram_api api;
	char *cursor;			/* stored by the gateway, "" if none */
	char *cursor_account;
	msec_t poll_ms;
	size_t sends;			/* under way; none when it stops */

	enum telegram_step step;
	enum platform_state state;
	char *why;			/* what was last told with state */
	struct op *waiting;
	struct timer *timer;
	char *id;
	char *username;			/* NULL until getMe has answered */
	int64_t offset;			/* 0: none */
	bool proven;			/* a poll has answered since the last trouble */
	bool fresh;			/* the old connection is not to be trusted */
	bool paused;
	unsigned troubles;		/* in a row */
	unsigned conflicts;		/* in a row */

	struct telegram_batch batch;	/* open while in TELEGRAM_COMMIT */
	uint64_t batch_id;
	unsigned commit_failures;
	struct log_ctx log;
};

/* telegram_poll.c */
void telegram_poll_start(struct platform_instance *t);
void telegram_poll_pause(struct platform_instance *t);
void telegram_poll_committed(struct platform_instance *t, uint64_t batch_id,
	bool ok);
void telegram_poll_done(struct platform_instance *t);

/* telegram_send.c */
struct op *telegram_send(struct platform_instance *inst,
	const struct outgoing *out, send_cb *cb, void *arg);
struct op *telegram_edit(struct platform_instance *inst, const char *msg_id,
	const struct outgoing *out, send_cb *cb, void *arg);
struct op *telegram_typing(struct platform_instance *inst,
	const struct chat_ref *to, send_cb *cb, void *arg);
struct op *telegram_answer_press(struct platform_instance *inst,
	const char *press_id, const char *text, send_cb *cb, void *arg);

#endif
