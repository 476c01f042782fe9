/*
 * A background process from its start until it is forgotten: its output, its
 * end, and what is told of both.
 */
#include "sandbox/process_priv.h"

#include <string.h>
#include <sys/wait.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "sandbox/procs.h"

#define COMMAND_SHOWN 200
#define TOLD_TAIL 2000		/* of the output, with its end */
#define TOLD_LINE 500		/* of a watched one */
#define SLACK 4096		/* longest secret that is never shown cut */

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
process_new(struct cell *cell, struct tree *tree, const struct process_spec *spec)
{
	struct process *p = mem_alloc(sizeof(*p));
	char hex[ID_HEX_MAX];

	forget_one(cell);
	ids_hex(hex, 12);
	REQUIRE(mem_format(p->id, sizeof(p->id), "proc_%s", hex) == 0);
	p->cell = cell;
	p->tree = tree;
	p->command = shown(spec->command, spec->len < SLACK ? spec->len : SLACK,
	    COMMAND_SHOWN);
	p->program = mem_strn(spec->command, spec->len);
	p->cwd = mem_str(spec->cwd);
	p->pid = spec->pid;
	p->notify = spec->notify;
	if (spec->watch && spec->watch[0]) {
		p->lookout = lookout_new(spec->watch);
		p->watch = json_array();
	}
	for (size_t i = 0; p->watch && spec->watch[i]; i++)
		json_add_take(p->watch, json_string(spec->watch[i]));
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
	lookout_free(&p->lookout);
	json_free(&p->watch);
	mem_free(p->command);
	mem_free(p->program);
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

/* ---- what is told ---------------------------------------------------------------- */

/* The line so far, too. */
static void
flush(struct process *p)
{
	struct buf out;

	buf_init(&out, CLEAN_OUT);
	for (int i = 0; i < 2; i++)
		clean_flush(&p->clean[i], &out);
	ring_add(&p->ring, out.data, out.len);
	buf_done(&out);
}

char *
process_tail(struct process *p, size_t max)
{
	struct buf raw, text;

	flush(p);
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

bool
process_runs(const struct process *p)
{
	return p->tree && (!p->exited || p->tree->dying);
}

const char *
process_reason(const struct process *p)
{
	if (process_runs(p))
		return NULL;
	return p->killed ? "killed" : p->lost ? "lost" : "exited";
}

static void
tell(struct process *p, enum process_event_kind kind, const char *text,
	unsigned more)
{
	struct sandboxes *sb = p->cell->sb;
	struct process_event ev = {
		.kind = kind, .id = p->id, .command = p->command,
		.reason = process_reason(p), .has_code = p->exited,
		.exit_code = p->exit_code, .output = text, .more = more,
	};

	if (sb->on_process && !sb->closing)
		sb->on_process(sb->on_process_arg, &ev);
}

static void
tell_end(struct process *p)
{
	if (p->told)
		return;
	p->told = true;
	char *tail CLEANUP_FREE = process_tail(p, TOLD_TAIL);
	tell(p, PROCESS_ENDED, tail, 0);
}

static struct process *
by_id(struct cell *cell, const char *id)
{
	struct process *p;

	TAILQ_FOREACH(p, &cell->processes, entry)
		if (strcmp(p->id, id) == 0)
			return p;
	return NULL;
}

static void
on_silence_over(void *arg)
{
	struct sandboxes *sb = arg;
	unsigned kept = breaker_release(&sb->breaker);
	struct process *p = by_id(sb->tripped_in, sb->tripped_by);

	sb->silence = NULL;
	if (p)
		tell(p, PROCESS_WATCH_RELEASED, "", kept);
}

static void
trip(struct process *p)
{
	struct sandboxes *sb = p->cell->sb;

	memcpy(sb->tripped_by, p->id, sizeof(p->id));
	sb->tripped_in = p->cell;
	sb->silence = loop_after(sb->loop, BREAKER_SILENCE_MS, "watch silence",
	    on_silence_over, sb);
	tell(p, PROCESS_WATCH_TRIPPED, "", 0);
}

/* Masked whole, then cut: each line, and all of it. */
static char *
show_lines(const char *text, size_t len)
{
	struct buf masked CLEANUP_BUF, out;

	buf_init(&masked, 2 * LOOKOUT_BYTES_MAX + 64);
	buf_init(&out, TOLD_TAIL);
	redact_text(&masked, text, len);
	for (const char *line = masked.data; *line;) {
		size_t n = strcspn(line, "\n");
		size_t room = out.max - out.len;
		size_t fits = n < TOLD_LINE ? n : TOLD_LINE;
		if (room < 2)
			break;
		fits = utf8_cut(line, n, fits < room - 1 ? fits : room - 1);
		buf_add(&out, line, fits);
		buf_add_char(&out, '\n');
		line += n + (line[n] == '\n');
	}
	return buf_take(&out);
}

static void
watch_output(struct process *p, const char *text, size_t len)
{
	struct sandboxes *sb = p->cell->sb;
	msec_t now = loop_now(sb->loop);
	struct buf lines CLEANUP_BUF;
	unsigned more = 0;

	buf_init(&lines, LOOKOUT_BYTES_MAX);
	lookout_feed(p->lookout, text, len);
	enum lookout_say say = lookout_look(p->lookout, now, &lines, &more);
	if (say == LOOKOUT_QUIET)
		return;
	char *shown_lines CLEANUP_FREE = show_lines(lines.data, lines.len);
	switch (breaker_look(&sb->breaker, now)) {
	case BREAKER_PASS:
		p->hits++;
		p->notify = p->notify || say == LOOKOUT_OFF;
		tell(p, say == LOOKOUT_OFF ? PROCESS_WATCH_OFF : PROCESS_MATCHED,
		    shown_lines, more);
		break;
	case BREAKER_TRIPS:
		trip(p);
		break;
	case BREAKER_KEEPS:
		break;
	}
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
		if (p->lookout)
			watch_output(p, text.data, text.len);
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
	p->ended = loop_now(p->cell->sb->loop);
	tell_end(p);
}

static void
on_dead(void *arg, const struct err *err)
{
	struct process *p = arg;
	struct buf text;

	p->tree = NULL;
	if (!p->exited)
		p->ended = loop_now(p->cell->sb->loop);
	p->lost = !p->exited && !p->killed && err;
	buf_init(&text, CLEAN_OUT);
	for (int i = 0; i < 2; i++)
		clean_end(&p->clean[i], &text);
	ring_add(&p->ring, text.data, text.len);
	buf_done(&text);
	tell_end(p);
}
