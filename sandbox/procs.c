#include "sandbox/procs.h"

#include <string.h>
#include <sys/wait.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "sandbox/clean.h"
#include "sandbox/ring.h"
#include "sandbox/sandbox_priv.h"

#define COMMAND_SHOWN 200
#define PREVIEW 200
#define POLL_TAIL 1000
#define LOG_LINES_MAX 2000
#define SLACK 4096		/* longest secret that is never shown cut */

struct process {
	TAILQ_ENTRY(process) entry;
	struct cell *cell;
	struct tree *tree;	/* NULL: the whole tree is dead */
	char id[24];		/* proc_ and 12 hex digits */
	char *command;		/* masked, its start */
	char *cwd;
	int pid;
	msec_t started_wall, started, ended;
	struct clean clean[2];
	struct ring ring;
	bool exited, killed, lost;
	int exit_code;
};

static void on_started(void *arg, int pid);
static void on_output(void *arg, int fd, const char *data, size_t len);
static void on_giveback(void *arg, const char *data, size_t len);
static void on_exited(void *arg, int wait_status, unsigned leftovers);
static void on_dead(void *arg, const struct err *err);

static const struct proc_events process_events = {
	on_started, on_output, on_giveback, on_exited, on_dead,
};

/* Masked text, at most max bytes of its start. */
static char *
shown(const char *text, size_t len, size_t max)
{
	struct buf b, clean;

	buf_init(&clean, 4 * len + 16);
	utf8_repair(&clean, text, len);
	buf_init(&b, 2 * clean.len + 64);
	redact_text(&b, clean.data, clean.len);
	buf_done(&clean);
	char *cut = mem_strn(b.data, utf8_cut(b.data, b.len, max));
	buf_done(&b);
	return cut;
}

/* The oldest that has ended makes room; there is one, see check() in task.c. */
static void
forget_one(struct cell *cell)
{
	struct process *p;

	if (cell->nprocesses < CELL_PROCESSES_MAX)
		return;
	TAILQ_FOREACH(p, &cell->processes, entry) {
		if (!p->tree) {
			process_free(&p);
			return;
		}
	}
}

struct process *
process_new(struct cell *cell, struct tree *tree, const char *command,
	size_t len, const char *cwd, int pid)
{
	struct process *p = mem_alloc(sizeof(*p));
	char hex[ID_HEX_MAX];

	forget_one(cell);
	ids_hex(hex, 12);
	REQUIRE(mem_format(p->id, sizeof(p->id), "proc_%s", hex) == 0);
	p->cell = cell;
	p->tree = tree;
	p->command = shown(command, len < SLACK ? len : SLACK, COMMAND_SHOWN);
	p->cwd = mem_str(cwd);
	p->pid = pid;
	p->started_wall = loop_wall(cell->sb->loop);
	p->started = loop_now(cell->sb->loop);
	clean_init(&p->clean[0]);
	clean_init(&p->clean[1]);
	ring_init(&p->ring, PROCS_BUFFER_MAX);
	tree->events = &process_events;
	tree->arg = p;
	TAILQ_INSERT_TAIL(&cell->processes, p, entry);
	cell->nprocesses++;
	return p;
}

void
process_free(struct process **pp)
{
	struct process *p = STEAL(*pp);

	tree_abandon(&p->tree);
	TAILQ_REMOVE(&p->cell->processes, p, entry);
	p->cell->nprocesses--;
	clean_done(&p->clean[0]);
	clean_done(&p->clean[1]);
	ring_done(&p->ring);
	mem_free(p->command);
	mem_free(p->cwd);
	mem_free(p);
}

const char *
process_id(const struct process *p)
{
	return p->id;
}

void
cell_stop_processes(struct cell *cell, const char *text)
{
	struct process *p;

	TAILQ_FOREACH(p, &cell->processes, entry) {
		if (!p->tree)
			continue;
		p->killed = true;
		ring_add(&p->ring, "\n", 1);
		ring_add(&p->ring, text, strlen(text));
		tree_kill(p->tree);
	}
}

size_t
cell_running(const struct cell *cell)
{
	const struct process *p;
	size_t n = 0;

	TAILQ_FOREACH(p, &cell->processes, entry)
		n += p->tree != NULL;
	return n;
}

