/* ${name%pattern} and its kind over values with markers. */
#include <string.h>

#include "gateway/gate/walk.h"

/* Is this the pattern PAT, with its star active? */
static bool
pattern_is(const struct gate_field *arg, bool quoted, const char *pat)
{
	if (arg->len != strlen(pat))
		return false;
	for (size_t i = 0; i < arg->len; i++)
		if (arg->s[i] != (pat[i] == '*' && !quoted ? MARK_STAR : pat[i]))
			return false;
	return true;
}

/* A suffix goes. `from` is where the text that is kept ends if its rest is known;
 * a star at the end stands for what is left of it, too. */
static bool
keep_head(struct gate_field *v, const char *end)
{
	const char *mark = strpbrk(end, "\x02\x03\x04\x05");
	if (mark)
		return v->len > 0 && v->s[v->len - 1] == MARK_STAR;
	v->len = (size_t)(end - v->s);
	return true;
}

bool
expand_trim(struct walk *w, const struct sh_part *part,
	const struct gate_field *arg, struct gate_field *v)
{
	bool suffix = part->op[0] == '%', longest = part->op[1] == part->op[0];
	bool q = part->quoted;
	const char *s = v->s, *dot = longest && suffix ? strchr(s, '.') :
		strrchr(s, '.'), *slash = strrchr(s, '/');
	if (suffix == longest)
		slash = strchr(s, '/');
	if (pattern_is(arg, q, suffix ? "/*" : "*/"))
		return !slash || (suffix ? keep_head(v, slash) :
			(v->len -= (size_t)(slash + 1 - s), v->s = slash + 1, true));
	if (suffix && pattern_is(arg, q, ".*")) {
		if (!dot || (longest && strpbrk(s, "\x02\x03\x04\x05") &&
		    strpbrk(s, "\x02\x03\x04\x05") < dot))
			return !strpbrk(s, "\x02\x03\x04\x05") ||
				s[v->len - 1] == MARK_STAR;
		return keep_head(v, dot);
	}
	if (!suffix && longest && pattern_is(arg, q, "*.") && dot && !strpbrk(dot,
	    "\x02\x03\x04\x05")) {
		v->len -= (size_t)(dot + 1 - s);
		v->s = dot + 1;
		return true;
	}
	if (strpbrk(arg->s, "*?[\\\x01\x02\x03\x04\x05"))
		return false;
	size_t n = arg->len < v->len ? arg->len : v->len;
	const char *at = suffix ? s + v->len - n : s;
	if (n == arg->len && memcmp(at, arg->s, n) == 0) {
		v->s = suffix ? s : s + n;
		v->len -= n;
	} else if (strpbrk(arena_strn(w->arena, at, n), "\x02\x03\x04\x05")) {
		return suffix && v->len > 0 && s[v->len - 1] == MARK_STAR;
	}
	return true;
}
