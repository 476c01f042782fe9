/* Variables of the environment: what later programs load or run for them. */
#include <string.h>

#include "gateway/gate/rules.h"

/* Variables that make later programs load or run something. */
static bool
env_runs_code(const char *name)
{
	static const char list[] = "BASH_ENV ENV IFS PS0 PS1 PS4 PROMPT_COMMAND "
		"SHELLOPTS BASHOPTS GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF "
		"GIT_PROXY_COMMAND GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS "
		"GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG GIT_CONFIG_GLOBAL "
		"GIT_CONFIG_SYSTEM GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS "
		"GIT_DIR GIT_WORK_TREE GIT_ALTERNATE_OBJECT_DIRECTORIES "
		"NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONSTARTUP PYTHONHOME "
		"PYTHONINSPECT PYTHONUSERBASE PYTHONBREAKPOINT PERL5OPT PERL5LIB "
		"PERLLIB PERL5DB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS "
		"JDK_JAVA_OPTIONS CLASSPATH MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES "
		"LESSOPEN LESSCLOSE GCONV_PATH GLIBC_TUNABLES HOSTALIASES "
		"TERMINFO NLSPATH CDPATH GLOBIGNORE FIGNORE HISTFILE INPUTRC "
		"RSYNC_RSH CVS_RSH TAR_OPTIONS GZIP UNZIP ZIPOPT TAPE "
		"RUSTC_WRAPPER RUSTC RUSTC_WORKSPACE_WRAPPER CARGO_HOME "
		"DOCKER_HOST DOCKER_CONTEXT CONTAINER_HOST KUBECONFIG "
		"OPENSSL_CONF OPENSSL_ENGINES SSL_CERT_FILE CURL_HOME WGETRC "
		"PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_CONFIG_FILE UV_INDEX_URL "
		"npm_config_registry NPM_CONFIG_REGISTRY npm_config_script_shell "
		"GOFLAGS GOPROXY GOTOOLDIR GEM_HOME GEM_PATH BUNDLE_GEMFILE "
		"R_PROFILE LUA_INIT LUA_PATH PHPRC PHP_INI_SCAN_DIR "
		"EMACSLOADPATH VIMINIT EXINIT XDG_CONFIG_HOME ZDOTDIR SHELL "
		"http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy "
		"GIT_SSL_NO_VERIFY NODE_TLS_REJECT_UNAUTHORIZED HOME "
		"HERMES_YOLO_MODE MANOPT QEMU_LD_PREFIX EDITOR_CMD "
		"BASH_ALIASES BASH_CMDS BASH_LOADABLES_PATH";
	return word_in(name, strlen(name), list) ||
		strncmp(name, "LD_", 3) == 0 || strncmp(name, "DYLD_", 5) == 0 ||
		strncmp(name, "BASH_FUNC_", 10) == 0 ||
		strncmp(name, "GIT_CONFIG_", 11) == 0 ||
		strncmp(name, "npm_config_", 11) == 0 ||
		(strncmp(name, "CARGO_", 6) == 0 && (strstr(name, "RUNNER") ||
		strstr(name, "LINKER") || strstr(name, "RUSTC") ||
		strstr(name, "WRAPPER")));
}

/* Programs that others start: fine if they are known and harmless. */
static bool
names_program(const char *name)
{
	return word_in(name, strlen(name), "PAGER MANPAGER GIT_PAGER EDITOR VISUAL "
		"GIT_EDITOR GIT_SEQUENCE_EDITOR BROWSER CC CXX LD AR MAKE "
		"SYSTEMD_PAGER SYSTEMD_EDITOR FCEDIT SUDO_EDITOR LESSEDIT "
		"HGEDITOR SVN_EDITOR KUBE_EDITOR GH_PAGER GH_EDITOR DELTA_PAGER "
		"BAT_PAGER AWS_PAGER PSQL_PAGER");
}

/* Values of such variables that load nothing but the project itself. */
static bool
harmless_value(const char *name, const char *s)
{
	static const char *const flags[] = { "--max-old-space-size=",
		"--openssl-legacy-provider", "--experimental-vm-modules",
		"--no-warnings", "--trace-warnings", "--enable-source-maps",
		"--max-http-header-size=", "--unhandled-rejections=",
		"--no-deprecation", "-mod=", "-race", "-count=", "-buildvcs=", "-v" };
	if (word_in(name, strlen(name), "PYTHONPATH NODE_PATH RUBYLIB PERL5LIB"))
		return word_in(s, strcspn(s, ":"), ". src lib app ./src ./lib .. tests");
	if (!word_in(name, strlen(name), "NODE_OPTIONS GOFLAGS MAKEFLAGS"))
		return false;
	while (*s) {
		bool known = strcmp(name, "MAKEFLAGS") == 0 && s[0] == '-' &&
			s[1] == 'j';
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
			known |= strncmp(s, flags[i], strlen(flags[i])) == 0;
		if (!known)
			return false;
		s += strcspn(s, " ");
		s += strspn(s, " ");
	}
	return true;
}

