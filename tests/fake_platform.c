#include "tests/fake_platform.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

struct platform_instance {
	struct fake_platform *fp;
};

struct fake_platform *fake_platform;

struct send {
	struct op op;
	struct fake_platform *fp;
	struct fake_sent *sent;
	struct fake_trouble trouble;
	struct timer *timer;
	send_cb *cb;
	void *arg;
};

static void
send_cancel(struct op *op)
{
	struct send *s = (struct send *)op;

	loop_cancel(&s->timer);
	if (!s->sent->done)
		s->sent->outcome = SEND_UNKNOWN;
	s->sent->done = true;
	mem_free(s);
}

static const struct op_type send_type = { "fake send", send_cancel };

static void
on_answer(void *arg)
{
	struct send *s = arg;
	struct err err = { ERR_PROTOCOL, "scripted refusal" };
	struct send_result res = {
		.outcome = s->trouble.outcome,
		.error = s->trouble.error,
		.retry_after_ms = s->trouble.retry_after,
		.new_chat_id = s->trouble.new_chat_id ?
		    s->trouble.new_chat_id : "",
		.msg_id = s->trouble.outcome == SEND_YES ? s->sent->msg_id : "",
		.err = s->trouble.outcome == SEND_YES ? NULL : &err,
	};

	s->timer = NULL;
	if (!s->sent->done)
		s->sent->outcome = s->trouble.outcome;
	s->sent->done = true;
	op_finish(&s->op);
	s->cb(s->arg, &res);
	mem_free(s);
}

static struct op *
send_new(struct platform_instance *inst, const struct chat_ref *to,
    const char *text, const struct button *buttons, size_t nbuttons,
    send_cb *cb, void *arg, struct fake_sent **ret_sent)
{
	struct fake_platform *fp = inst->fp;
	struct send *s = mem_alloc(sizeof(*s));

	REQUIRE(fp->nsent < FAKE_SENT_MAX);
	struct fake_sent *sent = &fp->sent[fp->nsent++];

	*sent = (struct fake_sent){
		.at = loop_now(fp->loop),
		.chat_id = mem_str(to->chat_id),
		.thread_id = mem_str(to->thread_id),
		.text = mem_str(text),
		.buttons0 = mem_str(nbuttons ? buttons[0].data : ""),
		.buttons = mem_str(""),
		.ghost = fp->dead,
	};
	for (size_t i = 0; i < nbuttons; i++) {
		CLEANUP_FREE char *was = sent->buttons;

		sent->buttons = mem_printf("%s%s ", was, buttons[i].data);
	}
	snprintf(sent->msg_id, sizeof(sent->msg_id), "%u", ++fp->next_msg);
	op_init(&s->op, &send_type);
	s->fp = fp;
	s->sent = sent;
	s->cb = cb;
	s->arg = arg;
	s->timer = loop_after(fp->loop, fp->delay, "fake send", on_answer, s);
	*ret_sent = sent;
	return &s->op;
}

/* Real message sends of one chat never overlap, and meet the troubles. */
static struct op *
send_message(struct platform_instance *inst, const struct outgoing *out,
    bool edit, send_cb *cb, void *arg)
{
	struct fake_platform *fp = inst->fp;
	struct fake_sent *sent;

	for (size_t i = fp->nsent > 200 ? fp->nsent - 200 : 0; i < fp->nsent; i++)
		REQUIRE(fp->dead || fp->sent[i].done || fp->sent[i].is_typing ||
		    fp->sent[i].is_press ||
		    strcmp(fp->sent[i].chat_id, out->to.chat_id) != 0);
	struct send *s = (struct send *)send_new(inst, &out->to, out->text,
	    out->buttons, out->nbuttons, cb, arg, &sent);

	sent->is_edit = edit;
	sent->is_file = out->file_name != NULL;
	bool listed = fp->trouble_at < fp->ntrouble &&
	    (!fp->trouble[fp->trouble_at].chat ||
	    strcmp(fp->trouble[fp->trouble_at].chat, out->to.chat_id) == 0);

	if (listed)
		s->trouble = fp->trouble[fp->trouble_at++];
	if (listed || (fp->meet && fp->meet(fp->meet_arg, out->to.chat_id, edit,
	    &s->trouble))) {
		sent->lost = s->trouble.lost;
		loop_cancel(&s->timer);
		s->timer = loop_after(fp->loop, s->trouble.delay, "fake send",
		    on_answer, s);
	}
	return &s->op;
}

