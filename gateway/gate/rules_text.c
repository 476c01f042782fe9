/* Text tools with a language or with options that write and run. */
#include <ctype.h>
#include <string.h>

#include "gateway/gate/rules.h"

static void
ask_runs(struct walk *w, const char *who, const char *what)
{
	walk_ask(w, GATE_CLASS_CODE, "program run through an option",
		"%s runs a command of its own (%s)", who, what);
}

/* ---- sed ---- */

/* Past a delimited section, from after its first delimiter. */
static const char *
sed_section(const char *s, char delim)
{
	bool class = false;
	for (; *s && (*s != delim || class); s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (*s == '[' && !class)
			class = true, s += s[1] == '^' ? 1 : 0, s += s[1] == ']' ? 1 : 0;
		else if (*s == ']')
			class = false;
		else if (*s == '\n' && class)
			class = false;
	}
	return *s ? s + 1 : s;
}

static const char *
sed_address(const char *s)
{
	for (;;) {
		if (*s == '/') {
			s = sed_section(s + 1, '/');
		} else if (*s == '\\' && s[1] && s[1] != '\n') {
			s = sed_section(s + 2, s[1]);
		} else if (isdigit((unsigned char)*s) || strchr("$,~+! \tIM", *s)) {
			if (!*s)
				return s;
			s++;
		} else {
			return s;
		}
	}
}

static const char *
sed_file(struct walk *w, const char *s)
{
	s += strspn(s, " \t");
	size_t n = strcspn(s, "\n;}");
	struct gate_field f = field_text(w, s, n, 0);
	path_check_write(w, &f, "writes (sed's w)");
	path_note_written(w, &f, false);
	return s + n;
}

/* Flags after s///: e runs, w writes. */
static const char *
sed_flags(struct walk *w, const char *s)
{
	for (; *s && !strchr(";}\n", *s); s++) {
		if (*s == 'e')
			ask_runs(w, "sed", "the e flag");
		if (*s == 'w')
			return sed_file(w, s + 1);
		if (!strchr("gpiImMe0123456789 \t", *s))
			return s + strcspn(s, ";\n}");
	}
	return s;
}

static void
sed_script(struct walk *w, const struct gate_field *f)
{
	if (f->flags & FIELD_ANY) {
		/* a variable inside a pattern is common; a whole script isn't */
		if (f->s[0] == MARK_ANY)
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"sed's script is only known at run time");
	}
	const char *s = gate_unmark(w->arena, f->s);
	while (*s) {
		s = sed_address(s + strspn(s, " \t\n;{}"));
		char c = *s;
		if (!c)
			return;
		s++;
		if (strchr("{};\n", c))
			continue;
		if (c == 'e') {
			ask_runs(w, "sed", "its e command");
			s += strcspn(s, "\n");
		} else if (c == 'w' || c == 'W') {
			s = sed_file(w, s);
		} else if (c == 'r' || c == 'R') {
			size_t n = strcspn(s, "\n;}");
			struct gate_field r = field_text(w, s + strspn(s, " "),
				n - strspn(s, " ") <= n ? n - strspn(s, " ") : 0, 0);
			path_check_read(w, &r);
			s += n;
		} else if (c == 's' && *s) {
			char d = *s;
			s = sed_section(s + 1, d);
			/* in the replacement [ is plain */
			while (*s && *s != d)
				s += *s == '\\' && s[1] ? 2 : 1;
			s = sed_flags(w, *s ? s + 1 : s);
		} else if (c == 'y' && *s) {
			char d = *s;
			s = sed_section(sed_section(s + 1, d), d);
		} else if (strchr("aic", c)) {
			/* text up to a line's end; \ continues */
			while (*s && *s != '\n')
				s += *s == '\\' && s[1] ? 2 : 1;
		} else {
			s += strcspn(s, "\n;}");
		}
	}
}

