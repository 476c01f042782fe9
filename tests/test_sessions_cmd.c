/*
 * `gatehouse sessions` from outside, without an owner and beside one: this
 * process is the owner then, with the real control socket and store.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/session_edit.h"
#include "gateway/sessions_ask.h"
#include "tests/tmpdir.h"

#define WALL 1790000000000

struct place_of_test {
	struct home home;
	const char *dir;
	char *bin;
	struct sessions_ask ask;	/* the owner's loop and store */
	char out[8192], err[2048];	/* of the last command */
	char id[40];			/* of the session seeded */
};

/* ---- seeding -------------------------------------------------------------- */

static void
on_accepted(void *arg, const struct accept_result *res, const struct err *err)
{
	struct place_of_test *p = arg;

	assert_null(err);
	assert_int_equal(mem_copy_str(p->id, sizeof(p->id),
	    res->claims[0].session_id), 0);
	loop_stop(p->ask.loop);
}

static void
open_store(struct place_of_test *p)
{
	CLEANUP_FREE char *path = home_path(&p->home, "state.db");
	struct store_opts opts = { .path = path, .profile = HOME_PROFILE };
	struct err err;

	p->ask = (struct sessions_ask){ .loop = loop_new() };
	p->ask.store = store_open(p->ask.loop, &opts, &err);
	assert_non_null(p->ask.store);
}

static void
say(struct place_of_test *p, const char *key, const char *event, const char *text)
{
	struct inbox_event e = {
		.kind = INBOX_TURN, .kind_name = "text", .event_id = event,
		.session_key = key, .chat_id = "42", .text = text,
		.sent_wall = WALL,
	};
	struct inbox_claim c = { key, "{}", true, 0 };
	struct accept_req req = {
		.platform = "console", .account = "0", .events = &e,
		.nevents = 1, .claims = &c, .nclaims = 1, .now_wall = WALL,
	};

	store_accept(p->ask.store, &req, on_accepted, p);
	loop_run(p->ask.loop);
}

static void
stop(struct place_of_test *p, const char *key)
{
	store_stop(p->ask.store, key, WALL, NULL, NULL);
}

static int
setup(void **state)
{
	struct place_of_test *p = calloc(1, sizeof(*p));

	p->dir = tmpdir_make();
	p->home.dir = mem_str(p->dir);
	assert_int_equal(chmod(p->dir, 0700), 0);
	p->bin = mem_printf("%s/gatehouse", getenv("TOP_BUILDDIR"));
	open_store(p);
	*state = p;
	return 0;
}

static int
teardown(void **state)
{
	struct place_of_test *p = *state;

	sessions_ask_close(&p->ask);
	assert_int_equal(op_live(), 0);
	tmpdir_remove();
	mem_free(p->home.dir);
	mem_free(p->bin);
	free(p);
	return 0;
}

/* ---- running -------------------------------------------------------------- */

static void
slurp(const char *name, char *to, size_t size)
{
	char *text = tmpdir_read(name);

	strncpy(to, text, size - 1);
	mem_free(text);
}

/* Only what is allowed after a fork beside threads. */
static pid_t
start(const char *const *argv, const char *out, const char *err)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	int in_fd = open("/dev/null", O_RDONLY);
	int out_fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int err_fd = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (dup2(in_fd, 0) < 0 || dup2(out_fd, 1) < 0 || dup2(err_fd, 2) < 0)
		_exit(98);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(99);
}

struct waiting { struct loop *loop; pid_t pid; int status; };

static void
on_look(void *arg)
{
	struct waiting *w = arg;

	if (waitpid(w->pid, &w->status, WNOHANG) == w->pid)
		loop_stop(w->loop);
	else
		loop_after(w->loop, 5, "look", on_look, w);
}

/* The owner's loop, if there is one, goes on meanwhile. Gives the status. */
static int
run_argv(struct place_of_test *p, const char *const *argv)
{
	CLEANUP_FREE char *out = mem_str(tmpdir_path("out"));
	CLEANUP_FREE char *err = mem_str(tmpdir_path("err"));
	struct waiting w = {
		.loop = p->ask.loop, .pid = start(argv, out, err),
	};

	if (w.loop) {
		loop_after(w.loop, 5, "look", on_look, &w);
		loop_run(w.loop);
	} else {
		assert_int_equal(waitpid(w.pid, &w.status, 0), w.pid);
	}
	slurp("out", p->out, sizeof(p->out));
	slurp("err", p->err, sizeof(p->err));
	assert_true(WIFEXITED(w.status));
	return WEXITSTATUS(w.status);
}

