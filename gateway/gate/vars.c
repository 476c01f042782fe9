/* Variables while walking: a persistent list, so that scopes are pointers. */
#include <string.h>

#include "gateway/gate/walk.h"

#define VARS_MAX 1000

void
var_set(struct walk *w, const char *name, const struct gate_field *value)
{
	struct walk_var *v = arena_alloc(w->arena, sizeof(*v));
	if (!name)	/* a loop that ends before its variable */
		return;
	if (++w->nvars > VARS_MAX) {
		walk_too_complex(w, "more than 1000 assignments");
		return;
	}
	v->name = name;
	v->next = w->s.vars;
	if (value) {
		v->known = !(value->flags & FIELD_ANY);
		v->value = value->s;
		v->len = value->len;
		v->flags = value->flags;
		if (memchr(value->s, '`', value->len) ||
		    strstr(value->s, "$("))
			w->code_in_values = true;
	}
	w->s.vars = v;
	if (strcmp(name, "IFS") == 0)
		w->ifs_changed = true;
}

const struct walk_var *
var_get(const struct walk *w, const char *name, size_t len)
{
	bool hidden = false;
	for (const struct walk_var *v = w->s.vars; v; v = v->next) {
		hidden |= v == w->s.hidden;
		if (strncmp(v->name, name, len) != 0 || v->name[len] != '\0')
			continue;
		if (!hidden || !v->known)
			return v;
		struct walk_var *unknown = arena_alloc(w->arena, sizeof(*unknown));
		*unknown = *v;
		unknown->known = false;
		return unknown;
	}
	return NULL;
}

/* After a branch that may not have run: what it assigned is no longer known. */
void
var_forget_since(struct walk *w, const struct walk_var *old)
{
	const struct walk_var *end = w->s.vars;
	for (const struct walk_var *v = end; v && v != old; v = v->next) {
		const struct walk_var *now = var_get(w, v->name, strlen(v->name));
		if (now && now->known)
			var_set(w, v->name, NULL);
		if (w->stop)
			return;
	}
}
