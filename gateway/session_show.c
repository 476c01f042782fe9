/*
 * What the person sees of a run under way: typing, progress, the preview; and
 * the answer as chunks, the first of which takes the preview's place.
 */
#include "gateway/session_priv.h"

#include <string.h>

#include "base/mem.h"

void
session_say_rested(struct session *s)
{
	struct place to = { s->origin.platform, s->origin.account,
		s->origin.chat_id, s->origin.thread_id };

	CLEANUP_FREE char *plain = STEAL(s->system);

	s->system = mem_printf("%s\n\nThe last conversation with this person was "
	    "ended because it rested too long: this is a new one.", plain);
	if (s->all->env.reset.all.notify)
		delivery_notice(s->all->env.delivery, &to, "A new conversation "
		    "begins: the last one rested too long (session_reset.mode). "
		    "/resume goes back to it.", NULL, 0);
}

static struct place
session_place(const struct session *s)
{
	return (struct place){ s->origin.platform, s->origin.account,
		s->origin.chat_id, s->origin.thread_id };
}

void
session_kick(struct session *s)
{
	struct place to = session_place(s);

	delivery_kick(s->all->env.delivery, &to);
}

static size_t
make_chunks(void *arg, const char *text, const struct outbox_chunk **ret_chunks)
{
	struct session *s = arg;
	const struct platform *platform;

	s->all->env.instance(s->all->env.arg, s->origin.platform, &platform);
	size_t n = chunks_make(&s->chunks, &s->origin, platform, text, ret_chunks);

	if (preview_final(s->preview))
		s->chunks.list[0].edit_of = OUTBOX_PREVIEW;
	return n;
}

static void
on_activity(void *arg, const char *what)
{
	struct session *s = arg;

	if (strcmp(what, "answering") == 0)
		typing_stop(&s->typing);
	if (s->all->env.activity)
		s->all->env.activity(s->all->env.arg, &s->origin, what);
}

static void
on_text(void *arg, const char *text, size_t len)
{
	struct session *s = arg;

	preview_text(s->preview, text, len);
	if (s->all->env.text)
		s->all->env.text(s->all->env.arg, &s->origin, text, len);
}

static void
on_begin(void *arg)
{
	struct session *s = arg;

	preview_begin(s->preview);
}

static void
on_stays(void *arg, const char *text)
{
	struct session *s = arg;

	preview_stays(s->preview, text);
}

struct run_host
session_show_host(struct session *s)
{
	return (struct run_host){
		.arg = s, .chunks = make_chunks, .text = on_text,
		.begin = on_begin, .stays = on_stays, .activity = on_activity,
	};
}

void
session_show_start(struct session *s)
{
	const struct platform *platform;
	struct platform_instance *inst = s->all->env.instance(s->all->env.arg,
	    s->origin.platform, &platform);
	struct chat_ref to = { s->origin.chat_id, s->origin.thread_id };
	struct place place = session_place(s);

	typing_start(&s->typing, s->all->env.loop, platform, inst, &to);
	s->preview = preview_new(s->all->env.delivery, &place, &s->env.run);
}

void
session_show_end(struct session *s, const char *word)
{
	typing_stop(&s->typing);
	preview_end(&s->preview, word);
}

const char *
session_stop_word(enum run_stop why)
{
	switch (why) {
	case RUN_STOP_MESSAGE:
		return "cut off";
	case RUN_STOP_PERSON:
		return "stopped";
	case RUN_STOP_EXIT:
	case RUN_STOP_ABANDON:
		return "interrupted";
	}
	return "";
}
