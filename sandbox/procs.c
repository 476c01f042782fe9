#include "sandbox/procs.h"

#include <string.h>

#include "base/mem.h"
#include "sandbox/process_priv.h"

#define PREVIEW 200
#define POLL_TAIL 1000
#define LOG_LINES_MAX 2000

static struct json *
describe(struct process *p, size_t tail, const char *name)
{
	struct json *j = json_object();
	char *text CLEANUP_FREE = process_tail(p, tail);
	bool running = process_runs(p);
	msec_t end = running ? loop_now(p->cell->sb->loop) : p->ended;

	json_set_str(j, "session_id", p->id);
	json_set_str(j, "command", p->command);
	json_set_str(j, "cwd", p->cwd);
	json_set_int(j, "pid", p->pid);
	json_set_int(j, "started_at", p->started_wall / 1000);
	json_set_int(j, "uptime_seconds", (end - p->started) / 1000);
	json_set_str(j, "status", running ? "running" : "exited");
	if (p->exited)
		json_set_int(j, "exit_code", p->exit_code);
	else
		json_set_null(j, "exit_code");
	json_set_str(j, "completion_reason", process_reason(p));
	json_set_bool(j, "notify_on_complete", p->notify);
	if (p->watch) {
		json_set_take(j, "watch_patterns", json_clone(p->watch));
		json_set_int(j, "watch_hit", p->hits);
	}
	if (p->tree && p->exited)
		json_set_str(j, "note", "the command has ended; what it started "
		    "still runs: kill ends it");
	json_set_str(j, name, text);
	return j;
}

static struct process *
find(struct sandboxes *sb, const struct sandbox_key *key, const char *id)
{
	struct cell *cell = cell_get(sb, key);
	struct process *p;

	if (!cell)
		return NULL;
	TAILQ_FOREACH(p, &cell->processes, entry) {
		if (strcmp(p->id, id) == 0)
			return p;
	}
	return NULL;
}

struct json *
sandbox_processes(struct sandboxes *sb, const struct sandbox_key *key)
{
	struct json *list = json_array();
	struct cell *cell = cell_get(sb, key);
	struct process *p;

	if (!cell)
		return list;
	TAILQ_FOREACH(p, &cell->processes, entry)
		json_add_take(list, describe(p, PREVIEW, "output_preview"));
	return list;
}

void
sandbox_end_processes(struct sandboxes *sb, const struct sandbox_key *key)
{
	struct cell *cell = cell_get(sb, key);
	struct process *p;

	while (cell && (p = TAILQ_FIRST(&cell->processes)))
		process_free(&p);
}

struct json *
procs_poll(struct sandboxes *sb, const struct sandbox_key *key, const char *id)
{
	struct process *p = find(sb, key, id);

	return p ? describe(p, POLL_TAIL, "output") : NULL;
}

struct json *
procs_log(struct sandboxes *sb, const struct sandbox_key *key, const char *id,
	long offset, long limit)
{
	struct process *p = find(sb, key, id);
	char *text CLEANUP_FREE = NULL;
	long lines = 0, first, shown = 0;

	if (!p)
		return NULL;
	text = process_tail(p, PROCS_BUFFER_MAX);
	for (const char *s = text; *s; lines++) {
		const char *nl = strchr(s, '\n');
		s = nl ? nl + 1 : s + strlen(s);
	}
	if (limit < 1 || limit > LOG_LINES_MAX)
		limit = LOG_LINES_MAX;
	first = offset >= 0 ? offset : lines - limit;
	if (first < 0)
		first = 0;
	char *from = text, *to;
	for (long i = 0; i < first && *from; i++) {
		char *nl = strchr(from, '\n');
		from = nl ? nl + 1 : from + strlen(from);
	}
	to = from;
	for (; shown < limit && *to; shown++) {
		char *nl = strchr(to, '\n');
		to = nl ? nl + 1 : to + strlen(to);
	}
	*to = 0;
	struct json *j = json_object();
	json_set_str(j, "session_id", p->id);
	json_set_str(j, "command", p->command);
	json_set_str(j, "status", process_runs(p) ? "running" : "exited");
	json_set_int(j, "total_lines", lines);
	char *showing CLEANUP_FREE = mem_printf("%ld-%ld", shown ? first + 1 : 0,
	    shown ? first + shown : 0);
	json_set_str(j, "showing", showing);
	json_set_str(j, "output", from);
	return j;
}

int
procs_kill(struct sandboxes *sb, const struct sandbox_key *key, const char *id,
	struct err *err)
{
	struct process *p = find(sb, key, id);

	if (!p)
		return err_set(err, ERR_NOT_FOUND,
		    "there is no process %.40s in this session", id);
	if (!p->tree)
		return err_set(err, ERR_EXISTS, "process %s has ended already", id);
	p->killed = !p->exited;
	p->told = true;		/* to who killed it */
	tree_kill(p->tree);
	return 0;
}

const char *
procs_program(struct sandboxes *sb, const struct sandbox_key *key,
	const char *id)
{
	const struct process *p = find(sb, key, id);

	return p ? p->program : NULL;
}

/* One that still takes input. */
static struct process *
find_open(struct sandboxes *sb, const struct sandbox_key *key, const char *id,
	struct err *err)
{
	struct process *p = find(sb, key, id);

	if (!p)
		err_set(err, ERR_NOT_FOUND,
		    "there is no process %.40s in this session", id);
	else if (!p->tree)
		err_set(err, ERR_EXISTS, "process %s has ended already", id);
	return p && p->tree ? p : NULL;
}

int
procs_write(struct sandboxes *sb, const struct sandbox_key *key, const char *id,
	const void *data, size_t len, uint64_t generation, struct permit **permit,
	struct err *err)
{
	struct process *p = find_open(sb, key, id, err);

	if (!p) {
		permit_free(permit);
		return -1;
	}
	struct permit_terms now = {
		.command = data, .command_len = len, .sandbox = p->cell->key,
		.workdir = id, .generation = generation,
		.isolation = slot_props(p->cell->slot).isolation,
	};
	if (permit_consume(permit, &now, err) < 0)
		return -1;
	return tree_write(p->tree, data, len, err);
}

int
procs_close(struct sandboxes *sb, const struct sandbox_key *key, const char *id,
	struct err *err)
{
	struct process *p = find_open(sb, key, id, err);

	if (!p)
		return -1;
	tree_close_input(p->tree);
	return 0;
}
