/* Shells and language interpreters: scripts, inline code, code from a pipe. */
#include <string.h>

#include "gateway/gate/rules.h"

static void
ask_stdin(struct walk *w, struct gate_cmd *c, const char *what)
{
	if (c->in.flags & FIELD_FETCHED)
		walk_ask_severe(w, GATE_CLASS_CODE, "pipe remote content to shell",
			"%s runs what the network sends", what);
	else if (c->in.flags & FIELD_DECODED)
		walk_ask(w, GATE_CLASS_CODE, "decoded content to shell",
			"%s runs decoded text", what);
	else if (c->in.heredoc)
		walk_ask(w, GATE_CLASS_CODE, "script execution via heredoc",
			"%s runs the text that it is given", what);
	else if (c->in.present)
		walk_ask(w, GATE_CLASS_CODE, "script execution via pipe",
			"%s runs what another command or file gives it", what);
	else
		walk_ask(w, GATE_CLASS_CODE, "interactive interpreter",
			"%s would wait for commands that nobody sees here", what);
}

static void
shell_stdin(struct walk *w, struct gate_cmd *c)
{
	bool readable = c->in.heredoc && c->in.text && !(c->in.flags & FIELD_TAINT);
	if (!readable)
		ask_stdin(w, c, c->name);
	if (c->in.text)
		walk_new_shell(w, c->in.text, c->in.len, &c->in, &c->out);
}

static void
shell_payload(struct walk *w, struct gate_cmd *c, const struct opts *o)
{
	const struct gate_field *f = o->word;
	struct walk_scope outer = w->s;
	if (f->flags & FIELD_FETCHED)
		walk_ask_severe(w, GATE_CLASS_CODE, "pipe remote content to shell",
			"%s runs what the network sends", c->name);
	if (f->flags & FIELD_DECODED)
		walk_ask(w, GATE_CLASS_CODE, "decoded content to shell",
			"%s runs decoded text", c->name);
	if (f->flags & (FIELD_ANY | FIELD_NAME)) {
		walk_ask(w, GATE_CLASS_CODE, "shell command via -c/-lc flag",
			"%s -c runs text that is only known at run time", c->name);
		return;
	}
	if (f->flags & FIELD_SUBST)
		walk_ask(w, GATE_CLASS_CODE, "shell command via -c/-lc flag",
			"%s -c runs what another command prints", c->name);
	walk_enter_shell(w);
	w->s.args = o->word_at + 2 <= c->n ? c->v + o->word_at + 2 : c->v;
	w->s.nargs = o->word_at + 2 <= c->n ? c->n - o->word_at - 2 : 0;
	if (o->word_at + 1 < c->n)
		var_set(w, "0", &c->v[o->word_at + 1]);
	const char *text = gate_unmark(w->arena, f->s);
	walk_text(w, text, f->len, &c->in, &c->out);
	w->s = outer;
}

static void
rule_shell(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool command = false, check_only = false, from_stdin = false;
	opts_init(&o, c, "+o:O:", "rcfile init-file");
	if (arg)
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"%s has a language of its own", c->name);
	while ((k = opts_next(&o)) != OPT_END) {
		command |= k == 'c' || (k == OPT_LONG && opts_long(&o, "command", 3));
		check_only |= k == 'n';
		from_stdin |= k == 's';
		if (k == OPT_LONG && o.val)
			rule_run_script(w, c, &o.val_field);
		if (k == OPT_WORD && o.word->s[0] == '+' && o.word->len > 1) {
			o.ended = false;
			continue;
		}
		if (k == OPT_WORD)
			break;
	}
	if (check_only && k == OPT_WORD && !command)
		path_check_read(w, o.word);
	else if (command && k == OPT_WORD)
		shell_payload(w, c, &o);
	else if (k == OPT_WORD && !from_stdin && !field_is(o.word, "-") &&
	    !field_is(o.word, "/dev/stdin"))
		rule_run_script(w, c, o.word);
	else
		shell_stdin(w, c);
}

/* ---- languages: arg is "lang;getopt;letters of code;long names of code" ---- */
struct lang {
	char name[16];
	char shorts[48];
	char code[8];
	char longs[64];
};

static void
lang_read(const char *arg, struct lang *l)
{
	char *const into[] = { l->name, l->shorts, l->code, l->longs };
	*l = (struct lang){ .name = "" };
	for (size_t i = 0; i < 4 && *arg; i++) {
		size_t n = strcspn(arg, ";");
		memcpy(into[i], arg, n);
		arg += n + (arg[n] == ';');
	}
}

