#include "gateway/delivery_priv.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define GIVE_UP_MS (24 * 3600 * 1000LL)
#define PROGRESS_MAX 256	/* messages that can change; then none before */
#define LIGHT_MAX 32		/* waiting light sends of one chat */
#define REPEATS_MAX 3

struct delivery *
delivery_new(struct loop *loop, struct store *store,
    const struct delivery_opts *opts, const struct delivery_host *host)
{
	struct delivery *d = mem_alloc(sizeof(*d));

	d->loop = loop;
	d->store = store;
	d->opts = *opts;
	d->host = *host;
	if (d->opts.give_up_ms <= 0)
		d->opts.give_up_ms = GIVE_UP_MS;
	map_init(&d->chats);
	map_init(&d->told);
	map_init(&d->progress);
	LIST_INIT(&d->previews);
	return d;
}

void
chat_light_free(struct chat *chat, struct light *light)
{
	TAILQ_REMOVE(&chat->lights, light, link);
	chat->nlights--;
	outrow_buttons_done(&light->buttons);
	mem_free(light->text);
	mem_free(light->edit_msg_id);
	mem_free(light);
}

void
chat_edit_free(struct edit *edit)
{
	TAILQ_REMOVE(&edit->chat->edits, edit, link);
	mem_free(edit->msg_id);
	mem_free(edit->text);
	mem_free(edit);
}

void
chat_free(struct chat *chat)
{
	op_cancel(&chat->waiting);
	loop_cancel(&chat->timer);
	outrow_free(&chat->row);
	outrow_free(&chat->held);
	while (!TAILQ_EMPTY(&chat->edits))
		chat_edit_free(TAILQ_FIRST(&chat->edits));
	mem_free(chat->mark_id);
	mem_free(chat->mark_why);
	while (!TAILQ_EMPTY(&chat->lights))
		chat_light_free(chat, TAILQ_FIRST(&chat->lights));
	mem_free(chat->key);
	mem_free(chat->platform);
	mem_free(chat->account);
	mem_free(chat->chat_id);
	mem_free(chat->thread_id);
	mem_free(chat);
}

static void
progress_forget(struct delivery *d)
{
	size_t it = 0;
	void *id;

	while (map_next(&d->progress, &it, NULL, &id))
		mem_free(id);
	map_done(&d->progress);
	map_init(&d->progress);
}

struct light *
chat_next_light(struct chat *chat, const struct platform *platform)
{
	const char *id = platform->flags & PLATFORM_CAN_EDIT ?
	    map_get(&chat->d->progress, chat->key) : NULL;
	struct light *light;

	while ((light = TAILQ_FIRST(&chat->lights)) && light->kind == LIGHT_MORE &&
	    !id)
		chat_light_free(chat, light);
	if (light && light->kind == LIGHT_MORE && !light->edit_msg_id)
		light->edit_msg_id = mem_str(id);
	return light;
}

void
chat_progress_sent(struct chat *chat, const struct light *light,
    const struct send_result *res)
{
	struct map *all = &chat->d->progress;
	char *old;

	if (light->kind != LIGHT_FIRST)
		return;
	if ((old = map_remove(all, chat->key)))
		mem_free(old);
	/* What is forgotten is only not edited any more. */
	if (all->used >= PROGRESS_MAX)
		progress_forget(chat->d);
	if (res->outcome == SEND_YES && *res->msg_id)
		map_set(all, chat->key, mem_str(res->msg_id));
}

void
delivery_free(struct delivery **dp)
{
	if (!*dp)
		return;
	struct delivery *d = STEAL(*dp);
	size_t it = 0;
	void *chat;

	REQUIRE(LIST_EMPTY(&d->previews));
	op_cancel(&d->listing);
	op_cancel(&d->owing);
	map_done(&d->told);
	progress_forget(d);
	while (map_next(&d->chats, &it, NULL, &chat))
		chat_free(chat);
	map_done(&d->chats);
	mem_free(d);
}

static char *
chat_key(const struct place *to)
{
	return mem_printf("%s/%s/%s/%s", to->platform, to->account, to->chat_id,
	    to->thread_id);
}

static struct chat *
find_chat(struct delivery *d, const struct place *to)
{
	CLEANUP_FREE char *key = chat_key(to);
	struct chat *chat = map_get(&d->chats, key);

	if (chat)
		return chat;
	chat = mem_alloc(sizeof(*chat));
	chat->d = d;
	chat->key = mem_str(key);
	chat->platform = mem_str(to->platform);
	chat->account = mem_str(to->account);
	chat->chat_id = mem_str(to->chat_id);
	chat->thread_id = mem_str(to->thread_id);
	TAILQ_INIT(&chat->lights);
	TAILQ_INIT(&chat->edits);
	map_set(&d->chats, key, chat);
	return chat;
}

void
delivery_kick(struct delivery *d, const struct place *to)
{
	struct chat *chat = find_chat(d, to);

	chat->again = true;
	if (chat->step == CHAT_IDLE)
		chat_next(chat);
}

void
delivery_send_row(struct delivery *d, const struct outbox_row *row)
{
	struct place to = { row->chunk.platform, row->chunk.account,
		row->chunk.chat_id, row->chunk.thread_id };
	struct chat *chat = find_chat(d, &to);

	if ((chat->step == CHAT_LIGHT || chat->step == CHAT_EDIT) &&
	    !chat->held) {
		chat->again = true;
		chat->held = outrow_copy(row);
		return;
	}
	/* The store gives the first chunk only where no other row is due. */
	if (chat->step != CHAT_IDLE) {
		store_outbox_mark(d->store, row->id, "waiting", "", 0, "",
		    loop_wall(d->loop), NULL, NULL);
		delivery_kick(d, &to);
		return;
	}
	chat->again = true;
	chat->row = outrow_copy(row);
	chat_send(chat);
}

