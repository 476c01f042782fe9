/*
 * Figures of the native sandbox, each beside its floor measured in the same,
 * interleaved loop: posix_spawn of the very same wrapper script in the same
 * bash.  Lines: name value unit.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/exec.h"
#include "sandbox/shell.h"
#include "tests/bench/figure.h"
#include "tests/real_native.h"

#define ROUNDS 200
#define COLD_ROUNDS 60
#define CANCELS 60
#define SETTLE_MS 40

static struct nat nat;
static struct buf wrapper;
static char *bwrap_args[64];

static void
wrapper_make(void)
{
	struct exec_text text = {
		.command = "true", .command_len = 4, .dir = "/tmp", .bash = true,
		.give_back = true,
	};

	buf_init(&wrapper, 65536);
	REQUIRE(exec_wrap(&wrapper, &text));
}

/* The floor: what the gateway would do without any sandbox. */
static double
outside(char *const *argv)
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	char text[4096];
	int script = memfd_create("bench", MFD_CLOEXEC), out[2], back[2];
	pid_t pid;

	REQUIRE(script >= 0 && pipe2(out, O_CLOEXEC) == 0 &&
		pipe2(back, O_CLOEXEC) == 0);
	double start = now_ms();
	REQUIRE(write(script, wrapper.data, wrapper.len) == (ssize_t)wrapper.len);
	lseek(script, 0, SEEK_SET);
	posix_spawn_file_actions_init(&actions);
	/* Clear of 3 and 4, which are targets. */
	int up_back = fcntl(back[1], F_DUPFD_CLOEXEC, 20);
	int up_script = fcntl(script, F_DUPFD_CLOEXEC, 20);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	posix_spawn_file_actions_adddup2(&actions, out[1], 2);
	posix_spawn_file_actions_adddup2(&actions, up_back, SHELL_FD_GIVEBACK);
	posix_spawn_file_actions_adddup2(&actions, up_script, SHELL_FD_SCRIPT);
	REQUIRE(posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) == 0);
	close(out[1]);
	close(back[1]);
	close(up_back);
	close(up_script);
	while (read(back[0], text, sizeof(text)) > 0)
		;
	while (read(out[0], text, sizeof(text)) > 0)
		;
	waitpid(pid, NULL, 0);
	double took = now_ms() - start;
	posix_spawn_file_actions_destroy(&actions);
	close(out[0]);
	close(back[0]);
	close(script);
	return took;
}

static double
outside_plain(void)
{
	static const char *const argv[] = { SHELL_ARGV };
	char *args[sizeof(argv) / sizeof(argv[0])];

	memcpy(args, argv, sizeof(argv));
	char path[] = SHELL_PATH;
	args[0] = path;
	return outside(args);
}

static void
wait_for(const bool *flag)
{
	/* Not real_until(): its polling timer would be part of the figure. */
	nat.stops_loop = true;
	while (!*flag)
		REQUIRE(loop_run(nat.real.loop) == 0);
	nat.stops_loop = false;
}

static double
inside(void)
{
	struct nat_run run;
	double start = now_ms();

	nat_spawn(&nat, &run, wrapper.data, NAT_RAW, NULL);
	wait_for(&run.dead);
	double took = now_ms() - start;
	if (run.error[0] || nat_exit_code(&run) != 0) {
		fprintf(stderr, "bench: %s %s\n", run.error, run.out.data);
		exit(1);
	}
	nat_run_done(&run);
	return took;
}

static void
warm(const char *name, msec_t idle)
{
	static double floor[ROUNDS], box[ROUNDS];

	for (int i = 0; i < 20; i++) {
		outside_plain();
		inside();
	}
	for (int i = 0; i < ROUNDS; i++) {
		if (idle)
			real_turn(&nat.real, idle);
		box[i] = inside();
		if (idle)
			real_turn(&nat.real, idle);
		floor[i] = outside_plain();
	}
	double f = quantile(floor, ROUNDS, 0.5), b = quantile(box, ROUNDS, 0.5);
	printf("%s_floor_ms %.3f ms\n%s_ms %.3f ms\n%s_ratio %.3f x\n", name, f, name,
		b, name, b / f);
	/* What is left on a busy machine. */
	printf("%s_p10_ratio %.3f x\n", name, quantile(box, ROUNDS, 0.1) /
		quantile(floor, ROUNDS, 0.1));
}

static void
bwrap_prepare(void)
{
	static const char *const args[] = {
		"bwrap", "--unshare-all", "--die-with-parent", "--new-session",
		"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
		"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--cap-drop", "ALL",
		"--", SHELL_PATH,
	};
	static const char *const shell[] = { SHELL_ARGV };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(args); i++)
		bwrap_args[n++] = mem_str(args[i]);
	for (size_t i = 1; shell[i]; i++)
		bwrap_args[n++] = mem_str(shell[i]);
}

