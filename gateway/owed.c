/*
 * What a chat is told of sends that did not come to a good end.  The store
 * remembers until the word was tried, so that neither a restart nor an outage
 * swallows it (rules 2.3, 2.5).
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/delivery_priv.h"

#define TOLD_MAX 1024		/* remembered against lists that are older */

static void on_owed(void *arg, const struct json *res, const struct err *err);

static void
note_told(struct delivery *d, int64_t id)
{
	CLEANUP_FREE char *key = mem_printf("%lld", (long long)id);

	store_outbox_told(d->store, id, NULL, NULL);
	if (d->told.used >= TOLD_MAX) {
		map_done(&d->told);
		map_init(&d->told);
	}
	map_set(&d->told, key, d);
}

void
chat_light_ended(struct chat *chat, struct light *light,
    const struct send_result *res)
{
	/* What may pass is tried again with the next connection or start. */
	bool passes = res->outcome == SEND_NO &&
	    (res->error == SEND_ERR_TRANSIENT || res->error == SEND_ERR_MIGRATED);

	if (res->outcome != SEND_YES)
		log_warn("delivery", NULL, "chat=%s notice not sent: %s",
		    chat->key, res->err ? res->err->text : "unknown");
	if (light->owed && !passes)
		note_told(chat->d, light->owed);
	chat_light_free(chat, light);
}

static bool
is_under_way(struct delivery *d, const struct place *to, int64_t id)
{
	CLEANUP_FREE char *key = mem_printf("%lld", (long long)id);

	return map_get(&d->told, key) || delivery_has_light(d, to, id);
}

void
delivery_unknown(struct delivery *d, const struct place *to, int64_t id,
    const char *text)
{
	CLEANUP_FREE char *label = mem_printf("I send the answer that begins "
	    "with \"%.60s\" again: it may be here twice.", text);

	if (d->opts.repeat_unknown && delivery_repeat(d, to, id, label))
		return;
	CLEANUP_FREE char *data = mem_printf("rs:%lld", (long long)id);
	const struct button again = { "Send it again", data };
	CLEANUP_FREE char *say = mem_printf("The answer that begins with "
	    "\"%.60s\" may not have arrived.", text);

	delivery_light(d, to, &(struct light_opts){ .text = say,
	    .buttons = &again, .nbuttons = 1, .owed = id });
}

void
delivery_refused(struct delivery *d, const struct place *to, int64_t id,
    const char *why)
{
	CLEANUP_FREE char *say = mem_printf("I could not deliver an answer "
	    "(%.200s). Ask again if you still need it.", why);

	delivery_light(d, to, &(struct light_opts){ .text = say, .owed = id });
}

/* Its id is unknown: what may stand there can't be put right. */
static void
say_preview(struct delivery *d, const struct place *to, int64_t id,
    const char *text)
{
	CLEANUP_FREE char *say = mem_printf("I was restarted while I wrote. A "
	    "message that begins with \"%.60s\" may stand here unfinished.",
	    text);

	delivery_light(d, to, &(struct light_opts){ .text = say, .owed = id });
}

static void
tell(struct delivery *d, const struct json *row)
{
	const struct place to = {
		json_get_str(row, "platform", ""),
		json_get_str(row, "account", ""),
		json_get_str(row, "chat_id", ""),
		json_get_str(row, "thread_id", ""),
	};
	const char *text = json_get_str(row, "text", "");
	int64_t id = json_get_int(row, "id", 0);

	if (is_under_way(d, &to, id))
		return;
	if (strcmp(json_get_str(row, "state", ""), "refused") == 0)
		delivery_refused(d, &to, id, json_get_str(row, "why", ""));
	else if (json_get_int(row, "kind", OUT_FINAL) == OUT_PREVIEW)
		say_preview(d, &to, id, text);
	else
		delivery_unknown(d, &to, id, text);
}

static void
on_owed(void *arg, const struct json *res, const struct err *err)
{
	struct delivery *d = arg;

	d->owing = NULL;
	if (err)
		log_error("delivery", NULL, "what chats are owed cannot be "
		    "listed: %s", err->text);
	for (const struct json *row = json_first(res); row; row = json_next(row))
		tell(d, row);
}

void
delivery_look_owed(struct delivery *d)
{
	op_cancel(&d->owing);
	d->owing = store_outbox_owed(d->store, on_owed, d);
}
