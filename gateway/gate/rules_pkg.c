/* Package managers: what is fetched, installed, removed, published. */
#include <string.h>

#include "gateway/gate/rules.h"

/* Tools that projects commonly run through npx; they are in its lock file. */
static const char npx_known[] = "tsc eslint prettier jest vitest mocha playwright "
	"cypress webpack vite rollup esbuild babel ts-node tsx next nuxt nuxi astro "
	"svelte-check svelte-kit vue-tsc vue-cli-service turbo nx lerna lint-staged "
	"stylelint postcss tailwindcss prisma drizzle-kit typeorm knex sequelize sequelize-cli "
	"storybook start-storybook serve http-server nodemon concurrently rimraf "
	"depcheck npm-check-updates ncu madge c8 nyc tap ava karma gulp grunt parcel "
	"expo react-scripts ng biome oxlint knip size-limit license-checker typedoc "
	"jsdoc markdownlint markdownlint-cli markdownlint-cli2 cspell commitlint "
	"changeset standard xo tsup unbuild tsd publint attw swc pkgroll "
	"@biomejs/biome @angular/cli @playwright/test sort-package-json wait-on "
	"cross-env npm-run-all run-s run-p dotenv pm2 tslint flow react-native "
	"graphql-codegen openapi-typescript json-server electron electron-builder";

static void
ask_removal(struct walk *w, const char *who)
{
	walk_ask(w, GATE_CLASS_FILES, "package uninstall", "%s removes packages", who);
}

static void
ask_remote(struct walk *w, const char *who, const char *what)
{
	walk_ask(w, GATE_CLASS_CODE, "remote package run",
		"%s fetches and runs %s", who, what);
}

static void
ask_publish(struct walk *w, const char *who, const char *what)
{
	walk_ask_severe(w, GATE_CLASS_NETWORK, "publish", "%s %s changes what others "
		"see", who, what);
}

static void
ask_wide(struct walk *w, const char *who)
{
	walk_ask(w, GATE_CLASS_FILES, "install outside the workspace",
		"%s installs for the whole user or machine", who);
}

/* A package named by an address instead of by name. */
static bool
by_address(const char *s)
{
	return strstr(s, "://") || strncmp(s, "git+", 4) == 0 ||
		strncmp(s, "github:", 7) == 0 || strncmp(s, "git@", 4) == 0 ||
		strncmp(s, "file:/", 6) == 0;
}

static const struct gate_field *
first_word(const struct gate_cmd *c, const char *shorts, const char *longs,
	size_t *ret_at)
{
	struct opts o;
	int k;
	opts_init(&o, c, shorts, longs);
	while ((k = opts_next(&o)) != OPT_END)
		if (k == OPT_WORD) {
			*ret_at = o.word_at;
			return o.word;
		}
	*ret_at = c->n;
	return NULL;
}

static void
rule_npx(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "package call registry");
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD) {
		if ((k == 'c' || (k == OPT_LONG && opts_long(&o, "call", 2))) && o.val)
			walk_new_shell(w, o.val_field.s, o.val_field.len, &c->in, &c->out);
		if (k == 'p' || (k == OPT_LONG && opts_long(&o, "package", 2)))
			if (o.val && !word_in(o.val, strcspn(o.val + 1, "@") + 1,
			    npx_known))
				ask_remote(w, c->name, o.val);
		if (k == OPT_LONG && opts_long(&o, "registry", 3))
			ask_remote(w, c->name, "from another registry");
	}
	if (k != OPT_WORD)
		return;
	size_t at = o.word_at;
	if (field_is(o.word, "--") && at + 1 < c->n)
		at++;
	const char *s = c->v[at].s;
	size_t n = s[0] ? strcspn(s + 1, "@") + 1 : 0;
	if (!word_in(s, n, npx_known))
		ask_remote(w, c->name, s);
	rule_data_loss(w, c);
	if (kind_find(s))
		walk_fields(w, c, at);
	rule_build(w, c);
}

