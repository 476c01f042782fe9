/* find, fd and their actions. */
#include <string.h>

#include "gateway/gate/rules.h"

/* Where it starts: these are what {} can become. */
struct starts {
	struct field_list list;
	bool vital, outside;
	bool secret;		/* it looks for what holds credentials */
	const char *base;
};

static void
find_starts(struct walk *w, struct gate_cmd *c, struct starts *st, size_t *ret_i)
{
	size_t i = 1;
	while (i < c->n && (field_is(&c->v[i], "-L") || field_is(&c->v[i], "-H") ||
	    field_is(&c->v[i], "-P") || field_starts(&c->v[i], "-O")))
		i++;
	for (; i < c->n && c->v[i].s[0] != '-' && !strchr("(!", c->v[i].s[0]); i++) {
		struct path p = path_of(w, &c->v[i]);
		if (i > 1 && c->v[i].s[0] == MARK_ANY && !(c->v[i].flags & FIELD_QUOTED))
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"find's actions are only known at run time");
		field_push(w, &st->list, c->v[i]);
		if (p.vital) {
			st->vital = true;
			st->base = p.norm;
		}
		st->outside |= p.zone != ZONE_INSIDE;
	}
	if (st->list.n == 0) {
		struct gate_field dot = field_text(w, ".", 1, 0);
		field_push(w, &st->list, dot);
		st->vital = path_of(w, &dot).vital;
		st->base = st->vital ? w->s.cwd : NULL;
	}
	*ret_i = i;
}

/* The command of -exec up to ; or +, with {} as a path below the start. */
static size_t
find_exec(struct walk *w, struct gate_cmd *c, size_t i, const struct starts *st)
{
	static const char below[] = { '/', MARK_STAR, '\0' };
	struct field_list list = { .n = 0 };
	const char *base = st->list.v[0].s;
	bool rm = false;
	for (; i < c->n && !field_is(&c->v[i], ";") && !field_is(&c->v[i], "+"); i++) {
		struct gate_field f = c->v[i];
		const char *at = strstr(f.s, "{}");
		if (at) {
			const char *in = arena_join(w->arena, base,
				f.len == 2 ? "" : below, "");
			const char *head = arena_strn(w->arena, f.s,
				(size_t)(at - f.s));
			f.s = arena_join(w->arena, head, f.len == 2 ?
				arena_join(w->arena, in, below, "") : in, at + 2);
			f.len = strlen(f.s);
			f.flags |= FIELD_GLOB | FIELD_DATA;
		}
		field_push(w, &list, f);
	}
	if (list.n == 0)
		return i;
	struct gate_cmd sub = { .v = list.v, .n = list.n, .wrapped = true };
	const char *name = strrchr(list.v[0].s, '/');
	name = name ? name + 1 : list.v[0].s;
	rm = word_in(name, strlen(name), "rm unlink shred rmdir srm");
	if (rm && st->vital)
		walk_never(w, "delete in root path",
			"deleting all below %s loses the machine or a home", st->base);
	if (st->secret && !word_in(name, strlen(name), "ls stat file wc du echo "
	    "basename dirname readlink realpath test"))
		walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
			"what it finds holds credentials");
	if (rm)
		walk_ask(w, GATE_CLASS_FILES, "find -exec/-execdir rm",
			"it deletes what it finds");
	walk_command(w, &sub);
	return i;
}

static void
rule_find(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct starts st = { .base = NULL };
	size_t i;
	(void)arg;
	find_starts(w, c, &st, &i);
	c->out.base = st.base;
	if (!st.outside && w->s.cwd)
		c->out.flags |= FIELD_NAME;
	w->compound = true;
	for (; i < c->n && !w->stop; i++) {
		const struct gate_field *f = &c->v[i];
		if (f->flags & FIELD_ANY && f->s[0] == MARK_ANY &&
		    !(f->flags & FIELD_QUOTED))
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"find's actions are only known at run time");
		if (field_is(f, "-delete")) {
			if (st.vital)
				walk_never(w, "delete in root path",
					"deleting all below %s loses the machine or "
					"a home", st.base);
			walk_ask(w, GATE_CLASS_FILES, "find -delete",
				"it deletes what it finds");
		} else if (word_in(f->s, f->len, "-exec -execdir")) {
			i = find_exec(w, c, i + 1, &st);
		} else if (word_in(f->s, f->len, "-ok -okdir")) {
			walk_ask(w, GATE_CLASS_CODE, "find -ok",
				"it would ask at a terminal that isn't there");
			i = find_exec(w, c, i + 1, &st);
		} else if (word_in(f->s, f->len, "-fprint -fprint0 -fprintf -fls") &&
		    i + 1 < c->n) {
			path_check_write(w, &c->v[i + 1], "writes (find)");
			i++;
		} else if (word_in(f->s, f->len, "-name -iname -path -ipath "
		    "-wholename") && i + 1 < c->n) {
			const char *like = arena_join(w->arena, "/x/", c->v[++i].s, "");
			struct gate_field one = { like, strlen(like), 0 };
			st.secret |= path_of(w, &one).cred &&
				!strpbrk(c->v[i].s, "*\x03");
		} else if (word_in(f->s, f->len, "-name -iname -path -ipath -regex "
		    "-iregex -newer -size -mtime -mmin -user -group -perm -type "
		    "-wholename -printf -maxdepth -mindepth -lname -samefile")) {
			i++;
		} else if (field_starts(f, "-files0-from")) {
			i++;
		}
	}
}

/* fd: -x and -X run what follows for all that is found. */
static void
rule_fd(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "exec-dummy extension type max-depth min-depth "
		"exclude size color base-directory search-path changed-within");
	while ((k = opts_next(&o)) != OPT_END) {
		bool exec = k == 'x' || k == 'X' || (k == OPT_LONG &&
			(word_in(o.name, o.name_len, "exec exec-batch")));
		if (!exec)
			continue;
		static const char any[] = { MARK_STAR, '\0' };
		struct gate_field found = { any, 1, FIELD_GLOB };
		struct field_list list = { .n = 0 };
		if (o.val && k == OPT_LONG)
			field_push(w, &list, o.val_field);
		bool placed = false;
		for (size_t i = o.i; i < c->n && !field_is(&c->v[i], ";"); i++) {
			struct gate_field f = c->v[i];
			const char *at = strchr(f.s, '{');
			const char *end = at ? strchr(at, '}') : NULL;
			if (end && end - at <= 3) {	/* {} {.} {/} {//} {/.} */
				f.s = arena_join(w->arena, arena_strn(w->arena, f.s,
					(size_t)(at - f.s)), any, end + 1);
				f.len = strlen(f.s);
				f.flags |= FIELD_GLOB | FIELD_DATA;
				placed = true;
			}
			field_push(w, &list, f);
		}
		if (!placed)
			field_push(w, &list, found);
		struct gate_cmd sub = { .v = list.v, .n = list.n, .wrapped = true };
		w->compound = true;
		if (list.n > 1)
			walk_command(w, &sub);
		return;
	}
}

const struct gate_kind kinds_find[] = {
	{ "find gfind", rule_find, NULL },
	{ "fd fdfind", rule_fd, "e:t:d:E:S:c:" },
	{ NULL, NULL, NULL },
};
