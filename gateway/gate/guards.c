/*
 * Files that are more than their bytes: credentials, and what other programs
 * run or obey by itself (start-up files, hooks, units, agent settings).
 */
#include <fnmatch.h>
#include <string.h>

#include "gateway/gate/guards.h"

/* A pattern for fnmatch: "~" is a home, "*" may cross slashes. */
struct guard {
	const char *glob;
	const char *key;
	const char *what;
};

static const char *const cred_globs[] = {
	"*/.ssh", "*/.ssh/*", "*/id_rsa", "*/id_dsa", "*/id_ecdsa", "*/id_ed25519",
	"*/.aws/*", "*/.aws", "*/.azure/*", "*/.azure", "*/.config/gcloud*",
	"*/.kube/config*", "*/.docker/config.json", "*/.netrc", "*/_netrc",
	"*/.pgpass", "*/.my.cnf", "*/.npmrc", "*/.pypirc", "*/.git-credentials",
	"*/.config/gh/*", "*/.config/hub", "*/.gnupg", "*/.gnupg/*",
	"*/.password-store*", "*/.env", "*/.env.local", "*/.env.production",
	"*/.env.prod", "*/.env.development", "*/.env.staging", "*/.env.*.local",
	"*/.hermes/.env", "*/.vault-token", "*/.terraform.d/credentials*",
	"*/.cargo/credentials*", "*/.gem/credentials", "*/.config/rclone*",
	"*/.s3cfg", "*/.boto", "*/.mozilla/*", "*/.config/google-chrome*",
	"*/.local/share/keyrings*", "*/Library/Keychains*", "*/.bash_history",
	"*/.zsh_history", "*/.python_history", "*/.psql_history",
	"*/.mysql_history", "*/.claude/.credentials.json", "*/.codex/auth.json",
	"*/.config/op/*", "*/secrets.y*ml", "*/credentials.json", "*/.htpasswd",
	"*/service-account*.json", "/etc/shadow*", "/etc/gshadow*",
	"/etc/sudoers*", "/etc/ssl/private*", "/etc/ssh/ssh_host_*key",
	"/proc/*/environ", "/proc/*/mem", "/proc/kcore", "/proc/*/auxv",
	"/dev/mem", "/dev/kmem", "/run/secrets*", "/var/run/secrets*",
	"*/*.key", "*/*private*.pem", "*/privkey*.pem", "*/*.p12", "*/*.pfx",
	"*/*.jks", "*/*.kdbx", "*/*.ovpn",
	"*/.config/sops*", "*/*.pem.key", "*/.step/*", "*/kubeconfig",
	"/root/.*_history", "/proc/*/fd/*", "*/.mc/config.json", "*/.dockercfg",
	"/etc/kubernetes/*", "*/.rhosts", "*/.fetchmailrc", "*/.msmtprc",
	"*/.m2/settings*.xml", "*/.gradle/gradle.properties", "*/wallet.dat",
	"*/.wallet*", "*/.electrum/*", "*/.ethereum/*", "*/.config/solana/*",
	"*/\\*.env",
};

#define RC "overwrite shell start-up file"
#define HOOK "write of a hook"
#define AGENT "overwrite agent settings"
#define UNIT "persistence (service, cron, autostart)"