static void
npm_install(struct walk *w, struct gate_cmd *c, size_t at)
{
	if (opts_has(c, "", "g", "global location") && !word_in(c->v[at].s,
	    c->v[at].len, "ls list ll la prefix root bin outdated view explain why"))
		ask_wide(w, c->name);
	for (size_t i = 1; i < c->n; i++) {
		const struct gate_field *f = &c->v[i];
		if (field_is(f, "--prefix") && i + 1 < c->n && i > at)
			path_check_write(w, &c->v[i + 1], "installs into");
		if (i > at && f->s[0] != '-' && (by_address(f->s) ||
		    (f->flags & FIELD_FETCHED) ||
		    (strchr(f->s, '.') && path_was_written(w, f))))
			ask_remote(w, c->name, f->s);
		if (field_starts(f, "--registry") || field_starts(f, "--script-shell") ||
		    field_starts(f, "--prefix=/") || field_starts(f, "--userconfig"))
			ask_remote(w, c->name, f->s);
	}
}

static void
npm_config(struct walk *w, struct gate_cmd *c, size_t at)
{
	if (at + 1 < c->n && word_in(c->v[at + 1].s, c->v[at + 1].len,
	    "get list ls current"))
		return;
	walk_ask(w, GATE_CLASS_CODE, "package manager settings",
		"%s keeps settings that later runs obey", c->name);
}

static void
rule_npm(struct walk *w, struct gate_cmd *c, const char *arg)
{
	size_t at;
	const struct gate_field *sub = first_word(c, arg, "prefix filter workspace "
		"registry cwd dir", &at);
	if (opts_has(c, "", "", "script-shell registry"))
		ask_remote(w, c->name, "with other settings");
	if (!sub) {
		rule_build(w, c);
		return;
	}
	const char *s = sub->s;
	size_t n = sub->len;
	bool npm = !strcmp(c->name, "npm");
	bool registry = word_in(s, n, "npm") && at + 1 < c->n;
	if (registry && word_in(c->v[at + 1].s, c->v[at + 1].len, "publish login "
	    "logout tag"))
		ask_publish(w, c->name, c->v[at + 1].s);
	if (!npm && word_in(s, n, "rimraf shx del-cli cross-env concurrently nodemon "
	    "ts-node tsx node prisma sequelize knex typeorm"))
		walk_fields(w, c, at);
	if (word_in(s, n, "publish") && opts_has(c, arg, "", "dry-run"))
		return;
	if (word_in(s, n, "uninstall un remove rm unlink r prune"))
		ask_removal(w, c->name);
	else if (word_in(s, n, "publish unpublish deprecate dist-tag owner access "
	    "team org token login logout adduser profile hook star unstar"))
		ask_publish(w, c->name, s);
	else if (word_in(s, n, "dlx create") || (word_in(s, n, "init") &&
	    at + 1 < c->n && c->v[at + 1].s[0] != '-'))
		ask_remote(w, c->name, at + 1 < c->n ? c->v[at + 1].s : "a package");
	else if (word_in(s, n, "exec x")) {
		struct gate_cmd rest = *c;
		rest.v += at;
		rest.n -= at;
		if (npm)
			rule_npx(w, &rest, "p:c:");
		else
			walk_fields(w, &rest, 1);
	} else if (word_in(s, n, "config set c")) {
		npm_config(w, c, at);
	} else if (word_in(s, n, "link ln plugin global env setup self-update "
	    "edit policies"))
		ask_wide(w, c->name);
	else if (word_in(s, n, "cache store") && at + 1 < c->n &&
	    word_in(c->v[at + 1].s, c->v[at + 1].len, "clean prune rm clear delete"))
		walk_ask(w, GATE_CLASS_FILES, "write outside the workspace",
			"it empties the user's package cache");
	else
		npm_install(w, c, at);
	rule_build(w, c);
}

static void
pip_install(struct walk *w, struct gate_cmd *c)
{
	struct opts o;
	int k;
	opts_init(&o, c, "r:c:e:i:f:t:", "requirement constraint editable index-url "
		"extra-index-url find-links target prefix root proxy python trusted-host "
		"config-settings global-option only-binary no-binary");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 'i' || k == 'f' || (k == OPT_LONG &&
		    (opts_long(&o, "index-url", 3) || opts_long(&o, "extra-index-url", 3) ||
		    opts_long(&o, "find-links", 4) || opts_long(&o, "trusted-host", 3) ||
		    opts_long(&o, "proxy", 4))))
			ask_remote(w, c->name, "packages from another index");
		if (k == 't' || (k == OPT_LONG && (opts_long(&o, "target", 3) ||
		    opts_long(&o, "prefix", 4) || opts_long(&o, "root", 4))))
			path_check_write(w, &o.val_field, "installs into");
		if (k == OPT_LONG && (opts_long(&o, "break-system-packages", 5) ||
		    opts_long(&o, "user", 4) ||
		    opts_long(&o, "system", 6)))
			ask_wide(w, c->name);
		if ((k == OPT_WORD && (by_address(o.word->s) ||
		    (o.word->flags & FIELD_FETCHED) ||
		    (strchr(o.word->s, '.') && path_was_written(w, o.word)))) ||
		    ((k == 'e' || k == 'r') && o.val && by_address(o.val)))
			ask_remote(w, c->name, k == OPT_WORD ? o.word->s : o.val);
	}
}

