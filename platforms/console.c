#include "platforms/console.h"

#include <string.h>
#include <sys/queue.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/utf8.h"

#define LINES_MAX 256		/* typed ahead while a commit is under way */

struct line {
	TAILQ_ENTRY(line) link;
	char *chat_id, *user_id, *text;
	char id[17];
};

struct platform_instance {
	struct platform_env env;
	struct console_opts opts;
	TAILQ_HEAD(, line) lines;
	size_t nlines;
	bool open;		/* the first line's batch is being committed */
	uint64_t batch;
	struct timer *timer;
};

/* A send: shown at once, reported later like everywhere. */
struct shown {
	struct op op;
	struct timer *timer;
	bool ok;
	char id[17];
	send_cb *cb;
	void *arg;
};

static void
shown_cancel(struct op *op)
{
	struct shown *s = (struct shown *)op;

	loop_cancel(&s->timer);
	mem_free(s);
}

static const struct op_type shown_type = { "console send", shown_cancel };

static void
on_shown(void *arg)
{
	struct shown *s = arg;
	struct err err = { ERR_NOT_FOUND, "the console client is gone" };
	struct send_result res = {
		.outcome = s->ok ? SEND_YES : SEND_NO,
		.error = s->ok ? SEND_ERR_NONE : SEND_ERR_TARGET_GONE,
		.msg_id = s->ok ? s->id : "",
		.new_chat_id = "",
		.err = s->ok ? NULL : &err,
	};

	s->timer = NULL;
	op_finish(&s->op);
	s->cb(s->arg, &res);
	mem_free(s);
}

static struct op *
shown_new(struct platform_instance *inst, bool ok, send_cb *cb, void *arg)
{
	struct shown *s = mem_alloc(sizeof(*s));

	op_init(&s->op, &shown_type);
	s->ok = ok;
	s->cb = cb;
	s->arg = arg;
	ids_hex(s->id, 16);
	s->timer = loop_defer(inst->env.loop, "console sent", on_shown, s);
	return &s->op;
}

static struct op *
console_send(struct platform_instance *inst, const struct outgoing *out,
    send_cb *cb, void *arg)
{
	return shown_new(inst, inst->opts.show(inst->opts.arg, out), cb, arg);
}

static struct op *
console_press(struct platform_instance *inst, const char *press_id,
    const char *text, send_cb *cb, void *arg)
{
	(void)press_id;
	(void)text;
	return shown_new(inst, true, cb, arg);
}

static void
line_free(struct platform_instance *inst, struct line *line)
{
	TAILQ_REMOVE(&inst->lines, line, link);
	inst->nlines--;
	mem_free(line->chat_id);
	mem_free(line->user_id);
	mem_free(line->text);
	mem_free(line);
}

static void
on_offer(void *arg)
{
	struct platform_instance *inst = arg;
	struct line *line = TAILQ_FIRST(&inst->lines);

	inst->timer = NULL;
	if (!line || inst->open)
		return;
	struct msg msg = {
		.kind = MSG_TEXT, .platform = "console", .account = "local",
		.event_id = line->id, .chat_id = line->chat_id,
		.chat_type = CHAT_DM, .thread_id = "", .user_id = line->user_id,
		.user_name = line->user_id, .msg_id = line->id, .reply_to = "",
		.mentions_bot = true, .text = line->text, .press_id = "",
		.press_data = "", .sent_wall = loop_wall(inst->env.loop),
		.text_units = utf8_units16(line->text, strlen(line->text)),
	};

	inst->open = true;
	inst->env.host->on_batch(inst->env.host->arg, "console", &msg, 1,
	    ++inst->batch, NULL);
}

void
console_input(struct platform_instance *inst, const char *chat_id,
    const char *user_id, const char *text)
{
	if (inst->nlines >= LINES_MAX)
		return;
	struct line *line = mem_alloc(sizeof(*line));
	struct buf clean;

	buf_init(&clean, 4 * strlen(text) + 16);
	utf8_repair(&clean, text, strlen(text));
	line->chat_id = mem_str(chat_id);
	line->user_id = mem_str(user_id);
	line->text = buf_take(&clean);
	ids_hex(line->id, 16);
	TAILQ_INSERT_TAIL(&inst->lines, line, link);
	inst->nlines++;
	if (!inst->timer)
		inst->timer = loop_defer(inst->env.loop, "console input",
		    on_offer, inst);
}

size_t
console_pending(const struct platform_instance *inst)
{
	return inst->nlines;
}

static void
console_committed(struct platform_instance *inst, uint64_t batch_id, bool ok)
{
	struct line *line = TAILQ_FIRST(&inst->lines);

	if (!inst->open || batch_id != inst->batch || !line)
		return;
	inst->open = false;
	if (ok)
		line_free(inst, line);
	if (!TAILQ_EMPTY(&inst->lines) && !inst->timer)
		inst->timer = loop_defer(inst->env.loop, "console input",
		    on_offer, inst);
}

static struct platform_instance *
console_start(const struct platform_env *env, const void *opts, struct err *err)
{
	struct platform_instance *inst = mem_alloc(sizeof(*inst));

	(void)err;
	inst->env = *env;
	inst->opts = *(const struct console_opts *)opts;
	TAILQ_INIT(&inst->lines);
	env->host->on_state(env->host->arg, "console", PLATFORM_UP, "");
	return inst;
}

static void
console_stop(struct platform_instance **instp)
{
	if (!*instp)
		return;
	struct platform_instance *inst = STEAL(*instp);

	loop_cancel(&inst->timer);
	while (!TAILQ_EMPTY(&inst->lines))
		line_free(inst, TAILQ_FIRST(&inst->lines));
	mem_free(inst);
}

static void
console_pause(struct platform_instance *inst)
{
	loop_cancel(&inst->timer);
}

const struct platform platform_console = {
	.name = "console",
	.flags = 0,
	.text_limit = 1024 * 1024,
	.text_len = utf8_points,
	.start = console_start,
	.stop = console_stop,
	.committed = console_committed,
	.pause = console_pause,
	.send = console_send,
	.answer_press = console_press,
};
