/*
 * Code given as an option (python -c, perl -e ...).  Only code that provably
 * computes and prints passes; all else asks.  Literals handed to a shell or
 * to a tree removal are looked at for what must never run.
 */
#include <ctype.h>
#include <string.h>

#include "gateway/gate/inline_words.h"
#include "gateway/gate/rules.h"

struct inline_scan {
	struct walk *w;
	const char *s;
	size_t pos, len;
	bool dirty;		/* not provably harmless */
	bool runs_shell, removes, forks;
	char before;		/* last byte of code that wasn't blank */
	const char *literals[64];
	size_t nliterals;
	bool yaml;		/* its load makes objects, safe_load doesn't */
	bool foreign;		/* imports what isn't of the standard library */
	const char *modules[4];	/* those; in JavaScript: names declared */
	size_t nmodules;
};

static char
look(const struct inline_scan *p, size_t ahead)
{
	return ahead < p->len - p->pos ? p->s[p->pos + ahead] : '\0';
}

/* Words that hand a string to a shell, or remove trees; any language. */
static void
note_word(struct inline_scan *p, const char *s, size_t n)
{
	p->runs_shell |= word_in(s, n, "system popen exec spawn run call Popen "
		"check_output check_call execSync spawnSync shell_exec passthru "
		"proc_open execute getoutput execFileSync qx sh subprocess "
		"os.execute os.system");
	p->forks |= word_in(s, n, "fork");
	p->removes |= word_in(s, n, "rmtree remove_tree rm_rf rm_r rmSync rimraf "
		"removeSync rmdirSync unlink remove rm removedirs");
}

static void
keep_literal(struct inline_scan *p, const char *s, size_t n)
{
	if (p->nliterals < 64)
		p->literals[p->nliterals++] = arena_strn(p->w->arena, s, n);
	else
		p->dirty = true;
}

/* A string literal at pos; interpolations make it code. */
static void
scan_string(struct inline_scan *p, const char *lang, bool format)
{
	char q = p->s[p->pos];
	bool triple = look(p, 1) == q && look(p, 2) == q && *lang == 'p' &&
		lang[1] == 'y';
	size_t open = triple ? 3 : 1, start = p->pos + open, i = start;
	while (i < p->len && !(p->s[i] == q && (!triple ||
	    (i + 2 < p->len && p->s[i + 1] == q && p->s[i + 2] == q))))
		i += p->s[i] == '\\' ? 2 : 1;
	if (i >= p->len) {
		p->dirty = true;
		p->pos = p->len;
		return;
	}
	const char *body = p->s + start;
	size_t n = i - start;
	keep_literal(p, body, n);
	bool perl = !strcmp(lang, "perl"), ruby = !strcmp(lang, "ruby");
	for (size_t k = 0; k + 1 < n; k++) {
		if (perl && q == '"' && (body[k] == '@' || body[k] == '$') &&
		    (body[k + 1] == '{' || body[k + 1] == '('))
			p->dirty = true;
		if ((ruby && body[k] == '#' && body[k + 1] == '{') ||
		    (!strcmp(lang, "php") && body[k] == '{' && body[k + 1] == '$'))
			p->dirty = true;
		if ((format || q == '`') && (!strncmp(body + k, "__", 2) ||
		    body[k] == '('))
			p->dirty = true;
	}
	p->dirty |= q == '`' && strcmp(lang, "node") != 0;
	p->runs_shell |= q == '`';
	p->pos = i + open;
	p->before = '"';
}

/* s/// m// tr/// and // of Perl. `parts` sections, then flags. */
static void
scan_perl_regex(struct inline_scan *p, size_t parts)
{
	char open = p->s[p->pos++];
	char close = open == '{' ? '}' : open == '(' ? ')' : open == '[' ? ']' : open;
	size_t start = p->pos;
	while (parts > 0 && p->pos < p->len) {
		char c = p->s[p->pos++];
		if (c == '\\')
			p->pos++;
		else if (c == close)
			parts--, p->pos += close != open && parts > 0;
	}
	if (parts > 0 || p->pos > p->len) {
		p->dirty = true;
		p->pos = p->len;
		return;
	}
	for (size_t i = start; i + 1 < p->pos; i++)
		if (!strncmp(p->s + i, "(?{", 3) || !strncmp(p->s + i, "(??", 3) ||
		    !strncmp(p->s + i, "@{", 2) || !strncmp(p->s + i, "${", 2))
			p->dirty = true;
	for (; isalpha((unsigned char)look(p, 0)); p->pos++)
		p->dirty |= look(p, 0) == 'e';
	p->before = '/';
}