/* Opening a sandbox, its first command, and nothing kept warm. */
static void
cold(void)
{
	static double floor[COLD_ROUNDS], box[COLD_ROUNDS], open_only[COLD_ROUNDS],
		bwrap[COLD_ROUNDS];
	bool have_bwrap = access("/usr/bin/bwrap", X_OK) == 0;

	bwrap_prepare();
	nat_close(&nat);
	/* A pause before each: the kernel clears network namespaces away in the
	 * background, and a new one waits for that. */
	for (int i = 0; i < COLD_ROUNDS; i++) {
		real_turn(&nat.real, SETTLE_MS);
		double start = now_ms();
		(void)nat_open_start(&nat);
		wait_for(&nat.opened);
		REQUIRE(nat.box);
		open_only[i] = now_ms() - start;
		inside();
		box[i] = now_ms() - start;
		nat_close(&nat);
		real_turn(&nat.real, SETTLE_MS);
		floor[i] = outside_plain();
		if (have_bwrap)
			bwrap[i] = outside(bwrap_args);
	}
	double f = quantile(floor, COLD_ROUNDS, 0.5), b = quantile(box, COLD_ROUNDS, 0.5);
	printf("sandbox_open_ms %.3f ms\nsandbox_cold_ms %.3f ms\n"
		"sandbox_cold_ratio %.3f x\nsandbox_cold_extra_ms %.3f ms\n",
		quantile(open_only, COLD_ROUNDS, 0.5), b, b / f, b - f);
	printf("sandbox_cold_p10_extra_ms %.3f ms\n", quantile(box, COLD_ROUNDS, 0.1) -
		quantile(floor, COLD_ROUNDS, 0.1));
	if (have_bwrap)
		printf("sandbox_cold_to_bwrap_ratio %.3f x\n",
			b / quantile(bwrap, COLD_ROUNDS, 0.5));
	REQUIRE(nat_open(&nat));
}

static void
cancel(int processes)
{
	static double took[CANCELS];
	CLEANUP_FREE char *script = mem_printf("trap '' TERM\nfor ((i = 2; i < %d; i++)); "
		"do (exec setsid sleep 100 &) ; done; echo up; sleep 100", processes);

	for (int i = 0; i < CANCELS; i++) {
		struct nat_run run;
		nat_spawn(&nat, &run, script, 0, NULL);
		while (run.out.len == 0 && !run.dead)
			real_turn(&nat.real, 5);
		double start = now_ms();
		nat_kill(&run);
		wait_for(&run.dead);
		took[i] = now_ms() - start;
		nat_run_done(&run);
	}
	double p99 = quantile(took, CANCELS, 0.99);
	printf("cancel_to_dead_%d_p50_ms %.3f ms\ncancel_to_dead_%d_p99_ms %.3f ms\n",
		processes, quantile(took, CANCELS, 0.5), processes, p99);
}

/* Proportional memory of the launcher's children: init and its spare. */
static void
idle_memory(void)
{
	CLEANUP_FREE char *command = mem_printf("/proc/%d/task/%d/children",
		(int)launcher_pid(nat.real.launcher), (int)launcher_pid(nat.real.launcher));
	unsigned long pss = 0, pid = 0;

	real_turn(&nat.real, 100);
	FILE *f = fopen(command, "re");
	while (f && fscanf(f, "%lu", &pid) == 1) {
		/* Below init: the spare's PID 1, below that the waiting command. */
		for (int depth = 0; pid && depth < 3; depth++) {
			char path[64], line[256];
			unsigned long kb;
			REQUIRE(mem_format(path, sizeof(path), "/proc/%lu/smaps_rollup", pid) == 0);
			FILE *maps = fopen(path, "re");
			while (maps && fgets(line, sizeof(line), maps))
				if (sscanf(line, "Pss: %lu", &kb) == 1)
					pss += kb;
			if (maps)
				fclose(maps);
			REQUIRE(mem_format(path, sizeof(path), "/proc/%lu/task/%lu/children",
				pid, pid) == 0);
			FILE *below = fopen(path, "re");
			if (!below || fscanf(below, "%lu", &pid) != 1)
				pid = 0;
			if (below)
				fclose(below);
		}
	}
	if (f)
		fclose(f);
	printf("sandbox_idle_pss_kb %lu kB\n", pss);
}

int
main(void)
{
	const struct native_opts opts = { .pids_max = 512 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* `make bench` runs in the build directory. */
	setenv("GATEHOUSE_HELPER", "./gatehouse-helper", 0);
	wrapper_make();
	if (!nat_start(&nat, &opts, NULL) || !nat_open(&nat)) {
		printf("# native sandbox: %s\n", nat.error);
		nat_stop(&nat);
		return 0;
	}
	idle_memory();
	warm("sandbox_warm", 10);
	warm("sandbox_burst", 0);
	cold();
	cancel(20);
	cancel(200);
	nat_stop(&nat);
	return 0;
}