static int
run(struct place_of_test *p, const char *a, const char *b, const char *c,
	const char *d)
{
	const char *const argv[] = {
		p->bin, "--home", p->dir, "sessions", a, b, c, d, NULL,
	};

	return run_argv(p, argv);
}

static int
run_all(struct place_of_test *p, const char *command, const char *a)
{
	const char *const argv[] = {
		p->bin, "--home", p->dir, command, a, NULL,
	};

	return run_argv(p, argv);
}

#define assert_has(text, part) \
	do { \
		if (!strstr(text, part)) \
			fail_msg("no '%s' in: %s", part, text); \
	} while (0)

/* ---- without an owner -------------------------------------------------------- */

static void
one_is_listed_shown_found_and_exported(void **state)
{
	struct place_of_test *p = *state;

	say(p, "agent:main:console:dm:42", "1",
	    "look \x1b[31mred\x1b[0m \xe7\xa1\xac\xe7\x9b\x98\nnext line");
	sessions_ask_close(&p->ask);
	assert_int_equal(run(p, "list", NULL, NULL, NULL), 0);
	assert_has(p->out, p->id);
	assert_has(p->out, "agent:main:console:dm:42");
	assert_int_equal(run(p, "show", p->id, NULL, NULL), 0);
	assert_has(p->out, "look [31mred[0m");
	assert_null(strchr(p->out, '\x1b'));
	assert_int_equal(run(p, "search", "\xe7\xa1\xac\xe7\x9b\x98", NULL, NULL), 0);
	assert_has(p->out, p->id);
	assert_int_equal(run(p, "search", "absent", NULL, NULL), 0);
	assert_string_equal(p->out, "");
	assert_int_equal(run(p, "export", p->id, NULL, NULL), 0);
	assert_has(p->out, "\\nnext line");
	assert_has(p->out, "\"session_id\":");
	assert_int_equal(run(p, "export", p->id, "--format", "md"), 0);
	assert_has(p->out, "## user, ");
	assert_int_equal(run(p, "export", p->id, "--format", "pdf"), 2);
	assert_int_equal(run(p, "show", "nobody", NULL, NULL), 1);
	assert_has(p->err, "there is no session 'nobody'");
	assert_int_equal(run(p, "list", "--limit", "0", NULL), 2);
}

