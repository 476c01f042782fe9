/* Commands that run another command: peeled by each one's own grammar. */
#include <ctype.h>
#include <string.h>

#include "gateway/gate/rules.h"

/*
 * arg: getopt string, then optionally "|" long options with a value, then
 * optionally "|" the number of operands before the command.
 */
struct grammar {
	char shorts[64];
	char longs[256];
	size_t skip;
};

static void
grammar_read(const char *arg, struct grammar *g)
{
	size_t n = strcspn(arg, "|");
	*g = (struct grammar){ .skip = 0 };
	memcpy(g->shorts, arg, n);
	arg += n + (arg[n] == '|');
	n = strcspn(arg, "|");
	memcpy(g->longs, arg, n);
	arg += n + (arg[n] == '|');
	if (*arg)
		g->skip = (size_t)(*arg - '0');
}

/* The first field that isn't an option, after `skip` operands; c->n if none. */
size_t
rule_inner_at(const struct gate_cmd *c, const char *arg)
{
	struct grammar g;
	struct opts o;
	int k;
	grammar_read(arg, &g);
	opts_init(&o, c, g.shorts, g.longs);
	while ((k = opts_next(&o)) != OPT_END)
		if (k == OPT_WORD && g.skip-- == 0)
			return o.word_at;
	return c->n;
}

/* nice, timeout, nohup and all that change nothing but circumstances. */
static void
rule_peel(struct walk *w, struct gate_cmd *c, const char *arg)
{
	walk_fields(w, c, rule_inner_at(c, arg));
}

/* The same, where the command itself needs a yes as well. */
static void
rule_peel_ask(struct walk *w, struct gate_cmd *c, const char *arg)
{
	walk_ask_severe(w, GATE_CLASS_FILES, "runs with other rights or elsewhere",
		"%s runs commands with other rights or in another place", c->name);
	walk_fields(w, c, rule_inner_at(c, arg));
}

static void
rule_sudo(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool privilege = false, shell = false;
	opts_init(&o, c, arg, "user group host prompt chdir close-from role type "
		"other-user chroot command-timeout");
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD) {
		privilege |= k == 'S' || k == 'A';
		shell |= k == 's' || k == 'i';
	}
	walk_ask_severe(w, GATE_CLASS_FILES, privilege ?
		"sudo with privilege flag (stdin/askpass/shell/list)" :
		"command with raised privileges",
		"%s runs it with the rights of another user", c->name);
	if (k != OPT_WORD)
		return;
	size_t at = o.word_at;
	while (at < c->n && strchr(c->v[at].s, '=') && c->v[at].s[0] != '=' &&
	    !strchr(c->v[at].s, '/'))
		at++;
	if (shell && at < c->n)
		walk_new_shell(w, c->v[at].s, c->v[at].len, &c->in, &c->out);
	walk_fields(w, c, at);
}

/* NAME=value operands, then the command; -S splits one string into words. */
static void
rule_envcmd(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "unset chdir split-string argv0");
	const char *cwd = w->s.cwd;
	while ((k = opts_next(&o)) != OPT_END) {
		bool split = k == 'S' || (k == OPT_LONG &&
			opts_long(&o, "split-string", 2));
		if (split && o.val) {
			if (o.val_field.flags & FIELD_ANY)
				walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
					"env -S runs text that can't be read");
			else
				walk_new_shell(w, o.val_field.s, o.val_field.len, &c->in,
					&c->out);
		} else if (k == 'C' || (k == OPT_LONG && opts_long(&o, "chdir", 2))) {
			w->s.cwd = path_known(w, &o.val_field);
		} else if (k == OPT_WORD) {
			const char *eq = strchr(o.word->s, '=');
			if (!eq || eq == o.word->s)
				break;
			struct gate_field v = field_text(w, eq + 1, strlen(eq + 1),
				o.word->flags);
			rule_env(w, arena_strn(w->arena, o.word->s,
				(size_t)(eq - o.word->s)), &v, true);
		}
	}
	if (k == OPT_WORD)
		walk_fields(w, c, o.word_at);
	else
		c->out.flags |= FIELD_SECRET;	/* what env prints */
	w->s.cwd = cwd;
}