static const struct guard guards[] = {
	{ "*/.env", "overwrite project env/config", "it is the project's .env" },
	{ "*/.env.*", "overwrite project env/config", "it is the project's .env" },
	{ "*/.envrc", "overwrite project env/config", "direnv runs it" },
	{ "*/.bashrc", RC, "every shell runs it" },
	{ "*/.bash_profile", RC, "every login runs it" },
	{ "*/.bash_login", RC, "every login runs it" },
	{ "*/.bash_logout", RC, "every logout runs it" },
	{ "*/.bash_aliases", RC, "every shell runs it" },
	{ "*/.profile", RC, "every login runs it" },
	{ "*/.zsh*", RC, "every shell runs it" },
	{ "*/.zprofile", RC, "every login runs it" },
	{ "*/.zlog*", RC, "every login runs it" },
	{ "*/.kshrc", RC, "every shell runs it" },
	{ "*/.cshrc", RC, "every shell runs it" },
	{ "*/.tcshrc", RC, "every shell runs it" },
	{ "*/.inputrc", RC, "every shell obeys it" },
	{ "*/.xinitrc", RC, "every session runs it" },
	{ "*/.xprofile", RC, "every session runs it" },
	{ "*/.vimrc", RC, "the editor runs it" },
	{ "*/.config/nvim/*", RC, "the editor runs it" },
	{ "*/.emacs*", RC, "the editor runs it" },
	{ "*/.tmux.conf", RC, "tmux runs it" },
	{ "*/.config/fish/*", RC, "every shell runs it" },
	{ "*/.gdbinit", RC, "the debugger runs it" },
	{ "*/.gitconfig", "overwrite git configuration", "git runs what it names" },
	{ "*/.config/git/*", "overwrite git configuration", "git runs what it names" },
	{ "*/.git/hooks*", HOOK, "git runs it" },
	{ "*/.git", "overwrite git configuration", "git runs what it names" },
	{ "*/.git/*", "overwrite git configuration", "git runs what it names" },
	{ "*/.husky*", HOOK, "git runs it" },
	{ "*/.vscode*", AGENT, "the editor runs tasks from it" },
	{ "*/.idea/*", AGENT, "the editor runs tasks from it" },
	{ "*/.devcontainer*", AGENT, "the editor runs it" },
	{ "*/.mcp.json", AGENT, "agents start programs from it" },
	{ "*/mcp.json", AGENT, "agents start programs from it" },
	{ "*/.claude*", AGENT, "an agent obeys it" },
	{ "*/.cursor*", AGENT, "an agent obeys it" },
	{ "*/.codex*", AGENT, "an agent obeys it" },
	{ "*/.gemini*", AGENT, "an agent obeys it" },
	{ "*/.aider*", AGENT, "an agent obeys it" },
	{ "*/.hermes*", AGENT, "an agent obeys it" },
	{ "*/.openclaw*", AGENT, "an agent obeys it" },
	{ "*/.windsurf*", AGENT, "an agent obeys it" },
	{ "*/.clinerules*", AGENT, "an agent obeys it" },
	{ "*/.continue/*", AGENT, "an agent obeys it" },
	{ "*/CLAUDE.md", AGENT, "an agent obeys it" },
	{ "*/AGENTS.md", AGENT, "an agent obeys it" },
	{ "*/GEMINI.md", AGENT, "an agent obeys it" },
	{ "*/.github/copilot-instructions.md", AGENT, "an agent obeys it" },
	{ "*/gatehouse.yaml", AGENT, "it is the gateway's configuration" },
	{ "*/.ssh*", "overwrite sensitive user file", "it decides who may log in" },
	{ "*/.gnupg*", "overwrite sensitive user file", "it holds keys" },
	{ "*/.netrc", "overwrite sensitive user file", "it holds passwords" },
	{ "*/.pgpass", "overwrite sensitive user file", "it holds passwords" },
	{ "*/.npmrc", "overwrite sensitive user file", "npm obeys it" },
	{ "*/.yarnrc*", "overwrite sensitive user file", "yarn obeys it" },
	{ "*/.pypirc", "overwrite sensitive user file", "it holds passwords" },
	{ "*/.aws*", "overwrite sensitive user file", "it holds credentials" },
	{ "*/.kube/*", "overwrite sensitive user file", "it holds credentials" },
	{ "*/.docker/*", "overwrite sensitive user file", "docker obeys it" },
	{ "*/.config/pip/*", "overwrite sensitive user file", "pip obeys it" },
	{ "*/pip.conf", "overwrite sensitive user file", "pip obeys it" },
	{ "*/.cargo/config*", "overwrite sensitive user file", "cargo obeys it" },
	{ "*/.config/systemd/*", UNIT, "it is started by itself" },
	{ "*/.config/autostart*", UNIT, "it is started by itself" },
	{ "*/LaunchAgents*", UNIT, "it is started by itself" },
	{ "*/LaunchDaemons*", UNIT, "it is started by itself" },
	{ "/etc/cron*", UNIT, "it is started by itself" },
	{ "/var/spool/cron*", UNIT, "it is started by itself" },
	{ "/etc/systemd/*", UNIT, "it is started by itself" },
	{ "/lib/systemd/*", UNIT, "it is started by itself" },
	{ "/usr/lib/systemd/*", UNIT, "it is started by itself" },
	{ "/etc/init.d/*", UNIT, "it is started by itself" },
	{ "/etc/rc*", UNIT, "it is started by itself" },
	{ "/etc/profile*", RC, "every login runs it" },
	{ "/etc/ld.so*", "overwrite system config", "every program loads it" },
	{ "/etc/*", "overwrite system config", "it is the system's configuration" },
};

