/* What the gateway's parts ask of it: one small answer each. */
#include "gateway/gateway_priv.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/outrow.h"

#define OUTCOME_ROOM 400	/* of a prompt, for what became of it */

struct platform_instance *
gateway_instance(void *arg, const char *platform,
    const struct platform **ret_platform)
{
	struct gateway *gw = arg;

	*ret_platform = NULL;
	for (size_t i = 0; i < gw->nserved; i++) {
		struct served *s = &gw->served[i];

		if (strcmp(s->def->platform->name, platform) != 0)
			continue;
		*ret_platform = s->def->platform;
		return s->inst;
	}
	return NULL;
}

/* ---- gate ------------------------------------------------------------------ */

static struct place
place_of(const struct origin *o)
{
	return (struct place){ o->platform, o->account, o->chat_id,
		o->thread_id };
}

/* First the file, then the question about it: rows of a chat go in order. */
static void
add_file(struct gateway *gw, const struct gate_prompt *prompt)
{
	const struct origin *to = prompt->to;
	CLEANUP_FREE char *data = mem_printf("ea:file:%s", prompt->id);
	const struct button about = { prompt->file_name, data };
	CLEANUP_FREE char *json = outrow_buttons_json(&about, 1);
	const struct outbox_chunk chunk = {
		.kind = OUT_FILE,
		.platform = to->platform, .account = to->account,
		.chat_id = to->chat_id, .thread_id = to->thread_id,
		.text = prompt->file, .plain = true, .buttons = json,
	};

	store_outbox_add(gw->opts.store, prompt->run, &chunk,
	    loop_wall(gw->opts.loop), NULL, NULL);
}

static size_t
gate_room(void *arg, const struct origin *to, bool *ret_files)
{
	const struct platform *platform = NULL;

	(void)gateway_instance(arg, to->platform, &platform);
	*ret_files = platform && (platform->flags & PLATFORM_CAN_FILES);
	return platform && platform->text_limit > OUTCOME_ROOM ?
	    platform->text_limit - OUTCOME_ROOM : 0;
}

static bool
gate_prompt(void *arg, const struct gate_prompt *prompt)
{
	static const struct {
		enum gate_answer answer;
		const char *label, *word;
	} all[] = {
		{ GATE_ANSWER_ONCE, "Allow once", "once" },
		{ GATE_ANSWER_SESSION, "Session", "session" },
		{ GATE_ANSWER_ALWAYS, "Always", "always" },
		{ GATE_ANSWER_NO, "Deny", "deny" },
	};
	struct gateway *gw = arg;
	const struct origin *to = prompt->to;
	const struct place place = place_of(to);
	const struct platform *platform;
	struct button buttons[ARRAY_LEN(all)];
	char *data[ARRAY_LEN(all)];
	size_t n = 0;

	if (!gateway_instance(gw, to->platform, &platform))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (!(prompt->offers & GATE_OFFER(all[i].answer)))
			continue;
		data[n] = mem_printf("ea:%s:%s", all[i].word, prompt->id);
		buttons[n] = (struct button){ all[i].label, data[n] };
		n++;
	}
	CLEANUP_FREE char *json = outrow_buttons_json(buttons, n);
	struct outbox_chunk chunk = {
		.kind = OUT_PROMPT,
		.platform = to->platform, .account = to->account,
		.chat_id = to->chat_id, .thread_id = to->thread_id,
		.text = prompt->text, .plain = true, .buttons = json,
	};

	while (n > 0)
		mem_free(data[--n]);
	prompts_add(gw->prompts, prompt->id, &place, prompt->text);
	if (prompt->file)
		add_file(gw, prompt);
	store_outbox_add(gw->opts.store, prompt->run, &chunk,
	    loop_wall(gw->opts.loop), NULL, NULL);
	delivery_kick(gw->delivery, &place);
	return true;
}

static void
gate_settled(void *arg, const struct origin *to, const char *request_id,
    const char *text)
{
	struct gateway *gw = arg;

	(void)to;
	if (gw->prompts)	/* NULL: the gateway closes */
		prompts_settled(gw->prompts, request_id, text);
}