static struct op *
fake_send(struct platform_instance *inst, const struct outgoing *out,
    send_cb *cb, void *arg)
{
	return send_message(inst, out, false, cb, arg);
}

static struct op *
fake_edit_op(struct platform_instance *inst, const char *msg_id,
    const struct outgoing *out, send_cb *cb, void *arg)
{
	struct fake_platform *fp = inst->fp;
	bool known = false;

	for (size_t i = 0; i < fp->nsent; i++)
		known |= !fp->sent[i].is_edit &&
		    strcmp(fp->sent[i].msg_id, msg_id) == 0 &&
		    strcmp(fp->sent[i].chat_id, out->to.chat_id) == 0;
	REQUIRE(known);
	struct op *op = send_message(inst, out, true, cb, arg);
	struct fake_sent *sent = &fp->sent[fp->nsent - 1];

	REQUIRE(mem_copy_str(sent->msg_id, sizeof(sent->msg_id), msg_id) == 0);
	return op;
}

static struct op *
fake_typing(struct platform_instance *inst, const struct chat_ref *to,
    send_cb *cb, void *arg)
{
	struct fake_sent *sent;
	struct op *op = send_new(inst, to, "", NULL, 0, cb, arg, &sent);

	sent->is_typing = true;
	return op;
}

static struct op *
fake_answer_press(struct platform_instance *inst, const char *press_id,
    const char *text, send_cb *cb, void *arg)
{
	struct chat_ref to = { "press", "" };
	struct fake_sent *sent;
	struct op *op = send_new(inst, &to, text, NULL, 0, cb, arg, &sent);

	(void)press_id;
	sent->is_press = true;
	return op;
}

static struct platform_instance *
fake_start(const struct platform_env *env, const void *opts, struct err *err)
{
	struct platform_instance *inst = mem_alloc(sizeof(*inst));

	(void)opts;
	(void)err;
	inst->fp = fake_platform;
	fake_platform->host = *env->host;
	fake_platform->inst = inst;
	fake_platform->paused = false;
	fake_platform->dead = false;
	fake_platform->committed_failed = fake_platform->batch -
	    fake_platform->committed_ok;
	env->host->on_state(env->host->arg, "fake", PLATFORM_UP, "");
	return inst;
}

static void
fake_stop(struct platform_instance **inst)
{
	fake_platform->inst = NULL;
	mem_free(STEAL(*inst));
}

static void
fake_committed(struct platform_instance *inst, uint64_t batch_id, bool ok)
{
	REQUIRE(batch_id <= inst->fp->batch);
	if (ok)
		inst->fp->committed_ok++;
	else
		inst->fp->committed_failed++;
}

static void
fake_pause(struct platform_instance *inst)
{
	inst->fp->paused = true;
}

const struct platform platform_fake = {
	.name = "fake",
	.flags = PLATFORM_CAN_EDIT | PLATFORM_CAN_TYPING |
	    PLATFORM_CAN_BUTTONS | PLATFORM_CAN_FILES,
	.text_limit = 200,
	.text_len = utf8_units16,
	.start = fake_start, .stop = fake_stop, .committed = fake_committed,
	.pause = fake_pause, .send = fake_send, .edit = fake_edit_op,
	.typing = fake_typing, .answer_press = fake_answer_press,
};

void
fake_platform_init(struct fake_platform *fp, struct loop *loop)
{
	memset(fp, 0, sizeof(*fp));
	fp->loop = loop;
	fake_platform = fp;
}

