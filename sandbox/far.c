#include "sandbox/far.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/native-init/far_proto.h"

#define NOISE_MAX (64 * 1024)	/* before the helper's first word */
#define GIVEN_MAX (256 * 1024)
#define OUT_MAX (32u * 1024 * 1024)
#define FEED_MAX (1024u * 1024)	/* of input that the command has not taken */

struct far {
	const struct proc_events *events;
	void *events_arg;
	const struct far_io *io;
	void *arg;
	struct buf out;		/* for the helper, not yet taken */
	size_t out_at;
	struct buf in;		/* up to one frame; before the magic: noise */
	struct buf given;
	size_t fed;		/* of far_feed(), not yet taken */
	bool feeds, deaf, spoke, started, exited, killed, ended;
	bool *freed;		/* set when freed inside a callback */
};

/* ---- to the helper ------------------------------------------------------------- */

static void
put_frame(struct far *f, enum far_frame type, const void *data, size_t len)
{
	unsigned char head[FAR_HEADER] = { (unsigned char)type };

	far_put_u32(head + 1, (uint32_t)len);
	buf_add(&f->out, head, sizeof(head));
	if (len)
		buf_add(&f->out, data, len);
}

static void
put_text(struct far *f, enum far_frame type, const char *data, size_t len)
{
	while (len > 0) {
		size_t n = len < FAR_FRAME_MAX ? len : FAR_FRAME_MAX;

		put_frame(f, type, data, n);
		data += n;
		len -= n;
	}
}

static void
put_request(struct far *f, const struct far_spec *spec)
{
	const struct spawn_req *req = spec->req;
	struct buf start CLEANUP_BUF;
	unsigned char numbers[8];

	buf_init(&start, FAR_FRAME_MAX);
	far_put_u32(numbers, (req->keep_children ? FAR_KEEP : 0u) |
	    (req->split ? FAR_SPLIT : 0u) |
	    (req->input || req->feed ? FAR_STDIN : 0u) |
	    (spec->no_userns ? FAR_NO_USERNS : 0u));
	far_put_u32(numbers + 4, spec->seconds);
	buf_add(&start, numbers, sizeof(numbers));
	buf_add_str(&start, spec->dir ? spec->dir : "");
	put_frame(f, FAR_START, start.data, start.len);
	for (const char *const *e = req->env; e && *e; e++)
		put_text(f, FAR_ENV, *e, strlen(*e) + 1);
	put_text(f, FAR_SCRIPT, req->script, req->script_len);
	put_frame(f, FAR_RUN, "", 0);
	if (!req->input)
		return;
	put_text(f, FAR_INPUT, req->input, req->input_len);
	put_frame(f, FAR_INPUT_END, "", 0);
}

void
far_writable(struct far *f)
{
	size_t left = f->out.len - f->out_at;

	if (f->ended || !left)
		return;
	f->out_at += f->io->write(f->arg, f->out.data + f->out_at, left);
	if (f->out_at < f->out.len)
		return;
	/* The request may be megabytes: given back at once. */
	buf_done(&f->out);
	buf_init(&f->out, OUT_MAX);
	f->out_at = 0;
}

int
far_feed(struct far *f, const void *data, size_t len, struct err *err)
{
	if (!f->feeds || f->deaf || f->ended || f->exited)
		return err_set(err, ERR_UNAVAILABLE, "the process takes no input "
		    "any more");
	if (f->fed + len > FEED_MAX)
		return err_set(err, ERR_LIMIT, "the process has not read its "
		    "earlier input yet");
	f->fed += len;
	put_text(f, FAR_INPUT, data, len);
	far_writable(f);
	return 0;
}

void
far_feed_end(struct far *f)
{
	if (!f->feeds || f->ended)
		return;
	f->feeds = false;
	put_frame(f, FAR_INPUT_END, "", 0);
	far_writable(f);
}

void
far_kill(struct far *f)
{
	if (f->killed || f->ended)
		return;
	f->killed = true;
	/* Not behind megabytes of input that nobody reads. */
	if (f->out_at == 0)
		buf_clear(&f->out);
	put_frame(f, FAR_KILL, "", 0);
	far_writable(f);
}

/* ---- from the helper ------------------------------------------------------------- */

/* The only way out; f may be freed then. */
static void
far_end(struct far *f, const struct err *err)
{
	if (f->ended)
		return;
	f->ended = true;
	f->io->end(f->arg, err);
}

static void
far_broken(struct far *f, const char *what)
{
	struct err err = { ERR_NONE, "" };

	err_set(&err, ERR_PROTOCOL, "the helper on the far side said something "
	    "that makes no sense (%s)", what);
	far_end(f, &err);
}

static void
got_failed(struct far *f, const unsigned char *p, size_t len)
{
	struct err err = { ERR_NONE, "" };

	if (len < 4 || f->started) {
		far_broken(f, "failed");
		return;
	}
	CLEANUP_FREE char *step = mem_strn((const char *)p + 4, len - 4);
	err_set_errno(&err, (int)far_get_u32(p), "the shell could not be started "
	    "(%s)", step);
	err.code = ERR_UNAVAILABLE;
	far_end(f, &err);
}

