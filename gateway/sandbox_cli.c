/*
 * Streams stdout and stderr apart and exits with the command's code.
 */
#include "gateway/sandbox_cli.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "gateway/sandbox_oneshot.h"

struct exec {
	struct oneshot shot;
	struct timer *hang_up;
	char *command;
	bool broken;
};

/* Nobody reads any more. */
static void
on_hang_up(void *arg)
{
	struct exec *e = arg;

	e->hang_up = NULL;
	if (!e->shot.interrupted)
		oneshot_stop(&e->shot, 128 + SIGPIPE);
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct exec *e = arg;

	while (len > 0 && !e->broken) {
		ssize_t n = write(fd == 2 ? STDERR_FILENO : STDOUT_FILENO, data,
		    len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			e->broken = true;
			e->hang_up = loop_defer(e->shot.loop, "hang up", on_hang_up,
			    e);
			return;
		}
		data += n;
		len -= (size_t)n;
	}
}

static void
on_ran(void *arg, const struct sandbox_result *res)
{
	struct exec *e = arg;

	e->shot.op = NULL;
	if (res->error)
		cli_complain("%s", res->error);
	if (res->exit_code == SANDBOX_EXIT_TIMEOUT)
		cli_complain("the command was ended after %lld s",
		    (long long)(e->shot.timeout_ms / 1000));
	if (res->note)
		cli_complain("%s", res->note);
	oneshot_finish(&e->shot, res->exit_code == SANDBOX_EXIT_REFUSED ?
	    ONESHOT_FAILED : res->exit_code);
}

static void
on_begin(void *arg)
{
	struct exec *e = arg;
	struct sandbox_cmd cmd = { .command = e->command, .split = true };

	oneshot_run(&e->shot, &cmd, on_output, on_ran);
}

static void
on_ended(void *arg)
{
	struct exec *e = arg;

	loop_cancel(&e->hang_up);
}

/* One word is shell text; several are an argument list, quoted as one. */
static char *
command_of(const struct cli_ctx *ctx)
{
	struct buf b;

	if (ctx->nargs == 1)
		return mem_str(ctx->args[0]);
	buf_init(&b, 4 << 20);
	for (size_t i = 0; i < ctx->nargs; i++) {
		buf_add_str(&b, i ? " '" : "'");
		for (const char *s = ctx->args[i]; *s; s++) {
			if (*s == '\'')
				buf_add_str(&b, "'\\''");
			else
				buf_add_char(&b, *s);
		}
		buf_add_char(&b, '\'');
	}
	return buf_take(&b);
}

int
sandbox_exec_main(struct cli_ctx *ctx)
{
	struct exec e = { .shot = { .begin = on_begin, .ended = on_ended } };
	int code;

	e.shot.arg = &e;
	e.command = command_of(ctx);
	code = oneshot_main(ctx, &e.shot);
	mem_free(e.command);
	return code;
}