static void
rule_pip(struct walk *w, struct gate_cmd *c, const char *arg)
{
	size_t at;
	const struct gate_field *sub = first_word(c, "", "python log proxy", &at);
	(void)arg;
	if (!sub)
		return;
	if (word_in(sub->s, sub->len, "uninstall"))
		ask_removal(w, c->name);
	else if (word_in(sub->s, sub->len, "show list freeze check inspect debug help "
	    "tree"))
		return;
	else if (word_in(sub->s, sub->len, "config cache") && at + 1 < c->n &&
	    !word_in(c->v[at + 1].s, c->v[at + 1].len, "list get dir info debug"))
		walk_ask(w, GATE_CLASS_CODE, "package manager settings",
			"pip keeps settings that later runs obey");
	else
		pip_install(w, c);
	rule_build(w, c);
}

/* rest is "run [options] X": X is a program, or a script of the project. */
static void
runner_run(struct walk *w, struct gate_cmd *c, struct gate_cmd *rest)
{
	struct opts o;
	int k;
	opts_init(&o, rest, "+p:n:", "python with env-file name prefix extra "
		"group package project directory");
	bool with = false;
	while ((k = opts_next(&o)) != OPT_END && k != OPT_WORD)
		with |= k == OPT_LONG && opts_long(&o, "with", 4);
	if (with)
		ask_remote(w, c->name, "extra packages");
	/* a name of the project's own, as with "npm run" */
	bool own = k == OPT_WORD && cmd_arg_is(rest, 0, "run") &&
		(!kind_find(o.word->s) || word_in(o.word->s, o.word->len,
		"start stop test lint format dev serve build docs check all "
		"server worker migrate")) && !strchr(o.word->s, '/') &&
		!(o.word->flags & (FIELD_ANY | FIELD_GLOB)) &&
		word_in(c->name, strlen(c->name), "pdm hatch rye pixi pipenv "
		"poetry uv");
	if (own)
		rule_build(w, c);
	else if (k == OPT_WORD)
		walk_fields(w, rest, o.word_at);
}

/* uv, poetry, pipenv, pdm, hatch, conda, bundle: `run X` is X. */
static void
rule_runner(struct walk *w, struct gate_cmd *c, const char *arg)
{
	size_t at;
	const struct gate_field *sub = first_word(c, "C:p:n:", "project directory "
		"python env name prefix", &at);
	(void)arg;
	if (!sub)
		return;
	const char *s = sub->s;
	size_t n = sub->len;
	struct gate_cmd rest = *c;
	rest.v += at;
	rest.n -= at;
	if (word_in(s, n, "run exec")) {
		runner_run(w, c, &rest);
		c->out = rest.out;
	} else if (word_in(s, n, "pip")) {
		rule_pip(w, &rest, NULL);
	} else if (word_in(s, n, "remove uninstall rm"))
		ask_removal(w, c->name);
	else if (word_in(s, n, "publish push login logout"))
		ask_publish(w, c->name, s);
	else if (word_in(s, n, "tool x") && !cmd_arg_is(c, at + 1, "list"))
		ask_remote(w, c->name, "a tool");
	else if (word_in(s, n, "trust allow"))
		walk_ask(w, GATE_CLASS_CODE, "package manager settings",
			"%s then runs what the directory says", c->name);
	else if (word_in(s, n, "shell"))
		walk_ask(w, GATE_CLASS_CODE, "interactive interpreter",
			"%s shell waits for commands", c->name);
	else if (word_in(s, n, "config self python clean plugin source") &&
	    c->n > at + (strcmp(s, "self") == 0 ? 1 : 2))
		walk_ask(w, GATE_CLASS_CODE, "package manager settings",
			"%s changes its own settings", c->name);
	else if (strstr(c->name, "onda") || strstr(c->name, "amba")) {
		bool changes = !strcmp(s, "env") && at + 1 < c->n &&
			!word_in(c->v[at + 1].s, c->v[at + 1].len, "list export");
		if (!word_in(s, n, "list info search activate deactivate env config "
		    "--version") || opts_has(c, "", "", "remove add set") || changes)
			ask_wide(w, c->name);
	} else {
		if (word_in(s, n, "add install sync update upgrade"))
			pip_install(w, &rest);
		rule_build(w, c);
	}
}

