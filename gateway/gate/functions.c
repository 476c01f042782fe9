/* Functions that the text defines: who they are, and what calling them runs. */
#include <string.h>

#include "gateway/gate/rules.h"
#include "gateway/gate/simple.h"

#define CALL_DEPTH_MAX 8

void
walk_define(struct walk *w, struct walk_func *f)
{
	f->next = w->s.funcs;
	w->s.funcs = f;
	f->elder = w->all_funcs;
	w->all_funcs = f;
}

/* After a branch that may not have run. */
void
walk_doubt_functions(struct walk *w, const struct walk_func *old)
{
	for (struct walk_func *f = w->s.funcs; f && f != old; f = f->next)
		f->unsure = true;
}

static size_t
count_calls(const struct sh_node *n, const char *name, bool *ret_background,
	unsigned depth)
{
	size_t calls = 0;
	for (; n && depth < SHELL_DEPTH_MAX * 4; n = n->next) {
		const struct sh_part *p = n->words ? n->words->parts : NULL;
		if (n->type == SH_SIMPLE && p && p->type == SH_LIT && !p->next &&
		    p->len == strlen(name) && memcmp(p->text, name, p->len) == 0)
			calls++;
		size_t below = count_calls(n->kids, name, ret_background, depth + 1);
		if (below > 0 && n->background)
			*ret_background = true;
		calls += below;
	}
	return calls;
}

void
walk_function(struct walk *w, const struct sh_node *n)
{
	bool background = false;
	if (!n->name)
		return;
	size_t calls = count_calls(n->kids, n->name, &background, 0);
	if (calls >= 2 || (calls == 1 && background))
		walk_never(w, "fork bomb", "%s starts itself again and again",
			n->name);
	struct walk_func *f = arena_alloc(w->arena, sizeof(*f));
	f->name = n->name;
	f->body = n->kids;
	walk_define(w, f);
	w->compound = true;
}

void
walk_call(struct walk *w, struct walk_func *f, struct gate_cmd *c)
{
	const struct gate_field *args = w->s.args;
	size_t nargs = w->s.nargs;
	f->called = true;
	if (w->calls >= CALL_DEPTH_MAX)
		return;		/* its body was walked on the way here */
	w->calls++;
	w->s.args = c->v + 1;
	w->s.nargs = c->n - 1;
	for (size_t i = 1; i < c->n; i++)
		if (strcmp(c->v[i].s, "\x01") == 0 && !(c->v[i].flags & FIELD_QUOTED))
			w->s.args = NULL;	/* may be any number of words */
	walk_node(w, f->body, &c->in, &c->out);
	w->s.args = args;
	w->s.nargs = nargs;
	w->calls--;
}

/* Functions that nothing here calls could still be called by what runs. */
void
walk_uncalled(struct walk *w)
{
	for (struct walk_func *f = w->all_funcs; f && !w->stop; f = f->elder) {
		struct gate_flow in = { .present = false }, out = in;
		if (f->called || !f->body)
			continue;
		w->s.args = NULL;
		walk_node(w, f->body, &in, &out);
	}
}
