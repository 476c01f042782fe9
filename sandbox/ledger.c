#include "sandbox/ledger.h"

#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "sandbox/sandbox_priv.h"
#include "store/store.h"

static void
on_listed(void *arg, const struct json *res, const struct err *err)
{
	struct sandboxes *sb = arg;

	sb->ledger = NULL;
	if (err) {
		log_warn("sandbox", NULL, "the ledger can't be read: %s", err->text);
		return;
	}
	for (const struct json *row = json_first(res); row; row = json_next(row)) {
		const char *id = json_get_str(row, "id", "");

		if (map_get(&sb->ledger_ids, id))
			continue;	/* opened again by this process */
		log_info("sandbox", NULL, "%s of an earlier process has ended with "
		    "it", id);
		store_ledger_remove(sb->store, LEDGER_KIND, id, NULL, NULL);
	}
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

	if (!sb->store)
		return;
	json_set_str(row, "id", cell->id);
	json_set_str(row, "key", cell->key);
	json_set_str(row, "backend", cell->slot->backend->name);
	json_set_str(row, "instance", sb->instance_id);
	json_set_int(row, "pid", getpid());
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