void
fake_platform_done(struct fake_platform *fp)
{
	for (size_t i = 0; i < fp->nsent; i++) {
		mem_free(fp->sent[i].chat_id);
		mem_free(fp->sent[i].thread_id);
		mem_free(fp->sent[i].text);
		mem_free(fp->sent[i].buttons0);
		mem_free(fp->sent[i].buttons);
	}
	fake_platform = NULL;
}

void
fake_platform_trouble(struct fake_platform *fp, const struct fake_trouble *trouble)
{
	REQUIRE(fp->ntrouble < ARRAY_LEN(fp->trouble));
	fp->trouble[fp->ntrouble++] = *trouble;
}

void
fake_platform_kill(struct fake_platform *fp)
{
	fp->dead = true;
	for (size_t i = 0; i < fp->nsent; i++)
		if (!fp->sent[i].done) {
			fp->sent[i].done = true;
			fp->sent[i].outcome = SEND_YES;
		}
}

static struct msg
msg_of(struct fake_platform *fp, const char *user, const char *text, char *id,
    size_t id_size)
{
	snprintf(id, id_size, "%u", ++fp->next_event);
	return (struct msg){
		.kind = MSG_TEXT, .platform = "fake", .account = "900",
		.event_id = id, .chat_id = user, .chat_type = CHAT_DM,
		.thread_id = "", .user_id = user, .user_name = user,
		.msg_id = id, .reply_to = fp->reply_to ? fp->reply_to : "", .text = text, .press_id = "",
		.press_data = "", .sent_wall = loop_wall(fp->loop) + fp->stamp_ms,
		.text_units = utf8_units16(text, strlen(text)),
	};
}

static void
offer(struct fake_platform *fp, const struct msg *msgs, size_t n)
{
	REQUIRE(!fp->paused);
	fp->host.on_batch(fp->host.arg, "fake", msgs, n, ++fp->batch, "c");
}

void
fake_offer(struct fake_platform *fp, const struct msg *msg)
{
	offer(fp, msg, 1);
}

bool
fake_may_offer(const struct fake_platform *fp)
{
	return fp->inst && !fp->paused && !fp->dead &&
	    fp->committed_ok + fp->committed_failed == fp->batch;
}

unsigned
fake_say(struct fake_platform *fp, const char *user, const char *text)
{
	char id[16];
	struct msg msg = msg_of(fp, user, text, id, sizeof(id));

	offer(fp, &msg, 1);
	return fp->next_event;
}

static void
say_in(struct fake_platform *fp, const char *user, const char *chat,
    const char *text, bool mentions)
{
	char id[16];
	struct msg msg = msg_of(fp, user, text, id, sizeof(id));

	msg.chat_id = chat;
	msg.chat_type = CHAT_GROUP;
	msg.mentions_bot = mentions;
	offer(fp, &msg, 1);
}

void
fake_say_in(struct fake_platform *fp, const char *user, const char *chat,
    const char *text)
{
	say_in(fp, user, chat, text, true);
}

void
fake_say_aside(struct fake_platform *fp, const char *user, const char *chat,
    const char *text)
{
	say_in(fp, user, chat, text, false);
}

void
fake_press_in(struct fake_platform *fp, const char *user, const char *chat,
    const char *data)
{
	char id[16];
	struct msg msg = msg_of(fp, user, "", id, sizeof(id));

	msg.kind = MSG_PRESS;
	msg.chat_id = chat;
	msg.chat_type = CHAT_GROUP;
	msg.press_id = id;
	msg.press_data = data;
	offer(fp, &msg, 1);
}

void
fake_moved(struct fake_platform *fp, const char *old_id, const char *new_id)
{
	char id[16];
	struct msg msg = msg_of(fp, "", new_id, id, sizeof(id));

	msg.kind = MSG_MIGRATED;
	msg.chat_id = old_id;
	msg.chat_type = CHAT_GROUP;
	offer(fp, &msg, 1);
}