static bool
python_module(struct walk *w, struct gate_cmd *c, size_t at)
{
	static const char ask[] = "pdb code webbrowser pty zipapp ensurepip "
		"smtpd ftplib telnetlib runpy cgi";
	const char *m = c->v[at].s;
	if (word_in(m, strlen(m), "pip ensurepip twine poetry pipx pipenv uv")) {
		walk_fields(w, c, at);
	} else if (strcmp(m, "http.server") == 0) {
		for (size_t i = at + 1; i < c->n; i++) {
			struct path p = path_of(w, &c->v[i]);
			if (c->v[i].s[0] == '/' && p.zone != ZONE_INSIDE)
				walk_ask(w, GATE_CLASS_NETWORK, "serves files",
					"it serves %s to the network", c->v[i].s);
		}
	} else if (strcmp(m, "timeit") == 0) {
		for (size_t i = at + 1; i < c->n; i++)
			if (c->v[i].s[0] != '-')
				rule_inline(w, "python", &c->v[i]);
	} else if (word_in(m, strlen(m), ask)) {
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"python -m %s runs what it is told", m);
	} else if (strcmp(m, "venv") == 0 || strcmp(m, "virtualenv") == 0) {
		for (size_t i = at + 1; i < c->n; i++)
			if (c->v[i].s[0] != '-')
				path_check_write(w, &c->v[i], "makes");
	} else if (word_in(m, strlen(m), "zipfile tarfile") && c->n > at + 3 &&
	    word_in(c->v[at + 1].s, c->v[at + 1].len, "-e --extract")) {
		path_check_write(w, &c->v[c->n - 1], "unpacks into");
	} else if (strcmp(m, "py_compile") == 0 || strcmp(m, "compileall") == 0) {
		rule_readers(w, c, at + 1);
	} else if (c->v[at].flags & FIELD_ANY) {
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"which module runs is only known at run time");
	} else {
		rule_build(w, c);
	}
	return true;
}

/* Operands after inline code are its input; with -i its output as well. */
static void
inline_operands(struct walk *w, struct opts *o, bool in_place)
{
	int k;
	while ((k = opts_next(o)) != OPT_END) {
		if (k != OPT_WORD)
			continue;
		path_check_read(w, o->word);
		if (in_place)
			path_check_write(w, o->word, "changes");
	}
}

static bool
plain_module(const char *s)
{
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_:=,-/.")] == '\0' && s[0] != '.' && s[0] != '/';
}

/* php -t serves a directory, -d may name a file to be loaded. */
static void
php_option(struct walk *w, struct gate_cmd *c, const struct opts *o, int k)
{
	const char *eq = strchr(o->val, '=');
	if (k == 't' && path_of(w, &o->val_field).zone != ZONE_INSIDE)
		walk_ask(w, GATE_CLASS_NETWORK, "serves files",
			"it serves %s to the network", o->val);
	if (k != 'd' || !eq || !(strstr(o->val, "pend_file=") ||
	    strstr(o->val, "extension=")))
		return;
	struct gate_field f = field_text(w, eq + 1, strlen(eq + 1),
		o->val_field.flags);
	rule_run_script(w, c, &f);
}

/* Options after which no program is read: versions, help, php's server. */
static bool
only_informs(const struct opts *o, int k, bool php)
{
	if (k == OPT_LONG)
		return opts_long(o, "version", 4) || opts_long(o, "help", 4);
	return k == 'v' || k == 'V' || k == 'h' ||
		(php && (k == 'm' || k == 'i' || k == 'S'));
}

static void
rule_lang(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct lang l;
	struct opts o;
	int k;
	bool code = false, in_place = false, info = false, check = false;
	lang_read(arg, &l);
	opts_init(&o, c, l.shorts, l.longs);
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD) {
		bool is_code = k == OPT_LONG ? word_in(o.name, o.name_len,
			"eval print run") && l.longs[0] :
			strchr(l.code, k) != NULL;
		if (is_code) {
			code = true;
			if (k == 'p' && o.val && !strcmp(o.val, "e") && o.i < c->n) {
				o.val_field = c->v[o.i++];	/* node -pe */
				o.val = o.val_field.s;
			}
			if (o.val)
				rule_inline(w, l.name, &o.val_field);
			if (!strcmp(l.name, "python"))
				return;
		} else if (k == 'm' && o.val && !strcmp(l.name, "python")) {
			python_module(w, c, o.i - 1);
			return;
		} else if ((k == 'M' || k == 'r' || k == 'l') && o.val &&
		    !plain_module(o.val)) {
			rule_run_script(w, c, &o.val_field);
		}
		if (k == OPT_LONG && (opts_long(&o, "require", 5) ||
		    opts_long(&o, "import", 5) || opts_long(&o, "loader", 4) ||
		    opts_long(&o, "experimental-loader", 14)) && o.val &&
		    strchr(o.val, '/'))
			rule_run_script(w, c, &o.val_field);
		if (!strcmp(l.name, "php") && o.val)
			php_option(w, c, &o, k);
		info |= only_informs(&o, k, !strcmp(l.name, "php"));
		check |= (!strcmp(l.name, "node") && (k == 'c' || (k == OPT_LONG &&
			opts_long(&o, "check", 5)))) ||
			(!strcmp(l.name, "php") && k == 'l') ||
			(!strcmp(l.name, "ruby") && k == 'c');
		in_place |= k == 'i';
		code |= k == OPT_LONG && opts_long(&o, "test", 4);
	}
	if (code) {
		if (k == OPT_WORD) {
			o.i = o.word_at;
			inline_operands(w, &o, in_place);
		}
	} else if (k == OPT_WORD && check) {
		path_check_read(w, o.word);
	} else if (k == OPT_WORD && !field_is(o.word, "-") &&
	    !field_is(o.word, "/dev/stdin")) {
		rule_run_script(w, c, o.word);
		rule_data_loss(w, c);
		rule_build(w, c);
	} else if (!info || k == OPT_WORD) {
		ask_stdin(w, c, c->name);
	}
}