static size_t
word_at(const struct inline_scan *p)
{
	size_t n = 0;
	while (isalnum((unsigned char)look(p, n)) || look(p, n) == '_')
		n++;
	return n;
}

static void
skip_blanks(struct inline_scan *p)
{
	while (look(p, 0) == ' ' || look(p, 0) == '\t')
		p->pos++;
}

/* "as NAME": what watches over os and sys goes by their own names. */
static void
python_alias(struct inline_scan *p, const char *module, size_t len)
{
	p->pos += 3;
	skip_blanks(p);
	size_t n = word_at(p);
	p->dirty |= n == 0 || word_in(module, len, "os sys");
	if (p->foreign && p->nmodules < 4)
		p->modules[p->nmodules++] = arena_strn(p->w->arena, p->s + p->pos, n);
	p->pos += n;
	skip_blanks(p);
}

/* import a, b as c / from a.b import c: module names must be known ones. */
static void
python_import(struct inline_scan *p, bool from)
{
	do {
		skip_blanks(p);
		p->pos += look(p, 0) == ',';
		skip_blanks(p);
		size_t n = word_at(p);
		const char *s = p->s + p->pos;
		if (n > 0 && !from && !word_in(s, n, inline_py_modules) &&
		    !word_in(s, n, inline_py_risky) && p->nmodules < 4) {
			p->foreign = true;
			p->modules[p->nmodules++] = arena_strn(p->w->arena, s, n);
		} else if (n == 0 || !word_in(s, n, inline_py_modules) ||
		    (from && (word_in(s, n, "os sys ast copy")))) {
			p->dirty = true;
		}
		p->yaml |= word_in(s, n, "yaml");
		note_word(p, s, n);
		p->pos += n ? n : 1;
		while (look(p, 0) == '.' || isalnum((unsigned char)look(p, 0)))
			p->pos++;
		skip_blanks(p);
		if (!from && look(p, 0) == 'a' && look(p, 1) == 's' && look(p, 2) == ' ')
			python_alias(p, s, n);
	} while (!from && look(p, 0) == ',' && p->pos < p->len);
	p->before = 'a';
}

/* open("literal") for reading is a read; anything else isn't harmless. */
static void
python_open(struct inline_scan *p)
{
	skip_blanks(p);
	if (look(p, 0) != '(' || (look(p, 1) != '"' && look(p, 1) != '\'')) {
		p->dirty = true;
		return;
	}
	char q = look(p, 1);
	size_t start = p->pos + 2, i = start;
	while (i < p->len && p->s[i] != q && p->s[i] != '\\')
		i++;
	if (i >= p->len || p->s[i] != q || i == start) {
		p->dirty = true;
		return;
	}
	struct gate_field f = field_text(p->w, p->s + start, i - start, 0);
	path_check_read(p->w, &f);
	p->pos = i + 1;
	skip_blanks(p);
	const char *rest = p->s + p->pos;
	size_t n = p->len - p->pos;
	bool reads = (n > 0 && rest[0] == ')') ||
		(n > 4 && (!strncmp(rest, ",'r'", 4) || !strncmp(rest, ", 'r'", 5) ||
		!strncmp(rest, ",\"r\"", 4) || !strncmp(rest, ", \"r\"", 5) ||
		!strncmp(rest, ",'rb'", 5) || !strncmp(rest, ", 'rb'", 6) ||
		!strncmp(rest, ", \"rb\"", 6) || !strncmp(rest, ",encoding", 9) ||
		!strncmp(rest, ", encoding", 10)));
	p->dirty |= !reads;
	p->before = ')';
}

static bool
foreign_name(const struct inline_scan *p, const char *s, size_t n)
{
	for (size_t i = 0; i < p->nmodules; i++)
		if (strlen(p->modules[i]) == n && memcmp(p->modules[i], s, n) == 0)
			return true;
	return false;
}

/* A name that the code gives to something of its own. */
static void
node_declared(struct inline_scan *p)
{
	size_t blanks = 0, n = 0;
	while (look(p, blanks) == ' ')
		blanks++;
	while (isalnum((unsigned char)look(p, blanks + n)) || look(p, blanks + n) == '_')
		n++;
	if (n > 0 && p->nmodules < 4)
		p->modules[p->nmodules++] = arena_strn(p->w->arena,
			p->s + p->pos + blanks, n);
}

