#include "gateway/config_edit.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/config_table.h"
#include "gateway/config_yaml.h"
#include "gateway/dotenv.h"

#define TEXT_MAX (YTREE_FILE_MAX + 65536)
#define BOM "\xef\xbb\xbf"

struct editor {
	const char *text;	/* after the byte-order mark */
	size_t len;
	const struct config_edit *edit;
	struct buf *out;
};

/* Byte offset of a character. */
static size_t
offset_of(const struct editor *e, size_t index)
{
	size_t at = 0;

	for (; index && at < e->len; index--)
		at += utf8_next(e->text + at, e->len - at, NULL);
	return at;
}

static size_t
line_start(const struct editor *e, size_t at)
{
	while (at > 0 && e->text[at - 1] != '\n')
		at--;
	return at;
}

static size_t
line_end(const struct editor *e, size_t at)
{
	const char *nl = memchr(e->text + at, '\n', e->len - at);

	return nl ? (size_t)(nl - e->text) : e->len;
}

/* ---- writing a value ------------------------------------------------------ */

/* Double quotes, so that every string can be written; valid UTF-8 stays. */
static void
add_quoted(struct buf *out, const char *s)
{
	buf_add_char(out, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c == '\n')
			buf_add_str(out, "\\n");
		else if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\x%02x", c);
		else if (c == '$' && s[1] == '{')
			buf_add_str(out, "$$");
		else
			buf_add_char(out, (char)c);
	}
	buf_add_char(out, '"');
}

static void
add_value(struct buf *out, const struct config_edit *edit)
{
	if (edit->list)
		buf_add_char(out, '[');
	for (size_t i = 0; i < edit->n; i++) {
		if (i)
			buf_add_str(out, ", ");
		if (edit->plain)
			buf_add_str(out, edit->items[i]);
		else
			add_quoted(out, edit->items[i]);
	}
	if (edit->list)
		buf_add_char(out, ']');
}

/* ---- where to write it ---------------------------------------------------- */

/* The node whose path means edit->path, under whatever name it stands. */
static const struct ytree *
find_node(const struct ytree *map, const char *prefix, const char *want)
{
	for (const struct ytree *c = map->first; c; c = c->next) {
		CLEANUP_FREE char *path = mem_printf("%s%s%s", prefix,
			*prefix ? "." : "", c->key);
		CLEANUP_FREE char *canonical = config_canonical(path);
		const struct config_key *key = config_key_find(canonical);
		const struct ytree *found;

		if (key && key->path && strcmp(key->path, want) == 0)
			return c;
		found = c->kind == YTREE_MAP ? find_node(c, path, want) : NULL;
		if (found)
			return found;
	}
	return NULL;
}

/* The deepest map along the path; *rest: what is missing below it. */
static const struct ytree *
find_parent(const struct ytree *root, const char *path, const char **rest)
{
	const struct ytree *at = root;

	for (;;) {
		size_t len = strcspn(path, ".");
		CLEANUP_FREE char *name = mem_strn(path, len);
		const struct ytree *next = path[len] ? ytree_get(at, name) : NULL;

		if (!next || (next->kind != YTREE_MAP && !ytree_is_null(next)))
			break;
		at = next;
		path += len + 1;
	}
	*rest = path;
	return at;
}

/* "a.b.c: value" as nested lines at this indentation. */
static void
add_nested(struct editor *e, const char *path, unsigned indent)
{
	for (;;) {
		size_t len = strcspn(path, ".");

		for (unsigned i = 0; i < indent; i++)
			buf_add_char(e->out, ' ');
		buf_add(e->out, path, len);
		buf_add_char(e->out, ':');
		if (!path[len])
			break;
		buf_add_char(e->out, '\n');
		path += len + 1;
		indent += 2;
	}
	buf_add_char(e->out, ' ');
	add_value(e->out, e->edit);
	buf_add_char(e->out, '\n');
}

static void
copy(struct editor *e, size_t from, size_t to)
{
	buf_add(e->out, e->text + from, to - from);
}

/*
 * Just behind the value.  libyaml ends a block list or map where the next
 * token begins, comments included: its last child knows better.
 */
static size_t
value_end(const struct editor *e, const struct ytree *node)
{
	size_t start, end;

	for (;;) {
		start = offset_of(e, node->value_index);
		if (!node->first || e->text[start] == '[' || e->text[start] == '{')
			break;
		node = node->first;
		while (node->next)
			node = node->next;
	}
	end = offset_of(e, node->end_index);
	while (end > start && strchr(" \t\r\n", e->text[end - 1]))
		end--;
	return end;
}

