#include "gateway/gate/display.h"

#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "sandbox/scene.h"

#define WHY_MAX 1200		/* bytes of the reasons beside a file */

/* Characters that a reader cannot see or that reorder what he sees. */
static bool
is_invisible(uint32_t cp)
{
	return (cp < 0x20 && cp != '\n') || (cp >= 0x7f && cp < 0xa1) ||
	    cp == 0xad || cp == 0x34f || cp == 0x61c || cp == 0x115f ||
	    cp == 0x1160 || (cp >= 0x17b4 && cp <= 0x17b5) ||
	    (cp >= 0x180b && cp <= 0x180f) || (cp >= 0x2000 && cp <= 0x200f) ||
	    (cp >= 0x2028 && cp <= 0x202f) || (cp >= 0x205f && cp <= 0x206f) ||
	    cp == 0x2800 || cp == 0x3000 || cp == 0x3164 ||
	    (cp >= 0xfe00 && cp <= 0xfe0f) || cp == 0xfeff || cp == 0xffa0 ||
	    (cp >= 0xfff0 && cp <= 0xfffc) || (cp >= 0xe000 && cp <= 0xf8ff) ||
	    (cp >= 0xe0000 && cp <= 0xe0fff);
}

static void
add_visible(struct buf *out, const char *s, size_t len, bool lines)
{
	for (size_t i = 0; i < len;) {
		uint32_t cp;
		size_t n = utf8_next(s + i, len - i, &cp);

		if (n == 0) {
			buf_printf(out, "\\x%02X", (unsigned char)s[i]);
			i++;
			continue;
		}
		if (cp == '\t')
			buf_add_str(out, "\\t");
		else if (cp == '\r')
			buf_add_str(out, "\\r");
		else if (is_invisible(cp) || (cp == '\n' && !lines))
			buf_printf(out, "\\u{%04X}", (unsigned)cp);
		else
			buf_add(out, s + i, n);
		i += n;
	}
}

/* What the named files hold is what runs. */
static void
add_scripts(struct buf *b, const struct scene *scene)
{
	for (size_t i = 0; scene && i < scene->nfiles; i++) {
		const struct scene_file *f = &scene->files[i];

		add_visible(b, f->path, strlen(f->path), false);
		if (!f->whole) {
			buf_add_str(b, ": contents not shown, the file can't be "
			    "read whole.\n\n");
			continue;
		}
		buf_printf(b, " holds (%zu bytes):\n", f->len);
		add_visible(b, f->text, f->len, true);
		buf_add_str(b, "\n\n");
	}
}

char *
gate_visible(const char *s, size_t len)
{
	struct buf b;

	buf_init(&b, 16 * len + 1);
	add_visible(&b, s, len, true);
	return buf_take(&b);
}

const char *
gate_shown(const struct gate_req *req)
{
	return req->shown ? req->shown : req->command;
}

static void
add_head(struct buf *b, const struct gate_req *req)
{
	buf_printf(b, "Allow %s on %s in ", req->what ? req->what :
	    "this command", req->props.backend);
	add_visible(b, req->dir, strlen(req->dir), false);
	buf_add_str(b, "?\n\n");
}

/* Why, what else a yes would mean, and how to answer. */
static void
add_tail(struct buf *b, const struct gate_req *req,
    const struct gate_display *show, size_t why_max)
{
	size_t len = strlen(show->why), n = utf8_cut(show->why, len, why_max);

	if (req->changed)
		buf_printf(b, "You are asked again, because %s.\n",
		    req->changed);
	buf_printf(b, "Why you are asked: %.*s%s.\n", (int)n, show->why,
	    n < len ? " ... (the rest is in the file)" : "");
	if (req->background)
		buf_add_str(b, "It would go on in the background.\n");
	if (show->offers & GATE_OFFER(GATE_ANSWER_SESSION))
		buf_add_str(b, "\"Session\" also allows what you will be asked "
		    "here for the same reasons.\n");
	if (show->note)
		buf_printf(b, "%s\n", show->note);
	buf_printf(b, "No answer within %lld s means no. /approve %s or /deny %s",
	    (long long)(show->timeout_ms / 1000), show->id, show->id);
}

static char *
take_or_null(struct buf *b)
{
	if (!b->over)
		return buf_take(b);
	buf_done(b);
	return NULL;
}

char *
gate_display(const struct gate_req *req, const struct gate_display *show)
{
	const char *shown = req->shown ? req->shown : req->command;
	struct buf b;

	buf_init(&b, DISPLAY_MAX);
	add_head(&b, req);
	add_visible(&b, shown, req->shown ? strlen(shown) : req->command_len,
	    true);
	buf_add_str(&b, "\n\n");
	add_scripts(&b, show->scene);
	add_tail(&b, req, show, strlen(show->why));
	return take_or_null(&b);
}

char *
gate_display_brief(const struct gate_req *req, const struct gate_display *show,
    const char *file_name)
{
	struct buf b;

	buf_init(&b, DISPLAY_MAX);
	add_head(&b, req);
	buf_printf(&b, "It is too long for a message. The file above, %s, holds "
	    "all of it: read that before you answer.\n\n", file_name);
	add_tail(&b, req, show, WHY_MAX);
	return take_or_null(&b);
}
