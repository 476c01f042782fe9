/* Building, testing and running the workspace's own code. */
#include <string.h>

#include "gateway/gate/rules.h"

/* Files that decide what a build runs. */
static bool
is_build_file(const char *path)
{
	const char *name = strrchr(path, '/');
	name = name ? name + 1 : path;
	return word_in(name, strlen(name), "Makefile makefile GNUmakefile package.json "
		"CMakeLists.txt meson.build build.ninja setup.py pyproject.toml "
		"Cargo.toml build.rs build.gradle pom.xml Rakefile Gemfile conftest.py "
		"tox.ini noxfile.py Justfile justfile Taskfile.yml gulpfile.js "
		"webpack.config.js vite.config.js vite.config.ts jest.config.js "
		"configure Dockerfile docker-compose.yml compose.yaml SConstruct "
		"WORKSPACE BUILD dodo.py tasks.py");
}

void
rule_build(struct walk *w, struct gate_cmd *c)
{
	if (w->tree_fetched)
		walk_ask(w, GATE_CLASS_CODE, "fetched code run",
			"%s runs code that this same command fetched", c->name);
	for (const struct walk_path *p = w->written; p; p = p->next) {
		if (!is_build_file(p->path))
			continue;
		walk_ask(w, GATE_CLASS_CODE, "run of what was just written",
			"%s obeys %s, which this same command wrote", c->name, p->path);
		return;
	}
}

