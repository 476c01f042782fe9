#include "gateway/agent/file_text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/redact.h"
#include "base/utf8.h"

#define SIMILAR_MAX 5
#define NAMES_MAX 500
#define BOM "\xef\xbb\xbf"

static const struct {
	const char *ext, *what;
} binary[] = {
	{ "png", "a picture" }, { "jpg", "a picture" }, { "jpeg", "a picture" },
	{ "gif", "a picture" }, { "webp", "a picture" }, { "bmp", "a picture" },
	{ "ico", "a picture" }, { "tif", "a picture" }, { "tiff", "a picture" },
	{ "heic", "a picture" }, { "avif", "a picture" },
	{ "mp3", "sound" }, { "wav", "sound" }, { "ogg", "sound" },
	{ "oga", "sound" }, { "flac", "sound" }, { "m4a", "sound" },
	{ "mp4", "a video" }, { "mkv", "a video" }, { "mov", "a video" },
	{ "avi", "a video" }, { "webm", "a video" },
	{ "zip", "an archive" }, { "gz", "an archive" }, { "tgz", "an archive" },
	{ "bz2", "an archive" }, { "xz", "an archive" }, { "zst", "an archive" },
	{ "7z", "an archive" }, { "rar", "an archive" }, { "tar", "an archive" },
	{ "jar", "an archive" }, { "whl", "an archive" }, { "deb", "an archive" },
	{ "rpm", "an archive" }, { "iso", "an archive" },
	{ "pdf", "a document in a binary format" },
	{ "docx", "a document in a binary format" },
	{ "xlsx", "a document in a binary format" },
	{ "pptx", "a document in a binary format" },
	{ "odt", "a document in a binary format" },
	{ "ods", "a document in a binary format" },
	{ "exe", "a program" }, { "dll", "a program" }, { "so", "a program" },
	{ "o", "a program" }, { "a", "a program" }, { "class", "a program" },
	{ "pyc", "a program" }, { "wasm", "a program" }, { "dylib", "a program" },
	{ "sqlite", "a database" }, { "sqlite3", "a database" },
	{ "db", "a database" }, { "parquet", "a database" },
	{ "ttf", "a font" }, { "otf", "a font" }, { "woff", "a font" },
	{ "woff2", "a font" },
};

const char *
file_text_binary(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (!dot || strchr(dot, '/'))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(binary); i++)
		if (strcasecmp(dot + 1, binary[i].ext) == 0)
			return binary[i].what;
	return NULL;
}

/* ---- out -------------------------------------------------------------------------- */

/* Nothing to repair and nothing to cut: most lines. */
static bool
is_plain(const char *line, size_t len)
{
	unsigned char all = 0;

	for (size_t i = 0; i < len && i <= FILE_LINE_MAX; i++)
		all |= (unsigned char)line[i];
	return len <= FILE_LINE_MAX && all < 0x80;
}

/* One line, repaired and cut; true if it was cut. */
static bool
add_line(struct buf *out, uint64_t number, const char *line, size_t len)
{
	CLEANUP_BUF struct buf clean;
	uint32_t cp;
	size_t at = 0, n;

	buf_init(&clean, 4 * FILE_LINE_MAX * 3 + 64);
	if (len > 0 && line[len - 1] == '\r')
		len--;
	buf_printf(out, "%llu|", (unsigned long long)number);
	if (is_plain(line, len)) {
		buf_add(out, line, len);
		buf_add_char(out, '\n');
		return false;
	}
	size_t raw = len > 4 * FILE_LINE_MAX ? 4 * FILE_LINE_MAX : len;
	utf8_repair(&clean, line, raw);
	for (size_t i = 0; i < FILE_LINE_MAX && at < clean.len; i++) {
		n = utf8_next(clean.data + at, clean.len - at, &cp);
		at += n ? n : 1;
	}
	buf_add(out, clean.data, at);
	bool cut = at < clean.len || raw < len;
	if (cut)
		buf_printf(out, "... [line cut: %zu bytes]", len);
	buf_add_char(out, '\n');
	return cut;
}

struct file_window
file_text_number(struct buf *out, const char *text, size_t len, uint64_t from,
    uint64_t first, uint64_t limit)
{
	struct file_window w = { 0, 0 };
	const char *p = text, *end = text + len;

	if (from == 1 && len >= 3 && memcmp(text, BOM, 3) == 0)
		p += 3;
	for (uint64_t number = from; p < end && number < first + limit;
	    number++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl ? nl : end) - p);

		if (number >= first) {
			w.cut += add_line(out, number, p, n);
			w.shown++;
		}
		p = nl ? nl + 1 : end;
	}
	return w;
}

