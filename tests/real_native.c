#include "tests/real_native.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <ftw.h>
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

void
nat_spawn(struct nat *nat, struct nat_run *run, const char *script,
	unsigned flags, const char *input)
{
	static const char *const env[] = {
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/workspace", "LANG=C.UTF-8",
		"MARK=ghtest-native-inside", NULL,
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