/* Languages that nothing here can read: code in an option asks. */
static void
rule_foreign(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	size_t words = 0;
	opts_init(&o, c, arg, "eval execute command");
	while ((k = opts_next(&o)) != OPT_END) {
		bool code = (k == 'e' || k == 'E' || k == 'c' || k == 'r') && o.val;
		if (code || (k == OPT_LONG && (opts_long(&o, "eval", 4) ||
		    opts_long(&o, "command", 4) || opts_long(&o, "execute", 4))))
			walk_ask(w, GATE_CLASS_CODE, "script execution via -e/-c flag",
				"%s runs code given as an option", c->name);
		if (k == OPT_WORD && words++ == 0)
			rule_run_script(w, c, o.word);
	}
	if (words == 0 && c->n == 1)
		ask_stdin(w, c, c->name);
}

/* deno and bun: a subcommand first. */
static void
rule_deno(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (c->n < 2) {
		ask_stdin(w, c, c->name);
		return;
	}
	const struct gate_field *sub = &c->v[1];
	if (word_in(sub->s, sub->len, "eval repl -e -p --eval --print"))
		walk_ask(w, GATE_CLASS_CODE, "script execution via -e/-c flag",
			"%s runs code given as an option", c->name);
	else if (word_in(sub->s, sub->len, "x create upgrade publish deploy"))
		walk_ask(w, GATE_CLASS_CODE, "remote package run",
			"%s %s fetches and runs a package", c->name, sub->s);
	for (size_t i = 2; i < c->n; i++)
		if ((strstr(c->v[i].s, "://") || field_starts(&c->v[i], "npm:") ||
		    field_starts(&c->v[i], "jsr:")) && !field_starts(sub, "add"))
			walk_ask(w, GATE_CLASS_CODE, "remote package run",
				"it runs code from %s", c->v[i].s);
	if (word_in(sub->s, sub->len, "remove rm uninstall"))
		walk_ask(w, GATE_CLASS_FILES, "package uninstall",
			"it removes packages");
	if (opts_has(c, "", "g", "global") || (!strcmp(c->name, "deno") &&
	    field_is(sub, "install") && c->n > 2))
		walk_ask(w, GATE_CLASS_FILES, "write outside the workspace",
			"it installs for the whole user or machine");
	for (size_t i = 1; i < c->n; i++) {
		if (c->v[i].s[0] == '-' || (i == 1 && word_in(sub->s, sub->len,
		    "run")))
			continue;
		if (strchr(c->v[i].s, '.'))
			rule_run_script(w, c, &c->v[i]);
		break;
	}
	rule_build(w, c);
}

const struct gate_kind kinds_interp[] = {
	{ "sh bash dash zsh ksh ksh93 mksh ash rbash yash posh", rule_shell, NULL },
	{ "fish csh tcsh rc es elvish nu xonsh pwsh powershell", rule_shell, "own" },
	{ "python python2 python3 python3.8 python3.9 python3.10 python3.11 "
	  "python3.12 python3.13 python3.14 pypy pypy3 micropython ipython "
	  "ipython3 bpython", rule_lang, "python;+c:m:W:X:Q:;c;" },
	{ "perl perl5", rule_lang,
	  "perl;+e:E:i::M:m:I:F:x::D:d::;eE;" },
	{ "ruby jruby", rule_lang, "ruby;+e:i::I:r:E:F:C:K:x::;e;" },
	{ "node nodejs", rule_lang, "node;+e:p:r:C:;ep;eval print require import loader" },
	{ "php php8", rule_lang, "php;+r:f:d:c:S:t:B:R:E:z:;rBRE;run" },
	{ "lua luajit lua5.1 lua5.3 lua5.4", rule_lang, "lua;+e:l:;e;" },
	{ "Rscript julia groovy elixir ghc runghc swipl scala bb "
	  "guile racket sbcl octave erl escript iex tclsh8.6 "
	  "gnuplot maxima gp sage Rterm R ocaml utop crystal nim raku",
	  rule_foreign, "+e:E:c:r:" },
	{ "clojure clj", rule_foreign, "+e:M::A::X::T::S::" },
	{ "tsx ts-node esno", rule_lang, "node;+e:p:r:P:;ep;eval print" },
	{ "deno bun", rule_deno, NULL },
	{ "osascript", rule_says,
	  "code|code that can't be read|drives other programs" },
	{ "irb pry ghci jshell", rule_foreign, "+e:" },
	{ NULL, NULL, NULL },
};