static void
gate_say(void *arg, const struct origin *to, const char *text)
{
	struct gateway *gw = arg;
	const struct place place = place_of(to);

	if (gw->delivery)
		delivery_notice(gw->delivery, &place, text, NULL, 0);
}

static bool
gate_may_decide(void *arg, const struct origin *asked, const struct origin *who)
{
	struct gateway *gw = arg;

	return auth_may_approve(&gw->auth, gw->opts.approvers, asked, who);
}

static struct op *
gate_look(void *arg, const char *sandbox, const char *dir,
    const char *const *scripts, size_t n, sandbox_scene_cb *cb, void *cb_arg)
{
	struct gateway *gw = arg;

	return sandbox_look(gw->opts.sandboxes, sandbox, dir, scripts, n, cb,
	    cb_arg);
}

static bool
gate_has_decider(void *arg, const struct origin *asked, const char **ret_note)
{
	struct gateway *gw = arg;

	*ret_note = NULL;
	if (gw->opts.approvers && *gw->opts.approvers)
		*ret_note = "One of the named approvers must answer.";
	else if (!auth_may_approve(&gw->auth, gw->opts.approvers, asked, asked))
		*ret_note = "A named admin must answer; an id that several "
		    "people share can't.";
	return auth_has_approver(&gw->auth, gw->opts.approvers, asked);
}

static struct op *
gate_keep(void *arg, const char *entry, gate_kept_cb *cb, void *cb_arg)
{
	struct gateway *gw = arg;

	return gw->opts.keep(gw->opts.keep_arg, entry, cb, cb_arg);
}

struct gate_host
gateway_gate_host(struct gateway *gw)
{
	return (struct gate_host){
		.arg = gw, .prompt = gate_prompt, .settled = gate_settled,
		.may_decide = gate_may_decide, .has_decider = gate_has_decider, .say = gate_say,
		.room = gate_room,
		.keep = gw->opts.keep ? gate_keep : NULL,
		.look = gate_look,
	};
}

/* ---- delivery ---------------------------------------------------------------- */

/* The request that a prompt's row is about; caller frees, NULL: none. */
static char *
prompt_id(const struct outbox_row *row)
{
	if ((row->chunk.kind != OUT_PROMPT && row->chunk.kind != OUT_FILE) ||
	    !row->chunk.buttons)
		return NULL;
	CLEANUP_JSON struct json *buttons = json_parse(row->chunk.buttons,
	    strlen(row->chunk.buttons), NULL);
	const char *data = json_str(json_at(json_at(buttons, 0), 1));
	const char *id = data ? strrchr(data, ':') : NULL;

	return id ? mem_str(id + 1) : NULL;
}

static void
prompt_shown(struct gateway *gw, const struct outbox_row *row,
    const char *msg_id)
{
	CLEANUP_FREE char *id = prompt_id(row);

	if (!id || row->chunk.kind == OUT_FILE)
		return;
	gate_prompt_shown(gw->gate, id, msg_id);
	prompts_shown(gw->prompts, id, msg_id);
}

/* A question that nobody saw is refused, and who asked learns why. */
static void
prompt_failed(struct gateway *gw, const struct outbox_row *row, const char *why)
{
	CLEANUP_FREE char *id = prompt_id(row);

	if (id)
		gate_prompt_failed(gw->gate, id, why);
}

static void
row_unknown(struct gateway *gw, const struct outbox_row *row,
    const struct place *to, const char *why)
{
	switch (row->chunk.kind) {
	case OUT_FILE:
	case OUT_PROMPT:	/* both carry the same request id (rules 2.3) */
		if (!delivery_repeat(gw->delivery, to, row->id, NULL))
			prompt_failed(gw, row, why);
		break;
	case OUT_PREVIEW:	/* the answer follows */
	case OUT_INTERIM:
	case OUT_LABEL:
		break;
	case OUT_FINAL:
	case OUT_REPORT:
		delivery_unknown(gw->delivery, to, row->id, row->chunk.text);
		break;
	}
}