static bool
is_public_key(const char *p)
{
	return fnmatch("*.pub", p, 0) == 0 || fnmatch("*/known_hosts*", p, 0) == 0;
}

/* A template is no secret and obeyed by nobody. */
static bool
is_template(const char *p)
{
	static const char *const globs[] = { "*.example", "*.sample", "*.template",
		"*/.env.example*", "*/.env.sample*", "*/.env.template*", "*.dist", "*.tmpl", "*/.env.test", "*/.env.ci" };
	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++)
		if (fnmatch(globs[i], p, 0) == 0)
			return true;
	return false;
}

/* Active globs as such, anything unknown as a star, for comparing. */
static char *
as_text(struct arena *a, const char *s)
{
	char *t = arena_str(a, s);
	for (char *p = t; *p; p++)
		*p = *p == MARK_NAME ? '1' : *p == MARK_ANY ? '1' :
			*p == MARK_STAR || *p == MARK_QUEST ? '*' :
			*p == MARK_BRACKET ? '[' : *p;
	return t;
}

/* Could a glob of the operand stand for a file that holds credentials? At least
 * two letters of it must be given: "*" names nothing in particular. */
static bool
glob_hits_secret(struct arena *a, const char *norm)
{
	static const char *const names[] = { ".env", ".netrc", ".npmrc", ".pgpass",
		".git-credentials", "id_rsa", "id_ed25519", "credentials.json",
		"secrets.yml", "secrets.yaml" };
	const char *last = strrchr(norm, '/');
	last = last ? last + 1 : norm;
	if (strcspn(last, "\x01\x02\x03\x04\x05") < 2 || !strpbrk(last, "\x03\x04"))
		return false;
	char *glob = arena_str(a, last);
	for (char *p = glob; *p; p++)
		*p = *p == MARK_STAR ? '*' : *p == MARK_QUEST ? '?' : *p;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fnmatch(glob, names[i], 0) == 0)
			return true;
	return false;
}

/* Most paths match no pattern: these marks are in all that could. */
static bool
worth_a_look(const char *s)
{
	static const char *const starts[] = { "/etc", "/proc", "/dev", "/run", "/var",
		"/lib", "/usr/lib" };
	static const char *const marks[] = { "/.", "id_", "secret", "credential",
		"service-account", "mcp.json", "claude.md", "agents.md", "gemini.md",
		"gatehouse", "pip.conf", "kubeconfig", "launch", "keychain", ".key",
		"_netrc", ".pem", ".p12", ".pfx", ".jks", ".kdbx", ".ovpn" };
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(s, starts[i], strlen(starts[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strcasestr(s, marks[i]))
			return true;
	return strpbrk(s, "\x01\x03\x04\x05") != NULL;
}

void
guard_path(struct walk *w, struct path *p)
{
	if (!p->norm || p->zone == ZONE_STREAM || (!p->all && !worth_a_look(p->norm)))
		return;
	if (strlen(p->norm) > 4096)	/* no file has such a name */
		return;
	const char *s = as_text(w->arena, p->norm);
	if (p->all)
		s = arena_join(w->arena, s, "/", "*");
	if (is_template(s))
		return;
	p->cred = p->glob && glob_hits_secret(w->arena, p->norm);
	for (size_t i = 0; i < sizeof(cred_globs) / sizeof(cred_globs[0]); i++)
		if (fnmatch(cred_globs[i], s, FNM_CASEFOLD) == 0 &&
		    !is_public_key(s))
			p->cred = true;
	for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++) {
		if (fnmatch(guards[i].glob, s, FNM_CASEFOLD) != 0)
			continue;
		p->guarded = guards[i].what;
		p->guard_key = guards[i].key;
		return;
	}
}
