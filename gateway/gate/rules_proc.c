/* Processes and the machine: signals, shutdown. */
#include <stdlib.h>
#include <string.h>

#include "gateway/gate/rules.h"

static void
check_pid(struct walk *w, const char *s)
{
	char *end;
	long pid = strtol(s, &end, 10);
	if (end == s || *end)
		return;
	for (size_t i = 0; i < w->ctx->npids; i++)
		if (pid == w->ctx->pids[i] || pid == -w->ctx->pids[i])
			walk_never(w, "kill hermes/gateway process (self-termination)",
				"%s is gatehouse itself", s);
}

static void
rule_kill(struct walk *w, struct gate_cmd *c, const char *arg)
{
	size_t i = 1;
	bool signal = false;
	(void)arg;
	if (c->n > 1 && (field_starts(&c->v[1], "-l") || field_starts(&c->v[1], "-L") ||
	    field_is(&c->v[1], "--list") || field_is(&c->v[1], "-0")))
		return;
	for (; i < c->n; i++) {
		const struct gate_field *f = &c->v[i];
		if (field_is(f, "--")) {
			signal = true;
			continue;
		}
		if (!signal && (field_is(f, "-s") || field_is(f, "-n") ||
		    field_is(f, "--signal"))) {
			if (cmd_arg_is(c, i + 1, "0"))
				return;
			signal = true;
			i++;
			continue;
		}
		if (!signal && f->s[0] == '-' && !(field_is(f, "-1") && c->n == 2)) {
			signal = true;
			continue;
		}
		check_pid(w, f->s);
		if (field_is(f, "-1"))
			walk_never(w, "kill all processes",
				"-1 stands for every process");
		else if (f->s[0] == '%' || (f->flags & FIELD_OWN_PID))
			continue;	/* what this shell itself started */
		else
			walk_ask(w, GATE_CLASS_FILES, "process ended",
				"it signals the process %s, which something else may "
				"have started", f->s);
	}
}

static bool
names_us(const char *s)
{
	return strcasestr(s, "gatehouse") || strcasestr(s, "hermes") ||
		strcasestr(s, "gateway");
}

static void
rule_pkill(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	if (strcmp(c->name, "killall5") == 0)
		walk_never(w, "kill all processes", "it ends every process");
	bool force = false, full = false, specific = false, all = false;
	const char *what = "";
	for (size_t i = 1; i < c->n; i++) {
		const char *s = c->v[i].s;
		force |= !strcmp(s, "-9") || !strcmp(s, "-KILL") ||
			!strcmp(s, "-SIGKILL") || !strcmp(s, "KILL") || !strcmp(s, "9");
		full |= s[0] == '-' && s[1] != '-' && strchr(s, 'f');
		if (field_is(&c->v[i], "-0") || field_is(&c->v[i], "-l"))
			return;
	}
	opts_init(&o, c, arg, "signal user group parent session terminal");
	while ((k = opts_next(&o)) != OPT_END) {
		all |= k == 'u' || k == 'U' || k == 'g' || k == 't';
		if (k != OPT_WORD)
			continue;
		what = o.word->s;
		if (names_us(what))
			walk_ask_severe(w, GATE_CLASS_FILES,
				"kill hermes/gateway process (self-termination)",
				"%s may be the gateway itself", what);
		/* a whole command line is the asker's own server */
		specific = full && strlen(what) > 3 && strpbrk(what, " ./") && !(o.word->flags & FIELD_ANY);
	}
	if (force)
		walk_ask(w, GATE_CLASS_FILES, "force kill processes",
			"%s ends them without a chance to save", c->name);
	else if (!specific || all)
		walk_ask(w, GATE_CLASS_FILES, "process ended",
			"it ends every process that matches %s", what);
}

static void
rule_shutdown(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (opts_has(c, "", "c", "help version") && !strcmp(c->name, "shutdown"))
		return;
	walk_never(w, "system shutdown/reboot", "%s %s", c->name, arg);
}

static void
rule_init(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (c->n > 1 && word_in(c->v[1].s, c->v[1].len, "0 6 1 s S u q"))
		walk_never(w, "system shutdown/reboot",
			"%s %s stops or changes the whole machine", c->name,
			c->v[1].s);
	else
		walk_ask(w, GATE_CLASS_FILES, "stop/restart system service",
			"%s changes the run level", c->name);
}