/* [1] or ["name"]: anything else may name what makes functions of strings. */
static bool
node_index_is_plain(const struct inline_scan *p)
{
	size_t n = 1;
	char q = look(p, 1);
	if (isdigit((unsigned char)q)) {
		while (isdigit((unsigned char)look(p, n)))
			n++;
		return look(p, n) == ']';
	}
	if (q != '"' && q != '\'')
		return false;
	for (n = 2; isalnum((unsigned char)look(p, n)) || strchr("_-@/.",
	    look(p, n) ? look(p, n) : '"'); n++)
		;
	const char *name = p->s + p->pos + 2;
	return look(p, n) == q && look(p, n + 1) == ']' && !word_in(name, n - 2,
		"constructor prototype __proto__ mainModule binding env");
}

/* With foreign modules at hand only their names and versions are harmless. */
static bool
foreign_word(const struct inline_scan *p, const char *s, size_t n)
{
	return foreign_name(p, s, n) || word_in(s, n, "import print __version__ __file__ __name__ VERSION "
		"version cuda is_available device_count str True False sys os f "
		"sqlite_version get_version getsitepackages "
		"if else for in not and or");
}

static void
python_word(struct inline_scan *p, const char *s, size_t n, char before)
{
	bool os = word_in(s, n, "os"), sys = word_in(s, n, "sys");
	if (p->foreign && !foreign_word(p, s, n))
		p->dirty = true;
	if (word_in(s, n, "import") || word_in(s, n, "from")) {
		python_import(p, *s == 'f');
	} else if (word_in(s, n, "open")) {
		python_open(p);
	} else if (os || sys) {
		size_t k = 0;
		if (look(p, 0) == '.') {
			p->pos++;
			k = word_at(p);
		}
		if (k == 0 || before == '.' ||
		    !word_in(p->s + p->pos, k, os ? inline_py_os : inline_py_sys))
			p->dirty = true;
	} else if (word_in(s, n, "__version__ __name__ __file__ __doc__")) {
		return;
	} else if (p->yaml && word_in(s, n, "load load_all")) {
		p->dirty = true;
	} else if (word_in(s, n, inline_py_denied) || (s[0] == '_' && n > 1)) {
		p->dirty = true;
	} else if (look(p, 0) == '"' || look(p, 0) == '\'') {
		bool format = n <= 2 && (strchr("fFtT", s[0]) ||
			(n == 2 && strchr("fFtT", s[1])));
		scan_string(p, "python", format);
	}
}

static void
other_word(struct inline_scan *p, const char *lang, const char *s, size_t n,
	char before)
{
	static const struct {
		const char *lang, *allowed;
	} lists[] = { { "node", inline_node_allowed }, { "perl", inline_perl_allowed },
		{ "ruby", inline_ruby_allowed }, { "php", inline_php_allowed },
		{ "lua", inline_lua_allowed } };
	bool variable = before && strchr("$@%", before) &&
		(!strcmp(lang, "perl") || !strcmp(lang, "php"));
	if (!strcmp(lang, "node") && word_in(s, n, "const let var"))
		node_declared(p);
	/* a property that is only looked at */
	bool looked = before == '.' && !strcmp(lang, "node") && look(p, 0) != '(' &&
		look(p, 0) != '`' && !word_in(s, n, "constructor prototype __proto__ "
		"mainModule binding env stdin exit kill abort call apply bind");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (!strcmp(lang, lists[i].lang) && !variable && !looked &&
		    !(i == 0 && foreign_name(p, s, n)) &&
		    !word_in(s, n, lists[i].allowed))
			p->dirty = true;
	if (variable && (word_in(s, n, "ENV") || look(p, 0) == '('))
		p->dirty = true;
	if (!strcmp(lang, "perl") && !variable && look(p, 0) && (
	    word_in(s, n, "s tr y") || word_in(s, n, "m qw q qq")) &&
	    (ispunct((unsigned char)look(p, 0)) && !strchr(",;)=", look(p, 0))))
		scan_perl_regex(p, word_in(s, n, "s tr y") ? 2 : 1);
	if (word_in(s, n, "require") && (look(p, 0) == '(' || look(p, 0) == ' ')) {
		const char *end = memchr(p->s + p->pos, ')', p->len - p->pos);
		bool data = end && end - p->s > 8 && (!strncmp(end - 6, ".json", 5) ||
			!strncmp(end - 6, "/json", 5));
		const char *m = p->s + p->pos + 2;
		size_t k = end ? strcspn(m, "'\"") : 0;
		data |= k > 0 && (m[-1] == '\'' || m[-1] == '"') && m + k + 1 == end &&
			word_in(m, k, "os path util");
		p->dirty |= !strcmp(lang, "node") ? !data :
			strncmp(p->s + p->pos + 1, "'json'", 6) != 0;
	}
	const char *of = p->s + p->pos + 1;
	if (word_in(s, n, "process") && (look(p, 0) != '.' || !word_in(of,
	    strspn(of, "abcdefghijklmnopqrstuvwxyzU"), "version versions platform arch "
	    "exit cwd uptime memoryUsage")))
		p->dirty = true;
}