static bool
in_tool_dir(struct walk *w, const char *p)
{
	static const char *const dirs[] = { "/bin/", "/sbin/", "/usr/bin/",
		"/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/",
		"/opt/homebrew/bin/", "/snap/bin/", "/usr/lib/jvm/",
		"/usr/local/go/bin/", "/opt/", "/usr/lib/", "/lib64/", "/lib/" };
	static const char *const home[] = { "/.local/bin/", "/.cargo/bin/",
		"/go/bin/", "/.nvm/", "/.pyenv/", "/.rbenv/", "/.bun/bin/",
		"/.deno/bin/", "/.local/share/", "/bin/", "/.npm-global/bin/" };
	size_t n = strlen(w->ctx->home);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (strncmp(p, dirs[i], strlen(dirs[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof(home) / sizeof(home[0]); i++)
		if (strncmp(p, w->ctx->home, n) == 0 &&
		    strncmp(p + n, home[i], strlen(home[i])) == 0)
			return true;
	return false;
}

/* NAME=value of make or configure is like one of the environment. */
static void
make_variable(struct walk *w, const struct gate_field *f)
{
	const char *eq = strchr(f->s, '=');
	if (!eq || eq == f->s)
		return;
	struct gate_field v = field_text(w, eq + 1, strlen(eq + 1), f->flags);
	rule_env(w, arena_strn(w->arena, f->s, strcspn(f->s, ":+?=")), &v, true);
}

/* A command given with its path: the workspace's own programs are like its
 * scripts; elsewhere only the usual directories of tools count. */
void
rule_program(struct walk *w, struct gate_cmd *c)
{
	struct path p = path_of(w, &c->v[0]);
	bool known = p.norm && in_tool_dir(w, p.norm);
	if (p.zone != ZONE_INSIDE && !known) {
		walk_ask(w, GATE_CLASS_CODE, "program outside the workspace",
			"%s isn't in the workspace nor a usual place of programs",
			c->v[0].s);
		return;
	}
	for (size_t i = 1; i < c->n && strcmp(c->name, "configure") == 0; i++)
		make_variable(w, &c->v[i]);
	if (p.zone == ZONE_INSIDE)
		rule_run_script(w, c, &c->v[0]);
	else if (!kind_find(c->name))
		walk_ask(w, GATE_CLASS_CODE, "unknown program",
			"%s is a program that the gate doesn't know", c->v[0].s);
}

/* DESTDIR=X, PREFIX=X: what is installed lands there. */
static bool
make_elsewhere(struct walk *w, const struct gate_field *f)
{
	if (!field_starts(f, "DESTDIR=") && !field_starts(f, "PREFIX=") &&
	    !field_starts(f, "prefix="))
		return false;
	const char *at = strchr(f->s, '=') + 1;
	struct gate_field dir = field_text(w, at, strlen(at), f->flags);
	if (dir.len > 0)
		path_check_write(w, &dir, "installs into");
	return dir.len > 0;
}

static void
rule_make(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool elsewhere = false, install = false, dry = false;
	const char *cwd = w->s.cwd;
	opts_init(&o, c, arg, "file makefile directory eval include-dir "
		"old-file what-if jobs load-average");
	while ((k = opts_next(&o)) != OPT_END) {
		bool lng = k == OPT_LONG;
		if (k == 'f' || (lng && (opts_long(&o, "file", 2) ||
		    opts_long(&o, "makefile", 2)))) {
			if (o.val && field_is(&o.val_field, "-"))
				walk_ask(w, GATE_CLASS_CODE, "script execution via "
					"heredoc", "make obeys its input");
			else
				rule_run_script(w, c, &o.val_field);
		} else if (k == 'E' || (lng && opts_long(&o, "eval", 2))) {
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"make obeys %s", o.val ? o.val : "an option");
		} else if (k == 'C' && o.val) {
			struct path p = path_of(w, &o.val_field);
			if (p.zone != ZONE_INSIDE && p.zone != ZONE_UNKNOWN)
				walk_ask(w, GATE_CLASS_CODE, "script outside the "
					"workspace", "make works in %s", o.val);
		}
		dry |= k == 'n' || (lng && (opts_long(&o, "dry-run", 3) ||
			opts_long(&o, "just-print", 3)));
		if (k != OPT_WORD)
			continue;
		const char *s = o.word->s;
		elsewhere |= make_elsewhere(w, o.word);
		make_variable(w, o.word);
		install |= word_in(s, strlen(s), "install uninstall modules_install "
			"headers_install install-strip install-data install-exec");
		if (word_in(s, strlen(s), "deploy publish upload") && !dry)
			walk_ask(w, GATE_CLASS_NETWORK, "publish",
				"make %s changes what others see or use", s);
		if (!strncmp(s, "SHELL=", 6) || !strncmp(s, ".SHELLFLAGS", 11) ||
		    !strncmp(s, "MAKEFLAGS=", 10) || strstr(s, "$(shell") ||
		    (strchr(s, '=') && (strchr(s, '`') || strchr(s, ';'))))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"make runs commands with %s", s);
	}
	if (install && !elsewhere && !dry)
		walk_ask(w, GATE_CLASS_FILES, "install outside the workspace",
			"it installs into the system");
	w->s.cwd = cwd;
	rule_build(w, c);
}

/* Compilers: what comes from just-written source is just written, too. */
static void
rule_compile(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	struct gate_field out = { "a.out", 5, 0 };
	bool fresh = c->in.present;
	bool in_place = word_in(c->name, strlen(c->name), "objcopy strip ranlib "
		"patchelf install_name_tool lipo");
	opts_init(&o, c, arg, "output");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 'o' && o.val) {
			out = o.val_field;
			path_check_write(w, &out, "writes");
		} else if (k == OPT_WORD) {
			fresh |= path_was_written(w, o.word);
			path_check_read(w, o.word);
			if (in_place)
				path_check_write(w, o.word, "changes");
		}
	}
	for (size_t i = 1; i < c->n; i++)
		if (field_starts(&c->v[i], "-wrapper") ||
		    field_starts(&c->v[i], "-fplugin") ||
		    field_starts(&c->v[i], "-specs") ||
		    field_starts(&c->v[i], "--specs") ||
		    field_starts(&c->v[i], "-fuse-ld=/") ||
		    field_starts(&c->v[i], "-Xclang=-load") ||
		    field_starts(&c->v[i], "-B") || field_starts(&c->v[i], "@") ||
		    field_starts(&c->v[i], "--plugin") ||
		    field_starts(&c->v[i], "-plugin"))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"the compiler loads or runs %s", c->v[i].s);
	if (fresh || w->tree_fetched)
		path_note_written(w, &out, false);
}

/* Words that empty a database in the tools of frameworks. */
void
rule_data_loss(struct walk *w, struct gate_cmd *c)
{
	for (size_t i = 1; i < c->n; i++) {
		const struct gate_field *f = &c->v[i];
		bool two = i + 1 < c->n && ((word_in(f->s, f->len, "migrate migration") &&
			word_in(c->v[i + 1].s, c->v[i + 1].len,
			"reset fresh rollback refresh zero")) ||
			(field_is(f, "migrate") && cmd_arg_is(c, i + 2, "zero")) ||
			(field_is(f, "db") && word_in(c->v[i + 1].s, c->v[i + 1].len,
			"drop reset wipe truncate")));
		if (two || field_is(f, "--accept-data-loss") || word_in(f->s, f->len,
		    "db:drop db:reset db:purge db:wipe migrate:fresh migrate:reset "
		    "ecto.drop ecto.reset flush reset_db sqlflush db:schema:load "
		    "drop-all schema:drop database:drop db:truncate_all migrate:refresh migrate:rollback "
		    "db:migrate:undo db:migrate:undo:all db:rollback downgrade --force-reset"))
			walk_ask(w, GATE_CLASS_FILES, "database emptied or changed",
				"%s %s loses what a database holds", c->name, f->s);
	}
}

