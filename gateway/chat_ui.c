#include "gateway/chat_ui.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

#define LINE_MAX_BYTES (256 * 1024)
#define LOOK_MS 10
#define CLEAR_LINE "\r\033[K"

enum ui_mode { UI_INTERACTIVE, UI_PIPED, UI_ONE_SHOT };

struct chat_ui {
	struct loop *loop;
	struct chat_ui_opts opts;
	enum ui_mode mode;
	bool progress;		/* stderr is a terminal */
	bool prompted;
	bool eof;
	bool waiting;		/* piped: an answer is due */
	bool asked;		/* a question is open */
	bool apology;		/* the next text is an apology */
	int exit_code;
	struct buf in;		/* what was read and not said yet */
	struct buf stream;	/* of this answer, as it stands on the screen */
	bool stream_cut;	/* something else was shown below it */
	bool activity_shown;
	struct watch *watch;	/* stdin */
	struct timer *reader;	/* stdin that cannot be watched (a file) */
	struct timer *look;
	struct sigwatch *sigint, *sigterm;
};

static void on_readable(void *arg, unsigned events);
static void on_read_file(void *arg);
static void on_look(void *arg);
static void on_sigint(void *arg);
static void on_sigterm(void *arg);
static void ui_next(struct chat_ui *ui);

static void
write_all(int fd, const char *s, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, s, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			struct pollfd p = { fd, POLLOUT, 0 };

			poll(&p, 1, 1000);	/* the terminal is ours alone */
			continue;
		}
		if (n <= 0)
			return;		/* the reader closed early: nothing to do */
		s += n;
		len -= (size_t)n;
	}
}

static void
put(int fd, const char *s)
{
	write_all(fd, s, strlen(s));
}

/*
 * Words of a model, a command or a person: none of them may steer the terminal
 * (erase a question, forge an answer).  A pipe gets them as they are.
 */
static void
put_words(int fd, const char *s, size_t len, bool one_line)
{
	struct buf clean CLEANUP_BUF;

	buf_init(&clean, len + 1);
	if (isatty(fd)) {
		utf8_for_terminal(&clean, s, len, one_line);
		write_all(fd, clean.data, clean.len);
	} else {
		write_all(fd, s, len);
	}
}

static void
clear_activity(struct chat_ui *ui)
{
	if (ui->activity_shown)
		put(STDERR_FILENO, CLEAR_LINE);
	ui->activity_shown = false;
}

/* Ends the line that streamed text stands on, if it did not end it itself. */
static void
end_stream_line(struct chat_ui *ui)
{
	const struct buf *s = &ui->stream;

	if (!ui->stream_cut && s->len > 0 && s->data[s->len - 1] != '\n')
		put(STDOUT_FILENO, "\n");
	ui->stream_cut = s->len > 0;
}

static void
ui_prompt(struct chat_ui *ui)
{
	if (ui->mode != UI_INTERACTIVE || ui->prompted)
		return;
	clear_activity(ui);
	put(STDOUT_FILENO, "you> ");
	ui->prompted = true;
}

static void
ui_watch_stdin(struct chat_ui *ui)
{
	struct stat st;

	if (fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) ||
	    S_ISSOCK(st.st_mode) || isatty(STDIN_FILENO)))
		ui->watch = loop_watch(ui->loop, STDIN_FILENO, LOOP_READ,
		    "stdin", on_readable, ui);
	else
		ui->reader = loop_defer(ui->loop, "stdin file", on_read_file, ui);
}

struct chat_ui *
chat_ui_start(struct loop *loop, const struct chat_ui_opts *opts)
{
	struct chat_ui *ui = mem_alloc(sizeof(*ui));

	ui->loop = loop;
	ui->opts = *opts;
	ui->progress = isatty(STDERR_FILENO);
	buf_init(&ui->in, LINE_MAX_BYTES);
	buf_init(&ui->stream, 1024 * 1024);
	ui->mode = opts->text ? UI_ONE_SHOT :
	    isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? UI_INTERACTIVE :
	    UI_PIPED;
	ui->sigint = loop_signal(loop, SIGINT, "SIGINT", on_sigint, ui);
	ui->sigterm = loop_signal(loop, SIGTERM, "SIGTERM", on_sigterm, ui);
	if (ui->mode == UI_ONE_SHOT) {
		ui->waiting = ui->eof = true;
		opts->peer.say(opts->peer.arg, opts->text);
	} else {
		if (ui->mode == UI_INTERACTIVE && opts->greeting)
			put(STDOUT_FILENO, opts->greeting);
		ui_watch_stdin(ui);
		ui_prompt(ui);
	}
	if (ui->mode != UI_INTERACTIVE)
		ui->look = loop_after(loop, LOOK_MS, "chat look", on_look, ui);
	return ui;
}