void
fake_say_batch(struct fake_platform *fp, const char *user,
    const char *const *texts, size_t n)
{
	struct msg msgs[16];
	char ids[16][16];

	REQUIRE(n <= 16);
	for (size_t i = 0; i < n; i++)
		msgs[i] = msg_of(fp, user, texts[i], ids[i], sizeof(ids[i]));
	offer(fp, msgs, n);
}

void
fake_say_again(struct fake_platform *fp, const char *user, const char *text,
    unsigned event)
{
	char id[16];
	unsigned next = fp->next_event;

	fp->next_event = event - 1;
	struct msg msg = msg_of(fp, user, text, id, sizeof(id));

	fp->next_event = next;
	offer(fp, &msg, 1);
}

void
fake_edit(struct fake_platform *fp, const char *user, unsigned m,
    const char *text)
{
	char id[16], ref[16];
	struct msg msg = msg_of(fp, user, text, id, sizeof(id));

	snprintf(ref, sizeof(ref), "%u", m);
	msg.kind = MSG_EDIT;
	msg.msg_id = ref;
	offer(fp, &msg, 1);
}

void
fake_press(struct fake_platform *fp, const char *user, const char *data)
{
	char id[16];
	struct msg msg = msg_of(fp, user, "", id, sizeof(id));

	msg.kind = MSG_PRESS;
	msg.press_id = id;
	msg.press_data = data;
	offer(fp, &msg, 1);
}

static bool
is_message(const struct fake_sent *s, const char *chat)
{
	return !s->ghost && !s->is_typing && !s->is_press && s->done &&
	    s->outcome == SEND_YES && strcmp(s->chat_id, chat) == 0;
}

size_t
fake_count(const struct fake_platform *fp, const char *chat)
{
	size_t n = 0;

	for (size_t i = 0; i < fp->nsent; i++)
		n += is_message(&fp->sent[i], chat);
	return n;
}

const char *
fake_text(const struct fake_platform *fp, const char *chat, size_t at)
{
	for (size_t i = 0; i < fp->nsent; i++)
		if (is_message(&fp->sent[i], chat) && at-- == 0)
			return fp->sent[i].text;
	return "";
}

const char *
fake_last(const struct fake_platform *fp, const char *chat)
{
	size_t n = fake_count(fp, chat);

	return n ? fake_text(fp, chat, n - 1) : "";
}

bool
fake_arrived(const struct fake_platform *fp, const struct fake_sent *s)
{
	return !s->ghost && !s->is_typing && !s->is_press && s->done &&
	    (s->outcome == SEND_YES ||
	    (s->outcome == SEND_UNKNOWN && !fp->deaf && !s->lost));
}

char *
fake_screen(const struct fake_platform *fp, const char *chat)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < fp->nsent; i++) {
		const struct fake_sent *s = &fp->sent[i];
		const char *text = s->text;

		if (s->is_edit || !fake_arrived(fp, s) || strcmp(s->chat_id, chat) != 0)
			continue;
		for (size_t k = i + 1; k < fp->nsent; k++)
			if (fp->sent[k].is_edit && fake_arrived(fp, &fp->sent[k]) &&
			    strcmp(fp->sent[k].msg_id, s->msg_id) == 0)
				text = fp->sent[k].text;
		buf_printf(&b, "%s%s", b.len > 0 ? "|" : "", text);
	}
	return buf_take(&b);
}

bool
fake_saw(const struct fake_platform *fp, const char *chat, const char *part)
{
	for (size_t i = 0; i < fp->nsent; i++)
		if (is_message(&fp->sent[i], chat) &&
		    strstr(fp->sent[i].text, part))
			return true;
	return false;
}

const struct fake_sent *
fake_asked(const struct fake_platform *fp, const char *data)
{
	for (size_t i = fp->nsent; i-- > 0;)
		if (strncmp(fp->sent[i].buttons0, data, strlen(data)) == 0 &&
		    !fp->sent[i].ghost)
			return &fp->sent[i];
	return NULL;
}
