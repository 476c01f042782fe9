/*
 * What dead processes of ours left on a backend whose boxes outlive them: ended
 * after the first proof, and then hourly.  Only then do the ledger's rows go.
 */
#include "base/log.h"
#include "sandbox/ledger.h"
#include "sandbox/sandbox_priv.h"

static void
on_hour(void *arg)
{
	struct slot *slot = arg;

	slot->reap_timer = NULL;
	slot_reap(slot);
}

static void
on_reaped(void *arg, const struct err *err)
{
	struct slot *slot = arg;

	slot->reaping = NULL;
	if (err)
		log_warn("sandbox", NULL, "%s: not all that was left behind could be "
		    "ended: %s", slot->backend->name, err->text);
	else
		ledger_reaped(slot);
	slot->reap_timer = loop_after(slot->sb->loop, REAP_MS, "reap", on_hour,
	    slot);
}

/* Without a store it is a one-shot process: that looks after its own only. */
void
slot_reap(struct slot *slot)
{
	if (!slot->backend->reap || !slot->sb->store || slot->reaping)
		return;
	loop_cancel(&slot->reap_timer);
	slot->reaping = slot->backend->reap(slot->inst, on_reaped, slot);
}

void
slot_reap_stop(struct slot *slot)
{
	op_cancel(&slot->reaping);
	loop_cancel(&slot->reap_timer);
}