static void
rule_sed(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool script = false, in_place = false;
	opts_init(&o, c, arg, "expression file line-length");
	while ((k = opts_next(&o)) != OPT_END) {
		in_place |= k == 'i' || k == 'I' ||
			(k == OPT_LONG && opts_long(&o, "in-place", 2));
		if (k == 'e' || (k == OPT_LONG && opts_long(&o, "expression", 2))) {
			script = true;
			sed_script(w, &o.val_field);
		} else if (k == 'f' || (k == OPT_LONG && opts_long(&o, "file", 2))) {
			script = true;
			if (field_is(&o.val_field, "-"))
				ask_runs(w, "sed", "its script comes from its input");
			else
				rule_run_script(w, c, &o.val_field);
		} else if (k == OPT_WORD && !script) {
			script = true;
			sed_script(w, o.word);
		} else if (k == OPT_WORD) {
			path_check_read(w, o.word);
			if (in_place)
				path_check_write(w, o.word, "changes");
			if (in_place)
				path_note_written(w, o.word, false);
		}
	}
}

/* ---- awk ---- */

static const char *
awk_string(const char *s)
{
	for (; *s && *s != '"'; s++)
		if (*s == '\\' && s[1])
			s++;
	return *s ? s + 1 : s;
}

static const char *
awk_regex(const char *s)
{
	bool class = false;
	for (; *s && *s != '\n' && (*s != '/' || class); s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (*s == '[')
			class = true;
		else if (*s == ']')
			class = false;
	}
	return *s ? s + 1 : s;
}

/* After > in a print: a literal target is a write, another can't be told; a
 * comparison has no print before it in its statement. */
static void
awk_redirect(struct walk *w, const char *s)
{
	s += *s == '>';
	s += strspn(s, " \t");
	if (*s == '"') {
		const char *end = awk_string(s + 1);
		struct gate_field f = field_text(w, s + 1,
			end - s >= 2 ? (size_t)(end - s) - 2 : 0, 0);
		path_check_write(w, &f, "writes (awk)");
	} else {
		walk_ask(w, GATE_CLASS_FILES, "write to an unknown place",
			"awk writes a file whose name is only known at run time");
	}
}

/* system("literal"): looked at for what must never run; it asks anyway. */
static void
awk_system(struct walk *w, const char *s)
{
	struct gate_flow in = { .present = false }, out = in;
	bool quiet = w->never_only;
	s += strspn(s, " (");
	if (*s != '"')
		return;
	const char *end = awk_string(s + 1);
	w->never_only = true;
	if (end - s >= 2)
		walk_new_shell(w, arena_strn(w->arena, s + 1, (size_t)(end - s) - 2),
			(size_t)(end - s) - 2, &in, &out);
	w->never_only = quiet;
}

static void
awk_script(struct walk *w, const struct gate_field *f)
{
	const char *s = gate_unmark(w->arena, f->s);
	char before = ';';
	bool printing = false;
	size_t open = 0;
	if (f->flags & FIELD_ANY && f->s[0] == MARK_ANY)
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"awk's program is only known at run time");
	while (*s) {
		char c = *s;
		if (isalpha((unsigned char)c) || c == '_' || c == '@') {
			size_t n = 1;
			while (isalnum((unsigned char)s[n]) || s[n] == '_')
				n++;
			if (word_in(s, n, "system @load @include extension"))
				ask_runs(w, "awk", arena_strn(w->arena, s, n));
			if (word_in(s, n, "system"))
				awk_system(w, s + n);
			printing |= word_in(s, n, "print printf");
			s += n;
			before = word_in(s - n, n, "print printf return in") ? ';' : 'a';
			continue;
		}
		s++;
		if (c == '"') {
			s = awk_string(s);
		} else if (c == '/' && !isalnum((unsigned char)before) &&
		    before != ')' && before != ']' && before != '"' && before != '$') {
			s = awk_regex(s);
			c = ')';
		} else if (c == '#') {
			s += strcspn(s, "\n");
		} else if (c == '|' && *s == '|') {
			s++;
		} else if (c == '|') {
			ask_runs(w, "awk", "a pipe");
		} else if (c == '(' || c == ')') {
			open = c == '(' ? open + 1 : open > 0 ? open - 1 : 0;
		} else if (c == '>' && printing && open == 0 && *s != '=') {
			awk_redirect(w, s);
			s += *s == '>';
		} else if (c == '<' && s[strspn(s, " ")] == '"') {
			const char *name = s + strspn(s, " ") + 1;
			struct gate_field in = field_text(w, name,
				strcspn(name, "\""), 0);
			path_check_read(w, &in);	/* getline < "file" */
		} else if (c == ';' || c == '}' || c == '{' || c == '\n') {
			printing = false;
			open = 0;
		}
		if (!isspace((unsigned char)c))
			before = c;
	}
}