static void
scan_code(struct inline_scan *p, const char *lang)
{
	bool python = !strcmp(lang, "python"), perl = !strcmp(lang, "perl");
	while (p->pos < p->len) {
		char c = p->s[p->pos];
		size_t n = word_at(p);
		if (n > 0 && !isdigit((unsigned char)c)) {
			char before = p->before;
			const char *s = p->s + p->pos;
			note_word(p, s, n);
			p->pos += n;
			p->before = word_in(s, n, "if unless and or not while "
				"until split grep map return print x") ? ';' : 'a';
			if (python)
				python_word(p, s, n, before);
			else
				other_word(p, lang, s, n, before);
		} else if (n > 0) {
			p->pos += n;
			p->before = '0';
		} else if (c == '"' || c == '\'' || c == '`') {
			scan_string(p, lang, false);
		} else if (perl && c == '/' && !isalnum((unsigned char)p->before) &&
		    p->before != ')' && p->before != ']' && p->before != '}') {
			scan_perl_regex(p, 1);
		} else {
			p->dirty |= (c == '\\' && look(p, 1) != 'n') ||
				(perl && (c == '&' || c == '<') &&
				isalpha((unsigned char)look(p, 1))) ||
				(!strcmp(lang, "php") && c == '`');
			if (c == '[' && !strcmp(lang, "node") && (isalnum(
			    (unsigned char)p->before) || (p->before &&
			    strchr("\")]", p->before))))
				p->dirty |= !node_index_is_plain(p);
			/* what is called was computed: x["y"](), f()() */
			p->dirty |= !python && c == '(' && (p->before == ']' ||
				p->before == ')') && strcmp(lang, "ruby") != 0;
			p->dirty |= perl && ((c == '-' && look(p, 1) == '>' &&
				look(p, 2) == '(') ||
				(c == '&' && strchr("${", look(p, 1)) && look(p, 1)));
			if (!isspace((unsigned char)c))
				p->before = c;
			p->pos++;
		}
	}
}

/* What the literals would do in a shell; only what must never run counts. */
static void
never_in_literals(struct inline_scan *p)
{
	struct walk *w = p->w;
	struct gate_flow in = { .present = false }, out = in;
	size_t n = 1;
	for (size_t i = 0; i < p->nliterals; i++)
		n += strlen(p->literals[i]) + 1;
	char *all = arena_alloc(w->arena, n), *at = all;
	for (size_t i = 0; i < p->nliterals; i++) {
		at = stpcpy(at, p->literals[i]);
		*at++ = ' ';
		struct gate_field f = field_text(w, p->literals[i],
			strlen(p->literals[i]), 0);
		struct path path = path_of(w, &f);
		if (p->removes && path.vital)
			walk_never(w, "delete in root path",
				"its code removes %s", f.s);
	}
	if (!p->runs_shell)
		return;
	bool quiet = w->never_only;
	w->never_only = true;
	for (size_t i = 0; i < p->nliterals && i < 8; i++)
		walk_new_shell(w, p->literals[i], strlen(p->literals[i]), &in, &out);
	walk_new_shell(w, all, (size_t)(at - all), &in, &out);
	w->never_only = quiet;
}

void
rule_inline(struct walk *w, const char *lang, const struct gate_field *code)
{
	struct inline_scan p = { .w = w, .s = code->s, .len = code->len };
	if (code->flags & FIELD_ANY) {
		walk_ask(w, GATE_CLASS_CODE, "script execution via -e/-c flag",
			"its code is only known at run time");
		return;
	}
	p.s = gate_unmark(w->arena, code->s);
	scan_code(&p, lang);
	if (code->flags & (FIELD_FETCHED | FIELD_DECODED | FIELD_DATA))
		p.dirty = true;
	if (!p.dirty)
		return;
	walk_ask(w, GATE_CLASS_CODE, "script execution via -e/-c flag",
		"its %s code does more than compute and print", lang);
	if (p.forks && (strstr(p.s, "while") || strstr(p.s, "loop") ||
	    strstr(p.s, "for(;;)")))
		walk_never(w, "fork bomb", "its code forks without end");
	never_in_literals(&p);
}