static void
got_exited(struct far *f, const unsigned char *p, size_t len)
{
	bool *freed = f->freed;		/* of far_input() */

	if (len != 8 || !f->started || f->exited) {
		far_broken(f, "exited");
		return;
	}
	f->exited = true;
	if (f->given.len && !f->given.over)
		f->events->giveback(f->events_arg, f->given.data, f->given.len);
	if (!*freed)
		f->events->exited(f->events_arg, (int)far_get_u32(p),
		    far_get_u32(p + 4));
}

static void
got_frame(struct far *f, unsigned type, const unsigned char *p, size_t len)
{
	const char *text = (const char *)p;

	switch (type) {
	case FAR_STARTED:
		if (len != 8 || f->started) {
			far_broken(f, "started");
			break;
		}
		f->started = true;
		if (f->io->started)
			f->io->started(f->arg);
		f->events->started(f->events_arg, (int)far_get_u32(p));
		break;
	case FAR_FAILED:
		got_failed(f, p, len);
		break;
	case FAR_OUT:
	case FAR_ERR:
		if (!f->started)
			far_broken(f, "output");
		else
			f->events->output(f->events_arg, type == FAR_ERR ? 2 : 1,
			    text, len);
		break;
	case FAR_GIVEN:
		buf_add(&f->given, text, len);
		break;
	case FAR_EXITED:
		got_exited(f, p, len);
		break;
	case FAR_TAKEN:
		if (len != 4)
			far_broken(f, "taken");
		else
			f->fed -= far_get_u32(p) < f->fed ? far_get_u32(p) : f->fed;
		break;
	case FAR_DEAF:
		f->deaf = true;
		break;
	case FAR_DEAD:
		far_end(f, NULL);
		break;
	default:
		far_broken(f, "frame");
	}
}

/* What came before the first word of the helper is dropped when it is there. */
static bool
find_magic(struct far *f)
{
	const char *at = memmem(f->in.data, f->in.len, FAR_MAGIC, FAR_MAGIC_LEN);

	if (!at) {
		if (f->in.len > NOISE_MAX)
			far_broken(f, "no first word");
		return false;
	}
	buf_drain(&f->in, (size_t)(at - f->in.data) + FAR_MAGIC_LEN);
	f->spoke = true;
	return true;
}

void
far_input(struct far *f, const char *data, size_t len)
{
	bool freed = false;
	size_t at = 0;

	if (f->ended)
		return;
	if (!buf_add(&f->in, data, len)) {
		far_broken(f, "too much at once");
		return;
	}
	if (!f->spoke && !find_magic(f))
		return;
	while (f->in.len - at >= FAR_HEADER) {
		const unsigned char *p = (unsigned char *)f->in.data + at;
		uint32_t n = far_get_u32(p + 1);

		if (n > FAR_FRAME_MAX) {
			far_broken(f, "length");
			return;
		}
		if (f->in.len - at < FAR_HEADER + n)
			break;
		f->freed = &freed;
		got_frame(f, p[0], p + FAR_HEADER, n);
		if (freed)
			return;
		f->freed = NULL;
		if (f->ended)
			return;
		at += FAR_HEADER + n;
	}
	buf_drain(&f->in, at);
}

void
far_lost(struct far *f, const char *why)
{
	struct err err = { ERR_NONE, "" };

	if (f->ended)
		return;
	if (f->spoke) {
		err_set(&err, ERR_LOST, "the connection to the command was lost%s%s",
		    why ? ": " : "", why ? why : "");
	} else {
		/* What it said instead is the best explanation there is. */
		struct buf said CLEANUP_BUF;

		buf_init(&said, 4096);
		utf8_for_terminal(&said, f->in.data,
		    f->in.len < 300 ? f->in.len : 300, true);
		err_set(&err, ERR_IO, "the helper could not be run%s%s%s%s",
		    why ? ": " : "", why ? why : "", said.len ? ": " : "",
		    said.data);
	}
	far_end(f, &err);
}

bool
far_started(const struct far *f)
{
	return f->started;
}

struct far *
far_new(const struct far_spec *spec)
{
	struct far *f = mem_alloc(sizeof(*f));

	f->events = spec->req->events;
	f->events_arg = spec->req->arg;
	f->io = spec->io;
	f->arg = spec->arg;
	f->feeds = spec->req->feed;
	buf_init(&f->out, OUT_MAX);
	buf_init(&f->in, NOISE_MAX + 4 * FAR_FRAME_MAX);
	buf_init(&f->given, GIVEN_MAX);
	put_request(f, spec);
	return f;
}

void
far_free(struct far **fp)
{
	if (!*fp)
		return;
	struct far *f = STEAL(*fp);

	if (f->freed)
		*f->freed = true;
	buf_done(&f->out);
	buf_done(&f->in);
	buf_done(&f->given);
	mem_free(f);
}