/* ---- events ------------------------------------------------------------------- */

static void
on_started(void *arg, int pid)
{
	(void)arg, (void)pid;
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct process *p = arg;
	struct buf text;

	buf_init(&text, CLEAN_OUT);
	while (len > 0) {
		size_t n = len < CLEAN_PIECE ? len : CLEAN_PIECE;
		clean_feed(&p->clean[fd == 2], data, n, &text);
		ring_add(&p->ring, text.data, text.len);
		buf_clear(&text);
		data += n;
		len -= n;
	}
	buf_done(&text);
}

static void
on_giveback(void *arg, const char *data, size_t len)
{
	(void)arg, (void)data, (void)len;
}

static void
on_exited(void *arg, int wait_status, unsigned leftovers)
{
	struct process *p = arg;

	(void)leftovers;
	p->exited = true;
	p->exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) :
	    128 + WTERMSIG(wait_status);
}

static void
on_dead(void *arg, const struct err *err)
{
	struct process *p = arg;
	struct buf text;

	p->tree = NULL;
	p->ended = loop_now(p->cell->sb->loop);
	p->lost = !p->exited && !p->killed && err;
	buf_init(&text, CLEAN_OUT);
	for (int i = 0; i < 2; i++)
		clean_end(&p->clean[i], &text);
	ring_add(&p->ring, text.data, text.len);
	buf_done(&text);
}

/* ---- answers -------------------------------------------------------------------- */

/* The last max bytes of the output, masked. */
static char *
tail_of(struct process *p, size_t max)
{
	struct buf raw, text, out;

	buf_init(&out, CLEAN_OUT);
	for (int i = 0; i < 2; i++)
		clean_flush(&p->clean[i], &out);
	ring_add(&p->ring, out.data, out.len);
	buf_done(&out);
	buf_init(&raw, PROCS_BUFFER_MAX);
	buf_init(&text, 2 * PROCS_BUFFER_MAX + 64);
	ring_copy(&p->ring, &raw);
	if (raw.len > max + SLACK)
		buf_drain(&raw, raw.len - max - SLACK);
	redact_text(&text, raw.data, raw.len);
	buf_done(&raw);
	size_t from = text.len > max ? text.len - max : 0;
	while (from < text.len && ((unsigned char)text.data[from] & 0xc0) == 0x80)
		from++;
	char *tail = mem_strn(text.data + from, text.len - from);
	buf_done(&text);
	return tail;
}

static const char *
reason(const struct process *p)
{
	if (p->tree)
		return NULL;
	return p->killed ? "killed" : p->lost ? "lost" : "exited";
}

static struct json *
describe(struct process *p, size_t tail, const char *name)
{
	struct json *j = json_object();
	char *text CLEANUP_FREE = tail_of(p, tail);
	msec_t end = p->tree ? loop_now(p->cell->sb->loop) : p->ended;

	json_set_str(j, "session_id", p->id);
	json_set_str(j, "command", p->command);
	json_set_str(j, "cwd", p->cwd);
	json_set_int(j, "pid", p->pid);
	json_set_int(j, "started_at", p->started_wall / 1000);
	json_set_int(j, "uptime_seconds", (end - p->started) / 1000);
	json_set_str(j, "status", p->tree ? "running" : "exited");
	if (p->exited)
		json_set_int(j, "exit_code", p->exit_code);
	else
		json_set_null(j, "exit_code");
	json_set_str(j, "completion_reason", reason(p));
	if (p->tree && p->exited)
		json_set_str(j, "note", "the shell has ended; what it started "
		    "still runs");
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
	long lines = 0, first;

	if (!p)
		return NULL;
	text = tail_of(p, PROCS_BUFFER_MAX);
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
	for (long i = 0; i < limit && *to; i++) {
		char *nl = strchr(to, '\n');
		to = nl ? nl + 1 : to + strlen(to);
	}
	*to = 0;
	struct json *j = json_object();
	json_set_str(j, "session_id", p->id);
	json_set_str(j, "status", p->tree ? "running" : "exited");
	json_set_int(j, "total_lines", lines);
	json_set_int(j, "offset", first);
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
	p->killed = true;
	tree_kill(p->tree);
	return 0;
}