void
delivery_light(struct delivery *d, const struct place *to,
    const struct light_opts *opts)
{
	struct chat *chat = find_chat(d, to);

	if (chat->nlights >= LIGHT_MAX) {
		log_warn("delivery", NULL, "chat=%s notice dropped: %u wait "
		    "already", chat->key, LIGHT_MAX);
		return;
	}
	struct light *light = mem_alloc(sizeof(*light));

	light->kind = opts->kind;
	light->text = mem_str(opts->text);
	light->edit_msg_id = mem_str(opts->edit_msg_id);
	light->owed = opts->owed;
	outrow_buttons_copy(&light->buttons, opts->buttons, opts->nbuttons);
	TAILQ_INSERT_TAIL(&chat->lights, light, link);
	chat->nlights++;
	if (chat->step == CHAT_IDLE)
		chat_next(chat);
}

bool
delivery_has_light(struct delivery *d, const struct place *to, int64_t owed)
{
	const struct light *light;
	CLEANUP_FREE char *key = chat_key(to);
	struct chat *chat = map_get(&d->chats, key);

	if (chat)
		TAILQ_FOREACH(light, &chat->lights, link)
			if (light->owed == owed)
				return true;
	return false;
}

struct edit *
delivery_edit(struct delivery *d, const struct place *to, const char *msg_id,
    const char *text, send_cb *cb, void *arg)
{
	struct chat *chat = find_chat(d, to);
	struct edit *edit = mem_alloc(sizeof(*edit));

	edit->chat = chat;
	edit->msg_id = mem_str(msg_id);
	edit->text = mem_str(text);
	edit->cb = cb;
	edit->arg = arg;
	TAILQ_INSERT_TAIL(&chat->edits, edit, link);
	if (chat->step == CHAT_IDLE)
		chat_next(chat);
	return edit;
}

void
edit_drop(struct edit **editp)
{
	if (!*editp)
		return;
	struct edit *edit = STEAL(*editp);

	edit->cb = NULL;
	/* The first one is on the wire: its end is awaited, for the order. */
	if (edit->chat->step != CHAT_EDIT ||
	    TAILQ_FIRST(&edit->chat->edits) != edit)
		chat_edit_free(edit);
}

void
delivery_notice(struct delivery *d, const struct place *to, const char *text,
    const struct button *buttons, size_t nbuttons)
{
	delivery_light(d, to, &(struct light_opts){ .text = text,
	    .buttons = buttons, .nbuttons = nbuttons });
}

void
delivery_amend(struct delivery *d, const struct place *to, const char *msg_id,
    const char *text)
{
	const struct platform *platform;

	(void)d->host.instance(d->host.arg, to->platform, &platform);
	if (platform && (platform->flags & PLATFORM_CAN_EDIT))
		delivery_light(d, to, &(struct light_opts){ .text = text,
		    .edit_msg_id = msg_id });
}

void
delivery_progress(struct delivery *d, const struct place *to, const char *text,
    bool first)
{
	struct chat *chat = find_chat(d, to);
	struct light *light;

	/* The one under way is the first of the queue, and has been sent. */
	TAILQ_FOREACH(light, &chat->lights, link) {
		if (first || light->kind != LIGHT_MORE ||
		    (chat->step == CHAT_LIGHT && light == TAILQ_FIRST(&chat->lights)))
			continue;
		mem_free(light->text);
		light->text = mem_str(text);
		return;
	}
	delivery_light(d, to, &(struct light_opts){ .text = text,
	    .kind = first ? LIGHT_FIRST : LIGHT_MORE });
}

bool
delivery_repeat(struct delivery *d, const struct place *to, int64_t id,
    const char *label)
{
	struct chat *chat = find_chat(d, to);

	if (chat->repeats >= REPEATS_MAX)
		return false;
	chat->repeats++;
	store_outbox_resend(d->store, id, NULL, label, loop_wall(d->loop), NULL,
	    NULL);
	delivery_kick(d, to);
	return true;
}

static void
on_listed(void *arg, const struct json *res, const struct err *err)
{
	struct delivery *d = arg;

	d->listing = NULL;
	if (err) {
		log_error("delivery", NULL, "waiting chats cannot be listed: %s",
		    err->text);
		return;
	}
	for (const struct json *c = json_first(res); c; c = json_next(c)) {
		struct place to = {
			json_get_str(c, "platform", ""),
			json_get_str(c, "account", ""),
			json_get_str(c, "chat_id", ""),
			json_get_str(c, "thread_id", ""),
		};

		delivery_kick(d, &to);
	}
}

void
delivery_kick_all(struct delivery *d)
{
	op_cancel(&d->listing);
	d->listing = store_outbox_chats(d->store, on_listed, d);
	delivery_look_owed(d);
}

bool
delivery_is_idle(struct delivery *d, const struct place *to)
{
	CLEANUP_FREE char *key = chat_key(to);

	return !map_get(&d->chats, key);
}

size_t
delivery_sending(const struct delivery *d)
{
	size_t n = 0, it = 0;
	void *value;

	while (map_next(&d->chats, &it, NULL, &value)) {
		const struct chat *chat = value;

		n += chat->step == CHAT_SEND || chat->step == CHAT_LIGHT ||
		    chat->step == CHAT_EDIT || chat->step == CHAT_MARK;
	}
	return n;
}

size_t
delivery_busy(const struct delivery *d)
{
	return d->busy;
}