static void
rule_printenv(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	c->out.flags |= FIELD_SECRET;
	for (size_t i = 1; i < c->n; i++) {
		if (strstr(c->v[i].s, "SECRET") || strstr(c->v[i].s, "TOKEN") ||
		    strstr(c->v[i].s, "PASSW") || strstr(c->v[i].s, "_KEY"))
			walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
				"it shows %s", c->v[i].s);
		if (word_in(c->v[i].s, c->v[i].len, "PATH HOME USER SHELL PWD LANG "
		    "TERM NODE_ENV VIRTUAL_ENV"))
			c->out.flags &= ~(unsigned)FIELD_SECRET;
	}
}

/* command -v only looks; exec and builtin run. exec with only redirections
 * changes the shell's own descriptors. */
static void
rule_command(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (strcmp(c->name, "command") == 0 && opts_has(c, "+", "vV", ""))
		return;
	walk_fields(w, c, rule_inner_at(c, arg));
}

/* A command line given as one string or as words: watch, flock -c, script -c. */
static void
run_string(struct walk *w, struct gate_cmd *c, const struct gate_field *f)
{
	if (f->flags & FIELD_ANY)
		walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
			"%s runs text that is only known at run time", c->name);
	else
		walk_new_shell(w, f->s, f->len, &c->in, &c->out);
}

void
rule_rest_as_text(struct walk *w, struct gate_cmd *c, size_t from)
{
	size_t n = 1, len = 0;
	for (size_t i = from; i < c->n; i++)
		n += c->v[i].len + 1;
	char *s = arena_alloc(w->arena, n + 1);
	struct gate_field f = { s, 0, 0 };
	for (size_t i = from; i < c->n; i++) {
		f.flags |= c->v[i].flags;
		memcpy(s + len, c->v[i].s, c->v[i].len);
		len += c->v[i].len;
		s[len++] = ' ';
	}
	f.s = gate_unmark(w->arena, s);
	f.len = len;
	if (from < c->n)
		run_string(w, c, &f);
}

/* watch, ssh-like: the words are joined and given to a shell. */
static void
rule_joined(struct walk *w, struct gate_cmd *c, const char *arg)
{
	rule_rest_as_text(w, c, rule_inner_at(c, arg));
}

static void
rule_flock(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	size_t words = 0;
	opts_init(&o, c, arg, "timeout wait conflict-exit-code command log-out "
		"log-in log-io log-timing echo output-limit");
	while ((k = opts_next(&o)) != OPT_END) {
		if ((k == 'c' || (k == OPT_LONG && opts_long(&o, "command", 2))) &&
		    (o.val || o.i < c->n))
			run_string(w, c, o.val ? &o.val_field : &c->v[o.i]);
		else if (k == OPT_WORD && ++words == 2 &&
		    strcmp(c->name, "flock") == 0) {
			if (cmd_arg_is(c, o.word_at, "-c") ||
			    cmd_arg_is(c, o.word_at, "--command"))
				rule_rest_as_text(w, c, o.word_at + 1);
			else
				walk_fields(w, c, o.word_at);
			return;
		} else if (k == OPT_WORD && strcmp(c->name, "script") == 0) {
			path_check_write(w, o.word, "writes");
		}
	}
}

/* su: asks in any case; -c's text is read as well. */
static void
rule_su(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	walk_ask_severe(w, GATE_CLASS_FILES, "command with raised privileges",
		"%s runs it with the rights of another user", c->name);
	opts_init(&o, c, arg, "command user group session-command shell");
	bool user = strcmp(c->name, "runuser") == 0 &&
		opts_has(c, arg, "u", "user");
	while ((k = opts_next(&o)) != OPT_END) {
		if ((k == 'c' || (k == OPT_LONG && opts_long(&o, "command", 1))) && o.val)
			run_string(w, c, &o.val_field);
		else if (k == OPT_WORD && user) {
			walk_fields(w, c, o.word_at);
			return;
		}
	}
}

static void
rule_busybox(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (c->n > 1 && c->v[1].s[0] != '-')
		walk_fields(w, c, 1);
}

/* Builders of a run: `uv run X`, `poetry run X`, `bundle exec X`. The rest of
 * these tools is in rules_pkg.c, which calls this. */

