/* The tree without the parser: freeing, looking, replacing references. */
#include "gateway/config_yaml.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/env.h"

void
ytree_free(struct ytree **root)
{
	for (struct ytree *n = STEAL(*root), *next; n; n = next) {
		next = n->next;
		ytree_free(&n->first);
		mem_free(n->key);
		mem_free_secret(&n->text);
		mem_free(n);
	}
}

const struct ytree *
ytree_get(const struct ytree *map, const char *key)
{
	if (!map || map->kind != YTREE_MAP)
		return NULL;
	for (const struct ytree *c = map->first; c; c = c->next)
		if (strcmp(c->key, key) == 0)
			return c;
	return NULL;
}

static bool
one_of(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

bool
ytree_is_null(const struct ytree *node)
{
	static const char *const words[] = { "", "~", "null", "Null", "NULL" };

	return node->kind == YTREE_TEXT && !node->quoted &&
		one_of(node->text, words, ARRAY_LEN(words));
}

const char *
ytree_kind_name(enum ytree_kind kind)
{
	switch (kind) {
	case YTREE_TEXT:
		return "a single value";
	case YTREE_LIST:
		return "a list";
	case YTREE_MAP:
		return "a map (key: value)";
	}
	return "?";
}

/* Length of "${NAME}" or "${env:NAME}" at p, 0 if it is none. */
static size_t
reference_at(const char *p, char **ret_name)
{
	const char *name = p + 2;
	const char *close;

	if (p[0] != '$' || p[1] != '{' || !(close = strchr(name, '}')))
		return 0;
	if (strncmp(name, "env:", 4) == 0)
		name += 4;
	if (name > close || !env_name_valid(name, (size_t)(close - name)))
		return 0;
	*ret_name = mem_strn(name, (size_t)(close - name));
	return (size_t)(close + 1 - p);
}

char *
ytree_expand(const char *text, ytree_look_cb *look, void *arg, char **ret_missing)
{
	struct buf out;

	buf_init(&out, YTREE_FILE_MAX);
	for (const char *p = text; *p; ) {
		char *name = NULL;
		size_t len;

		if (strncmp(p, "$${", 3) == 0) {
			buf_add_str(&out, "${");
			p += 3;
			continue;
		}
		len = reference_at(p, &name);
		if (!len) {
			buf_add_char(&out, *p++);
			continue;
		}
		const char *value = look(arg, name);
		if (!value) {
			buf_done(&out);
			*ret_missing = name;
			return NULL;
		}
		buf_add_str(&out, value);
		mem_free(name);
		p += len;
	}
	return buf_take(&out);
}