static void
rule_pipx(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (c->n > 1 && word_in(c->v[1].s, c->v[1].len, "list --version environment"))
		return;
	ask_remote(w, c->name, c->n > 1 ? c->v[c->n - 1].s : "a package");
}

/* cargo watch -s TEXT, and what stands after "--". */
static void
cargo_watch(struct walk *w, struct gate_cmd *c)
{
	for (size_t i = 1; i + 1 < c->n; i++) {
		const struct gate_field *f = &c->v[i + 1];
		if (field_is(&c->v[i], "--"))
			walk_fields(w, c, i + 1);
		else if (!field_is(&c->v[i], "-s") && !field_is(&c->v[i], "--shell"))
			continue;
		else if (f->flags & FIELD_ANY)
			walk_ask(w, GATE_CLASS_CODE, "code that can't be read",
				"it runs text that is only known at run time");
		else
			walk_new_shell(w, f->s, f->len, &c->in, &c->out);
	}
}

static void
rule_cargo(struct walk *w, struct gate_cmd *c, const char *arg)
{
	size_t at;
	struct opts o;
	int k;
	opts_init(&o, c, "Z:C:p:j:F:", "config manifest-path target-dir features");
	while ((k = opts_next(&o)) != OPT_END)
		if (k == OPT_LONG && opts_long(&o, "config", 4) && !o.ended)
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"--config can name programs to be run");
	const struct gate_field *sub = first_word(c, "Z:C:", "config color", &at);
	(void)arg;
	if (sub && sub->s[0] == '+' && at + 1 < c->n)
		sub = &c->v[++at];
	if (!sub)
		return;
	if (word_in(sub->s, sub->len, "install binstall install-update") &&
	    !opts_has(c, "", "", "list"))
		ask_wide(w, c->name);
	else if (word_in(sub->s, sub->len, "uninstall remove rm"))
		ask_removal(w, c->name);
	else if (word_in(sub->s, sub->len, "publish yank owner login logout") &&
	    !opts_has(c, "", "", "dry-run"))
		ask_publish(w, c->name, sub->s);
	else if (word_in(sub->s, sub->len, "watch"))
		cargo_watch(w, c);
	rule_build(w, c);
}

static void
rule_go(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (c->n < 2)
		return;
	const struct gate_field *sub = &c->v[1];
	if (field_is(sub, "install"))
		ask_wide(w, c->name);
	if (field_is(sub, "env") && opts_has(c, "", "wu", ""))
		walk_ask(w, GATE_CLASS_CODE, "package manager settings",
			"go env -w keeps settings that later runs obey");
	if (field_is(sub, "clean") && opts_has(c, "", "", "") == false)
		for (size_t i = 2; i < c->n; i++)
			if (strstr(c->v[i].s, "cache") &&
			    !strstr(c->v[i].s, "testcache"))
				walk_ask(w, GATE_CLASS_FILES,
					"write outside the workspace",
					"it empties the user's cache");
	for (size_t i = 2; i < c->n; i++) {
		const char *s = c->v[i].s;
		if (field_is(sub, "run") && s[0] != '-' && s[0] != '.' &&
		    strchr(s, '@'))
			ask_remote(w, "go run", s);
		if (!strncmp(s, "-exec", 5) || !strncmp(s, "-toolexec", 9) ||
		    !strncmp(s, "-vettool", 8) || !strncmp(s, "--exec", 6))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"go runs %s", s);
		if (!strcmp(s, "-o") && i + 1 < c->n)
			path_check_write(w, &c->v[i + 1], "writes");
		if (field_is(sub, "run") && strstr(s, ".go"))
			rule_run_script(w, c, &c->v[i]);
	}
	rule_build(w, c);
}

