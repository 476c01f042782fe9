#include "gateway/config_yaml.h"

#include <string.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/utf8.h"

/* An anchored node is remembered once it is complete, so no alias is a cycle. */
struct anchor {
	char *name;
	const struct ytree *node;
};

struct build {
	yaml_parser_t parser;
	const char *file;
	const char *text;
	size_t len;
	size_t *lines;		/* offset of each line */
	size_t nlines;
	struct report *rep;
	struct anchor *anchors;
	size_t nanchors;
	size_t nodes;
	struct ytree *scrap;	/* merged-in maps, kept for their anchors */
};

static struct ytree *build_node(struct build *b, const yaml_event_t *ev,
	unsigned depth);

static struct ytree *
refuse(struct build *b, const yaml_mark_t *at, const char *text)
{
	report_add(b->rep, REPORT_ERROR, b->file, (unsigned)at->line + 1,
		(unsigned)at->column + 1, "%s", text);
	return NULL;
}

/* Length of the line break at p as YAML 1.1 knows them: also CR, NEL, LS, PS. */
static size_t
break_at(const char *p, const char *end)
{
	size_t left = (size_t)(end - p);

	if (*p == '\n')
		return 1;
	if (*p == '\r')
		return left > 1 && p[1] == '\n' ? 2 : 1;
	if (left >= 2 && memcmp(p, "\xc2\x85", 2) == 0)
		return 2;
	if (left >= 3 && (memcmp(p, "\xe2\x80\xa8", 3) == 0 ||
	    memcmp(p, "\xe2\x80\xa9", 3) == 0))
		return 3;
	return 0;
}

static void
find_lines(struct build *b)
{
	const char *end = b->text + b->len;
	size_t n = 1, len;

	for (const char *p = b->text; p < end; p += len ? len : 1)
		n += (len = break_at(p, end)) > 0;
	b->lines = mem_array(n, sizeof(*b->lines));
	b->nlines = 1;
	for (const char *p = b->text; p < end; p += len ? len : 1)
		if ((len = break_at(p, end)) > 0)
			b->lines[b->nlines++] = (size_t)(p - b->text) + len;
}

/* Does the line (from 0) begin with white space that holds a tab? */
static bool
tab_indents(const struct build *b, size_t line)
{
	const char *p = b->text, *end = b->text + b->len;

	if (line >= b->nlines)
		return false;
	p += b->lines[line];
	while (p < end && *p == ' ')
		p++;
	return p < end && *p == '\t';
}

static struct ytree *
refuse_syntax(struct build *b)
{
	const yaml_parser_t *p = &b->parser;
	yaml_mark_t at = p->problem_mark;

	if (p->error == YAML_READER_ERROR || p->error == YAML_MEMORY_ERROR) {
		report_add(b->rep, REPORT_ERROR, b->file, 0, 0, "%s (byte %zu)",
			p->problem ? p->problem : "can't be read", p->problem_offset);
		return NULL;
	}
	if (tab_indents(b, at.line))
		return refuse(b, &at, "a tab can't indent YAML: use spaces");
	if (p->context)
		report_add(b->rep, REPORT_ERROR, b->file, (unsigned)at.line + 1,
			(unsigned)at.column + 1, "%s, %s (line %zu)", p->problem,
			p->context, p->context_mark.line + 1);
	else
		refuse(b, &at, p->problem ? p->problem : "not YAML");
	return NULL;
}

static bool
next_event(struct build *b, yaml_event_t *ev)
{
	if (yaml_parser_parse(&b->parser, ev))
		return true;
	refuse_syntax(b);
	return false;
}

static struct ytree *
new_node(struct build *b, enum ytree_kind kind, const yaml_mark_t *at)
{
	struct ytree *n;

	if (++b->nodes > YTREE_NODES_MAX)
		return refuse(b, at, "too many values (aliases count in full)");
	n = mem_alloc(sizeof(*n));
	n->kind = kind;
	n->line = n->value_line = (unsigned)at->line + 1;
	n->column = (unsigned)at->column + 1;
	n->index = n->value_index = at->index;
	return n;
}

static void
remember(struct build *b, const yaml_char_t *anchor, const struct ytree *node)
{
	if (!anchor || !node)
		return;
	b->anchors = mem_grow(b->anchors, b->nanchors + 1, sizeof(*b->anchors));
	b->anchors[b->nanchors++] = (struct anchor){
		mem_str((const char *)anchor), node };
}

/* A deep copy, counted node by node: this is what bounds aliases of aliases. */
static struct ytree *
copy_node(struct build *b, const struct ytree *src, const yaml_mark_t *at,
	unsigned depth)
{
	struct ytree *n, **tail;

	if (depth > YTREE_DEPTH_MAX)
		return refuse(b, at, "too many levels");
	n = new_node(b, src->kind, at);
	if (!n)
		return NULL;
	n->key = mem_str(src->key);
	n->text = mem_str(src->text);
	n->quoted = src->quoted;
	n->line = src->line;
	n->column = src->column;
	tail = &n->first;
	for (const struct ytree *c = src->first; c; c = c->next) {
		*tail = copy_node(b, c, at, depth + 1);
		if (!*tail) {
			ytree_free(&n);
			return NULL;
		}
		tail = &(*tail)->next;
	}
	return n;
}

