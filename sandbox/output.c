#include "sandbox/output.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "sandbox/clean.h"
#include "sandbox/ring.h"
#include "sandbox/spool.h"

/*
 * Both ends are kept longer than they are shown, so that a secret across the
 * edge of what is shown is recognised whole before the text is cut.
 */
#define SLACK (8 * 1024)

struct output {
	struct output_opts opts;
	char *spool_dir;
	size_t head_max, tail_max;	/* as shown */
	struct clean clean[2];		/* one a stream: their sequences don't mix */
	int last;			/* stream of the latest bytes */
	struct buf piece;
	struct buf head;
	struct ring tail;		/* what came after head */
	uint64_t raw, text;		/* bytes in, bytes of clean text */
	struct spool *spool;
	bool spool_tried;
	struct err spool_err;
};

struct output *
output_new(const struct output_opts *opts)
{
	struct output *o = mem_alloc(sizeof(*o));

	REQUIRE(opts->max > 0);
	o->opts = *opts;
	o->spool_dir = mem_str(opts->spool_dir);
	o->head_max = opts->head_only ? opts->max : opts->max * 2 / 5;
	o->tail_max = opts->max - o->head_max;
	clean_init(&o->clean[0]);
	clean_init(&o->clean[1]);
	buf_init(&o->piece, CLEAN_OUT);
	buf_init(&o->head, o->head_max + SLACK);
	ring_init(&o->tail, o->tail_max + SLACK);
	return o;
}

void
output_free(struct output **op)
{
	if (!op || !*op)
		return;
	struct output *o = STEAL(*op);

	clean_done(&o->clean[0]);
	clean_done(&o->clean[1]);
	buf_done(&o->piece);
	buf_done(&o->head);
	ring_done(&o->tail);
	spool_free(&o->spool);
	mem_free(o->spool_dir);
	mem_free(o);
}

/* From the first byte on that will not be shown; all of it is still here. */
static void
start_spool(struct output *o)
{
	struct buf so_far;

	if (o->spool_tried || !o->spool_dir || !o->opts.spool_max)
		return;
	o->spool_tried = true;
	o->spool = spool_open(o->spool_dir, loop_wall(o->opts.loop),
	    o->opts.spool_max, &o->spool_err);
	if (!o->spool)
		return;
	buf_init(&so_far, o->head.max + o->tail.max);
	buf_add(&so_far, o->head.data, o->head.len);
	ring_copy(&o->tail, &so_far);
	spool_add(o->spool, so_far.data, so_far.len);
	buf_done(&so_far);
}

static void
take_piece(struct output *o)
{
	const char *p = o->piece.data;
	size_t len = o->piece.len, room = o->head.max - o->head.len;

	REQUIRE(!o->piece.over);
	if (o->text + len > o->opts.max)
		start_spool(o);
	if (o->spool)
		spool_add(o->spool, p, len);
	o->text += len;
	if (room > 0) {
		/* Once a letter doesn't fit whole, head takes nothing more. */
		size_t n = utf8_cut(p, len, room);
		buf_add(&o->head, p, n);
		if (n < len)
			o->head.max = o->head.len;
		p += n;
		len -= n;
	}
	ring_add(&o->tail, p, len);
	buf_clear(&o->piece);
}

void
output_add(struct output *o, int fd, const char *data, size_t len)
{
	int stream = fd == 2;

	o->raw += len;
	if (o->last != stream) {
		clean_flush(&o->clean[o->last], &o->piece);
		o->last = stream;
	}
	while (len > 0) {
		size_t n = len < CLEAN_PIECE ? len : CLEAN_PIECE;
		clean_feed(&o->clean[stream], data, n, &o->piece);
		take_piece(o);
		data += n;
		len -= n;
	}
}

uint64_t
output_total(const struct output *o)
{
	return o->raw;
}

static void
cut_middle(struct output *o, struct buf *ret, const char *head, size_t head_len,
	const char *tail, size_t tail_len)
{
	size_t from = tail_len > o->tail_max ? tail_len - o->tail_max : 0;

	head_len = utf8_cut(head, head_len, o->head_max);
	while (from < tail_len && ((unsigned char)tail[from] & 0xc0) == 0x80)
		from++;
	uint64_t shown = head_len + (tail_len - from);
	uint64_t omitted = o->text > shown ? o->text - shown : 0;

	buf_add(ret, head, head_len);
	buf_printf(ret, "\n[... %llu of %llu bytes omitted ...]\n",
	    (unsigned long long)omitted, (unsigned long long)o->text);
	buf_add(ret, tail + from, tail_len - from);
}

static void
show(struct output *o, struct buf *ret)
{
	struct buf raw CLEANUP_BUF, head CLEANUP_BUF, tail CLEANUP_BUF;
	size_t all = o->head_max + o->tail_max + 2 * SLACK;

	buf_init(&raw, all);
	buf_init(&head, 2 * all);
	buf_init(&tail, 2 * all);
	if (o->tail.total <= o->tail.max) {
		buf_add(&raw, o->head.data, o->head.len);
		ring_copy(&o->tail, &raw);
		redact_text(&head, raw.data, raw.len);
		if (head.len <= o->opts.max)
			buf_add(ret, head.data, head.len);
		else
			cut_middle(o, ret, head.data, head.len, head.data,
			    head.len);
		return;
	}
	redact_text(&head, o->head.data, o->head.len);
	ring_copy(&o->tail, &raw);
	redact_text(&tail, raw.data, raw.len);
	/* Masking shortens: the outer half of the slack stays unseen always. */
	size_t skip = tail.len < SLACK / 2 ? tail.len : SLACK / 2;
	size_t drop = head.len < SLACK / 2 ? head.len : SLACK / 2;
	cut_middle(o, ret, head.data, utf8_cut(head.data, head.len,
	    head.len - drop), tail.data + skip, tail.len - skip);
}

void
output_end(struct output *o, struct buf *ret_text, const char **ret_spool,
	char **ret_note)
{
	*ret_spool = NULL;
	*ret_note = NULL;
	clean_end(&o->clean[!o->last], &o->piece);
	take_piece(o);
	clean_end(&o->clean[o->last], &o->piece);
	take_piece(o);
	show(o, ret_text);
	if (o->spool)
		*ret_spool = spool_end(o->spool, &o->spool_err);
	if (o->spool_tried && !*ret_spool)
		*ret_note = mem_printf("the whole output was not kept: %s",
		    o->spool_err.text);
}