static void
rule_systemctl(struct walk *w, struct gate_cmd *c, const char *arg)
{
	static const char down[] = "poweroff reboot halt kexec soft-reboot "
		"emergency rescue suspend hibernate hybrid-sleep exit";
	static const char shows[] = "status show cat list-units list-unit-files "
		"list-timers list-sockets list-dependencies is-active is-enabled "
		"is-failed get-default show-environment help list-jobs "
		"is-system-running list-machines";
	struct opts o;
	int k;
	const char *verb = NULL;
	opts_init(&o, c, arg, "type state property host machine lines output "
		"signal job-mode root");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k != OPT_WORD)
			continue;
		if (!verb) {
			verb = o.word->s;
			if (o.word->flags & FIELD_ANY)
				break;
			continue;
		}
		if (word_in(verb, strlen(verb), "isolate start") &&
		    word_in(o.word->s, o.word->len, "poweroff.target "
		    "reboot.target halt.target rescue.target emergency.target "
		    "shutdown.target kexec.target"))
			walk_never(w, "system shutdown/reboot",
				"%s stops the machine", o.word->s);
		if (names_us(o.word->s))
			walk_ask_severe(w, GATE_CLASS_FILES, "stop/restart gateway",
				"%s may be the gateway itself", o.word->s);
	}
	if (!verb || word_in(verb, strlen(verb), shows))
		return;
	if (word_in(verb, strlen(verb), down))
		walk_never(w, "system shutdown/reboot",
			"systemctl %s stops the machine", verb);
	else
		walk_ask(w, GATE_CLASS_FILES, "stop/restart system service",
			"systemctl %s changes services", verb);
}

static void
rule_service(struct walk *w, struct gate_cmd *c, const char *arg)
{
	for (size_t i = 1; i < c->n; i++)
		if (word_in(c->v[i].s, c->v[i].len, arg))
			return;
	if (c->n > 1)
		walk_ask(w, GATE_CLASS_FILES, "stop/restart system service",
			"%s changes services", c->name);
}

static void
rule_crontab(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (c->in.text && word_in(c->name, strlen(c->name), "at batch"))
		walk_new_shell(w, c->in.text, c->in.len, &c->in, &c->out);
	if (!opts_has(c, "u:", "l", "list") )
		walk_ask_severe(w, GATE_CLASS_CODE,
			"persistence (service, cron, autostart)",
			"%s keeps commands to be run later", c->name);
}

static void
rule_fuser(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (opts_has(c, "n:", "k", "kill"))
		walk_ask(w, GATE_CLASS_FILES, "process ended",
			"it ends whatever uses the file or port");
}

/* The bus can stop the machine as well as anything else can. */
static void
rule_bus(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool manager = false, down = false;
	(void)arg;
	for (size_t i = 1; i < c->n; i++) {
		manager |= strstr(c->v[i].s, "login1") || strstr(c->v[i].s, "systemd1") ||
			strstr(c->v[i].s, "ConsoleKit");
		down |= strstr(c->v[i].s, "Reboot") || strstr(c->v[i].s, "PowerOff") ||
			strstr(c->v[i].s, "Halt") || strstr(c->v[i].s, "KExec");
	}
	if (manager && down)
		walk_never(w, "system shutdown/reboot", "it stops the machine");
	else if (c->n > 1 && !word_in(c->v[1].s, c->v[1].len, "list status tree "
	    "introspect monitor introspect"))
		walk_ask(w, GATE_CLASS_FILES, "change of system settings",
			"it tells another program what to do");
}

const struct gate_kind kinds_proc[] = {
	{ "kill", rule_kill, NULL },
	{ "pkill killall killall5 skill slay", rule_pkill, "u:U:G:g:P:s:t:o:" },
	{ "fuser", rule_fuser, NULL },
	{ "busctl dbus-send gdbus qdbus", rule_bus, NULL },
	{ "xkill", rule_says, "files|process ended|ends a program" },
	{ "shutdown reboot halt poweroff", rule_shutdown, "stops the machine" },
	{ "init telinit", rule_init, NULL },
	{ "systemctl", rule_systemctl, "t:p:H:M:n:o:s:" },
	{ "service rc-service rc-update invoke-rc.d update-rc.d sv initctl "
	  "supervisorctl launchctl monit pm2 forever", rule_service,
	  "status list --status-all print info show logs monit ls jlist prettylist" },
	{ "nginx apachectl apache2ctl httpd haproxy", rule_unless, "-t -T -v -V "
	  "configtest status -c|files|stop/restart system service|changes a service" },
	{ "crontab at batch atrm anacron fcrontab", rule_crontab, NULL },
	{ "renice", rule_says, "files|process ended|changes other processes" },
	{ NULL, NULL, NULL },
};
