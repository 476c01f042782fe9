#include "gateway/agent/rpc_link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/agent/errand.h"
#include "gateway/agent/rpc_frame.h"
#include "gateway/gate/gate.h"
#include "sandbox/shell.h"

#define CHUNK 65536
#define PENDING_MAX (2 * RPC_LINE_MAX)
#define CARRY_MS 15000		/* to bring one answer */

struct rpc_link {
	struct tool_env env;
	struct rpc_link_opts opts;
	char *call_id;
	/* socket */
	int fd, script_fd;		/* -1: none */
	struct watch *watch;
	struct buf pending;		/* answers not yet written */
	/* files */
	char *dir;			/* NULL: a socket */
	struct op *copying;		/* what the script writes, to us */
	struct op *carrying;		/* an answer, to the script */
	bool deaf;			/* feed() wants no more */
};

static void
link_broken(struct rpc_link *l, const char *why)
{
	log_warn("rpc", NULL, "call=%s the link to the script: %s", l->call_id,
	    why);
	l->opts.broken(l->opts.arg, why);
}

/* A script that writes on to a closed end is told so at once. */
static void
link_take(struct rpc_link *l, const char *data, size_t len)
{
	if (l->deaf || l->opts.feed(l->opts.arg, data, len))
		return;
	l->deaf = true;
	loop_unwatch(&l->watch);
	if (l->fd >= 0)
		(void)shutdown(l->fd, SHUT_RDWR);
	link_broken(l, "too much was written to the tools' line that is no "
	    "call of the script: its calls are not heard any more");
}

void
rpc_link_free(struct rpc_link **lp)
{
	struct rpc_link *l = STEAL(*lp);

	if (!l)
		return;
	op_cancel(&l->copying);
	op_cancel(&l->carrying);
	loop_unwatch(&l->watch);
	if (l->fd >= 0)
		close(l->fd);
	if (l->script_fd >= 0)
		close(l->script_fd);
	buf_done(&l->pending);
	mem_free(l->dir);
	mem_free(l->call_id);
	mem_free(l);
}

bool
rpc_link_busy(const struct rpc_link *l)
{
	return l->copying != NULL;
}

int
rpc_link_fd(const struct rpc_link *l)
{
	return l->script_fd > 0 ? l->script_fd : 0;
}

char *
rpc_link_where(const struct rpc_link *l)
{
	return l->dir ? mem_printf("dir=%s", l->dir) :
	    mem_printf("fd=%d", SHELL_FD_RPC);
}

/* ---- the socket ---------------------------------------------------------------------- */

static void
socket_write(struct rpc_link *l)
{
	while (l->pending.len > 0) {
		ssize_t n = send(l->fd, l->pending.data, l->pending.len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			if (errno != EAGAIN)	/* the script has gone */
				buf_clear(&l->pending);
			break;
		}
		buf_drain(&l->pending, (size_t)n);
	}
	if (l->watch)
		loop_watch_set(l->watch, LOOP_READ |
		    (l->pending.len > 0 ? LOOP_WRITE : 0u));
}

