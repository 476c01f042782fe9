#include "sandbox/ledger.h"

#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "sandbox/owner.h"
#include "sandbox/sandbox_priv.h"
#include "store/store.h"

/* name NULL: of backends whose boxes end with their process. */
static bool
is_over(const struct json *row, const char *name)
{
	const char *of = json_get_str(json_get(row, "row"), "backend", "");
	const struct backend *backend = backend_find(of);

	if (name)
		return strcmp(of, name) == 0;
	return !backend || !backend->reap;
}

static void
clear(struct sandboxes *sb, const struct json *rows, const char *name)
{
	const struct json *row;

	for (row = json_first(rows); row; row = json_next(row)) {
		const char *id = json_get_str(row, "id", "");

		/* opened again by this process */
		if (map_get(&sb->ledger_ids, id) || !is_over(row, name))
			continue;
		log_info("sandbox", NULL, "%s of an earlier process has ended with "
		    "it", id);
		store_ledger_remove(sb->store, LEDGER_KIND, id, NULL, NULL);
	}
}

static void
on_listed(void *arg, const struct json *res, const struct err *err)
{
	struct sandboxes *sb = arg;

	sb->ledger = NULL;
	if (err) {
		log_warn("sandbox", NULL, "the ledger can't be read: %s", err->text);
		return;
	}
	clear(sb, res, NULL);
}

static void
on_reaped_listed(void *arg, const struct json *res, const struct err *err)
{
	struct slot *slot = arg;

	slot->reaping = NULL;
	if (!err)
		clear(slot->sb, res, slot->backend->name);
}

void
ledger_reaped(struct slot *slot)
{
	slot->reaping = store_ledger_list(slot->sb->store, LEDGER_KIND,
	    on_reaped_listed, slot);
}

struct op *
ledger_clear_old(struct sandboxes *sb)
{
	return sb->store ? store_ledger_list(sb->store, LEDGER_KIND, on_listed,
	    sb) : NULL;
}

void
ledger_opened(const struct cell *cell)
{
	struct sandboxes *sb = cell->sb;
	CLEANUP_JSON struct json *row = json_object();
	char owner[OWNER_TEXT_MAX];

	if (!sb->store)
		return;
	json_set_str(row, "id", cell->id);
	json_set_str(row, "key", cell->key);
	json_set_str(row, "backend", cell->slot->backend->name);
	json_set_str(row, "instance", sb->instance_id);
	json_set_int(row, "pid", getpid());
	owner_self(owner);
	json_set_str(row, "process", owner);	/* with its start time */
	json_set_int(row, "opened_at", loop_wall(sb->loop));
	map_set(&sb->ledger_ids, cell->id, sb);
	store_ledger_put(sb->store, LEDGER_KIND, cell->id, row, NULL, NULL);
}

void
ledger_closed(const struct cell *cell)
{
	struct sandboxes *sb = cell->sb;

	if (!sb->store)
		return;
	map_remove(&sb->ledger_ids, cell->id);
	store_ledger_remove(sb->store, LEDGER_KIND, cell->id, NULL, NULL);
}
