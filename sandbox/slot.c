/* One backend in use: started, proven by its probe, described. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/sandbox_priv.h"
#include "sandbox/survey.h"

#define PROBE_AGAIN_MS 10000

static void
on_say(void *arg, const char *box_id, const char *text, bool first)
{
	struct slot *slot = arg;
	size_t it = 0;
	void *value;

	while (slot->sb->news && map_next(&slot->sb->cells, &it, NULL, &value)) {
		const struct cell *cell = value;
		if (cell->slot == slot && strcmp(cell->id, box_id) == 0)
			slot->sb->news(slot->sb->news_arg, cell->key, text,
			    first);
	}
}

static void describe(struct slot *slot);

void
slot_start(struct slot *slot, struct sandboxes *sb, const char *name,
	const char *image)
{
	struct backend_env env = {
		.loop = sb->loop, .launcher = sb->launcher,
		.state_dir = sb->opts.state_dir,
		.instance_id = sb->opts.instance_id, .image = image,
		.say = on_say, .say_arg = slot,
	};

	slot->sb = sb;
	slot->backend = backend_find(name);
	if (!slot->backend)
		return;
	env.opts = backend_opts(slot->backend, &sb->opts);
	slot->inst = slot->backend->start(&env, &slot->err);
	if (!slot->inst) {
		slot->probed = true;
		log_warn("sandbox", NULL, "backend %s is not available: %s", name,
		    slot->err.text);
		describe(slot);
	}
}

struct sandbox_props
slot_props(const struct slot *slot)
{
	struct sandbox_props props = {
		.backend = slot->backend->name, .level = "", .image = "",
		.network = "", .limits = "", .workspace = "",
		.why = "the sandbox is still being proven; try again in a moment",
	};

	if (!slot->inst) {
		props.why = slot->err.text;
	} else if (slot->probed) {
		props = slot->backend->props(slot->inst);
		if (slot->err.code) {
			props.available = false;
			props.why = slot->err.text;
		}
	}
	return props;
}

/* What the model must know of the network; "": nothing. */
static const char *
network_words(const struct sandbox_props *p)
{
	if (strcmp(p->network, "filtered") == 0)
		return " The network is reached only through the proxy in HTTPS_PROXY, "
		    "and only hosts that the operator listed; there is no DNS.";
	if (strcmp(p->network, "none") == 0)
		return " There is no network.";
	return "";
}

static void
describe(struct slot *slot)
{
	struct sandbox_props p = slot_props(slot);
	uint32_t files = SANDBOX_ISOLATED & ~(uint32_t)SANDBOX_NO_NETWORK;
	const char *gap = slot->found ? " " : "";
	const char *found = slot->found ? slot->found : "";

	mem_free(slot->about);
	if (!p.available)
		slot->about = mem_printf("Commands cannot run at present: %s",
		    p.why);
	else if ((p.isolation & files) == files)
		slot->about = mem_printf("Commands run in an isolated Linux sandbox "
		    "(%s%s%s, network: %s). Count on files below %s only to "
		    "persist.%s%s%s", p.backend, p.level[0] ? " " : "", p.level,
		    p.network, p.workspace, network_words(&p), gap, found);
	else
		slot->about = mem_printf("Commands run by backend %s%s%s, which is not "
		    "isolated from its machine (network: %s). They start in "
		    "%s.%s%s", p.backend, p.level[0] ? " at level " : "", p.level,
		    p.network, p.host_paths ? "their workspace, the one place "
		    "where files can be written" : p.workspace, gap, found);
}

static void
on_surveyed(void *arg, const char *found, bool scripts)
{
	struct slot *slot = arg;

	slot->survey = NULL;
	slot->no_scripts = found && !scripts;
	slot->found = mem_str(found);
	describe(slot);
	sandboxes_changed(slot->sb);
}

static void
survey(struct slot *slot)
{
	if (!slot->sb->closing && slot_props(slot).available)
		slot->survey = survey_start(slot, on_surveyed, slot);
}

void
slot_warm(struct slot *slot)
{
	if (slot->warm || !slot->inst)
		return;
	slot->warm = true;
	if (slot->probed)
		survey(slot);
}

void
slot_close(struct slot *slot)
{
	if (slot->survey)
		survey_stop(slot->survey);
}

static void
on_probed(void *arg, const struct err *err)
{
	struct slot *slot = arg;

	slot->probing = NULL;
	slot->probed = true;
	slot->probed_at = loop_now(slot->sb->loop);
	if (!err)
		slot_reap(slot);
	if (err) {
		slot->err = *err;
		log_warn("sandbox", NULL, "backend %s is not available: %s",
		    slot->backend->name, err->text);
	}
	describe(slot);
	if (slot->warm)
		survey(slot);
	sandboxes_probed(slot->sb);
}

void
slot_probe(struct slot *slot)
{
	if (!slot->probed && !slot->probing && slot->inst)
		slot->probing = slot->backend->probe(slot->inst, on_probed, slot);
}

/* A server that was down may be there now; our own kernel stays as it is. */
bool
slot_probe_again(struct slot *slot)
{
	if (!slot->inst || !slot->probed || !slot->err.code ||
	    !(slot->backend->flags & BACKEND_SURVIVES) ||
	    loop_now(slot->sb->loop) - slot->probed_at < PROBE_AGAIN_MS)
		return false;
	slot->probed = false;
	slot->err.code = ERR_NONE;
	slot_probe(slot);
	return true;
}

unsigned
slot_abilities(struct slot *slot)
{
	if (slot->inst && (!slot->probed || slot_probe_again(slot)))
		return SANDBOX_COMMANDS | SANDBOX_SCRIPTS;
	if (!slot_props(slot).available)
		return 0;
	return SANDBOX_COMMANDS | (slot->no_scripts ? 0u : SANDBOX_SCRIPTS);
}

void
slot_stop(struct slot *slot)
{
	slot_reap_stop(slot);
	op_cancel(&slot->probing);
	if (slot->inst)
		slot->backend->stop(&slot->inst);
	mem_free(slot->found);
	slot->found = NULL;
	mem_free(slot->about);
	slot->about = NULL;
}