static void
rule_awk(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool program = false;
	opts_init(&o, c, arg, "file assign field-separator include load source "
		"exec");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 'f' || k == 'E' || (k == OPT_LONG && opts_long(&o, "file", 2))) {
			program = true;
			if (field_is(&o.val_field, "-") ||
			    field_is(&o.val_field, "/dev/stdin"))
				ask_runs(w, "awk", "its program comes from its input");
			else
				rule_run_script(w, c, &o.val_field);
		} else if (k == 'e' || (k == OPT_LONG && opts_long(&o, "source", 2))) {
			program = true;
			awk_script(w, &o.val_field);
		} else if (k == 'l' || k == 'i' || (k == OPT_LONG &&
		    (opts_long(&o, "load", 2) || opts_long(&o, "include", 3)))) {
			bool in_place = o.val && !strcmp(o.val, "inplace");
			if (!in_place)
				ask_runs(w, "awk", "a library");
		} else if (k == OPT_WORD && !program) {
			program = true;
			awk_script(w, o.word);
		} else if (k == OPT_WORD) {
			path_check_read(w, o.word);
		}
	}
}

/* ---- sort ---- */
static void
rule_sort(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "output compress-program key field-separator "
		"buffer-size temporary-directory parallel files0-from sort "
		"batch-size random-source");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == OPT_LONG && opts_long(&o, "compress-program", 2))
			ask_runs(w, "sort", o.val ? o.val : "");
		else if (k == 'o' || (k == OPT_LONG && opts_long(&o, "output", 1)))
			path_check_write(w, &o.val_field, "writes");
		else if (k == OPT_WORD)
			path_check_read(w, o.word);
	}
	c->out.flags &= ~(unsigned)FIELD_NAME;
}

/* split --filter, csplit, shuf -o: output options. */
static void
rule_split(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k, words = 0;
	opts_init(&o, c, arg, "filter output additional-suffix prefix bytes lines");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == OPT_LONG && opts_long(&o, "filter", 2))
			ask_runs(w, c->name, o.val ? o.val : "a filter");
		else if (k == 'o' || (k == OPT_LONG && (opts_long(&o, "output", 3) ||
		    opts_long(&o, "prefix", 2))) ||
		    (k == 'f' && !strcmp(c->name, "csplit")))
			path_check_write(w, &o.val_field, "writes");
		else if (k == OPT_WORD && ++words == 1)
			path_check_read(w, o.word);
		else if (k == OPT_WORD && strcmp(c->name, "split") == 0)
			path_check_write(w, o.word, "writes");
	}
}

/* ---- editors ---- */
static bool
harmless_editor_command(const char *s)
{
	s += *s == ':';
	return word_in(s, strlen(s), "q q! qa qa! quit wq wqa x set nu syntax on "
		"version") || (s[0] && strspn(s, "0123456789$") == strlen(s)) ||
		(s[0] == '/' && !strchr(s, '!')) || strncmp(s, "set ", 4) == 0;
}