/* System package managers: reading is fine. */
static void
rule_syspkg(struct walk *w, struct gate_cmd *c, const char *arg)
{
	size_t at;
	const struct gate_field *sub = first_word(c, "o:c:t:", "option", &at);
	bool removes = false;
	for (size_t i = 1; i < c->n; i++) {
		if (word_in(c->v[i].s, c->v[i].len, arg))
			return;
		removes |= word_in(c->v[i].s, c->v[i].len, "remove purge uninstall "
			"autoremove erase -r -P -R -Rs -Rns del -e delete rm clean "
			"zap autopurge --remove --purge");
	}
	if ((!sub && c->n == 1) || (!strcmp(c->name, "rpm") && c->n > 1 &&
	    (field_starts(&c->v[1], "-q") || field_starts(&c->v[1], "-V"))))
		return;
	if (removes)
		walk_ask(w, GATE_CLASS_FILES, "package uninstall",
			"%s removes packages from the system", c->name);
	else
		walk_ask(w, GATE_CLASS_FILES, "install outside the workspace",
			"%s changes the system's packages", c->name);
}

static void
rule_gem(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (c->n < 2 || word_in(c->v[1].s, c->v[1].len, "list search info env which "
	    "contents dependency outdated environment build spec help --version -v "
	    "check"))
		return;
	if (word_in(c->v[1].s, c->v[1].len, "uninstall cleanup"))
		ask_removal(w, c->name);
	else if (word_in(c->v[1].s, c->v[1].len, "push yank owner signin"))
		ask_publish(w, c->name, c->v[1].s);
	else
		ask_wide(w, c->name);
}

static void
rule_twine(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (c->n > 1 && word_in(c->v[1].s, c->v[1].len, arg))
		return;
	ask_publish(w, c->name, c->n > 1 ? c->v[1].s : "");
}

const struct gate_kind kinds_pkg[] = {
	{ "npm pnpm yarn yarnpkg cnpm", rule_npm, "w:C:F:" },
	{ "npx pnpx bunx", rule_npx, "+p:c:" },
	{ "pip pip3 pip3.11 pip3.12 pip2", rule_pip, NULL },
	{ "uv poetry pipenv pdm hatch rye conda mamba micromamba bundle bundler "
	  "rvx mise asdf pixi hatchling", rule_runner, NULL },
	{ "uvx pipx degit", rule_pipx, NULL },
	{ "cargo", rule_cargo, NULL },
	{ "go", rule_go, NULL },
	{ "gem", rule_gem, NULL },
	{ "twine vsce ovsx flit goreleaser semantic-release np", rule_twine,
	  "check ls list package build" },
	{ "apt apt-get aptitude dpkg yum dnf microdnf apk zypper emerge "
	  "brew port snap flatpak rpm nix-env opkg xbps-install pkg pkg_add choco "
	  "winget scoop tdnf eopkg slackpkg guix", rule_syspkg,
	  "list show search policy depends rdepends info --version -v -l -L -S -s "
	  "--list --listfiles --search --status madison changelog showpkg -Q -Qi -Qs "
	  "-Ss -Si -Qq -q -qa -qi -ql -qf outdated doctor deps --prefix config --cache "
	  "leaves uses home files cat -i-not find check-update repolist provides "
	  "whatprovides download source --simulate --dry-run "
	  "-c --contents --info -I --print-architecture --get-selections "
	  "desc log" },
	{ "pacman yay paru", rule_syspkg, "-Q -Qi -Qs -Ql -Qo -Qe -Qq -Qu -Ss -Si "
	  "--query --version -F -Qdt" },
	{ "apt-cache apt-file apt-config dpkg-query dpkg-deb rpmspec", rule_syspkg,
	  "search show policy depends rdepends madison pkgnames dump stats "
	  "-W -l -L -S -s -f --list --show --contents -c -I --info list find" },
	{ "apt-key add-apt-repository apt-mark apt-add-repository softwareupdate "
	  "do-release-upgrade unattended-upgrade rustup nvm fnm volta pyenv rbenv "
	  "sdk jenv n corepack ghcup opam-init ollama-install", rule_syspkg,
	  "list ls show current which version --version versions --list "
	  "showmanual showhold use which-all local" },
	{ NULL, NULL, NULL },
};