/* As it stands in the file: with a literal "${" escaped. */
static bool
same_item(const struct ytree *node, const char *item)
{
	struct buf want CLEANUP_BUF;

	buf_init(&want, TEXT_MAX);
	for (const char *p = item; *p; p++)
		buf_printf(&want, "%s%c", *p == '$' && p[1] == '{' ? "$" : "", *p);
	return node->kind == YTREE_TEXT && strcmp(node->text, want.data) == 0;
}

/*
 * One item more in a list of lines: it gets a line, and the others keep what
 * stands beside them.  false: it is no such list.
 */
static bool
append_line(struct editor *e, const struct ytree *node)
{
	const struct ytree *c = node->first, *last = NULL;
	size_t n = 0;

	for (; c && n < e->edit->n && same_item(c, e->edit->items[n]); n++) {
		last = c;
		c = c->next;
	}
	if (!e->edit->list || !last || c || n + 1 != e->edit->n)
		return false;
	size_t item = offset_of(e, last->value_index);
	size_t start = line_start(e, item);
	size_t blanks = strspn(e->text + start, " ");
	size_t end = line_end(e, value_end(e, node));

	if (e->text[start + blanks] != '-' ||
	    start + blanks + 1 + strspn(e->text + start + blanks + 1, " ") != item)
		return false;
	copy(e, 0, end);
	buf_add_char(e->out, '\n');
	copy(e, start, item);
	add_quoted(e->out, e->edit->items[n]);
	copy(e, end, e->len);
	return true;
}

/* A key with a value: exchanges the value. */
static void
replace_value(struct editor *e, const struct ytree *node)
{
	if (append_line(e, node))
		return;
	size_t start = offset_of(e, node->value_index);
	size_t end = value_end(e, node);
	bool on_key_line = node->value_line == node->line;

	if (!on_key_line) {
		/* The list below its key: the value moves up beside the colon. */
		start = offset_of(e, node->index);
		start += strlen(node->key) + 1;
	}
	copy(e, 0, start);
	if (start && e->text[start - 1] == ':')
		buf_add_char(e->out, ' ');
	add_value(e->out, e->edit);
	if (!on_key_line)
		copy(e, start, line_end(e, start));	/* a comment there */
	copy(e, end, e->len);
}

/* Into "{...}" of one line: first place, so that no comma can be missed. */
static void
insert_flow(struct editor *e, const struct ytree *map, const char *rest)
{
	size_t at = offset_of(e, map->value_index) + 1;
	size_t depth = 0;

	copy(e, 0, at);
	for (size_t len; rest[len = strcspn(rest, ".")]; rest += len + 1, depth++) {
		buf_add(e->out, rest, len);
		buf_add_str(e->out, ": {");
	}
	buf_printf(e->out, "%s: ", rest);
	add_value(e->out, e->edit);
	for (; depth; depth--)
		buf_add_char(e->out, '}');
	if (map->first)
		buf_add_str(e->out, ", ");
	copy(e, at, e->len);
}

/* As the first line below a block map's key, or at the end of the file. */
static void
insert_block(struct editor *e, const struct ytree *map, const char *rest,
	bool is_root)
{
	unsigned indent = map->first ? map->first->column - 1 :
		is_root ? 0 : map->column + 1;
	size_t at = e->len;

	if (!is_root && map->first)
		at = line_start(e, offset_of(e, map->first->index));
	else if (!is_root)
		at = line_end(e, offset_of(e, map->index));
	copy(e, 0, at);
	if (at && e->text[at - 1] != '\n')
		buf_add_char(e->out, '\n');
	add_nested(e, rest, indent);
	if (at < e->len && e->text[at] == '\n')
		at++;
	copy(e, at, e->len);
}

/* ---- the result is what was wanted ---------------------------------------- */

static bool
same_value(const struct ytree *node, const struct config_edit *edit)
{
	const struct ytree *c = edit->list ? node->first : node;

	if (edit->list != (node->kind == YTREE_LIST))
		return false;
	for (size_t i = 0; i < edit->n; i++, c = c->next)
		if (!c || !same_item(c, edit->items[i]))
			return false;
	return !edit->list || c == NULL;
}

