/*
 * The archive lies in a nameless file of the state directory meanwhile: packed as
 * a whole before anything runs, unpacked when all of it has come.
 *
 *   put: one command, or PIECE* and then one that unpacks them
 *   get: one command, then unpacking here
 */
#include "gateway/sandbox_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/sandbox_oneshot.h"
#include "sandbox/transfer.h"

#define SAID_MAX 400
#define TEXT_MAX (4 * TRANSFER_PATH_MAX + 1024)	/* of a command */
#define NOT_FOUND 127		/* as shells say it */

struct files {
	struct oneshot shot;
	const char *path, *dir;
	int fd;			/* the archive */
	uint64_t size, at;	/* of it; what was sent or has come */
	char part[40];		/* the file of pieces there; "": none */
	bool unpacking, dropping;
	struct buf said;	/* by tar */
	struct timer *too_much;
	int code;
};

static int
archive_file(const struct cli_ctx *ctx)
{
	CLEANUP_FREE char *path = mem_printf("%s/archive-XXXXXX", ctx->home.dir);
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd >= 0)
		unlink(path);
	else
		cli_complain("%s can't be written in: %s", ctx->home.dir,
		    strerror(errno));
	return fd;
}

static void
take_said(struct files *f, const char *data, size_t len)
{
	size_t room = SAID_MAX - f->said.len;

	buf_add(&f->said, data, len < room ? len : room);
}

/* What it said and how it ended, as an error; false: all is well. */
static bool
complain(struct files *f, const struct sandbox_result *res)
{
	struct buf said CLEANUP_BUF;

	buf_init(&said, 4 * SAID_MAX + 16);
	utf8_for_terminal(&said, f->said.data, f->said.len, true);
	if (res->exit_code == 0 && !res->error)
		return false;
	if (res->error)
		cli_complain("%s", res->error);
	else if (res->exit_code == SANDBOX_EXIT_TIMEOUT)
		cli_complain("it was ended after %lld s (--timeout)",
		    (long long)(f->shot.timeout_ms / 1000));
	else
		cli_complain("%s in the sandbox: status %d%s%s",
		    res->exit_code == NOT_FOUND ? "there is no tar" : "tar",
		    res->exit_code, said.len ? ": " : "", said.data);
	f->code = res->exit_code == SANDBOX_EXIT_REFUSED ? ONESHOT_FAILED : CLI_FAIL;
	return true;
}

/* ---- put ----------------------------------------------------------------------------- */

static void put_next(struct files *f);

static void
on_put_output(void *arg, int fd, const char *data, size_t len)
{
	(void)fd;
	take_said(arg, data, len);
}

static void
on_put(void *arg, const struct sandbox_result *res)
{
	struct files *f = arg;
	bool failed;

	f->shot.op = NULL;
	failed = !f->dropping && complain(f, res);
	if (f->dropping || f->unpacking || (failed && !*f->part)) {
		oneshot_finish(&f->shot, f->code);
		return;
	}
	f->dropping = failed;
	put_next(f);
}

