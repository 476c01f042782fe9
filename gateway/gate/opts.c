/* Options of commands as getopt reads them, and small questions to fields. */
#include <string.h>

#include "gateway/gate/rules.h"

bool
field_is(const struct gate_field *f, const char *s)
{
	return strcmp(f->s, s) == 0;
}

bool
field_starts(const struct gate_field *f, const char *s)
{
	return strncmp(f->s, s, strlen(s)) == 0;
}

bool
cmd_arg_is(const struct gate_cmd *c, size_t i, const char *s)
{
	return i < c->n && field_is(&c->v[i], s);
}

bool
word_in(const char *s, size_t len, const char *list)
{
	while (list && *list) {
		size_t n = strcspn(list, " ");
		if (n == len && memcmp(list, s, n) == 0)
			return true;
		list += n;
		list += strspn(list, " ");
	}
	return false;
}

/* Also abbreviations: does name start any entry of the list? */
static bool
long_takes_value(const char *name, size_t len, const char *list)
{
	while (list && *list) {
		size_t n = strcspn(list, " ");
		if (len <= n && (len >= 3 || len == n) && memcmp(list, name, len) == 0)
			return true;
		list += n;
		list += strspn(list, " ");
	}
	return false;
}

void
opts_init(struct opts *o, const struct gate_cmd *c, const char *shorts,
	const char *longs)
{
	*o = (struct opts){ .c = c, .i = 1, .longs = longs,
		.name = "", .val_field = { "", 0, 0 } };
	o->posix = shorts[0] == '+';
	o->shorts = shorts + (o->posix ? 1 : 0);
}

static int
next_long(struct opts *o, const struct gate_field *f)
{
	const char *eq = strchr(f->s, '=');
	o->name = f->s + 2;
	o->name_len = eq ? (size_t)(eq - o->name) : f->len - 2;
	o->i++;
	if (eq) {
		o->val = eq + 1;
		o->val_field = (struct gate_field){ eq + 1,
			f->len - (size_t)(eq + 1 - f->s), f->flags };
	} else if (long_takes_value(o->name, o->name_len, o->longs) &&
	    o->i < o->c->n) {
		o->val_field = o->c->v[o->i++];
		o->val = o->val_field.s;
	}
	return OPT_LONG;
}

static int
next_short(struct opts *o, const struct gate_field *f)
{
	char c = f->s[o->sub++];
	const char *at = strchr(o->shorts, c);
	bool value = at && at[1] == ':';
	bool glued = value && at[2] == ':';	/* only as -xVALUE */
	if (value && f->s[o->sub]) {
		o->val = f->s + o->sub;
		o->val_field = (struct gate_field){ o->val, f->len - o->sub,
			f->flags };
		o->sub = 0;
		o->i++;
	} else {
		if (!f->s[o->sub]) {
			o->sub = 0;
			o->i++;
		}
		if (value && !glued && o->i < o->c->n) {
			o->val_field = o->c->v[o->i++];
			o->val = o->val_field.s;
		}
	}
	return (unsigned char)c;
}

int
opts_next(struct opts *o)
{
	o->val = NULL;
	o->val_field = (struct gate_field){ "", 0, 0 };
	if (o->i >= o->c->n)
		return OPT_END;
	const struct gate_field *f = &o->c->v[o->i];
	if (o->sub > 0)
		return next_short(o, f);
	if (!o->ended && field_is(f, "--")) {
		o->ended = true;
		o->i++;
		return opts_next(o);
	}
	if (!o->ended && f->s[0] == '-' && f->s[1] == '-')
		return next_long(o, f);
	if (!o->ended && f->s[0] == '-' && f->s[1]) {
		o->sub = 1;
		return next_short(o, f);
	}
	if (o->posix)
		o->ended = true;
	o->word = f;
	o->word_at = o->i++;
	return OPT_WORD;
}

bool
opts_long(const struct opts *o, const char *full, size_t min)
{
	return o->name_len >= min && o->name_len <= strlen(full) &&
		memcmp(o->name, full, o->name_len) == 0;
}

bool
opts_has(const struct gate_cmd *c, const char *shorts, const char *letters,
	const char *longs)
{
	struct opts o;
	int k;
	opts_init(&o, c, shorts, "");
	while ((k = opts_next(&o)) != OPT_END)
		if ((k < 256 && strchr(letters, k)) ||
		    (k == OPT_LONG && word_in(o.name, o.name_len, longs)))
			return true;
	return false;
}
