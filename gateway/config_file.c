/*
 * config.yaml into struct config: each key of the tree is a row, a section, a
 * name that means nothing here, or a mistake.
 */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "gateway/config_known.h"
#include "gateway/config_priv.h"
#include "gateway/config_value.h"
#include "gateway/config_yaml.h"
#include "gateway/env.h"
#include "gateway/file.h"

#define NAMES_MAX 512

static void walk(struct config_reader *r, const struct ytree *map,
	const char *prefix);

static const char *
look(void *arg, const char *name)
{
	return config_look(arg, name, NULL);
}

/* The scalar with its ${...} replaced, or NULL after an error. */
static char *
expand(struct config_reader *r, const struct ytree *node, const char *path)
{
	char *missing = NULL;
	char *text = ytree_expand(node->text, look, r, &missing);

	if (!text)
		report_add(r->rep, REPORT_ERROR, r->cfg->path, node->line,
			node->column, "%s: the variable %s is not set (write $${ for "
			"a literal ${)", path, missing);
	mem_free(missing);
	return text;
}

static void
wrong(struct config_reader *r, const struct ytree *node, const char *path,
	const char *why)
{
	report_add(r->rep, REPORT_ERROR, r->cfg->path, node->line, node->column,
		"%s: %s", path, why);
}

static void
wrong_kind(struct config_reader *r, const struct ytree *node, const char *path,
	const struct config_key *key)
{
	struct buf want CLEANUP_BUF;

	buf_init(&want, 512);
	config_value_expected(key, &want);
	report_add(r->rep, REPORT_ERROR, r->cfg->path, node->line, node->column,
		"%s: expected %s, found %s", path, want.data,
		ytree_kind_name(node->kind));
}

static bool
set_list(struct config_reader *r, const struct config_key *key,
	const struct ytree *node, const char *path)
{
	char **items = NULL;
	size_t n = 0;
	struct err err;
	bool ok = true;

	for (const struct ytree *c = node->first; c && ok; c = c->next) {
		char *text = c->kind == YTREE_TEXT ? expand(r, c, path) : NULL;

		if (c->kind != YTREE_TEXT)
			wrong_kind(r, c, path, key);
		ok = text != NULL;
		if (ok && node->kind == YTREE_MAP) {
			char *pair = mem_printf("%s=%s", c->key, text);

			mem_free(text);
			text = pair;
		}
		items = mem_grow(items, n + 1, sizeof(*items));
		items[n] = text;
		n += text != NULL;
	}
	if (ok && config_value_set_list(r->cfg, key, (const char *const *)items, n,
	    &err)) {
		wrong(r, node, path, err.text);
		ok = false;
	}
	for (size_t i = 0; i < n; i++)
		mem_free(items[i]);
	mem_free(items);
	return ok;
}

static bool
set_text(struct config_reader *r, const struct config_key *key,
	const struct ytree *node, const char *path)
{
	CLEANUP_FREE char *text = expand(r, node, path);
	/* A reference gives a variable's text: not typed by YAML or quotes. */
	bool refers = text && strcmp(text, node->text) != 0;
	enum config_form form = refers ? CONFIG_WORD :
		node->quoted ? CONFIG_QUOTED : CONFIG_PLAIN;
	struct err err;

	if (!text)
		return false;
	if (config_value_set(r->cfg, key, text, form,
	    env_find(r->in->environ, "HOME"), &err)) {
		wrong(r, node, path, err.text);
		return false;
	}
	return true;
}