/* Options that load or run nothing, and nothing that a shell would obey. */
static bool
harmless_options(const char *s)
{
	static const char *const bad[] = { "-wrapper", "-fplugin", "-specs", "-B",
		"-c", "-C", "-e", "-l", "-L", "-s ", "-S", "-u", "--cmd", "--eval",
		"--load", "-plugin", "-X", "-k", "-o", "-O/", "-O.", "--lesskey" };
	if (strpbrk(s, ";|&<>$`()+!'\"\\\n{}*?~\x01\x02\x03\x04\x05"))
		return false;
	for (; *s; s += strcspn(s, " ")) {
		s += strspn(s, " ");
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			if (strncmp(s, bad[i], strlen(bad[i])) == 0)
				return false;
	}
	return true;
}

bool
rule_program_is_harmless(const char *s)
{
	if (!harmless_options(s + strcspn(s, " ")))
		return false;
	return *s == '\0' || word_in(s, strcspn(s, " "), "cat true : less more "
		"gcc g++ cc c++ clang clang++ tcc ld ar gmake make gcc-12 gcc-13 "
		"clang-15 clang-16 lld gold ccache vim vi nano emacs code none") ;
}

/* PATH is fine with the workspace's own tool directories behind or before it. */
static bool
path_value_bad(struct walk *w, const struct gate_field *v)
{
	const char *s = v->s;
	for (;;) {
		size_t n = strcspn(s, ":");
		struct gate_field part = field_text(w, s, n, 0);
		struct path p = path_of(w, &part);
		bool unknown = n == 1 && *s == MARK_ANY;	/* $PATH */
		bool system = p.zone == ZONE_HOME || (p.norm &&
			(!strncmp(p.norm, "/usr/", 5) || !strncmp(p.norm, "/opt/", 5) ||
			!strcmp(p.norm, "/bin") || !strcmp(p.norm, "/sbin") ||
			!strncmp(p.norm, "/snap/", 6) || !strncmp(p.norm, "/nix/", 5)));
		bool tools = p.zone == ZONE_INSIDE && p.norm &&
			(strstr(p.norm, "/bin") || strstr(p.norm, "/.venv/") ||
			strstr(p.norm, "/node_modules/.bin"));
		if (n == 0 || (!unknown && !system && !tools) ||
		    (*s != '/' && !unknown && !tools))
			return true;
		if (!s[n])
			return false;
		s += n + 1;
	}
}

/* Options for a compiler or a virtual machine that load or run something. */
static bool
options_run_code(const char *name, const char *s)
{
	static const char *const runs[] = { "-javaagent", "-agentpath", "-agentlib",
		"-XX:On", "-Clinker", "-C linker", "-fplugin", "-wrapper", "-specs=",
		"-toolexec", "-fuse-ld=/", "-Xclang -load", "-fpass-plugin" };
	size_t n = strlen(name);
	if (n < 4 || (strcmp(name + n - 4, "OPTS") && strcmp(name + n - 4, "LAGS") &&
	    strcmp(name + n - 4, "ARGS") && (n < 7 || strcmp(name + n - 7, "OPTIONS"))))
		return false;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++)
		if (strstr(s, runs[i]))
			return true;
	return false;
}

void
rule_env(struct walk *w, const char *name, const struct gate_field *value,
	bool exported)
{
	(void)exported;
	if (strcmp(name, "PATH") == 0 && path_value_bad(w, value))
		walk_ask(w, GATE_CLASS_CODE, "environment that runs code",
			"PATH then finds other programs (%s)", value->s);
	else if (strcmp(name, "IFS") == 0 && value->len <= 3 &&
	    !(value->flags & FIELD_ANY))
		return;		/* the walker stops resolving instead */
	else if ((strncmp(name, "GIT_SSL", 7) != 0 && env_runs_code(name) &&
	    value->len > 0 && !harmless_value(name, value->s)) || strcmp(name, "GIT_SSL_NO_VERIFY") == 0)
		walk_ask(w, GATE_CLASS_CODE, "environment that runs code",
			"%s changes what later programs load or run", name);
	else if ((strncmp(name, "GIT_TRACE", 9) == 0 ||
	    strcmp(name, "GIT_INDEX_FILE") == 0) && value->s[0] == '/')
		path_check_write(w, value, "writes");
	else if (strcmp(name, "LESS") == 0 && strpbrk(value->s, "!|+"))
		walk_ask(w, GATE_CLASS_CODE, "environment that runs code",
			"less obeys %s", value->s);
	else if (options_run_code(name, value->s))
		walk_ask(w, GATE_CLASS_CODE, "environment that runs code",
			"%s makes a program load or run something (%s)", name,
			value->s);
	else if (names_program(name) && !rule_program_is_harmless(value->s))
		walk_ask(w, GATE_CLASS_CODE, "environment that runs code",
			"%s names a program that others start (%s)", name, value->s);
}