void
chat_ui_free(struct chat_ui **uip)
{
	if (!*uip)
		return;
	struct chat_ui *ui = STEAL(*uip);

	clear_activity(ui);
	loop_unwatch(&ui->watch);
	loop_cancel(&ui->reader);
	loop_cancel(&ui->look);
	loop_signal_free(&ui->sigint);
	loop_signal_free(&ui->sigterm);
	buf_done(&ui->in);
	buf_done(&ui->stream);
	mem_free(ui);
}

static void
ui_done(struct chat_ui *ui, int exit_code)
{
	loop_unwatch(&ui->watch);
	loop_cancel(&ui->reader);
	loop_cancel(&ui->look);
	if (ui->prompted)	/* what follows is the shell's */
		put(STDOUT_FILENO, "\n");
	ui->prompted = false;
	ui->opts.done(ui->opts.arg, exit_code);
}

/* ---- input ------------------------------------------------------------------- */

/* One read; false at the end. */
static bool
ui_read(struct chat_ui *ui)
{
	char chunk[16384];
	ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return false;
	if (!buf_add(&ui->in, chunk, (size_t)n)) {
		put(STDERR_FILENO, "gatehouse: a line is longer than 256 kB; "
		    "it was dropped\n");
		buf_clear(&ui->in);
		ui->exit_code = 1;
	}
	return true;
}

static void
on_readable(void *arg, unsigned events)
{
	struct chat_ui *ui = arg;

	(void)events;
	if (!ui_read(ui)) {
		ui->eof = true;
		loop_unwatch(&ui->watch);
	}
	ui_next(ui);
}

static void
on_read_file(void *arg)
{
	struct chat_ui *ui = arg;

	ui->reader = NULL;
	/* A file is read as fast as its lines are answered. */
	if (ui->in.len < LINE_MAX_BYTES / 2)
		ui->eof = !ui_read(ui);
	if (!ui->eof)
		ui->reader = loop_after(ui->loop, ui->in.len > 0 ? LOOK_MS : 0,
		    "stdin file", on_read_file, ui);
	ui_next(ui);
}

/* Takes the next whole line (or the rest at the end); NULL: none yet. */
static char *
take_line(struct chat_ui *ui)
{
	char *end = memchr(ui->in.data, '\n', ui->in.len);
	size_t len = end ? (size_t)(end - ui->in.data) : ui->in.len;

	if (!end && (!ui->eof || ui->in.len == 0))
		return NULL;
	char *line = mem_strn(ui->in.data, len);

	buf_drain(&ui->in, end ? len + 1 : len);
	if (len > 0 && line[len - 1] == '\r')
		line[len - 1] = '\0';
	return line;
}

/* What people type at any prompt to leave; nothing after it is read. */
static bool
is_farewell(const char *line)
{
	return strcmp(line, "/quit") == 0 || strcmp(line, "/exit") == 0;
}

static void
end_input(struct chat_ui *ui)
{
	ui->eof = true;
	buf_clear(&ui->in);
	loop_unwatch(&ui->watch);
	loop_cancel(&ui->reader);
}

/* Says what may be said now; ends where nothing is left. */
static void
ui_next(struct chat_ui *ui)
{
	while (ui->mode == UI_INTERACTIVE || !ui->waiting || ui->asked) {
		CLEANUP_FREE char *line = take_line(ui);

		if (!line)
			break;
		ui->prompted = false;
		if (!line[strspn(line, " \t")]) {
			ui_prompt(ui);
			continue;
		}
		if (is_farewell(line)) {
			end_input(ui);
			break;
		}
		ui->waiting = true;
		ui->asked = false;
		ui->opts.peer.say(ui->opts.peer.arg, line);
	}
	if (ui->mode == UI_INTERACTIVE && ui->eof && ui->in.len == 0)
		ui_done(ui, 0);
}