static void
set_row(struct config_reader *r, const struct config_key *key,
	const struct ytree *node, const char *path)
{
	struct config_origin *origin = config_origin_of(r->cfg, key);
	bool ok;

	if (node->kind == YTREE_TEXT && ytree_is_null(node))
		return;
	if (origin->source == CONFIG_FILE)
		report_add(r->rep, key->flags & CONFIG_SAFETY ? REPORT_ERROR :
			REPORT_WARN, r->cfg->path, node->line, node->column,
			"%s is set again under another name (first on line %u)",
			config_key_name(key), origin->line);
	if ((node->kind == YTREE_MAP && key->type != CONFIG_MAP) ||
	    (node->kind == YTREE_LIST && !config_is_list(key))) {
		wrong_kind(r, node, path, key);
		return;
	}
	ok = node->kind != YTREE_TEXT ? set_list(r, key, node, path) :
		set_text(r, key, node, path);
	if (ok)
		*origin = (struct config_origin){ .source = CONFIG_FILE,
			.line = node->line };
}

/* The part of path that follows prefix and a dot, up to the next dot. */
static char *
name_below(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	if (!path || (len && (strncmp(path, prefix, len) != 0 || path[len] != '.')))
		return NULL;
	path += len ? len + 1 : 0;
	return mem_strn(path, strcspn(path, "."));
}

static void
add_name(char **names, size_t *n, char *name)
{
	if (name && *n < NAMES_MAX && strcmp(name, "*") != 0)
		names[(*n)++] = name;
	else
		mem_free(name);
}

/*
 * The nearest name below the section ("" = top) or NULL; ours: only rows, not
 * names that mean nothing here. Caller frees.
 */
static char *
suggest(const char *section, const char *word, bool ours)
{
	char *names[NAMES_MAX];
	size_t n = 0;
	char *found;

	for (size_t i = 0; i < config_nkeys; i++) {
		add_name(names, &n, name_below(config_keys[i].path, section));
		add_name(names, &n, name_below(config_keys[i].alias, section));
	}
	for (size_t i = 0; i < config_nplatforms && !*section; i++)
		add_name(names, &n, mem_str(config_platforms[i]));
	for (size_t i = 0; i < config_known_count() && !ours; i++)
		add_name(names, &n, name_below(config_known_at(i)->path, section));
	found = mem_str(nearest_name(word, (const char *const *)names, n));
	for (size_t i = 0; i < n; i++)
		mem_free(names[i]);
	return found;
}

/* A row elsewhere whose last part is the word: the key is misplaced. */
static const char *
elsewhere(const char *word)
{
	for (size_t i = 0; i < config_nkeys; i++) {
		const char *path = config_keys[i].path;
		const char *dot = path ? strrchr(path, '.') : NULL;

		if (dot && strcmp(dot + 1, word) == 0)
			return path;
	}
	return NULL;
}

static char *
section_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? mem_strn(path, (size_t)(dot - path)) : mem_str("");
}

