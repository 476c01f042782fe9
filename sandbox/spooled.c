#include "sandbox/spooled.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/output.h"
#include "sandbox/sandbox_priv.h"

#define PREFIX "out_"
#define LINES_MAX 2000
#define BYTES_MAX (64 * 1024)	/* of one answer */
#define BLOCK 65536

struct reading {
	char *id, *path;
	long offset, limit;
	long lines, from, shown;
	bool there;
	struct buf text;
	spooled_cb *cb;
	void *arg;
};

const char *
spooled_add(struct cell *cell, const char *path)
{
	struct spooled *s = &cell->spooled[cell->nspooled++ % SPOOLED_MAX];
	char hex[ID_HEX_MAX];

	ids_hex(hex, 12);
	mem_free(s->path);
	s->path = mem_str(path);
	REQUIRE(mem_format(s->id, sizeof(s->id), PREFIX "%s", hex) == 0);
	return s->id;
}

struct output *
spooled_output(struct sandboxes *sb, size_t max)
{
	struct output_opts opts = {
		.max = max, .spool_max = sb->opts.spool_max,
		.spool_dir = sb->spool_dir, .loop = sb->loop,
	};

	return output_new(&opts);
}

const char *
spooled_keep(struct sandboxes *sb, const struct sandbox_key *key,
	const char *path)
{
	return spooled_add(cell_make(sb, key), path);
}

void
spooled_forget(struct cell *cell)
{
	for (size_t i = 0; i < SPOOLED_MAX; i++) {
		mem_free(STEAL(cell->spooled[i].path));
		cell->spooled[i].id[0] = '\0';
	}
}

bool
spooled_is_id(const char *id)
{
	return strncmp(id, PREFIX, strlen(PREFIX)) == 0;
}

/* ---- on the thread -------------------------------------------------------------- */

/* Goes through the file once; keep: into the answer what is asked for. */
static bool
pass(struct reading *r, bool keep)
{
	static __thread char block[BLOCK];
	int fd CLEANUP_CLOSE = open(r->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool open_line = false;
	ssize_t n;

	if (fd < 0)
		return false;
	for (r->lines = 0; (n = read(fd, block, sizeof(block))) > 0;) {
		for (const char *p = block, *end = block + n; p < end;) {
			const char *nl = memchr(p, '\n', (size_t)(end - p));
			size_t len = (size_t)((nl ? nl + 1 : end) - p);

			if (keep && r->lines >= r->from &&
			    r->lines < r->from + r->limit) {
				size_t room = r->text.max - r->text.len;
				buf_add(&r->text, p, len < room ? len : room);
			}
			open_line = !nl;
			r->lines += nl != NULL;
			p += len;
		}
	}
	r->lines += open_line;
	return n == 0;
}

static void
reading_run(void *data)
{
	struct reading *r = data;

	r->there = pass(r, false);
	r->from = r->offset >= 0 ? r->offset : r->lines - r->limit;
	if (r->from < 0)
		r->from = 0;
	if (r->there)
		r->there = pass(r, true);
	r->shown = r->lines - r->from;
	if (r->shown > r->limit)
		r->shown = r->limit;
	if (r->shown < 0)
		r->shown = 0;
}

/* ---- on the loop ------------------------------------------------------------------ */

static void
reading_done(void *arg, void *data)
{
	struct reading *r = data;
	CLEANUP_JSON struct json *j = json_object();
	char *showing CLEANUP_FREE = mem_printf("%ld-%ld", r->shown ?
	    r->from + 1 : 0, r->shown ? r->from + r->shown : 0);
	char *text CLEANUP_FREE = mem_strn(r->text.data,
	    utf8_cut(r->text.data, r->text.len, r->text.len));

	(void)arg;
	json_set_str(j, "session_id", r->id);
	json_set_str(j, "status", "exited");
	json_set_int(j, "total_lines", r->lines);
	json_set_str(j, "showing", showing);
	if (r->text.len == r->text.max)
		json_set_str(j, "note", "cut at 64 KiB: ask for fewer lines");
	json_set_str(j, "output", text);
	r->cb(r->arg, r->there ? j : NULL);
}

static void
reading_drop(void *data)
{
	struct reading *r = data;

	buf_done(&r->text);
	mem_free(r->id);
	mem_free(r->path);
	mem_free(r);
}

static const struct spooled *
find(const struct cell *cell, const char *id)
{
	for (size_t i = 0; cell && i < SPOOLED_MAX; i++)
		if (cell->spooled[i].path && strcmp(cell->spooled[i].id, id) == 0)
			return &cell->spooled[i];
	return NULL;
}

struct op *
spooled_read(struct sandboxes *sb, const struct sandbox_key *key, const char *id,
	long offset, long limit, spooled_cb *cb, void *arg)
{
	static const struct offload_work work = {
		reading_run, reading_done, reading_drop,
	};
	const struct spooled *s = find(cell_get(sb, key), id);

	if (!s || !sandboxes_offload(sb))
		return NULL;
	struct reading *r = mem_alloc(sizeof(*r));

	r->id = mem_str(id);
	r->path = mem_str(s->path);
	r->offset = offset;
	r->limit = limit < 1 || limit > LINES_MAX ? LINES_MAX : limit;
	buf_init(&r->text, BYTES_MAX);
	r->cb = cb;
	r->arg = arg;
	return offload_start(sb->offload, &work, r, NULL);
}
