/*
 * The order matters: argv; then the launcher, before any thread and before any
 * secret is read; as root then the change to gateway.user; then .env and
 * config.yaml; then the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/redact.h"
#include "gateway/cli.h"
#include "gateway/config_write.h"
#include "gateway/env.h"
#include "gateway/user.h"

extern char **environ;

/* A descriptor opened later must never become 0, 1 or 2. */
static void
hold_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static int
set_log_level(const struct cli_ctx *ctx)
{
	const char *name = cli_option(ctx, "log-level");
	enum log_level level = LOG_INFO;

	if (!name && cli_option(ctx, "verbose"))
		name = "debug";
	if (!name && ctx->config)
		name = ctx->config->logging.level;
	if (name && !log_level_parse(name, &level)) {
		cli_complain("--log-level: expected error, warn, info, debug or trace");
		return CLI_USAGE;
	}
	log_open(STDERR_FILENO, level);
	return -1;
}

/*
 * Processes of our own user (commands of backend local) can't read our memory
 * or environment.  LeakSanitizer couldn't either.
 */
#ifdef __SANITIZE_ADDRESS__
static void
hide_memory(void)
{
}
#else
static void
hide_memory(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0);
}
#endif

/* Before threads and secrets: what it inherits, its children might see. */
static int
start_launcher(struct cli_ctx *ctx)
{
	CLEANUP_FREE char *helper = helper_path(&ctx->launcher_err);

	ctx->launcher = helper ? launcher_start(helper, &ctx->launcher_err) : NULL;
	if (ctx->launcher || !(ctx->command->needs & CLI_NEEDS_LAUNCHER))
		return 0;
	cli_complain("%s", ctx->launcher_err.text);
	return -1;
}

/* -1: go on. As root: the configuration may name whom to become. */
static int
give_up_root(struct cli_ctx *ctx)
{
	struct report rep;
	struct err err = { ERR_NONE, "" };

	if (geteuid() != 0)
		return -1;
	hide_memory();		/* it reads secrets, too */
	report_init(&rep);
	struct config *cfg = cli_load_config(ctx, NULL, &rep);
	bool named = cfg && *cfg->gateway.user;
	int status = named && user_become(cfg->gateway.user, &ctx->home, &err) ?
		CLI_CONFIG : -1;
	config_free(&cfg);
	report_done(&rep);
	if (status >= 0)
		cli_complain("%s", err.text);
	if (named)
		hide_memory();	/* the change of ids has undone it */
	ctx->environ = (const char *const *)environ;
	return status;
}

/* -1: go on. */
static int
prepare(struct cli_ctx *ctx)
{
	unsigned needs = ctx->command->needs;
	struct report rep;
	struct err err;

	if (needs & CLI_STANDALONE)
		return -1;
	if (home_find(&ctx->home, cli_option(ctx, "home"), ctx->environ, &err)) {
		cli_complain("%s", err.text);
		return CLI_CONFIG;
	}
	if (needs & (CLI_NEEDS_LAUNCHER | CLI_TRIES_LAUNCHER) && start_launcher(ctx))
		return CLI_FAIL;
	int status = give_up_root(ctx);
	if (status >= 0)
		return status;
	if (home_check(&ctx->home, &err) ||
	    (needs & CLI_NEEDS_HOME && home_create(&ctx->home, &err))) {
		cli_complain("%s", err.text);
		return CLI_CONFIG;
	}
	if (ctx->home.tightened)
		cli_complain("others could enter %s: its mode is 0700 now",
			ctx->home.dir);
	if (!(needs & CLI_NEEDS_CONFIG))
		return set_log_level(ctx);
	hide_memory();
	report_init(&rep);
	ctx->config = cli_load_config(ctx, NULL, &rep);
	cli_print_report(&rep, false);
	report_done(&rep);
	if (!ctx->config)
		return CLI_CONFIG;
	env_hide_secrets(environ);
	if (*ctx->config->timezone) {
		setenv("TZ", ctx->config->timezone, 1);
		tzset();
	}
	/* Only who may become the owner; a read-only file stays as it is. */
	if (needs & CLI_NEEDS_HOME && config_migrate(ctx->config, &err))
		cli_complain("the configuration can't be brought up to date: %s",
			err.text);
	return set_log_level(ctx);
}

/*
 * Lost output is a failure; a reader that has seen enough (head) is none.
 */
static int
finish_output(int status)
{
	bool failed = fflush(stdout) != 0;
	int error = failed ? errno : 0;

	if ((failed || ferror(stdout)) && error != EPIPE && error != 0) {
		cli_complain("can't write the output: %s", strerror(error));
		return status ? status : CLI_FAIL;
	}
	return status;
}

int
main(int argc, char **argv)
{
	struct cli_ctx ctx = { .environ = (const char *const *)environ };
	int status;

	hold_standard_fds();
	umask(077);		/* what we write is nobody else's to read */
	signal(SIGPIPE, SIG_IGN);
	status = cli_parse(&ctx, argc, argv);
	if (status < 0)
		status = prepare(&ctx);
	if (status < 0)
		status = ctx.command->main(&ctx);
	status = finish_output(status);
	launcher_free(&ctx.launcher);
	config_free(&ctx.config);
	home_done(&ctx.home);
	redact_clear();
	return status;
}