/* gdb, strace: the program is the workspace's or a known one; -ex may run. */
static void
rule_gdb(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	for (size_t i = 1; i < c->n; i++) {
		const char *s = c->v[i].s;
		bool ex = !strcmp(s, "-ex") || !strcmp(s, "--ex") ||
			!strcmp(s, "-iex") || !strcmp(s, "-eval-command") ||
			!strcmp(s, "--eval-command") || !strcmp(s, "-o") ||
			!strcmp(s, "-O");
		if (!ex || i + 1 >= c->n)
			continue;
		const char *e = c->v[i + 1].s;
		e += strspn(e, " ");
		size_t n = strcspn(e, " ");
		if (!word_in(e, n, "run r bt backtrace quit q info where print p "
		    "continue c start break b tbreak set frame f up down list l "
		    "next n step s finish thread x display watch disassemble "
		    "kill detach echo printf catch delete"))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"the debugger is told to do: %s", e);
	}
	opts_init(&o, c, arg, "pid");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 'p' || (k == OPT_LONG && opts_long(&o, "pid", 3)))
			walk_ask(w, GATE_CLASS_FILES, "other process controlled",
				"it takes over a running process");
		if (k == 'x')
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"it runs a debugger script");
		if (k == OPT_LONG && opts_long(&o, "args", 4)) {
			walk_fields(w, c, o.i);
			return;
		}
	}
}

/* perf VERB [options] command, for the verbs that start one. */
static void
rule_perf(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct gate_cmd sub = *c;
	if (c->n < 3 || !word_in(c->v[1].s, c->v[1].len, "stat record trace kmem lock "
	    "mem sched kvm c2c ftrace"))
		return;
	sub.v++;
	sub.n--;
	rule_peel(w, &sub, arg);
	c->out = sub.out;
}

static void
rule_trace(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, "+e:o:p:s:u:E:a:b:I:O:S:P:X:", "attach");
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD)
		if (k == 'p' || (k == OPT_LONG && opts_long(&o, "attach", 3)))
			walk_ask(w, GATE_CLASS_FILES, "other process controlled",
				"it looks into a running process");
		else if (k == 'o' && o.val && strchr("|!", o.val[0]))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"its output goes into a program (%s)", o.val);
		else if (k == 'o' && o.val)
			path_check_write(w, &o.val_field, "writes");
	rule_peel(w, c, arg);
}

/* A server of terminals or a scheduler: the words are a command for later. */
static void
rule_session(struct walk *w, struct gate_cmd *c, const char *arg)
{
	size_t at = rule_inner_at(c, arg);
	bool tmux = strcmp(c->name, "tmux") == 0;
	if (tmux && (at >= c->n || word_in(c->v[at].s, c->v[at].len,
	    "ls list-sessions list-windows list-panes capture-pane info -V")))
		return;
	if (tmux) {
		walk_ask(w, GATE_CLASS_CODE, "command typed into another session",
			"tmux runs or types commands elsewhere");
		for (size_t i = at + 1; i < c->n; i++)
			if (strchr(c->v[i].s, ' '))
				run_string(w, c, &c->v[i]);
		return;
	}
	if (c->n == 2 && (field_is(&c->v[1], "-ls") || field_is(&c->v[1], "-list")))
		return;
	walk_ask(w, GATE_CLASS_CODE, "command typed into another session",
		"%s runs commands elsewhere", c->name);
	walk_fields(w, c, at);
}

/* Always asks; the rest is read for what must never run. */
static void
rule_hyper(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "warmup min-runs max-runs runs setup prepare conclude "
		"cleanup export-json export-csv export-markdown shell parameter-list "
		"parameter-scan command-name style output input exec ext watch "
		"ignore delay on-change filter exts");
	while ((k = opts_next(&o)) != OPT_END)
		if (k == OPT_WORD && (field_starts(o.word, "npm:") ||
		    field_starts(o.word, "yarn:") || field_starts(o.word, "pnpm:")))
			continue;
		else if (k == OPT_WORD)
			run_string(w, c, o.word);
		else if (o.val && ((k < 256 && strchr(strcmp(c->name, "hyperfine") == 0 ?
		    "Spcs" : "x", k)) ||
		    (k == OPT_LONG && (opts_long(&o, "prepare", 3) ||
		    opts_long(&o, "setup", 3) || opts_long(&o, "exec", 4) ||
		    opts_long(&o, "cleanup", 3) || opts_long(&o, "conclude", 4)))))
			run_string(w, c, &o.val_field);
}

/* ld.so /bin/rm: the loader runs its operand. */
static void
rule_expect(struct walk *w, struct gate_cmd *c, const char *arg)
{
	walk_ask(w, GATE_CLASS_CODE, arg, "%s runs a script of its own language",
		c->name);
}