static void
row_refused(struct gateway *gw, const struct outbox_row *row,
    const struct place *to, const char *why)
{
	if (row->chunk.kind == OUT_PROMPT || row->chunk.kind == OUT_FILE) {
		prompt_failed(gw, row, why);
		return;
	}
	if (row->chunk.kind != OUT_FINAL && row->chunk.kind != OUT_REPORT)
		return;
	delivery_refused(gw->delivery, to, row->id, why);
}

static void
delivery_settled(void *arg, const struct outbox_row *row, const char *state,
    const char *msg_id, const char *why)
{
	struct gateway *gw = arg;
	struct place to = { row->chunk.platform, row->chunk.account,
		row->chunk.chat_id, row->chunk.thread_id };

	if (strcmp(state, "unknown") == 0)
		row_unknown(gw, row, &to, why);
	else if (strcmp(state, "refused") == 0)
		row_refused(gw, row, &to, why);
	else if (strcmp(state, "delivered") == 0)
		prompt_shown(gw, row, msg_id);
}

static void
delivery_migrated(void *arg, const char *platform, const char *old_id,
    const char *new_id)
{
	struct gateway *gw = arg;

	log_warn("gateway", NULL, "platform=%s chat %s is now %s; if an allow "
	    "list names the old id, change it", platform, old_id, new_id);
	sessions_moved(gw->sessions, old_id, new_id);
}

static bool
delivery_previews(void *arg, const char *platform)
{
	struct gateway *gw = arg;

	for (size_t i = 0; i < gw->nserved; i++)
		if (strcmp(gw->served[i].def->platform->name, platform) == 0)
			return gw->served[i].def->previews;
	return false;
}

struct delivery_host
gateway_delivery_host(struct gateway *gw)
{
	return (struct delivery_host){
		.arg = gw, .instance = gateway_instance,
		.settled = delivery_settled, .migrated = delivery_migrated,
		.previews = delivery_previews,
	};
}

/* ---- platforms ------------------------------------------------------------------ */

void
gateway_migrated(void *arg, const struct msg *msg)
{
	struct gateway *gw = arg;

	delivery_migrated(gw, msg->platform, msg->chat_id, msg->text);
	store_migrate_chat(gw->opts.store, msg->platform, msg->account,
	    msg->chat_id, msg->text, NULL, NULL);
}

static void
on_batch(void *arg, const char *platform, const struct msg *msgs, size_t n,
    uint64_t batch_id, const char *cursor)
{
	struct gateway *gw = arg;

	intake_batch(gw->intake, platform, msgs, n, batch_id, cursor);
}

static void
on_state(void *arg, const char *platform, enum platform_state state,
    const char *why)
{
	struct gateway *gw = arg;
	size_t vital = 0, failed = 0;

	for (size_t i = 0; i < gw->nserved; i++) {
		struct served *s = &gw->served[i];

		if (strcmp(s->def->platform->name, platform) == 0) {
			if (state == PLATFORM_UP && s->state != PLATFORM_UP &&
			    gw->delivery)
				delivery_kick_all(gw->delivery);
			s->state = state;
			s->since = loop_wall(gw->opts.loop);
			mem_free(s->why);
			s->why = mem_str(why);
		}
		vital += s->def->vital;
		failed += s->def->vital && s->state == PLATFORM_FAILED;
	}
	log_write(state == PLATFORM_FAILED ? LOG_ERROR : LOG_INFO, "gateway",
	    NULL, "platform=%s state=%s %s", platform,
	    platform_state_name(state), why);
	if (failed > 0 && failed == vital && gw->step <= GATEWAY_UP &&
	    gw->opts.on_dead)
		gw->opts.on_dead(gw->opts.arg, why);
}

struct platform_host
gateway_platform_host(struct gateway *gw)
{
	return (struct platform_host){
		.arg = gw, .on_batch = on_batch, .on_state = on_state,
	};
}
