/* What a person sees on the terminal of `gatehouse chat`: a real one, a pty. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "gateway/chat_ui.h"

struct screen {
	struct loop *loop;
	struct chat_ui *ui;
	int master, saved[3];
	int said, exit_code;	/* lines handed on; -1: it goes on */
	char seen[4096];
};

static void
on_say(void *arg, const char *text)
{
	struct screen *s = arg;

	(void)text;
	if (++s->said > 1)
		loop_stop(s->loop);	/* too many: the test ends, and fails */
}

static bool
is_idle(void *arg)
{
	(void)arg;
	return true;
}

static void
on_done(void *arg, int exit_code)
{
	struct screen *s = arg;

	s->exit_code = exit_code;
	loop_stop(s->loop);
}

/* Descriptors 0 to 2 are the terminal until screen_close. */
static void
screen_open(struct screen *s)
{
	struct chat_ui_opts opts = {
		.peer = { s, on_say, is_idle }, .done = on_done, .arg = s,
	};
	struct termios raw;

	s->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(s->master >= 0);
	assert_int_equal(grantpt(s->master), 0);
	assert_int_equal(unlockpt(s->master), 0);
	int slave = open(ptsname(s->master), O_RDWR | O_NOCTTY | O_CLOEXEC);

	assert_true(slave >= 0);
	assert_int_equal(tcgetattr(slave, &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(slave, TCSANOW, &raw), 0);
	for (int fd = 0; fd < 3; fd++) {
		s->saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		dup2(slave, fd);
	}
	close(slave);
	s->said = 0;
	s->exit_code = -1;
	s->loop = loop_new();
	s->ui = chat_ui_start(s->loop, &opts);
}

/* What was written stands in s->seen; an NUL byte marks its end. */
static const char *
screen_close(struct screen *s)
{
	size_t len = 0;

	(void)!write(STDOUT_FILENO, "", 1);
	chat_ui_free(&s->ui);
	loop_free(&s->loop);
	do {
		ssize_t n = read(s->master, s->seen + len,
		    sizeof(s->seen) - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
	} while (len < sizeof(s->seen) - 1 && s->seen[len - 1] != '\0');
	s->seen[len] = '\0';
	for (int fd = 0; fd < 3; fd++) {
		dup2(s->saved[fd], fd);
		close(s->saved[fd]);
	}
	close(s->master);
	return s->seen;
}

#define CLEAR "\r\033[K"

static void
a_streamed_answer_is_shown_once(void **state)
{
	struct screen s;

	(void)state;
	screen_open(&s);
	chat_ui_activity(s.ui, "never shown beside a prompt");
	chat_ui_text(s.ui, "one\n", 4);
	chat_ui_text(s.ui, "two\n", 4);
	chat_ui_activity(s.ui, "answering");
	chat_ui_answered(s.ui, true);
	chat_ui_show(s.ui, "one\ntwo", false);
	assert_string_equal(screen_close(&s), "you> " CLEAR "one\ntwo\n"
	    "answering..." CLEAR "you> ");
}

/* A model that is told to could hide a question or forge an answer. */
static void
words_cannot_steer_the_terminal(void **state)
{
	static const char hostile[] = "a\x1b[2J\x1b]0;t\x07" "b\r\xc2\x9b" "1A\xff" "c\n";
	struct screen s;

	(void)state;
	screen_open(&s);
	chat_ui_show(s.ui, hostile, true);
	chat_ui_text(s.ui, hostile, sizeof(hostile) - 1);
	chat_ui_activity(s.ui, "terminal: x\x1b[1A\ny");
	chat_ui_show(s.ui, "end", false);	/* clears the activity's line */
	const char *seen = screen_close(&s);

	assert_non_null(strstr(seen, "a[2J]0;tb1Ac\n"));
	assert_non_null(strstr(seen, "terminal: x[1A y..."));
	assert_null(strstr(seen, "\x1b[2J"));
	assert_null(strstr(seen, "\x1b[1A"));
	assert_null(strstr(seen, "\x1b]"));
	assert_null(strchr(seen, '\xff'));
	assert_null(strstr(seen, "\xc2\x9b"));
}

static void
an_answer_without_line_end_gets_one_before_the_prompt(void **state)
{
	struct screen s;

	(void)state;
	screen_open(&s);
	chat_ui_text(s.ui, "yes", 3);
	chat_ui_show(s.ui, "yes", false);
	assert_string_equal(screen_close(&s), "you> " CLEAR "yes\nyou> ");
}

static void
text_before_a_tool_stays_and_the_answer_follows(void **state)
{
	struct screen s;

	(void)state;
	screen_open(&s);
	chat_ui_text(s.ui, "I look.", 7);
	chat_ui_activity(s.ui, "terminal: ls");
	chat_ui_text(s.ui, "Nothing", 7);
	chat_ui_activity(s.ui, "answering");
	chat_ui_show(s.ui, "Nothing there.", false);
	assert_string_equal(screen_close(&s), "you> " CLEAR "I look.\n"
	    "terminal: ls..." CLEAR "Nothing\n"
	    "answering..." CLEAR "Nothing there.\nyou> ");
}

static void
an_other_text_than_the_streamed_one_has_its_own_line(void **state)
{
	struct screen s;

	(void)state;
	screen_open(&s);
	chat_ui_text(s.ui, "half an ans", 11);
	chat_ui_show(s.ui, "Stopped.", false);
	assert_string_equal(screen_close(&s), "you> " CLEAR "half an ans\n"
	    "Stopped.\nyou> ");
}

static void
a_farewell_ends_it_and_what_follows_is_not_said(void **state)
{
	static const char typed[] = "hello\n/quit\nrm -rf .\n";
	struct screen s;

	(void)state;
	screen_open(&s);
	assert_int_equal(write(s.master, typed, strlen(typed)), strlen(typed));
	loop_run(s.loop);
	assert_int_equal(s.exit_code, 0);
	assert_int_equal(s.said, 1);
	screen_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_farewell_ends_it_and_what_follows_is_not_said),
		cmocka_unit_test(words_cannot_steer_the_terminal),
		cmocka_unit_test(a_streamed_answer_is_shown_once),
		cmocka_unit_test(
		    an_answer_without_line_end_gets_one_before_the_prompt),
		cmocka_unit_test(text_before_a_tool_stays_and_the_answer_follows),
		cmocka_unit_test(
		    an_other_text_than_the_streamed_one_has_its_own_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