const struct gate_kind kinds_wrap[] = {
	{ "sudo doas sudoedit pkexec gksudo kdesudo", rule_sudo,
	  "+u:g:h:p:C:D:r:t:U:T:R:" },
	{ "su runuser sg newgrp", rule_su, "c:u:g:G:s:w:" },
	{ "env", rule_envcmd, "+u:C:S:a:" },
	{ "printenv", rule_printenv, NULL },
	{ "command builtin", rule_command, "+" },
	{ "exec", rule_command, "+a:" },
	{ "nice", rule_peel, "+n:|adjustment" },
	{ "ionice", rule_peel, "+c:n:p:P:u:|class classdata pid" },
	{ "chrt", rule_peel, "+T:P:D:p:|sched-runtime sched-period|1" },
	{ "taskset", rule_peel, "+p:||1" },
	{ "timeout gtimeout", rule_peel, "+s:k:|signal kill-after|1" },
	{ "nohup setsid time gtime catchsegv eatmydata unbuffer fakeroot "
	  "torsocks torify caffeinate linux32 linux64 setarch xvfb-run "
	  "dbus-run-session rlwrap ts faketime sem dumb-init tini catchsegv",
	  rule_peel, "+f:o:n:s:e:t:|format output auto-servernum server-args" },
	{ "stdbuf", rule_peel, "+i:o:e:|input output error" },
	{ "strace ltrace dtruss", rule_trace,
	  "+e:o:p:s:u:E:a:b:I:O:S:P:X:|output expr trace attach" },
	{ "valgrind heaptrack perf-record", rule_peel, "+|log-file" },
	{ "perf", rule_perf, "+e:o:p:r:F:C:t:c:|event output pid" },
	{ "arch", rule_peel, "+|arch" },
	{ "numactl", rule_peel, "+N:m:i:C:p:|cpunodebind membind interleave" },
	{ "choom", rule_peel, "+n:p:|adjust pid" },
	{ "prlimit", rule_peel, "+p:|pid" },
	{ "cpulimit", rule_peel, "+l:p:e:|limit" },
	{ "chroot", rule_peel_ask, "+|userspec groups|1" },
	{ "unshare", rule_peel_ask, "+S:G:R:w:|setuid setgid root wd" },
	{ "nsenter", rule_peel_ask, "+t:S:G:|target setuid setgid" },
	{ "setpriv capsh", rule_peel_ask, "+|reuid regid groups" },
	{ "systemd-run", rule_peel_ask, "+p:u:E:M:H:|unit property setenv machine "
	  "uid gid slice description on-calendar on-active" },
	{ "proot bwrap firejail nsjail", rule_peel_ask,
	  "+r:b:w:|bind ro-bind dev-bind proc dev tmpfs chdir" },
	{ "machinectl pct lxc lxc-attach systemd-nspawn", rule_peel_ask, "+n:D:M:" },
	{ "openvt", rule_peel_ask, "+c:" },
	{ "screen dtach abduco", rule_session, "+S:c:t:p:X:h:" },
	{ "tmux zellij byobu", rule_session, "+L:S:f:c:T:" },
	{ "watch", rule_joined, "+n:|interval" },
	{ "flock", rule_flock, "+w:E:" },
	{ "script", rule_flock, "c:I:O:B:T:t:E:o:m:" },
	{ "xargs gxargs", rule_xargs, "+a:d:E:e::I:i::J:L:l::n:P:s:" },
	{ "parallel rust-parallel", rule_parallel,
	  "+j:a:N:n:L:S:I:|jobs delay timeout joblog results colsep retries" },
	{ "busybox toybox", rule_busybox, NULL },
	{ "ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 "
	  "ld-musl-x86_64.so.1", rule_peel_ask, "+|library-path preload argv0" },
	{ "gdb lldb cgdb", rule_gdb, "x:p:d:s:e:c:" },
	{ "concurrently", rule_hyper, "n:C:m:p:l:i:|" },
	{ "cross-env cross-env-shell", rule_envcmd, "+" },
	{ "dotenv env-cmd dotenvx", rule_peel, "+e:f:v:c:p:|" },
	{ "watchexec reflex", rule_joined, "+w:i:e:f:d:s:r:R:g:G:|watch ignore exts "
	  "filter debounce delay signal shell regex inverse-regex glob" },
	{ "hyperfine nodemon chokidar onchange", rule_hyper,
	  "w:m:M:r:S:p:c:s:e:i:x:n:u:P:L:" },
	{ "entr", rule_peel, "+" },
	{ "expect tclsh wish autoexpect", rule_expect, "code that can't be read" },
	{ NULL, NULL, NULL },
};
