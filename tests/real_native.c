#include "tests/real_native.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

static void
keep_text(char *to, size_t size, const struct err *err)
{
	if (!err)
		to[0] = 0;
	else if (mem_copy_str(to, size, err->text) < 0)
		to[0] = '?';
}

bool
nat_start(struct nat *nat, const struct native_opts *opts, const char *image)
{
	struct err err = { ERR_NONE, "" };
	const char *tmp = getenv("TMPDIR");

	memset(nat, 0, sizeof(*nat));
	nat->state = mem_printf("%s/ghnative-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(nat->state))
		fail_msg("%s", nat->state);
	real_setup(&nat->real);
	struct backend_env env = {
		.loop = nat->real.loop, .launcher = nat->real.launcher,
		.state_dir = nat->state, .instance_id = "test", .image = image,
		.opts = opts,
	};
	nat->inst = backend_native.start(&env, &err);
	if (!nat->inst)
		keep_text(nat->error, sizeof(nat->error), &err);
	return nat->inst != NULL;
}

static void
on_probed(void *arg, const struct err *err)
{
	struct nat *nat = arg;

	nat->probed = true;
	keep_text(nat->error, sizeof(nat->error), err);
}

bool
nat_probe(struct nat *nat)
{
	nat->probed = false;
	backend_native.probe(nat->inst, on_probed, nat);
	assert_false(nat->probed);
	assert_true(real_until(&nat->real, &nat->probed));
	nat->props = backend_native.props(nat->inst);
	return nat->props.available;
}

static void
on_opened(void *arg, struct box *box, const struct err *err)
{
	struct nat *nat = arg;

	nat->opened = true;
	nat->box = box;
	if (nat->stops_loop)
		loop_stop(nat->real.loop);
	keep_text(nat->error, sizeof(nat->error), err);
}

struct op *
nat_open_start(struct nat *nat)
{
	struct box_spec spec = { .id = "test" };

	if (!nat->workspace) {
		nat->workspace = mem_printf("%s/ws", nat->state);
		assert_int_equal(mkdir(nat->workspace, 0700), 0);
	}
	spec.workspace = nat->workspace;
	nat->opened = false;
	struct op *op = backend_native.open(nat->inst, &spec, on_opened, nat);
	assert_false(nat->opened);
	return op;
}

bool
nat_open(struct nat *nat)
{
	(void)nat_open_start(nat);
	assert_true(real_until(&nat->real, &nat->opened));
	return nat->box != NULL;
}

static void
on_closed(void *arg, const struct err *err)
{
	struct nat *nat = arg;

	nat->closed = true;
	nat->box = NULL;
	keep_text(nat->error, sizeof(nat->error), err);
}

void
nat_close(struct nat *nat)
{
	nat->closed = false;
	backend_native.close(nat->box, on_closed, nat);
	assert_false(nat->closed);
	assert_true(real_until(&nat->real, &nat->closed));
}

static int
remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

void
nat_stop(struct nat *nat)
{
	if (nat->box)
		nat_close(nat);
	if (nat->inst)
		backend_native.stop(&nat->inst);
	real_teardown(&nat->real);
	nftw(nat->state, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	mem_free(nat->state);
	mem_free(nat->workspace);
}

static void
on_started(void *arg, int pid)
{
	struct nat_run *run = arg;

	assert_false(run->started || run->exited || run->dead);
	run->started = true;
	run->pid = pid;
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct nat_run *run = arg;

	assert_true(run->started && !run->dead);
	buf_add(fd == 2 ? &run->err : &run->out, data, len);
}

static void
on_giveback(void *arg, const char *data, size_t len)
{
	struct nat_run *run = arg;

	assert_false(run->exited);
	assert_int_equal(run->given.len, 0);
	buf_add(&run->given, data, len);
}

static void
on_exited(void *arg, int status, unsigned leftovers)
{
	struct nat_run *run = arg;

	assert_true(run->started && !run->exited && !run->dead);
	run->exited = true;
	run->status = status;
	run->leftovers = leftovers;
}

static void
on_dead(void *arg, const struct err *err)
{
	struct nat_run *run = arg;

	assert_false(run->dead);
	run->dead = true;
	run->proc = NULL;
	if (run->nat->stops_loop)
		loop_stop(run->nat->real.loop);
	keep_text(run->error, sizeof(run->error), err);
}

static const struct proc_events events = {
	on_started, on_output, on_giveback, on_exited, on_dead,
};

const char *
nat_mark(void)
{
	static char mark[64];

	/* Of this process: the same tests may run beside us. A forked gateway
	 * keeps its parent's. */
	if (!mark[0])
		assert_int_equal(mem_format(mark, sizeof(mark), "ghtest-native-%d-",
			(int)getpid()), 0);
	return mark;
}

void
nat_spawn(struct nat *nat, struct nat_run *run, const char *script,
	unsigned flags, const char *input)
{
	CLEANUP_FREE char *mark = mem_printf("MARK=%s", nat_mark());
	const char *const env[] = {
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/workspace", "LANG=C.UTF-8",
		mark, NULL,
	};
	CLEANUP_FREE char *text = mem_printf("%s%s",
		flags & NAT_RAW ? "" : "exec 3>&-\n", script);
	struct spawn_req req = {
		.script = text, .script_len = strlen(text), .env = env,
		.input = input, .input_len = input ? strlen(input) : 0,
		.split = flags & NAT_SPLIT, .keep_children = flags & NAT_KEEP,
		.events = &events, .arg = run,
	};
	struct err err = { ERR_NONE, "" };

	memset(run, 0, sizeof(*run));
	run->nat = nat;
	buf_init(&run->out, 1024 * 1024);
	buf_init(&run->err, 1024 * 1024);
	buf_init(&run->given, 1024 * 1024);
	run->proc = backend_native.spawn(nat->box, &req, &err);
	if (!run->proc) {
		keep_text(run->error, sizeof(run->error), &err);
		run->dead = true;
	}
	assert_false(run->started);
}

void
nat_run(struct nat *nat, struct nat_run *run, const char *script)
{
	nat_spawn(nat, run, script, 0, NULL);
	assert_true(real_until(&nat->real, &run->dead));
}

void
nat_kill(struct nat_run *run)
{
	backend_native.kill(run->proc);
}

void
nat_run_done(struct nat_run *run)
{
	buf_done(&run->out);
	buf_done(&run->err);
	buf_done(&run->given);
}

int
nat_exit_code(const struct nat_run *run)
{
	if (!run->exited)
		return -1;
	return WIFEXITED(run->status) ? WEXITSTATUS(run->status) :
		128 + WTERMSIG(run->status);
}

const struct native_opts nat_defaults = { .network = "none" };

/* SKIP, not a pass, where the machine allows no namespaces. */
int
nat_setup(void **state)
{
	struct nat *nat = mem_alloc(sizeof(*nat));

	if (!nat_start(nat, &nat_defaults, NULL))
		fail_msg("%s", nat->error);
	if (!nat_probe(nat)) {
		fprintf(stderr, "# skipped: %s\n", nat->error);
		*state = NULL;
		nat_stop(nat);
		mem_free(nat);
		return 0;
	}
	if (!nat_open(nat))
		fail_msg("%s", nat->error);
	*state = nat;
	return 0;
}

int
nat_teardown(void **state)
{
	struct nat *nat = *state;

	if (nat)
		nat_stop(nat);
	mem_free(nat);
	return 0;
}

void
nat_expect(struct nat *nat, const char *script, int code, const char *out)
{
	struct nat_run run;

	nat_run(nat, &run, script);
	if (run.error[0])
		fail_msg("%s", run.error);
	if (nat_exit_code(&run) != code || (out && strcmp(run.out.data, out) != 0))
		fail_msg("`%s` gave %d and \"%s\"", script, nat_exit_code(&run),
			run.out.data);
	nat_run_done(&run);
}

/* The helper, opened by root: the tree may lie where that user cannot look. */
static int
hand_over_helper(void)
{
	char path[64];
	int fd = open(getenv("GATEHOUSE_HELPER"), O_RDONLY);

	if (fd < 0 || mem_format(path, sizeof(path), "/proc/%d/fd/%d",
	    (int)getpid(), fd) < 0)
		return -1;
	return setenv("GATEHOUSE_HELPER", path, 1);
}

/* Root's tests run once more as somebody else. */
int
nat_again(char **argv)
{
	if (geteuid() != 0 || getenv("GATEHOUSE_TEST_AGAIN"))
		return 0;
	pid_t pid = fork();
	if (pid == 0) {
		if (hand_over_helper() < 0 ||
		    setgroups(0, NULL) < 0 || setresgid(12345, 12345, 12345) < 0 ||
		    setresuid(12345, 12345, 12345) < 0 ||
		    setenv("GATEHOUSE_TEST_AGAIN", "1", 1) < 0)
			_exit(2);
		/* Its own TAP would confuse ours: to stderr. */
		dup2(2, 1);
		setenv("CMOCKA_MESSAGE_OUTPUT", "STDOUT", 1);
		execv("/proc/self/exe", argv);
		_exit(2);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	return status;
}
