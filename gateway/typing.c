#include "gateway/typing.h"

#include <string.h>

#define TYPING_EVERY_MS 4500	/* Telegram shows it for 5 s */
#define TYPING_MAX_MS (30 * 60 * 1000)

static void on_tick(void *arg);

static void
on_shown(void *arg, const struct send_result *res)
{
	struct typing *t = arg;

	t->waiting = NULL;
	/* Asked for patience, or gone: the sign is not worth a second try. */
	if (res->outcome == SEND_NO)
		loop_cancel(&t->timer);
}

static void
on_tick(void *arg)
{
	struct typing *t = arg;

	t->timer = NULL;
	if (loop_now(t->loop) >= t->until)
		return;
	t->timer = loop_after(t->loop, TYPING_EVERY_MS, "typing", on_tick, t);
	if (!t->waiting)
		t->waiting = t->platform->typing(t->inst, &t->to, on_shown, t);
}

void
typing_start(struct typing *t, struct loop *loop,
    const struct platform *platform, struct platform_instance *inst,
    const struct chat_ref *to)
{
	typing_stop(t);
	if (!inst || !(platform->flags & PLATFORM_CAN_TYPING))
		return;
	t->loop = loop;
	t->platform = platform;
	t->inst = inst;
	t->to = *to;
	t->until = loop_now(loop) + TYPING_MAX_MS;
	t->timer = loop_defer(loop, "typing", on_tick, t);
}

void
typing_stop(struct typing *t)
{
	op_cancel(&t->waiting);
	loop_cancel(&t->timer);
}
