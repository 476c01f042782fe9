#include "platforms/text/telegram_html.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "platforms/text/render.h"

#define HTML_MAX (256u << 10)
#define LANG_MAX 32

struct html {
	struct buf *out;
	size_t units;		/* visible, UTF-16 */
	bool visible;		/* something but white space */
	bool code;		/* the open fence has a language */
};

static void
html_escape(struct buf *out, const char *s, size_t len)
{
	size_t from = 0;

	for (size_t i = 0; i < len; i++) {
		const char *to = s[i] == '&' ? "&amp;" : s[i] == '<' ? "&lt;" :
			s[i] == '>' ? "&gt;" : s[i] == '"' ? "&quot;" : NULL;

		if (!to)
			continue;
		buf_add(out, s + from, i - from);
		buf_add_str(out, to);
		from = i + 1;
	}
	buf_add(out, s + from, len - from);
}

static bool
html_text(void *ctx, const char *s, size_t len)
{
	struct html *h = ctx;

	for (size_t i = 0; i < len && !h->visible; i++)
		h->visible = (unsigned char)s[i] > ' ';
	h->units += utf8_units16(s, len);
	html_escape(h->out, s, len);
	return !h->out->over;
}

/* What Telegram makes a link of; other addresses are shown as text. */
static bool
url_is_link(const char *url)
{
	return !strncmp(url, "http://", 7) || !strncmp(url, "https://", 8) ||
		!strncmp(url, "tg://", 5);
}

static const char *const tags[MD_KINDS] = {
	[MD_BOLD] = "b", [MD_ITALIC] = "i", [MD_STRIKE] = "s", [MD_CODE] = "code",
};

static void
html_open(void *ctx, enum md_span_kind kind, const char *url)
{
	struct html *h = ctx;

	if (kind != MD_LINK) {
		buf_printf(h->out, "<%s>", tags[kind]);
	} else if (url_is_link(url)) {
		buf_add_str(h->out, "<a href=\"");
		html_escape(h->out, url, strlen(url));
		buf_add_str(h->out, "\">");
	}
}

static void
html_close(void *ctx, enum md_span_kind kind, const char *url)
{
	struct html *h = ctx;

	if (kind != MD_LINK) {
		buf_printf(h->out, "</%s>", tags[kind]);
	} else if (url_is_link(url)) {
		buf_add_str(h->out, "</a>");
	} else {
		html_text(h, " (", 2);
		html_text(h, url, strlen(url));
		html_text(h, ")", 1);
	}
}

static void
html_fence(void *ctx, bool open, const char *lang, size_t lang_len)
{
	struct html *h = ctx;
	bool ok = lang_len > 0 && lang_len <= LANG_MAX;

	if (!open) {
		buf_add_str(h->out, h->code ? "</code></pre>" : "</pre>");
		return;
	}
	for (size_t i = 0; i < lang_len && ok; i++)
		ok = isalnum((unsigned char)lang[i]) || strchr("_+#.-", lang[i]);
	h->code = ok;
	buf_add_str(h->out, "<pre>");
	if (ok)
		buf_printf(h->out, "<code class=\"language-%.*s\">",
			(int)lang_len, lang);
}

static void
html_quote(void *ctx, bool open)
{
	struct html *h = ctx;

	buf_add_str(h->out, open ? "<blockquote>" : "</blockquote>");
}

static void
html_render(struct html *h, const char *text, size_t len)
{
	static const struct text_style style = { html_text, html_open,
		html_close, html_fence, html_quote };
	struct md md;

	md_parse(&md, text, len);
	text_render(&md, &style, h);
	md_done(&md);
}

bool
telegram_html(struct buf *out, const char *text, size_t len)
{
	struct html h = { .out = out };

	html_render(&h, text, len);
	return h.visible && !out->over;
}

size_t
telegram_text_len(const char *text, size_t len)
{
	size_t source = utf8_units16(text, len);

	/* too long anyway: its HTML need not be made */
	if (len > HTML_MAX)
		return source > len / 4 ? source : len / 4;

	CLEANUP_BUF struct buf out;
	struct html h = { .out = &out };

	buf_init(&out, HTML_MAX);
	html_render(&h, text, len);
	if (out.over)
		return HTML_MAX;
	size_t most = source > h.units ? source : h.units;
	size_t payload = (out.len + 6) / 7;
	return most > payload ? most : payload;
}