static struct ytree *
build_alias(struct build *b, const yaml_event_t *ev, unsigned depth)
{
	const char *name = (const char *)ev->data.alias.anchor;

	for (size_t i = b->nanchors; i-- > 0; ) {
		if (strcmp(b->anchors[i].name, name) != 0)
			continue;
		struct ytree *n = copy_node(b, b->anchors[i].node, &ev->start_mark,
			depth);
		if (n) {
			mem_free(STEAL(n->key));
			n->line = n->value_line = (unsigned)ev->start_mark.line + 1;
			n->column = (unsigned)ev->start_mark.column + 1;
			n->index = n->value_index = ev->start_mark.index;
			n->end_index = ev->end_mark.index;
		}
		return n;
	}
	return refuse(b, &ev->start_mark, "an alias of an anchor that isn't there "
		"(a value that begins with * needs quotes)");
}

/* libyaml folds a line that a tab indents into the plain value above it. */
static bool
folded_tab(const struct build *b, const yaml_event_t *ev, yaml_mark_t *ret_at)
{
	if (ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (size_t i = ev->start_mark.line + 1; i <= ev->end_mark.line; i++)
		if (tab_indents(b, i)) {
			*ret_at = (yaml_mark_t){ .line = i };
			return true;
		}
	return false;
}

static struct ytree *
build_scalar(struct build *b, const yaml_event_t *ev)
{
	const char *value = (const char *)ev->data.scalar.value;
	yaml_mark_t at;
	struct ytree *n;

	if (strlen(value) != ev->data.scalar.length)
		return refuse(b, &ev->start_mark, "a value holds a NUL byte");
	if (folded_tab(b, ev, &at))
		return refuse(b, &at, "a tab can't indent YAML: use spaces");
	n = new_node(b, YTREE_TEXT, &ev->start_mark);
	if (n) {
		n->text = mem_str(value);
		n->quoted = ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
		n->end_index = ev->end_mark.index;
		remember(b, ev->data.scalar.anchor, n);
	}
	return n;
}

static struct ytree *
build_list(struct build *b, const yaml_event_t *start, unsigned depth)
{
	struct ytree *list = new_node(b, YTREE_LIST, &start->start_mark), **tail;
	yaml_event_t ev;
	bool more = list != NULL;

	for (tail = list ? &list->first : NULL; more; ) {
		if (!next_event(b, &ev)) {
			ytree_free(&list);
			return NULL;
		}
		more = ev.type != YAML_SEQUENCE_END_EVENT;
		if (more) {
			*tail = build_node(b, &ev, depth + 1);
			if (!*tail) {
				ytree_free(&list);
				more = false;
			} else {
				tail = &(*tail)->next;
			}
		} else {
			list->end_index = ev.end_mark.index;
		}
		yaml_event_delete(&ev);
	}
	remember(b, start->data.sequence_start.anchor, list);
	return list;
}

static bool
check_key(struct build *b, const struct ytree *map, const yaml_event_t *ev)
{
	const struct ytree *old;

	if (ev->type != YAML_SCALAR_EVENT) {
		refuse(b, &ev->start_mark, "a key must be a plain word");
		return false;
	}
	old = ytree_get(map, (const char *)ev->data.scalar.value);
	if (old) {
		report_add(b->rep, REPORT_ERROR, b->file,
			(unsigned)ev->start_mark.line + 1,
			(unsigned)ev->start_mark.column + 1,
			"the key '%s' is there twice (first on line %u)",
			old->key, old->line);
		return false;
	}
	return true;
}

/* Adds src's entries that map doesn't have. */
static bool
merge_map(struct build *b, struct ytree *map, const struct ytree *src,
	const yaml_mark_t *at, unsigned depth)
{
	struct ytree **tail = &map->first;

	if (src->kind == YTREE_LIST) {
		for (const struct ytree *c = src->first; c; c = c->next) {
			if (c->kind == YTREE_LIST)
				refuse(b, at, "<< wants a map or a list of maps");
			if (c->kind == YTREE_LIST ||
			    !merge_map(b, map, c, at, depth))
				return false;
		}
		return true;
	}
	if (src->kind != YTREE_MAP) {
		refuse(b, at, "<< wants a map or a list of maps");
		return false;
	}
	while (*tail)
		tail = &(*tail)->next;
	for (const struct ytree *c = src->first; c; c = c->next) {
		if (ytree_get(map, c->key))
			continue;
		*tail = copy_node(b, c, at, depth + 1);
		if (!*tail)
			return false;
		tail = &(*tail)->next;
	}
	return true;
}

/* One `key: value`; false after an error. *merge gets the value of `<<`. */
static bool
build_entry(struct build *b, struct ytree *map, struct ytree ***tail,
	struct ytree **merge, const yaml_event_t *key_ev, unsigned depth)
{
	yaml_event_t ev;
	struct ytree *value;
	bool is_merge;

	if (!check_key(b, map, key_ev) || !next_event(b, &ev))
		return false;
	value = build_node(b, &ev, depth + 1);
	yaml_event_delete(&ev);
	if (!value)
		return false;
	is_merge = key_ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		strcmp((const char *)key_ev->data.scalar.value, "<<") == 0;
	if (is_merge) {
		value->next = b->scrap;
		b->scrap = value;
		*merge = value;
		return true;
	}
	value->key = mem_str((const char *)key_ev->data.scalar.value);
	value->index = key_ev->start_mark.index;
	value->line = (unsigned)key_ev->start_mark.line + 1;
	value->column = (unsigned)key_ev->start_mark.column + 1;
	**tail = value;
	*tail = &value->next;
	return true;
}

static struct ytree *
build_map(struct build *b, const yaml_event_t *start, unsigned depth)
{
	struct ytree *map = new_node(b, YTREE_MAP, &start->start_mark);
	struct ytree **tail = map ? &map->first : NULL, *merge = NULL;
	yaml_event_t ev;
	bool more = map != NULL;
	bool ok = more;

	while (more) {
		if (!next_event(b, &ev)) {
			ok = false;
			break;
		}
		more = ev.type != YAML_MAPPING_END_EVENT;
		if (more && !build_entry(b, map, &tail, &merge, &ev, depth))
			ok = more = false;
		if (ok && !more)
			map->end_index = ev.end_mark.index;
		yaml_event_delete(&ev);
	}
	if (ok && merge)
		ok = merge_map(b, map, merge, &start->start_mark, depth);
	if (!ok)
		ytree_free(&map);
	remember(b, start->data.mapping_start.anchor, map);
	return map;
}

static struct ytree *
build_node(struct build *b, const yaml_event_t *ev, unsigned depth)
{
	if (depth > YTREE_DEPTH_MAX)
		return refuse(b, &ev->start_mark, "too many levels");
	if (ev->type == YAML_ALIAS_EVENT)
		return build_alias(b, ev, depth);
	if (ev->type == YAML_SCALAR_EVENT)
		return build_scalar(b, ev);
	if (ev->type == YAML_SEQUENCE_START_EVENT)
		return build_list(b, ev, depth);
	if (ev->type == YAML_MAPPING_START_EVENT)
		return build_map(b, ev, depth);
	return refuse(b, &ev->start_mark, "unexpected end");
}

/* The root node, then the end of document and stream. */
static struct ytree *
build_stream(struct build *b)
{
	struct ytree *root = NULL;
	yaml_event_t ev;
	bool more = true;

	while (more && next_event(b, &ev)) {
		more = ev.type != YAML_STREAM_END_EVENT;
		if (ev.type == YAML_DOCUMENT_START_EVENT && root) {
			refuse(b, &ev.start_mark, "a second document (---) begins here");
			more = false;
		} else if (more && ev.type != YAML_STREAM_START_EVENT &&
		    ev.type != YAML_DOCUMENT_START_EVENT &&
		    ev.type != YAML_DOCUMENT_END_EVENT) {
			root = build_node(b, &ev, 0);
			more = root != NULL;
		}
		yaml_event_delete(&ev);
	}
	return root;
}

static bool
check_encoding(const char *file, const char *text, size_t len,
	struct report *rep)
{
	size_t i = 0;
	unsigned line = 1;

	if (memchr(text, '\0', len) || (len >= 2 &&
	    (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))) {
		report_add(rep, REPORT_ERROR, file, 0, 0,
			"this is not UTF-8 text (UTF-16?): save it as UTF-8");
		return false;
	}
	while (i < len) {
		size_t n = utf8_next(text + i, len - i, NULL);

		if (!n) {
			report_add(rep, REPORT_ERROR, file, line, 0,
				"this line is not UTF-8: save the file as UTF-8");
			return false;
		}
		line += text[i] == '\n';
		i += n;
	}
	return true;
}

struct ytree *
ytree_parse(const char *file, const char *text, size_t len, struct report *rep)
{
	struct build b = { .file = file, .rep = rep };
	struct ytree *root;
	size_t errors = rep->errors;

	if (!check_encoding(file, text, len, rep))
		return NULL;
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		len -= 3;
	}
	b.text = text;
	b.len = len;
	find_lines(&b);
	REQUIRE(yaml_parser_initialize(&b.parser));
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	root = build_stream(&b);
	if (root && rep->errors == errors && root->kind != YTREE_MAP &&
	    !ytree_is_null(root))
		report_add(rep, REPORT_ERROR, file, root->line, root->column,
			"expected `key: value` lines, found %s",
			ytree_kind_name(root->kind));
	yaml_parser_delete(&b.parser);
	for (size_t i = 0; i < b.nanchors; i++)
		mem_free(b.anchors[i].name);
	mem_free(b.anchors);
	mem_free(b.lines);
	ytree_free(&b.scrap);
	if (rep->errors != errors || (root && root->kind != YTREE_MAP))
		ytree_free(&root);
	if (rep->errors == errors && !root) {
		root = mem_alloc(sizeof(*root));
		root->kind = YTREE_MAP;
	}
	return root;
}