static void
an_export_never_overwrites_a_file(void **state)
{
	struct place_of_test *p = *state;
	CLEANUP_FREE char *file = mem_printf("%s/mine", p->dir);
	CLEANUP_FREE char *opt = mem_printf("--output=%s", file);
	struct stat st;

	say(p, "k", "1", "words");
	sessions_ask_close(&p->ask);
	assert_int_equal(run(p, "export", p->id, opt, NULL), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(st.st_size > 0);
	assert_int_equal(run(p, "export", p->id, opt, NULL), 1);
	assert_has(p->err, "File exists");
}

static void
one_is_renamed_and_deleted_and_nothing_without_a_yes(void **state)
{
	struct place_of_test *p = *state;

	say(p, "k", "1", "words");
	sessions_ask_close(&p->ask);
	assert_int_equal(run(p, "rename", p->id, "My", "disk"), 0);
	assert_int_equal(run(p, "show", "my disk", NULL, NULL), 0);
	assert_has(p->out, "words");
	assert_int_equal(run(p, "rename", p->id, "a\nb", NULL), 2);
	assert_int_equal(run(p, "delete", p->id, NULL, NULL), 2);
	assert_int_equal(run(p, "show", p->id, NULL, NULL), 0);
	assert_int_equal(run(p, "delete", "--yes", "my disk", NULL), 0);
	assert_has(p->out, p->id);
	assert_int_equal(run(p, "show", p->id, NULL, NULL), 1);
}

static void
only_what_is_old_is_pruned(void **state)
{
	struct place_of_test *p = *state;

	say(p, "old", "1", "words");
	stop(p, "old");
	say(p, "open", "2", "words");
	sessions_ask_close(&p->ask);
	assert_int_equal(run(p, "prune", NULL, NULL, NULL), 2);
	assert_int_equal(run(p, "prune", "--yes", "--older-than", "36500"), 0);
	assert_has(p->out, "deleted 0");
	assert_int_equal(run(p, "prune", "--yes", "--older-than", "1"), 0);
	assert_has(p->out, "deleted 1");
	assert_int_equal(run(p, "show", p->id, NULL, NULL), 0);
	assert_int_equal(run(p, "prune", "--yes", "--older-than", "0"), 2);
}

static void
no_database_is_no_error_for_a_list(void **state)
{
	struct place_of_test *p = *state;
	CLEANUP_FREE char *path = mem_printf("%s/state.db", p->dir);

	sessions_ask_close(&p->ask);
	unlink(path);
	assert_int_equal(run(p, "list", NULL, NULL, NULL), 0);
	assert_string_equal(p->out, "");
	assert_int_equal(run(p, "delete", "--yes", "x", NULL), 1);
	assert_has(p->err, "no sessions yet");
	assert_int_equal(access(path, F_OK), -1);
}

/* ---- beside an owner ----------------------------------------------------------- */

static void
on_call(void *arg, struct owner_call *call, const struct json *req)
{
	struct place_of_test *p = arg;

	session_edit_call(p->ask.loop, p->ask.store, call, req);
}

static void
on_gone(void *arg, struct owner_call *call)
{
	(void)arg;
	session_edit_gone(call);
}

static const struct owner_handler handlers[] = {
	{ "sessions", on_call, NULL, on_gone },
};

static void
changes_go_through_a_living_owner(void **state)
{
	struct place_of_test *p = *state;
	struct err err;

	say(p, "idle", "1", "words");
	stop(p, "idle");
	CLEANUP_FREE char *idle = mem_str(p->id);
	say(p, "busy", "2", "words");
	int lock = owner_lock(&p->home, 0, &err);
	assert_true(lock >= 0);
	struct owner *owner = owner_listen(p->ask.loop, &p->home, handlers, 1, p,
	    &err);
	assert_non_null(owner);
	assert_int_equal(run(p, "list", NULL, NULL, NULL), 0);
	assert_has(p->out, p->id);
	assert_int_equal(run(p, "rename", p->id, "Busy one", NULL), 0);
	assert_int_equal(run(p, "show", "busy one", NULL, NULL), 0);
	assert_int_equal(run(p, "rename", idle, "busy ONE", NULL), 1);
	assert_has(p->err, "another session is called");
	/* a run is under way there */
	assert_int_equal(run(p, "delete", "--yes", p->id, NULL), 1);
	assert_has(p->err, "/stop it first");
	assert_int_equal(run(p, "delete", "--yes", idle, NULL), 0);
	assert_int_equal(run(p, "show", idle, NULL, NULL), 1);
	owner_free(&owner);
	close(lock);
}

static void
a_backup_is_a_whole_copy_and_status_counts_what_is_open(void **state)
{
	struct place_of_test *p = *state;
	CLEANUP_FREE char *copy = mem_str(tmpdir_path("copy.db"));
	CLEANUP_FREE char *here = mem_str(tmpdir_path("state.db"));

	say(p, "k", "1", "words");
	/* while the owner has it open */
	assert_int_equal(run_all(p, "backup", copy), 0);
	assert_int_equal(run_all(p, "backup", copy), 1);
	assert_has(p->err, "File exists");
	assert_int_equal(run_all(p, "status", NULL), 0);
	assert_has(p->out, "1 sessions; to be answered: 1;");
	stop(p, "k");
	sessions_ask_close(&p->ask);
	assert_int_equal(rename(copy, here), 0);
	assert_int_equal(run(p, "show", p->id, NULL, NULL), 0);
	assert_has(p->out, "words");
	assert_int_equal(run_all(p, "status", NULL), 0);
	assert_has(p->out, "to be answered: 1;");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_is_listed_shown_found_and_exported),
		T(an_export_never_overwrites_a_file),
		T(one_is_renamed_and_deleted_and_nothing_without_a_yes),
		T(only_what_is_old_is_pruned),
		T(no_database_is_no_error_for_a_list),
		T(changes_go_through_a_living_owner),
		T(a_backup_is_a_whole_copy_and_status_counts_what_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