static ssize_t
read_piece(struct files *f, char *piece)
{
	size_t len = 0;

	while (len < TRANSFER_PIECE && f->at < f->size) {
		ssize_t n = pread(f->fd, piece + len, TRANSFER_PIECE - len,
		    (off_t)f->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		len += (size_t)n;
		f->at += (size_t)n;
	}
	return (ssize_t)len;
}

static void
put_next(struct files *f)
{
	CLEANUP_FREE char *piece = NULL;
	const char *part = *f->part ? f->part : NULL;
	struct sandbox_cmd cmd = { .apart = true, .split = true };
	struct buf text CLEANUP_BUF;

	buf_init(&text, TEXT_MAX);
	f->unpacking = !f->dropping && (!part || f->at == f->size);
	if (f->dropping)
		transfer_drop_text(&text, f->dir, part);
	else if (f->unpacking)
		transfer_put_text(&text, f->dir, part);
	else
		transfer_piece_text(&text, f->dir, part);
	if (!f->dropping && f->at < f->size) {
		piece = mem_alloc(TRANSFER_PIECE);
		ssize_t n = read_piece(f, piece);
		if (n < 0) {
			cli_complain("the archive can't be read: %s", strerror(errno));
			oneshot_finish(&f->shot, CLI_FAIL);
			return;
		}
		cmd.input = piece;
		cmd.input_len = (size_t)n;
	}
	cmd.command = text.data;
	oneshot_run(&f->shot, &cmd, on_put_output, on_put);
}

static void
put_begin(void *arg)
{
	put_next(arg);
}

int
sandbox_put_main(struct cli_ctx *ctx)
{
	struct files f = { .shot = { .begin = put_begin }, .path = ctx->args[0],
		.dir = ctx->nargs > 1 ? ctx->args[1] : "." };
	struct err err = { ERR_NONE, "" };
	char hex[17];
	int code = CLI_FAIL;

	f.shot.arg = &f;
	f.fd = archive_file(ctx);
	if (f.fd < 0)
		return CLI_FAIL;
	buf_init(&f.said, SAID_MAX + 1);
	if (strlen(f.dir) >= TRANSFER_PATH_MAX) {
		cli_complain("%.60s...: too long", f.dir);
	} else if (transfer_pack(f.path, f.fd, &err) < 0) {
		cli_complain("%s", err.text);
	} else {
		f.size = (uint64_t)lseek(f.fd, 0, SEEK_END);
		ids_hex(hex, 16);
		if (f.size > TRANSFER_PIECE)
			REQUIRE(mem_format(f.part, sizeof(f.part),
			    ".gatehouse-put-%s", hex) == 0);
		code = oneshot_main(ctx, &f.shot);
	}
	buf_done(&f.said);
	close(f.fd);
	return code;
}

/* ---- get ------------------------------------------------------------------------------- */

static void
on_too_much(void *arg)
{
	struct files *f = arg;

	f->too_much = NULL;
	if (!f->shot.interrupted)
		oneshot_stop(&f->shot, CLI_FAIL);
}

static void
on_get_output(void *arg, int fd, const char *data, size_t len)
{
	struct files *f = arg;

	if (fd == 2) {
		take_said(f, data, len);
		return;
	}
	if (f->too_much || f->code)
		return;
	bool over = f->at + len > TRANSFER_ARCHIVE_MAX;
	while (!over && len > 0) {
		ssize_t n = write(f->fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		data += n;
		len -= (size_t)n;
		f->at += (size_t)n;
	}
	if (len == 0)
		return;
	if (over)
		cli_complain("it is more than %llu MiB", TRANSFER_BYTES_MAX >> 20);
	else
		cli_complain("the state directory: %s", strerror(errno));
	f->code = CLI_FAIL;
	f->too_much = loop_defer(f->shot.loop, "too much", on_too_much, f);
}

static void
on_got(void *arg, const struct sandbox_result *res)
{
	struct files *f = arg;
	struct err err = { ERR_NONE, "" };
	CLEANUP_FREE char *dir = NULL;
	CLEANUP_FREE char *name = NULL;

	f->shot.op = NULL;
	loop_cancel(&f->too_much);
	if (!f->code && !complain(f, res) && (lseek(f->fd, 0, SEEK_SET) < 0 ||
	    transfer_split(f->path, &dir, &name) < 0 ||
	    transfer_unpack(f->fd, f->dir, name, &err) < 0)) {
		cli_complain("%s", err.text);
		f->code = CLI_FAIL;
	}
	oneshot_finish(&f->shot, f->code);
}

static void
get_begin(void *arg)
{
	struct files *f = arg;
	struct sandbox_cmd cmd = { .apart = true, .split = true };
	struct buf text CLEANUP_BUF;

	buf_init(&text, TEXT_MAX);
	REQUIRE(transfer_get_text(&text, f->path) == 0);
	cmd.command = text.data;
	oneshot_run(&f->shot, &cmd, on_get_output, on_got);
}

static void
get_ended(void *arg)
{
	struct files *f = arg;

	loop_cancel(&f->too_much);
}

int
sandbox_get_main(struct cli_ctx *ctx)
{
	struct files f = { .shot = { .begin = get_begin, .ended = get_ended },
		.path = ctx->args[0], .dir = ctx->nargs > 1 ? ctx->args[1] : "." };
	CLEANUP_FREE char *dir = NULL;
	CLEANUP_FREE char *name = NULL;
	int code;

	f.shot.arg = &f;
	if (transfer_split(f.path, &dir, &name) < 0 ||
	    strlen(f.path) >= TRANSFER_PATH_MAX) {
		cli_complain("\"%.60s\" names no file or directory", f.path);
		return CLI_USAGE;
	}
	f.fd = archive_file(ctx);
	if (f.fd < 0)
		return CLI_FAIL;
	buf_init(&f.said, SAID_MAX + 1);
	code = oneshot_main(ctx, &f.shot);
	buf_done(&f.said);
	close(f.fd);
	return code;
}