static void
rule_editor(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool emacs = strcmp(c->name, "emacs") == 0;
	if (c->in.present && (!c->in.heredoc || strcmp(c->name, "ex") == 0 ||
	    opts_has(c, arg, "es", "")))
		ask_runs(w, c->name, "commands from its input");
	opts_init(&o, c, arg, "cmd eval load execute");
	while ((k = opts_next(&o)) != OPT_END) {
		bool code = k == 'c' || k == 'S' || k == 's' || k == 'u' ||
			(k == OPT_LONG && !emacs && opts_long(&o, "cmd", 3));
		if (k == OPT_WORD && o.word->s[0] == '+')
			code = true, o.val = o.word->s + 1;
		else if (k == OPT_WORD && strcmp(c->name, "view") != 0)
			path_check_write(w, o.word, "edits");
		if (k == OPT_LONG && emacs && (opts_long(&o, "eval", 2) ||
		    opts_long(&o, "load", 2) || opts_long(&o, "execute", 2) ||
		    opts_long(&o, "script", 2) || opts_long(&o, "funcall", 2) ||
		    opts_long(&o, "batch", 5)))
			ask_runs(w, c->name, o.val ? o.val : "a script");
		else if (code && o.val && !harmless_editor_command(o.val))
			ask_runs(w, c->name, o.val);
	}
}

/* ed and ex read their commands from the input. */
static void
rule_ed(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "");
	if (c->in.present)
		ask_runs(w, c->name, "commands from its input");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 'c' || (k == OPT_WORD && o.word->s[0] == '+'))
			ask_runs(w, c->name, "an option");
		else if (k == OPT_WORD)
			path_check_write(w, o.word, "edits");
	}
}

/* Formatters and the like: in place on workspace files, or to stdout. */
static void
rule_format(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "output out-file config");
	for (size_t i = 1; i < c->n; i++) {
		const char *s = c->v[i].s;
		if (word_in(s, strlen(s), "x11grab pulse alsa avfoundation v4l2 gdigrab "
		    "kmsgrab"))
			walk_ask(w, GATE_CLASS_CREDENTIALS, "desktop session",
				"%s records the screen, a camera or sound", c->name);
		if (strchr(s, '|') || strstr(s, "shell-escape") ||
		    strstr(s, "-write18") || strstr(s, "-filter") ||
		    (!strcmp(s, "-F") && !strcmp(c->name, "pandoc")))
			ask_runs(w, c->name, s);
	}
	while ((k = opts_next(&o)) != OPT_END)
		if (k == OPT_WORD)
			path_check_write(w, o.word, "changes");
		else if ((k == 'o' || (k == OPT_LONG && opts_long(&o, "output", 3))) &&
		    o.val)
			path_check_write(w, &o.val_field, "writes");
}

/* dc and bc: ! runs a command in dc. */
static void
rule_dc(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	for (size_t i = 1; i < c->n; i++)
		if (strchr(c->v[i].s, '!'))
			ask_runs(w, "dc", c->v[i].s);
	if (c->in.present && (!c->in.text || memchr(c->in.text, '!', c->in.len)))
		ask_runs(w, "dc", "its input");
}

const struct gate_kind kinds_text[] = {
	{ "sed gsed", rule_sed, "e:f:i::l:I::" },
	{ "awk gawk mawk nawk original-awk", rule_awk, "+f:v:F:e:i:l:E:" },
	{ "sort gsort", rule_sort, "k:o:t:S:T:" },
	{ "split csplit shuf tsplit", rule_split, "n:b:l:C:a:o:i:f:" },
	{ "vim vi nvim view vimdiff gvim rvim ex emacs emacsclient nano pico micro "
	  "helix hx kak joe mcedit code", rule_editor, "c:S:s:u:T:" },
	{ "ed red", rule_ed, "p:" },
	{ "clang-format astyle indent uncrustify shfmt stylua gofmt taplo dprint "
	  "prettierd yapf autopep8 isort gofumpt goimports rustfmt nixfmt "
	  "google-java-format ktlint swiftformat cmake-format pandoc asciidoctor "
	  "markdown groff troff pdflatex xelatex lualatex latexmk latex bibtex "
	  "tectonic typst dot neato plantuml mmdc sass lessc terser uglifyjs "
	  "convert magick mogrify ffmpeg sox lame optipng pngquant jpegoptim "
	  "soffice libreoffice cwebp inkscape rsvg-convert gs qpdf pdftk pdftotext pdfunite "
	  "pdfseparate wkhtmltopdf ps2pdf tesseract gifsicle",
	  rule_format, "i:c:o:f:t:s:r:q:d:" },
	{ "dc", rule_dc, NULL },
	{ NULL, NULL, NULL },
};