static void
unknown(struct config_reader *r, const struct ytree *node, const char *path,
	const char *canonical)
{
	const char *shown = strrchr(path, '.');
	CLEANUP_FREE char *section = section_of(canonical);
	CLEANUP_FREE char *near = suggest(section, node->key, false);
	CLEANUP_FREE char *meant = near ? mem_printf("%.*s%s",
		shown ? (int)(shown + 1 - path) : 0, path, near) :
		mem_str(elsewhere(node->key));
	CLEANUP_FREE char *meant_row = config_canonical(meant ? meant : path);
	CLEANUP_FREE char *below = mem_printf("%s.x", meant_row);
	bool safety = config_is_safety(canonical) ||
		config_is_safety(meant_row) || config_is_safety(below);

	report_add(r->rep, safety ? REPORT_ERROR : REPORT_WARN, r->cfg->path,
		node->line, node->column, "%s is no known key%s%s%s", path,
		meant ? ": did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

static bool
is_harmless(const struct config_known *known, const struct ytree *node)
{
	const char *p = known->harmless;
	size_t len;

	if (!p || (node->kind == YTREE_TEXT && ytree_is_null(node)))
		return true;
	if (node->kind != YTREE_TEXT)
		return node->first == NULL;
	for (len = strlen(node->text); ; p += *p == '|') {
		size_t n = strcspn(p, "|");

		if (n == len && strncasecmp(p, node->text, n) == 0)
			return true;
		p += n;
		if (!*p)
			return false;
	}
}

static void not_used(struct config_reader *r, const struct ytree *node,
	const char *path, const struct config_known *known);

/* What may not be ignored may also stand inside a section that is. */
static void
visit_not_used(struct config_reader *r, const struct ytree *map,
	const char *path, const char *canonical)
{
	for (const struct ytree *c = map->first; c; c = c->next) {
		CLEANUP_FREE char *inner = mem_printf("%s.%s", canonical, c->key);
		CLEANUP_FREE char *shown = mem_printf("%s.%s", path, c->key);
		const struct config_known *known = config_known_find(inner);

		if (known && known->harmless && !is_harmless(known, c))
			not_used(r, c, shown, known);
	}
}

static void
not_used(struct config_reader *r, const struct ytree *node, const char *path,
	const struct config_known *known)
{
	const char *note = known->note ? known->note : "not used by this version";

	if (is_harmless(known, node))
		report_add(r->rep, REPORT_NOTE, r->cfg->path, node->line,
			node->column, "%s is ignored: %s", path, note);
	else if (*known->harmless)
		report_add(r->rep, REPORT_ERROR, r->cfg->path, node->line,
			node->column, "%s: only '%s' is possible: %s", path,
			known->harmless, note);
	else
		report_add(r->rep, REPORT_ERROR, r->cfg->path, node->line,
			node->column, "%s can't be obeyed by this version: remove it "
			"(%s)", path, note);
}

/* A misspelt row in a section of which everything else means nothing here. */
static bool
is_slip(const struct config_known *known, const char *canonical,
	const char *word)
{
	CLEANUP_FREE char *section = section_of(canonical);
	CLEANUP_FREE char *near = NULL;
	size_t len = strlen(section);

	if (strncmp(known->path, section, len) != 0 ||
	    strcmp(known->path + len, ".*") != 0)
		return false;
	near = suggest(section, word, true);
	return near != NULL;
}

static void
visit(struct config_reader *r, const struct ytree *node, const char *path)
{
	CLEANUP_FREE char *canonical = config_canonical(path);
	const struct config_key *key = config_key_find(canonical);
	const struct config_known *known = config_known_find(canonical);

	/* `model: NAME` is the short form of model.default. */
	if (!key && strcmp(canonical, "model") == 0 && node->kind == YTREE_TEXT)
		key = config_key_find("model.default");
	if (key) {
		set_row(r, key, node, path);
	} else if (config_is_section(canonical)) {
		if (node->kind == YTREE_MAP)
			walk(r, node, path);
		else if (node->kind != YTREE_TEXT || !ytree_is_null(node))
			wrong(r, node, path, "expected keys below it");
	} else if (known && !is_slip(known, canonical, node->key)) {
		not_used(r, node, path, known);
		if (node->kind == YTREE_MAP)
			visit_not_used(r, node, path, canonical);
	} else {
		unknown(r, node, path, canonical);
	}
}

static void
walk(struct config_reader *r, const struct ytree *map, const char *prefix)
{
	for (const struct ytree *c = map->first; c; c = c->next) {
		CLEANUP_FREE char *path = mem_printf("%s%s%s", prefix,
			*prefix ? "." : "", c->key);

		visit(r, c, path);
	}
}

void
config_read_file(struct config_reader *r)
{
	struct buf text CLEANUP_BUF;
	struct ytree *root;
	struct err err;

	buf_init(&text, YTREE_FILE_MAX);
	if (file_read(r->in->file, &text, NULL, &err)) {
		if (err.code != ERR_NOT_FOUND || r->in->file_required)
			report_add(r->rep, REPORT_ERROR, NULL, 0, 0, "%s", err.text);
		return;
	}
	r->cfg->file_exists = true;
	root = ytree_parse(r->in->file, text.data, text.len, r->rep);
	if (root)
		walk(r, root, "");
	ytree_free(&root);
	explicit_bzero(text.data, text.len);
}
