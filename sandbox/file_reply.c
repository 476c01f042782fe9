/* What a file act wrote, read: foreign bytes (a command in the sandbox could
 * replace the programs that the text calls). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/file_act.h"

struct fields {
	const char *p, *end;
};

static const char *
field(struct fields *f)
{
	const char *start = f->p;
	const char *nul = f->p < f->end ?
	    memchr(f->p, 0, (size_t)(f->end - f->p)) : NULL;

	if (!nul)
		return NULL;
	f->p = nul + 1;
	return start;
}

static bool
number(const char *s, int base, uint64_t *ret)
{
	char *end;

	if (!s)
		return false;
	s += strspn(s, " ");		/* wc of some systems */
	if (*s < '0' || *s > '9' || strlen(s) > 20)
		return false;
	*ret = strtoull(s, &end, base);
	return *end == '\0';
}

static int
read_regular(struct file_read_reply *ret, struct fields *f)
{
	uint64_t mode, nuls;
	const char *lines;

	if (!number(field(f), 10, &ret->size) || !number(field(f), 8, &mode) ||
	    !(ret->version = field(f)) || !number(field(f), 10, &nuls) ||
	    !(lines = field(f)))
		return -1;
	ret->has_total = lines[0] != '\0';
	if (ret->has_total && !number(lines, 10, &ret->total))
		return -1;
	ret->mode = (unsigned)mode & 07777;
	ret->binary = nuls > 0;
	return 0;
}

int
file_read_parse(struct file_read_reply *ret, const char *text, size_t len)
{
	static const char *const types[] = {
		[FILE_NONE] = "none", [FILE_REGULAR] = "file",
		[FILE_DIRECTORY] = "directory", [FILE_SPECIAL] = "special",
		[FILE_UNREADABLE] = "unreadable",
	};
	struct fields f = { text, text + len };
	size_t i = 0;

	memset(ret, 0, sizeof(*ret));
	ret->path = field(&f);
	const char *type = field(&f);
	if (!type || ret->path[0] != '/')
		return -1;
	while (i < ARRAY_LEN(types) && strcmp(types[i], type) != 0)
		i++;
	if (i == ARRAY_LEN(types))
		return -1;
	ret->type = (enum file_type)i;
	ret->version = "";
	if (ret->type == FILE_REGULAR && read_regular(ret, &f) < 0)
		return -1;
	ret->data = f.p;
	ret->len = (size_t)(f.end - f.p);
	return 0;
}

int
file_change_parse(struct file_change_reply *ret, const char *text, size_t len,
	size_t nedits)
{
	struct fields f = { text, text + len };
	const char *word = field(&f);
	uint64_t at;

	memset(ret, 0, sizeof(*ret));
	if (!word || nedits > FILE_EDITS_MAX)
		return -1;
	if (strcmp(word, "ok") == 0) {
		const char *made = field(&f);
		if (!made)
			return -1;
		ret->done = true;
		ret->made_dirs = made[0] != '\0';
		for (size_t i = 0; i < nedits; i++) {
			if (!(ret->versions[i] = field(&f)))
				return -1;
		}
		return 0;
	}
	ret->partly = strcmp(word, "partly") == 0;
	if (!ret->partly && strcmp(word, "no") != 0)
		return -1;
	if (!number(field(&f), 10, &at) || at >= nedits ||
	    !(ret->why = field(&f)))
		return -1;
	ret->at = (size_t)at;
	return 0;
}

char *
file_path_clean(const char *path)
{
	char *out = mem_alloc(strlen(path) + 2);
	size_t n = 0;

	while (*path) {
		size_t len = strcspn(path, "/");
		if (len == 2 && path[0] == '.' && path[1] == '.') {
			while (n > 0 && out[--n] != '/')
				;
		} else if (len > 0 && !(len == 1 && path[0] == '.')) {
			out[n++] = '/';
			memcpy(out + n, path, len);
			n += len;
		}
		path += len;
		path += *path == '/';
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return out;
}