/* Equal but for `skip`, which is looked at apart; new maps around it may be. */
static bool
same_tree(const struct ytree *a, const struct ytree *b, const struct ytree *skip)
{
	const struct ytree *x = a->first, *y = b->first;

	if (b == skip)
		return true;
	if (a->kind == YTREE_TEXT && b->kind == YTREE_MAP)
		return ytree_is_null(a);
	if (a->kind != b->kind || (a->text && (strcmp(a->text, b->text) != 0 ||
	    a->quoted != b->quoted)))
		return false;
	for (; y; y = y->next) {
		bool match = x && (!x->key || strcmp(x->key, y->key) == 0);

		if (!match && y->kind == YTREE_MAP && (!y->first || !y->first->next))
			continue;
		if (!match && y != skip)
			return false;
		if (match && !same_tree(x, y, skip))
			return false;
		x = match ? x->next : x;
	}
	return x == NULL;
}

static bool
verify(const struct ytree *before, const char *text, size_t len,
	const struct config_edit *edit)
{
	struct report rep;
	struct ytree *after;
	const struct ytree *node;
	bool ok = false;

	report_init(&rep);
	after = ytree_parse("", text, len, &rep);
	if (after) {
		node = find_node(after, "", edit->path);
		ok = node && same_value(node, edit) && same_tree(before, after, node);
	}
	ytree_free(&after);
	report_done(&rep);
	return ok;
}

static void
change(struct editor *e, const struct ytree *root)
{
	const struct ytree *node = find_node(root, "", e->edit->path);
	const char *rest;

	if (node) {
		replace_value(e, node);
		return;
	}
	node = find_parent(root, e->edit->path, &rest);
	if (node != root && node->kind == YTREE_MAP &&
	    e->text[offset_of(e, node->value_index)] == '{')
		insert_flow(e, node, rest);
	else
		insert_block(e, node, rest, node == root);
}

char *
config_edit_yaml(const char *text, size_t len, const struct config_edit *edit,
	struct err *err)
{
	struct buf out;
	struct editor e = { text, len, edit, &out };
	struct report rep;
	struct ytree *root;
	bool ok;

	report_init(&rep);
	root = ytree_parse("", text, len, &rep);
	if (!root) {
		err_set(err, ERR_CONFIG, "line %u: %s", rep.items[0].line,
			rep.items[0].text);
		report_done(&rep);
		return NULL;
	}
	buf_init(&out, TEXT_MAX);
	if (len >= 3 && memcmp(text, BOM, 3) == 0) {
		e.text += 3;
		e.len -= 3;
		buf_add_str(&out, BOM);
	}
	change(&e, root);
	ok = !out.over && verify(root, out.data, out.len, edit);
	ytree_free(&root);
	report_done(&rep);
	if (!ok) {
		buf_done(&out);
		err_set(err, ERR_CONFIG, "%s can't be changed without touching other "
			"parts of the file: edit it by hand", edit->path);
		return NULL;
	}
	return buf_take(&out);
}

/* ---- .env ----------------------------------------------------------------- */

static void
add_dotenv_line(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "%s='", name);
	for (; *value; value++)
		buf_printf(out, "%s%c", *value == '\'' || *value == '\\' ? "\\" : "",
			*value);
	buf_add_str(out, "'\n");
}

char *
config_edit_dotenv(const char *text, size_t len, const char *name,
	const char *value, struct err *err)
{
	struct editor e = { text, len, NULL, NULL };
	const struct dotenv_var *old;
	struct dotenv env;
	struct report rep;
	struct buf out;
	size_t at = 0, after = len;

	if (strpbrk(value, "\r\n")) {
		err_set(err, ERR_INVALID, "the value of %s spans lines", name);
		return NULL;
	}
	dotenv_init(&env);
	report_init(&rep);
	dotenv_parse(&env, "", text, len, &rep);
	old = dotenv_find(&env, name);
	/* A quoted value may span lines: its end is where the next one begins. */
	if (old) {
		for (unsigned line = old->line; line > 1; line--)
			at = line_end(&e, at) + 1;
		after = line_end(&e, at);
		after += after < len;
	} else {
		at = len;
	}
	bool broken = rep.errors > 0 || (old && strchr(old->value, '\n'));
	dotenv_done(&env);
	report_done(&rep);
	if (broken) {
		err_set(err, ERR_CONFIG, ".env can't be changed safely: edit it by hand");
		return NULL;
	}
	buf_init(&out, DOTENV_FILE_MAX);
	buf_add(&out, text, at);
	if (at && text[at - 1] != '\n')
		buf_add_char(&out, '\n');
	add_dotenv_line(&out, name, value);
	buf_add(&out, text + after, len - after);
	if (out.over) {
		err_set(err, ERR_LIMIT, ".env would be too long");
		buf_done(&out);
		return NULL;
	}
	return buf_take(&out);
}
