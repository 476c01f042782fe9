#include "sandbox/env_refuse.h"

#include <fnmatch.h>
#include <stddef.h>
#include <strings.h>

#include "base/mem.h"

/*
 * Shapes cover the keys of services nobody has thought of yet; the names below
 * them are credentials, or places of credentials, with no such shape.
 */
static const char *const credentials[] = {
	"*API_KEY*", "*APIKEY*", "*_KEY", "*_KEYS", "*_KEY_ID", "*_KEY_PATH",
	"TOKEN", "*_TOKEN", "*_TOKEN_*", "*_TOKENS", "*ACCESSTOKEN*", "*AUTHTOKEN*",
	"*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*",
	"*CREDENTIAL*", "*_AUTH", "*_AUTHORIZATION", "*_COOKIE*", "*_PAT",
	"*_DSN", "*WEBHOOK*", "*PRIVATE_KEY*", "*_CERT_KEY",
	"DATABASE_URL", "*_DATABASE_URL", "REDIS_URL", "MONGO*_URL",
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNUPGHOME",
	"DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_AUTH_CONFIG", "KUBECONFIG",
	"DBUS_*", "XAUTHORITY", "NETRC", "PGPASSFILE", "AWS_PROFILE",
	"AWS_SHARED_*", "AWS_CONFIG_FILE", "CLOUDSDK_*", "AZURE_*", "VAULT_*",
	"OP_SESSION_*", "NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY",
	/* our own and what older gateways of this kind call theirs */
	"GATEHOUSE_*", "HERMES_*", "_HERMES_*", "TERMINAL_*", "GATEWAY_*",
	"TELEGRAM_*", "DISCORD_*", "SLACK_*", "WHATSAPP_*", "SIGNAL_*",
	"MATRIX_*", "MATTERMOST_*", "EMAIL_*", "HASS_*", "TWILIO_*",
	"OPENAI_*", "OPENROUTER_*", "ANTHROPIC_*", "CLAUDE_*", "LLM_MODEL",
	"GOOGLE_APPLICATION_*", "VERTEX_*", "GITHUB_APP_*", "GH_HOST",
	"SUDO_PASSWORD", "SUDO_ASKPASS", "SSH_ASKPASS", "GIT_ASKPASS",
	"*_PROXY_USER", "VERCEL_*", "MODAL_*", "DAYTONA_*",
};

/* What would change how the next command is read, found or loaded. */
static const char *const transient[] = {
	"PATH", "IFS", "ENV", "BASH*", "LD_*", "PS0", "PS1", "PS2", "PS3",
	"PS4", "PROMPT_COMMAND", "PROMPT_DIRTRIM", "GIT_*", "PYTHON*",
	"NODE_OPTIONS", "NODE_PATH", "NODE_REPL_*", "PERL*", "RUBY*", "JAVA_*",
	"JDK_JAVA_*", "_JAVA_*", "CLASSPATH", "LUA_*", "PHPRC", "PHP_INI_*",
	"GEM_*", "BUNDLE_*", "CDPATH", "GLOBIGNORE", "SHELLOPTS", "EXECIGNORE",
	"FIGNORE", "HISTFILE", "INPUTRC", "HOME", "USER", "LOGNAME", "SHELL",
	"PWD", "OLDPWD", "SHLVL", "_", "TERM", "PAGER", "*_PAGER", "EDITOR",
	"VISUAL", "*_EDITOR", "BROWSER", "LESS*", "MAN*PAGER", "MAKEFLAGS",
	"MFLAGS", "GNUMAKEFLAGS", "GCONV_PATH", "LOCPATH", "NLSPATH",
	"MALLOC_*", "GLIBC_TUNABLES", "HOSTALIASES", "RESOLV_HOST_*",
	"LOCALDOMAIN", "RES_OPTIONS", "SSH_*", "GPG_*", "AI_AGENT",
	"GATEHOUSE*", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"CURL_*", "WGETRC", "TAR_OPTIONS", "GREP_OPTIONS", "RSYNC_*",
	"OPENSSL_*", "SSL_CERT_*", "DYLD_*", "ZDOTDIR", "RIPGREP_CONFIG_PATH",
};

static bool
listed(const char *const *patterns, size_t n, const char *name, int flags)
{
	for (size_t i = 0; i < n; i++) {
		if (fnmatch(patterns[i], name, flags) == 0)
			return true;
	}
	return false;
}

bool
env_refused(const char *name, const char *const *more)
{
	for (; more && *more; more++) {
		if (strcasecmp(*more, name) == 0)
			return true;
	}
	return listed(credentials, ARRAY_LEN(credentials), name,
	    FNM_CASEFOLD);
}

bool
env_may_persist(const char *name)
{
	return !listed(transient, ARRAY_LEN(transient), name, 0);
}