/* Not interactive: when all is said and shown, it ends. */
static void
on_look(void *arg)
{
	struct chat_ui *ui = arg;

	ui->look = loop_after(ui->loop, LOOK_MS, "chat look", on_look, ui);
	if (ui->asked && ui->eof && ui->in.len == 0) {
		ui->asked = false;	/* nobody is left who could say yes */
		ui->opts.peer.say(ui->opts.peer.arg, "/deny all the "
		    "input ended: nobody could answer");
		return;
	}
	if (ui->asked)		/* the next line is the answer to it */
		ui_next(ui);
	if (!ui->opts.peer.idle(ui->opts.peer.arg))
		return;
	ui->waiting = false;
	ui_next(ui);
	if (!ui->waiting && ui->eof && ui->in.len == 0)
		ui_done(ui, ui->exit_code);
}

static void
on_sigint(void *arg)
{
	struct chat_ui *ui = arg;

	if (ui->mode == UI_INTERACTIVE && !ui->opts.peer.idle(ui->opts.peer.arg)) {
		end_stream_line(ui);
		clear_activity(ui);	/* and the ^C that the terminal echoed */
		ui->opts.peer.say(ui->opts.peer.arg, "/stop");
		return;
	}
	ui_done(ui, ui->mode == UI_INTERACTIVE ? 0 : 130);
}

static void
on_sigterm(void *arg)
{
	ui_done(arg, 143);
}

/* ---- output ----------------------------------------------------------------------- */

void
chat_ui_text(struct chat_ui *ui, const char *text, size_t len)
{
	if (ui->mode != UI_INTERACTIVE)
		return;
	clear_activity(ui);
	if (ui->prompted)
		put(STDOUT_FILENO, CLEAR_LINE);
	ui->prompted = false;
	if (ui->stream_cut)
		buf_clear(&ui->stream);
	ui->stream_cut = false;
	put_words(STDOUT_FILENO, text, len, false);
	buf_add(&ui->stream, text, len);
}

/*
 * What of this text is not on the screen yet; space at its end does not count,
 * for the answer that is kept has none.  Anything but the streamed text, or
 * more of it, starts on a line of its own.
 */
static const char *
unshown_rest(struct chat_ui *ui, const char *text)
{
	const struct buf *s = &ui->stream;
	size_t len = s->len;

	while (len > 0 && strchr(" \t\r\n", s->data[len - 1]))
		len--;
	if (len > 0 && strncmp(text, s->data, len) == 0) {
		const char *rest = text + len;

		if (!rest[strspn(rest, " \t\r\n")]) {
			end_stream_line(ui);
			return "";
		}
		if (!ui->stream_cut && len == s->len)
			return rest;
	}
	end_stream_line(ui);
	return text;
}

void
chat_ui_show(struct chat_ui *ui, const char *text, bool question)
{
	int fd = ui->apology || (question && ui->mode != UI_INTERACTIVE) ?
	    STDERR_FILENO : STDOUT_FILENO;

	clear_activity(ui);
	if (ui->prompted)
		put(STDOUT_FILENO, CLEAR_LINE);
	ui->prompted = false;
	if (question)
		end_stream_line(ui);
	const char *rest = question ? text : unshown_rest(ui, text);
	size_t len = strlen(rest);

	put_words(fd, rest, len, false);
	if (len > 0 && rest[len - 1] != '\n')
		put(fd, "\n");
	if (question) {
		put(fd, "Answer y or n; also session or always, if that is "
		    "offered.\n");
		ui->asked = true;
	} else {
		buf_clear(&ui->stream);
		ui->stream_cut = false;
	}
	ui->apology = false;
	ui_prompt(ui);
}

void
chat_ui_activity(struct chat_ui *ui, const char *what)
{
	if (!ui->progress || ui->prompted)
		return;
	end_stream_line(ui);
	clear_activity(ui);
	put_words(STDERR_FILENO, what, strlen(what), true);
	put(STDERR_FILENO, "...");
	ui->activity_shown = true;
}

void
chat_ui_answered(struct chat_ui *ui, bool ok)
{
	ui->apology = !ok;
	if (!ok)
		ui->exit_code = 1;
}