/* Tools that run the project's code; arg: verbs and options that reach out. */
static void
rule_tool(struct walk *w, struct gate_cmd *c, const char *arg)
{
	for (size_t i = 1; i < c->n; i++) {
		const struct gate_field *f = &c->v[i];
		/* "-c release" is a value */
		bool value = field_is(f, "release") && c->v[i - 1].s[0] == '-';
		if (word_in(f->s, f->len, arg) && !value)
			walk_ask(w, GATE_CLASS_NETWORK, "publish",
				"%s %s changes what others see or use", c->name, f->s);
		if (strstr(f->s, "://") && !rule_url_local(f->s) &&
		    strcmp(c->name, "java") == 0)
			walk_ask(w, GATE_CLASS_CODE, "remote package run",
				"it runs code from %s", f->s);
	}
	rule_options(w, c);
	rule_data_loss(w, c);
	rule_build(w, c);
}

/* java -jar x.jar, wine, qemu-user: a program of the workspace. */
static void
rule_java(struct walk *w, struct gate_cmd *c, const char *arg)
{
	for (size_t i = 1; i < c->n; i++) {
		const struct gate_field *f = &c->v[i];
		if (field_starts(f, "-agentpath") || field_starts(f, "-javaagent") ||
		    field_starts(f, "-XX:OnError") ||
		    field_starts(f, "-XX:OnOutOfMemoryError"))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"java runs %s", f->s);
		if (strstr(f->s, ".jar") && f->s[0] != '-')
			rule_run_script(w, c, f);
	}
	rule_tool(w, c, arg);
}

/* cmake --install and -P; ninja's tools. */
static void
rule_cmake(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool prefix = opts_has(c, "", "", "prefix destdir");
	for (size_t i = 1; i < c->n; i++) {
		const struct gate_field *f = &c->v[i];
		if ((field_is(f, "--prefix") || field_is(f, "--destdir")) &&
		    i + 1 < c->n && opts_has(c, "", "", "install"))
			path_check_write(w, &c->v[i + 1], "installs into");
		if ((field_is(f, "--install") || field_is(f, "install")) && !prefix)
			walk_ask(w, GATE_CLASS_FILES, "install outside the workspace",
				"it installs into the system");
		if ((field_is(f, "-P") || field_is(f, "-f")) && i + 1 < c->n)
			rule_run_script(w, c, &c->v[i + 1]);
		const char *eq = strncmp(f->s, "-DCMAKE_", 8) ? NULL : strchr(f->s, '=');
		struct gate_field to = field_text(w, eq ? eq + 1 : "", eq ?
			strlen(eq + 1) : 0, f->flags);
		if (eq && (strstr(f->s, "COMPILER") || strstr(f->s, "TOOLCHAIN_FILE") ||
		    strstr(f->s, "LAUNCHER") || strstr(f->s, "_PROGRAM")) &&
		    strchr(to.s, '/') && !path_beneath(to.s, "/usr/bin"))
			rule_run_script(w, c, &to);
		if (field_is(f, "-E") && i + 2 < c->n &&
		    !strcmp(c->name, "cmake")) {
			struct gate_cmd sub = *c;
			sub.v += i + 1;
			sub.n -= i + 1;
			if (word_in(sub.v[0].s, sub.v[0].len, "rm remove "
			    "remove_directory copy rename copy_directory env time "
			    "chdir create_symlink touch make_directory"))
				walk_ask(w, GATE_CLASS_FILES, "program run through "
					"an option", "cmake -E changes files or "
					"runs programs");
		}
	}
	(void)arg;
	rule_build(w, c);
}