static void
on_socket(void *arg, unsigned events)
{
	static char chunk[CHUNK];	/* loop thread; used up at once */
	struct rpc_link *l = arg;

	if (events & LOOP_WRITE)
		socket_write(l);
	if (!(events & LOOP_READ))
		return;
	ssize_t n = recv(l->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		loop_unwatch(&l->watch);
	else
		link_take(l, chunk, (size_t)n);
}

static int
socket_open(struct rpc_link *l, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set_errno(err, errno, "a socket for the script");
	l->fd = pair[0];
	l->script_fd = pair[1];
	l->watch = loop_watch(l->env.loop, l->fd, LOOP_READ, "rpc socket",
	    on_socket, l);
	return 0;
}

/* ---- the files ------------------------------------------------------------------------ */

/*
 * Ends when the script has closed its end.  What earlier scripts left behind
 * because they were killed goes when it is a day old.
 */
#define COPY_TEXT \
	"umask 077\n" \
	"find \"${TMPDIR:-/tmp}\" -maxdepth 1 -name 'gatehouse_exec_*' -mmin +1440 " \
	"-exec rm -rf -- {} + 2>/dev/null\n" \
	"mkdir -- \"$d\" && mkfifo -- \"$d/res\" \"$d/req\" || exit 3\n" \
	"cat -- \"$d/req\"\nrm -rf -- \"$d\"\n"
/* Opens for both, so that a script that has gone can't block it. */
#define CARRY_TEXT "[ -p \"$d/res\" ] && exec cat <&0 1<>\"$d/res\"\n"

static void
on_copied(void *arg, const struct sandbox_result *res)
{
	struct rpc_link *l = arg;

	l->copying = NULL;
	if (res->exit_code == 0) {
		l->opts.ended(l->opts.arg);
		return;
	}
	CLEANUP_FREE char *why = mem_printf("its mailbox in the sandbox ended "
	    "(%d): %.200s", res->exit_code, res->error ? res->error : "");

	link_broken(l, why);
}

static void
on_copy(void *arg, int fd, const char *data, size_t len)
{
	struct rpc_link *l = arg;

	if (fd == 1)
		link_take(l, data, len);
}

static void
on_copy_judged(void *arg, enum gate_outcome outcome, struct permit *permit,
    const char *reason)
{
	struct rpc_link *l = arg;
	CLEANUP_FREE char *text = mem_printf("d='%s'\n" COPY_TEXT, l->dir);
	struct sandbox_cmd cmd = {
		.command = text, .command_len = strlen(text),
		.timeout_ms = l->opts.timeout_ms + CARRY_MS,
		.generation = l->env.run.generation,
		.split = true, .apart = true,
	};

	l->copying = NULL;
	if (outcome != GATE_ALLOWED) {
		link_broken(l, reason);
		return;
	}
	l->copying = sandbox_run(l->env.sandboxes, &l->env.sandbox, &cmd,
	    &permit, on_copy, on_copied, l);
}

/* Both are texts of ours that touch nothing but the mailbox: judged as ":". */
static void
files_open(struct rpc_link *l)
{
	CLEANUP_FREE char *sandbox = sandbox_key_text(&l->env.sandbox);
	char hex[13];

	ids_hex(hex, 12);
	l->dir = mem_printf("/tmp/gatehouse_exec_%s", hex);
	CLEANUP_FREE char *text = mem_printf("d='%s'\n" COPY_TEXT, l->dir);

	l->copying = gate_ask(l->env.gate, &(struct gate_req){
		.run = l->env.run, .asker = l->env.origin, .act = GATE_COMMAND,
		.command = text, .command_len = strlen(text), .workdir = "",
		.dir = sandbox_cwd(l->env.sandboxes, &l->env.sandbox),
		.sandbox = sandbox,
		.props = sandbox_props(l->env.sandboxes, l->env.sandbox.owner),
		.judged = ":",
	}, on_copy_judged, l);
}

static void
on_carried(void *arg, const struct errand_result *res)
{
	struct rpc_link *l = arg;

	l->carrying = NULL;
	if (res->refused || res->exit_code != 0)
		link_broken(l, res->refused ? res->refused : res->err);
}

struct rpc_link *
rpc_link_new(const struct tool_env *env, const struct rpc_link_opts *opts,
    struct err *err)
{
	struct rpc_link *l = mem_alloc(sizeof(*l));

	l->env = *env;
	l->env.nested = true;
	l->opts = *opts;
	l->call_id = mem_str(opts->call_id);
	l->fd = l->script_fd = -1;
	buf_init(&l->pending, PENDING_MAX);
	if (opts->files || !sandbox_can_rpc(env->sandboxes, env->sandbox.owner))
		files_open(l);
	else if (socket_open(l, err) < 0)
		rpc_link_free(&l);
	return l;
}

void
rpc_link_send(struct rpc_link *l, const char *line, size_t len)
{
	if (!l->dir) {
		/* One call at a time, so there is room unless nobody reads. */
		buf_add(&l->pending, line, len);
		socket_write(l);
		return;
	}
	CLEANUP_FREE char *text = mem_printf("d='%s'\n" CARRY_TEXT, l->dir);

	op_cancel(&l->carrying);
	l->carrying = errand_start(&l->env, &(struct errand_req){
		.call_id = l->call_id, .command = text,
		.input = line, .input_len = len, .judged = ":",
		.timeout_ms = CARRY_MS, .output_max = 64,
	}, on_carried, l);
}
