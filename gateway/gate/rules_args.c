/* xargs and parallel: a command whose operands come from elsewhere. */
#include <string.h>

#include "gateway/gate/rules.h"

/* What xargs appends: words where its input is known and blanks part it. */
static void
push_given(struct walk *w, struct gate_cmd *c, const char *arg,
	struct field_list *list, const struct gate_field *given)
{
	const char *s = given->s;
	bool whole = given->flags & (FIELD_ANY | FIELD_NAME | FIELD_GLOB) ||
		strpbrk(s, "'\"\\") || opts_has(c, arg, "0dL", "null delimiter");
	if (whole) {
		field_push(w, list, *given);
		return;
	}
	for (size_t n; *s && !w->stop; s += n) {
		s += strspn(s, " \t\n");
		n = strcspn(s, " \t\n");
		if (n > 0)
			field_push(w, list, field_text(w, s, n, given->flags));
	}
}

/* The operands of xargs come from its input: what is known of it is shown to
 * the inner rule as one more field. */
void
rule_xargs(struct walk *w, struct gate_cmd *c, const char *arg)
{
	static const char any[] = { MARK_ANY, '\0' }, name[] = { MARK_NAME, '\0' };
	struct opts o;
	int k;
	const char *replace = NULL;
	opts_init(&o, c, arg, "arg-file delimiter max-args max-procs max-lines "
		"max-chars process-slot-var");
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD) {
		if (k == 'I' || k == 'J')
			replace = o.val;
		else if (k == 'i' || (k == OPT_LONG && opts_long(&o, "replace", 3)))
			replace = o.val ? o.val : "{}";
		else if (k == 'a' || (k == OPT_LONG && opts_long(&o, "arg-file", 3)))
			path_check_read(w, &o.val_field);
	}
	if (k != OPT_WORD)
		return;
	struct field_list list = { .n = 0 };
	struct gate_field given = { any, 1, FIELD_ANY | FIELD_DATA |
		(c->in.flags & FIELD_TAINT) };
	if (c->in.text && c->in.len < 4096) {
		size_t n = c->in.len;
		while (n > 0 && strchr(" \n", c->in.text[n - 1]))
			n--;
		given = field_text(w, c->in.text, n, c->in.flags & FIELD_TAINT);
	} else if ((c->in.flags & FIELD_NAME) && !(c->in.flags & FIELD_TAINT)) {
		given = field_text(w, name, 1, FIELD_NAME | FIELD_DATA);
	} else if (c->in.base) {
		char star[] = { '/', MARK_STAR, '\0' };
		const char *s = arena_join(w->arena, c->in.base, star, "");
		given = (struct gate_field){ s, strlen(s), FIELD_GLOB };
	}
	for (size_t i = o.word_at; i < c->n; i++) {
		struct gate_field f = c->v[i];
		const char *at = replace ? strstr(f.s, replace) : NULL;
		if (at) {
			const char *head = arena_strn(w->arena, f.s,
				(size_t)(at - f.s));
			f.s = arena_join(w->arena, head, given.s,
				at + strlen(replace));
			f.len = strlen(f.s);
			f.flags |= given.flags;
		}
		field_push(w, &list, f);
	}
	if (!replace && given.len > 0)
		push_given(w, c, arg, &list, &given);
	struct gate_cmd sub = { .v = list.v, .n = list.n, .wrapped = true };
	if (list.n > 0 && strcmp(list.v[0].s, "rm") == 0)
		walk_ask(w, GATE_CLASS_FILES, "xargs with rm",
			"it deletes what its input names");
	w->compound = true;
	walk_command(w, &sub);
	c->out = sub.out;
}

/* The words of parallel's template, with what {} stands for. */
static void
parallel_template(struct walk *w, struct gate_cmd *sub)
{
	static const char any[] = { MARK_ANY, '\0' };
	struct gate_field given = { any, 1, FIELD_ANY | FIELD_DATA |
		(sub->in.flags & FIELD_TAINT) };
	struct field_list list = { .n = 0 };
	bool placed = false;
	for (size_t i = 0; i < sub->n; i++) {
		struct gate_field f = sub->v[i];
		const char *at = strchr(f.s, '{'), *end = at ? strchr(at, '}') : NULL;
		if (end && end - at <= 3) {
			const char *head = arena_strn(w->arena, f.s,
				(size_t)(at - f.s));
			f.s = arena_join(w->arena, head, any, end + 1);
			f.len = strlen(f.s);
			f.flags |= given.flags;
			placed = true;
		}
		field_push(w, &list, f);
	}
	if (!placed)
		field_push(w, &list, given);
	sub->v = list.v;
	sub->n = list.n;
}

/* The template as one text, with {} as this argument. */
static void
parallel_text(struct walk *w, struct gate_cmd *sub, size_t at,
	const struct gate_field *given)
{
	const char *text = "";
	for (size_t i = at; i < sub->n; i++)
		text = arena_join(w->arena, text, " ", sub->v[i].s);
	const char *place = strstr(text, "{}");
	if (!place || (given->flags & FIELD_ANY))
		return;
	const char *head = arena_strn(w->arena, text, (size_t)(place - text));
	text = gate_unmark(w->arena, arena_join(w->arena, head, given->s, place + 2));
	walk_new_shell(w, text, strlen(text), &sub->in, &sub->out);
}

/* parallel: a template and ::: arguments, or its input. */
void
rule_parallel(struct walk *w, struct gate_cmd *c, const char *arg)
{
	size_t at = rule_inner_at(c, arg), end = at;
	while (end < c->n && !field_starts(&c->v[end], ":::"))
		end++;
	struct gate_cmd sub = { .v = c->v, .n = end, .in = c->in, .name = c->name };
	if (at == end) {
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"parallel runs the lines of its input");
		return;
	}
	rule_rest_as_text(w, &sub, at);
	for (size_t i = end + 1; i < c->n && i < end + 9; i++)
		parallel_text(w, &sub, at, &c->v[i]);
	if (opts_has(c, arg, "S", "sshlogin"))
		walk_ask(w, GATE_CLASS_NETWORK, "command on another machine",
			"it runs on other machines");
	if (opts_has(c, arg, "", "dry-run") || strchr(c->v[at].s, ' '))
		return;
	sub.v = c->v + at;
	sub.n = end - at;
	if (end == c->n)
		parallel_template(w, &sub);
	struct field_list list = { .n = 0 };
	for (size_t i = 0; i < sub.n; i++)
		field_push(w, &list, sub.v[i]);
	for (size_t i = end; i < c->n; i++)	/* with what it is given, as fields */
		if (!field_starts(&c->v[i], ":::"))
			field_push(w, &list, c->v[i]);
	sub.v = list.v;
	sub.n = list.n;
	walk_fields(w, &sub, 0);
}
