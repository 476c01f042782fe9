/* Tools whose first operands say what they do, and what any tool's options do. */
#include <ctype.h>
#include <string.h>

#include "gateway/gate/rules.h"

static bool
leaves_workspace(const char *s)
{
	return s[0] == '/' || strncmp(s, "../", 3) == 0 || strstr(s, "/../") ||
		s[0] == MARK_ANY;
}

static void
long_option(struct walk *w, struct gate_cmd *c, size_t i)
{
	static const char writes[] = "output out output-file output-dir outdir "
		"out-dir outfile out-file log-file logfile report-file junitxml "
		"junit-xml html-report dest destination export outputfile";
	static const char loads[] = "init-script plugin require import loader preload "
		"load rulesdir plugins-dir";
	const char *name = c->v[i].s + 2, *eq = strchr(name, '=');
	size_t n = eq ? (size_t)(eq - name) : strlen(name);
	struct gate_field v = { "", 0, 0 };
	if (eq)
		v = field_text(w, eq + 1, strlen(eq + 1), c->v[i].flags);
	else if (i + 1 < c->n)
		v = c->v[i + 1];
	if (v.len == 0 || (!eq && v.s[0] == '-'))
		return;
	if (word_in(name, n, writes) && leaves_workspace(v.s))
		path_check_write(w, &v, "writes");
	else if (word_in(name, n, loads) && strchr(v.s, '/'))
		rule_run_script(w, c, &v);
	else if (word_in(name, n, "pager pre editor browser shell-command") &&
	    (eq || strchr(v.s, ' ') || strchr(v.s, '/')) &&
	    !rule_program_is_harmless(v.s))
		walk_ask(w, GATE_CLASS_CODE, "program run through an option",
			"--%.*s makes it run %s", (int)n, name, v.s);
}

void
rule_options(struct walk *w, struct gate_cmd *c)
{
	for (size_t i = 1; i < c->n && !field_is(&c->v[i], "--"); i++) {
		if (field_starts(&c->v[i], "--"))
			long_option(w, c, i);
		else if (field_is(&c->v[i], "-o") && i + 1 < c->n &&
		    leaves_workspace(c->v[i + 1].s))
			path_check_write(w, &c->v[i + 1], "writes");
	}
}

/* arg: "removes|publishes|reaches out of the workspace", lists of words; the
 * first operands are looked at until one that runs the project itself. */
static void
rule_verbs(struct walk *w, struct gate_cmd *c, const char *arg)
{
	const char *list[3];
	for (size_t i = 0; i < 3; i++) {
		size_t n = strcspn(arg, "|");
		list[i] = arena_strn(w->arena, arg, n);
		arg += n + (arg[n] == '|');
	}
	size_t words = 0;
	for (size_t i = 1; i < c->n && words < 3; i++) {
		const struct gate_field *f = &c->v[i];
		if (f->s[0] == '-' || word_in(f->s, f->len, "run test exec build"))
			words += f->s[0] == '-' ? 0 : 3;
		else if (word_in(f->s, f->len, list[0]))
			walk_ask(w, GATE_CLASS_FILES, "package uninstall",
				"%s %s removes something", c->name, f->s);
		else if (word_in(f->s, f->len, list[1]) && !opts_has(c, "", "",
		    "dry-run"))
			walk_ask_severe(w, GATE_CLASS_NETWORK, "publish",
				"%s %s changes what others see or use", c->name, f->s);
		else if (word_in(f->s, f->len, list[2]))
			walk_ask(w, GATE_CLASS_FILES, "install outside the workspace",
				"%s %s reaches out of the workspace", c->name, f->s);
		words++;
	}
	if (opts_has(c, "", "", "global") || (!strcmp(c->name, "dotnet") &&
	    opts_has(c, "", "g", "")))
		walk_ask(w, GATE_CLASS_FILES, "install outside the workspace",
			"%s installs for the whole user or machine", c->name);
	for (size_t i = 1; i < c->n; i++)
		if (field_starts(&c->v[i], "-Dexec.executable") ||
		    field_is(&c->v[i], "exec:exec"))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"%s runs a program (%s)", c->name, c->v[i].s);
	rule_options(w, c);
	rule_data_loss(w, c);
	rule_build(w, c);
}

/* Tools that put themselves between git and the user. */
static void
rule_hooks(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (c->n == 1 || word_in(c->v[1].s, c->v[1].len, arg))
		walk_ask(w, GATE_CLASS_CODE, "write of a hook",
			"%s installs or changes hooks, which git runs", c->name);
	rule_build(w, c);
}

static void
rule_direnv(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (c->n < 2 || word_in(c->v[1].s, c->v[1].len, "status version help"))
		return;
	if (cmd_arg_is(c, 1, "exec") && c->n > 3) {
		walk_fields(w, c, 3);
		return;
	}
	walk_ask(w, GATE_CLASS_CODE, "environment that runs code",
		"direnv runs .envrc whenever somebody enters the directory");
}

/* nix: building and looking is fine; what runs a package fetches it. */
static void
rule_nix(struct walk *w, struct gate_cmd *c, const char *arg)
{
	for (size_t i = 1; i + 1 < c->n; i++) {
		if (word_in(c->v[i].s, c->v[i].len, "-c --command")) {
			walk_fields(w, c, i + 1);
			break;
		}
		if (!field_is(&c->v[i], "--run"))
			continue;
		if (c->v[i + 1].flags & FIELD_ANY)
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"it runs text that is only known at run time");
		else
			walk_new_shell(w, c->v[i + 1].s, c->v[i + 1].len, &c->in, &c->out);
	}
	bool reads = c->n > 1 && word_in(c->v[1].s, c->v[1].len, arg);
	for (size_t i = 1; i < c->n; i++)
		reads &= !strchr(c->v[i].s, ':');
	if (!reads && strcmp(c->name, "nix-build") != 0)
		walk_ask(w, GATE_CLASS_CODE, "remote package run",
			"%s fetches and runs packages", c->name);
	rule_build(w, c);
}

const struct gate_kind kinds_verbs[] = {
	{ "composer opam luarocks conan vcpkg bower paket shards nimble dart flutter "
	  "pod gleam stack cabal rebar3 carthage tuist spack pdm-backend",
	  rule_verbs, "remove uninstall rm unlink|publish push upload login deploy|"
	  "global self-update selfupdate self activate" },
	{ "dvc", rule_verbs, "remove gc destroy|push|" },
	{ "dotnet nuget", rule_verbs, "remove delete uninstall|push|" },
	{ "mix", rule_verbs, "deps.clean|hex.publish hex.user hex.owner hex.retire|"
	  "archive.install archive.uninstall local.hex local.rebar escript.install" },
	{ "gradle gradlew mvn mvnw sbt ant lein mill maven", rule_verbs,
	  "|publish deploy release upload site-deploy uploadArchives publishSigned "
	  "release:perform release:prepare bintrayUpload publishPlugins|" },
	{ "flyway liquibase dbmate goose-migrate migrate sqlx diesel", rule_verbs,
	  "clean drop dropAll drop-all down rollback undo reset revert|deploy|" },
	{ "pre-commit lefthook overcommit husky git-secrets simple-git-hooks",
	  rule_hooks, "install uninstall init-templatedir init add set remove" },
	{ "direnv", rule_direnv, NULL },
	{ "nix nix-shell nix-build nix-instantiate", rule_nix, "build flake eval log "
	  "fmt develop show-derivation path-info why-depends search" },
	{ NULL, NULL, NULL },
};