const struct gate_kind kinds_build[] = {
	{ "make gmake bmake nmake mingw32-make remake", rule_make,
	  "f:C:I:j::l::o:W:O::E:" },
	{ "gcc g++ cc c++ clang clang++ tcc c99 c89 gfortran g77 ld ar-x as nasm yasm "
	  "gcc-12 gcc-13 g++-12 clang-15 clang-16 rustc swiftc ghc-c ocamlopt "
	  "ocamlc nvcc emcc em++ fpc gnatmake gnat dmd ldc2 gdc kotlinc scalac javac "
	  "groovyc kotlinc-jvm valac vala moc uic rcc lex flex yacc bison m4 cpp protoc "
	  "thrift flatc tsc asc iverilog verilator ghdl avr-gcc arm-none-eabi-gcc "
	  "zig-cc objcopy strip ranlib lipo install_name_tool patchelf",
	  rule_compile, "o:I:L:l:D:x:j:" },
	{ "cmake ninja meson samu ctest cpack", rule_cmake, NULL },
	{ "java", rule_java, "" },
	{ "kotlin scala-cli mono wine wasmtime wasmer qemu-x86_64 qemu-aarch64",
	  rule_java, "" },
	{ "pytest py.test unittest nose2 tox nox coverage mypy pyright pylint flake8 "
	  "ruff black bandit pydocstyle pycodestyle pre-commit pyflakes vulture "
	  "cython maturin sphinx-build mkdocs jupyter-nbconvert invoke doit "
	  "jest vitest mocha ava karma jasmine nyc c8 eslint prettier stylelint "
	  "tslint biome oxlint standard webpack vite rollup esbuild parcel gulp "
	  "grunt babel swc tsup turbo nx lerna next nuxt astro gatsby ng vue ember "
	  "svelte-kit storybook playwright cypress http-server serve json-server "
	  "live-server npm-run-all run-s run-p "
	  "gradle gradlew mvn mvnw ant sbt lein mill maven bazel bazelisk buck buck2 "
	  "pants please scons waf b2 bjam xmake premake5 qmake autoconf automake "
	  "autoreconf aclocal libtoolize configure autogen.sh pkg-config ldd-tree "
	  "swift xcodebuild xcrun dart flutter pod fastlane "
	  "dotnet msbuild nuget paket stack cabal dune opam mix rebar3 gleam "
	  "composer phpunit pest phpstan psalm php-cs-fixer artisan "
	  "rake rails rspec rubocop standardrb minitest cucumber thor jekyll hugo "
	  "zola eleventy hexo gitbook docusaurus zig nimble v crystal-build shards "
	  "golangci-lint staticcheck gotestsum ginkgo mockgen wire sqlc buf "
	  "goose-migrate alembic flask django-admin uvicorn gunicorn hypercorn celery "
	  "redis-server valkey-server memcached mongod minio mailpit caddy "
	  "streamlit daphne waitress-serve fastapi sanic manage.py jupyter "
	  "rustdoc trunk wasm-pack wasm-bindgen cross cargo-nextest mdbook sccache "
	  "ccache distcc gcov lcov genhtml gprof kcov bats shunit2 prove tap "
	  "just task mage earthly act tilt skaffold-lint k6 locust ab wrk hey "
	  "bombardier vegeta siege artillery newman lighthouse "
	  "cppunit gtest ctest-run testem detox espresso "
	  "ctags etags cscope gtags doxygen javadoc yard rdoc typedoc jsdoc "
	  "gettext xgettext msgmerge po4a conan vcpkg "
	  "R-CMD luarocks-lint busted luacheck selene "
	  "semgrep trivy grype syft gitleaks trufflehog snyk checkov tfsec tflint "
	  "behave robot pyre pytype safety pip-audit pip-compile pipdeptree codecov "
	  "dvc mlflow tensorboard bear include-what-you-use gn tup rush bower "
	  "react-native expo svelte remix tailwindcss postcss htmlhint dlv air erb "
	  "perltidy perlcritic hlint ormolu carthage emulator commitizen cz "
	  "standard-version circleci prisma drizzle-kit flyway liquibase sqlfluff "
	  "ansible-lint ansible-doc ansible-inventory kubeval kubeconform kube-linter "
	  "helm-docs cfn-lint electron arduino-cli platformio pio ocamlfind jar jlink jpackage jmod "
	  "age-keygen mkcert lein-test boot buildozer briefcase pyinstaller nuitka "
	  "dbmate migrate appium allure geckodriver chromedriver nodemon "
	  "commitlint lint-staged husky-run changeset",
	  rule_tool, "publish deploy release upload push db:deploy set-password "
	  "install-global gh-deploy" },
	{ "foreman overmind honcho procfile-run", rule_tool, "" },
	{ NULL, NULL, NULL },
};
