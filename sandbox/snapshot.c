/*
 * One login shell a sandbox, before its first command: what its start-up files
 * export and define is kept here, in the gateway, as data (rules 4.2).
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/env.h"
#include "sandbox/exec.h"
#include "sandbox/sandbox_priv.h"

static void
on_started(void *arg, int pid)
{
	(void)arg, (void)pid;
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	(void)arg, (void)fd, (void)data, (void)len;
}

static void
on_giveback(void *arg, const char *data, size_t len)
{
	struct cell *cell = arg;
	struct giveback gb;

	giveback_parse(&gb, data, len, true);
	if (gb.whole) {
		cell->bash = !gb.not_bash;
		cell->functions = STEAL(gb.functions);
		cell->aliases = STEAL(gb.aliases);
		if (gb.has_exports)
			vars_copy(&cell->login, &gb.exports);
		if (gb.not_bash)
			cell->notice = mem_str("there is no bash here: commands "
			    "run in /bin/sh, and functions or aliases of the "
			    "login files are missing");
	} else {
		log_info("sandbox", NULL, "%s: the login files gave no snapshot",
		    cell->id);
	}
	giveback_done(&gb);
}

static void
on_exited(void *arg, int wait_status, unsigned leftovers)
{
	(void)arg, (void)wait_status, (void)leftovers;
}

static void
on_dead(void *arg, const struct err *err)
{
	struct cell *cell = arg;

	loop_cancel(&cell->snapshot_timer);
	/* A shell that can't be started is a reason to say no, not to go on. */
	if (err && !cell->snapshot->started) {
		cell->open_err = *err;
		cell->snapshot_tried = false;
	}
	cell->snapshot = NULL;
	cell_changed(cell);
}

static void
on_timeout(void *arg)
{
	struct cell *cell = arg;

	cell->snapshot_timer = NULL;
	log_warn("sandbox", NULL, "%s: the login files took over %d s: ended, "
	    "commands run without them", cell->id, SNAPSHOT_MS / 1000);
	tree_abandon(&cell->snapshot);
	cell_changed(cell);
}

static const struct proc_events snapshot_events = {
	on_started, on_output, on_giveback, on_exited, on_dead,
};

void
cell_snapshot(struct cell *cell)
{
	struct spawn_req req = { 0 };
	struct buf script;
	struct vars vars;
	char **env;

	buf_init(&script, 64 * 1024);
	exec_snapshot(&script);
	cell_env(cell, &vars);
	env = vars_env(&vars);
	req.script = script.data;
	req.script_len = script.len;
	req.env = (const char *const *)env;
	cell->snapshot_tried = true;
	cell->open_err.code = ERR_NONE;
	cell->snapshot = tree_spawn(cell, &req, &snapshot_events, cell,
	    &cell->open_err);
	if (cell->snapshot) {
		cell->snapshot_timer = loop_after(cell->sb->loop, SNAPSHOT_MS,
		    "login files", on_timeout, cell);
	} else {
		cell->snapshot_tried = false;
		cell_changed(cell);
	}
	vars_env_free(&env);
	vars_done(&vars);
	buf_done(&script);
}