/* ---- style ------------------------------------------------------------------------ */

struct file_style
file_style_of(const char *text, size_t len)
{
	struct file_style s = { len >= 3 && memcmp(text, BOM, 3) == 0, false };
	const char *p = text, *end = text + len;
	size_t lf = 0, crlf = 0;

	while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
		lf++;
		crlf += p > text && p[-1] == '\r';
		p++;
	}
	s.crlf = crlf * 2 > lf;
	return s;
}

void
file_style_strip(struct buf *out, const char *text, size_t len,
    struct file_style style)
{
	const char *p = text, *end = text + len, *cr;

	if (len >= 3 && memcmp(text, BOM, 3) == 0)
		p += 3;
	while (style.crlf && p < end &&
	    (cr = memchr(p, '\r', (size_t)(end - p)))) {
		bool pair = cr + 1 < end && cr[1] == '\n';

		buf_add(out, p, (size_t)(cr - p) + !pair);
		p = cr + 1;
	}
	buf_add(out, p, (size_t)(end - p));
}

void
file_style_apply(struct buf *out, const char *text, size_t len,
    struct file_style style)
{
	const char *p = text, *end = text + len, *nl;
	bool has = len >= 3 && memcmp(text, BOM, 3) == 0;

	if (style.bom && !has)
		buf_add_str(out, BOM);
	while (style.crlf && p < end &&
	    (nl = memchr(p, '\n', (size_t)(end - p)))) {
		bool pair = nl > text && nl[-1] == '\r';

		buf_add(out, p, (size_t)(nl - p));
		buf_add_str(out, pair ? "\n" : "\r\n");
		p = nl + 1;
	}
	buf_add(out, p, (size_t)(end - p));
}

/* ---- in --------------------------------------------------------------------------- */

/* "12|x" on every one of the first lines, counting up: copied from read_file. */
static bool
is_numbered(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	unsigned long expect = 0;
	unsigned lines = 0;

	while (p < end && lines < 5) {
		const char *start = p;
		unsigned long n = 0;

		while (p < end && isdigit((unsigned char)*p) && n < 100000000)
			n = n * 10 + (unsigned long)(*p++ - '0');
		if (p == start || p == end || *p != '|' ||
		    (lines > 0 && n != expect))
			return false;
		expect = n + 1;
		lines++;
		p = memchr(p, '\n', (size_t)(end - p));
		p = p ? p + 1 : end;
	}
	return lines >= 2;
}

const char *
file_text_fault(const char *text, size_t len)
{
	if (redact_has_sentinel(text, len))
		return "it holds a mask such as «redacted:...», which stands for a "
		    "secret that you were not shown; writing it would destroy "
		    "the secret. Change other parts with patch, or leave the "
		    "masked lines out of what you replace";
	if (is_numbered(text, len))
		return "it begins with the line numbers of read_file (\"1|\", "
		    "\"2|\"); they are no part of the file: send it without them";
	return NULL;
}

/* ---- names ------------------------------------------------------------------------ */

static bool
alike(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), m = strcspn(b, ".");

	return strcasecmp(a, b) == 0 || (n > 2 && strcasestr(b, a)) ||
	    (n > 2 && n == m && strncasecmp(a, b, n) == 0);
}

static void
add_name(struct json *list, const char *dir, const char *name)
{
	size_t n = strlen(dir);
	CLEANUP_FREE char *path = mem_printf("%s%s%s", dir,
	    n > 0 && dir[n - 1] == '/' ? "" : "/", name);

	for (const struct json *j = json_first(list); j; j = json_next(j))
		if (strcmp(json_str(j), path) == 0)
			return;
	if (json_len(list) < SIMILAR_MAX)
		json_add_take(list, json_string(path));
}

struct json *
file_similar(const char *dir, const char *name, const char *listing, size_t len)
{
	struct json *list = json_array();
	const char *names[NAMES_MAX];
	size_t n = 0;
	CLEANUP_FREE char *text = mem_strn(listing, len);

	for (char *p = text; *p && n < NAMES_MAX;) {
		char *nl = strchr(p, '\n');

		if (nl)
			*nl = '\0';
		names[n++] = p;
		p = nl ? nl + 1 : p + strlen(p);
	}
	const char *best = nearest_name(name, names, n);

	if (best)
		add_name(list, dir, best);
	for (size_t i = 0; i < n; i++)
		if (alike(name, names[i]))
			add_name(list, dir, names[i]);
	return list;
}
