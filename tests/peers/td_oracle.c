/*
 * Telegram's own formatter (TDLib's td_execute, offline) reads what our HTML
 * renderer writes: no error, the same visible text, the expected entities.
 * Prints TAP.  No client is ever created, so nothing is sent anywhere.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "platforms/text/split.h"
#include "platforms/text/telegram_html.h"
#include "tests/html_check.h"
#include "tests/random_markdown.h"

#define RANDOM_TEXTS 3000

typedef const char *td_execute_fn(const char *request);

static td_execute_fn *td_execute;
static unsigned n;
static unsigned failed;

static void
verdict(bool ok, const char *name)
{
	printf("%sok %u - %s\n", ok ? "" : "not ", ++n, name);
	failed += !ok;
}

/* The formattedText, or NULL with the error printed. */
static struct json *
td_parse(const char *html)
{
	CLEANUP_JSON struct json *req = json_object();
	struct json *mode = json_object();
	struct err err;

	json_set_str(mode, "@type", "textParseModeHTML");
	json_set_str(req, "@type", "parseTextEntities");
	json_set_str(req, "text", html);
	json_set_take(req, "parse_mode", mode);
	CLEANUP_FREE char *text = json_text(req);
	const char *answer = td_execute(text);
	struct json *root = json_parse(answer, strlen(answer), &err);

	if (!root || strcmp(json_get_str(root, "@type", ""), "formattedText")) {
		printf("# %s\n", answer);
		json_free(&root);
	}
	return root;
}

/* "Bold 0 4, TextUrl 5 3 https://x" */
static char *
entities_text(const struct json *formatted)
{
	struct buf b;
	const struct json *e;

	buf_init(&b, 1u << 20);
	for (e = json_first(json_get(formatted, "entities")); e; e = json_next(e)) {
		const struct json *type = json_get(e, "type");
		const char *extra = json_get_str(type, "url",
			json_get_str(type, "language", NULL));

		buf_printf(&b, "%s%s %d %d%s%s", b.len ? ", " : "",
			json_get_str(type, "@type", "") + strlen("textEntityType"),
			(int)json_get_int(e, "offset", -1),
			(int)json_get_int(e, "length", -1),
			extra ? " " : "", extra ? extra : "");
	}
	return buf_take(&b);
}

struct golden { const char *md; const char *text; const char *entities; };

static const struct golden goldens[] = {
	{ "plain", "plain", "" },
	{ "**b** *i* ~~s~~ `c`", "b i s c",
		"Bold 0 1, Italic 2 1, Strikethrough 4 1, Code 6 1" },
	{ "\U0001f600 **b**", "\U0001f600 b", "Bold 3 1" },
	{ "***both***", "both", "Bold 0 4, Italic 0 4" },
	{ "**a `b` c**", "a b c", "Bold 0 5, Code 2 1" },
	{ "[l & m](https://x.example/?a=1&b=\"2\")", "l & m",
		"TextUrl 0 5 https://x.example/?a=1&b=\"2\"" },
	{ "**[l](http://x.example/)**", "l", "TextUrl 0 1 http://x.example/, Bold 0 1" },
	{ "[l](relative.md)", "l (relative.md)", "" },
	{ "```c\nint *x = a<b && c;\n```", "int *x = a<b && c;", "PreCode 0 18 c" },
	{ "```\na\n```\nb", "a\nb", "Pre 0 1" },
	{ "> q **b**\n> r\n\ns", "q b\nr\n\ns", "BlockQuote 0 5, Bold 2 1" },
	{ "> `c`", "c", "BlockQuote 0 1, Code 0 1" },
	{ "# Head *i*\ntext", "Head i\ntext", "Bold 0 6, Italic 5 1" },
	{ "a < b > c & d \"e\"", "a < b > c & d \"e\"", "" },
	{ "&lt; &nbsp; &#65;", "&lt; &nbsp; &#65;", "" },
	{ "|A|B|\n|-|-|\n|1|*2*|", "1\n\u2022 B: 2", "Bold 0 1, Italic 7 1" },
	{ "From: Bob <bob@example.com>\n**S** <br> </b>",
		"From: Bob <bob@example.com>\nS <br> </b>", "Bold 28 1" },
};

static void
check_golden(const struct golden *g)
{
	CLEANUP_BUF struct buf html;

	buf_init(&html, 1u << 20);
	telegram_html(&html, g->md, strlen(g->md));
	CLEANUP_JSON struct json *f = td_parse(html.data);
	CLEANUP_FREE char *entities = entities_text(f);
	bool ok = f && !strcmp(json_get_str(f, "text", ""), g->text) &&
		!strcmp(entities, g->entities);

	if (!ok)
		printf("# %s\n# text %s\n# got  %s\n# want %s\n", html.data,
			json_get_str(f, "text", "?"), entities, g->entities);
	for (const char *p = g->md; *p; p++)
		buf_add_char(&html, *p == '\n' || *p == '#' ? ' ' : *p);
	verdict(ok, html.data + strlen(html.data) - strlen(g->md));
}

static void
add_dense(struct buf *out, const char *s)
{
	for (; *s; s++)
		if (!strchr(" \n\r\t", *s))
			buf_add_char(out, *s);
}

/* White space aside: TDLib tidies that. */
static bool
same_text(const char *html, const struct json *formatted)
{
	CLEANUP_BUF struct buf ours, a, b;

	buf_init(&ours, 1u << 20);
	buf_init(&a, 1u << 20);
	buf_init(&b, 1u << 20);
	html_check(html, &ours);
	add_dense(&a, ours.data);
	add_dense(&b, json_get_str(formatted, "text", ""));
	return !strcmp(a.data, b.data);
}

static void
on_chunk(void *arg, const struct text_chunk *chunk)
{
	bool *ok = arg;
	CLEANUP_BUF struct buf html;

	buf_init(&html, 1u << 20);
	if (!telegram_html(&html, chunk->text, chunk->len))
		return;
	CLEANUP_JSON struct json *f = td_parse(html.data);
	if (f && same_text(html.data, f))
		return;
	printf("# in %s\n# text %s\n", html.data, json_get_str(f, "text", "?"));
	*ok = false;
}

int
main(void)
{
	const char *path = getenv("TDJSON");
	void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	bool ok = true;

	if (!path) {
		printf("1..0 # SKIP TDJSON is not set: tests/peers/run sets it\n");
		return 0;
	}
	if (lib)
		*(void **)&td_execute = dlsym(lib, "td_execute");
	if (!td_execute) {
		printf("Bail out! %s\n", dlerror());
		return 1;
	}
	td_execute("{\"@type\":\"setLogVerbosityLevel\",\"new_verbosity_level\":0}");
	printf("1..%zu\n", ARRAY_LEN(goldens) + 1);
	for (size_t i = 0; i < ARRAY_LEN(goldens); i++)
		check_golden(&goldens[i]);
	random_seed(20261129);
	for (int i = 0; i < RANDOM_TEXTS && ok; i++) {
		CLEANUP_FREE char *md = random_markdown(true);

		text_split(md, strlen(md), false, 60 + random_draw(500),
			telegram_text_len, on_chunk, &ok);
	}
	verdict(ok, "chunks of random texts are read as they are meant");
	return failed ? 1 : 0;
}
