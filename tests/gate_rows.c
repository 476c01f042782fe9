#include "tests/gate_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

const struct gate_ctx gate_row_ctx = {
	.workspace = "/home/user/workspace",
	.home = "/home/user",
	.backend = "local",
};

static size_t
unescape(char *s)
{
	size_t n = 0;
	for (size_t i = 0; s[i]; i++) {
		if (s[i] != '\\') {
			s[n++] = s[i];
			continue;
		}
		i++;
		if (s[i] == 'x') {
			char hex[3] = { s[i + 1], s[i + 2], '\0' };
			s[n++] = (char)strtol(hex, NULL, 16);
			i += 2;
		} else {
			s[n++] = s[i] == 'n' ? '\n' : s[i] == 't' ? '\t' :
				s[i] == 'r' ? '\r' : s[i];
		}
	}
	return n;
}

static void
take(char *dst, size_t size, char **line)
{
	char *field = strsep(line, "\t");
	REQUIRE(field && mem_copy_str(dst, size, field) == 0);
}

void
gate_rows_load(struct gate_rows *rows, const char *name)
{
	const char *top = getenv("TOP_SRCDIR");
	CLEANUP_FREE char *path = mem_printf("%s/tests/data/%s", top ? top : ".", name);
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	REQUIRE(f);
	*rows = (struct gate_rows){ .n = 0 };
	REQUIRE(getline(&line, &size, f) > 0);	/* the heading */
	while ((n = getline(&line, &size, f)) > 0) {
		char *at = line;
		rows->v = mem_grow(rows->v, rows->n + 1, sizeof(*rows->v));
		struct gate_row *r = &rows->v[rows->n++];
		line[n - 1] = line[n - 1] == '\n' ? '\0' : line[n - 1];
		take(r->id, sizeof(r->id), &at);
		take(r->verdict, sizeof(r->verdict), &at);
		take(r->category, sizeof(r->category), &at);
		r->command = mem_str(strsep(&at, "\t"));
		r->len = unescape(r->command);
		r->has_note = at && *at;
	}
	free(line);
	fclose(f);
}

void
gate_rows_done(struct gate_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		mem_free(rows->v[i].command);
	mem_free(rows->v);
}

enum gate_level
gate_level_of(const struct gate_ctx *ctx, const char *command, size_t len)
{
	struct gate_verdict v;
	gate_classify(ctx, command, len, &v);
	enum gate_level level = v.level;
	gate_verdict_done(&v);
	return level;
}
