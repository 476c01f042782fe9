/*
 * What the wrapper text costs: the same shell with the same command, once as
 * `bash -c CMD` and once through the wrapper with its give-back read.  Runs
 * alternate, so that both see the same machine; medians are compared.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/env.h"
#include "sandbox/exec.h"
#include "sandbox/giveback.h"
#include "sandbox/shell.h"
#include "tests/bench/figure.h"

#define ROUNDS 400

static char **env;

static pid_t
spawn(const char *const *argv, int script, int back)
{
	union { const char *const *in; char *const *out; } a = { argv };
	posix_spawn_file_actions_t fa;
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	if (script >= 0) {
		posix_spawn_file_actions_adddup2(&fa, back, SHELL_FD_GIVEBACK);
		posix_spawn_file_actions_adddup2(&fa, script, SHELL_FD_SCRIPT);
	}
	posix_spawn_file_actions_addclosefrom_np(&fa, script >= 0 ? 5 : 3);
	if (posix_spawn(&pid, SHELL_PATH, &fa, NULL, a.out, env) != 0)
		exit(1);
	posix_spawn_file_actions_destroy(&fa);
	return pid;
}

static double
plain(const char *command)
{
	const char *const argv[] = { "bash", "--noprofile", "--norc", "-c",
		command, NULL };
	double start = now_ms();

	waitpid(spawn(argv, -1, -1), NULL, 0);
	return 1000 * (now_ms() - start);
}

/* Making the text, its memory file and reading the records count, too. */
static double
wrapped(const char *command)
{
	static const char *const argv[] = { SHELL_ARGV };
	struct exec_text t = { .command = command, .command_len = strlen(command),
		.dir = "/tmp", .fallback = "/", .bash = true, .give_back = true };
	char data[65536];
	struct giveback gb;
	struct buf text;
	size_t len = 0;
	ssize_t n;
	int pair[2];
	double start = now_ms();

	buf_init(&text, 1 << 20);
	exec_wrap(&text, &t);
	int fd = memfd_create("script", MFD_CLOEXEC);
	if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len ||
	    pipe2(pair, O_CLOEXEC) < 0)
		exit(1);
	lseek(fd, 0, SEEK_SET);
	/* Out of the way of the numbers they are to have in the child. */
	int script = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	int back = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
	close(fd);
	close(pair[1]);
	pid_t pid = spawn(argv, script, back);
	close(script);
	close(back);
	while ((n = read(pair[0], data + len, sizeof(data) - len)) > 0)
		len += (size_t)n;
	close(pair[0]);
	waitpid(pid, NULL, 0);
	giveback_parse(&gb, data, len, false);
	if (!gb.whole || !gb.has_exports)
		exit(1);
	giveback_done(&gb);
	buf_done(&text);
	return 1000 * (now_ms() - start);
}

static void
measure(const char *name, const char *command)
{
	static double a[ROUNDS], b[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		a[i] = plain(command);
		b[i] = wrapped(command);
	}
	double floor = median(a, ROUNDS), ours = median(b, ROUNDS);
	printf("%s %.2f ratio\n", name, ours / floor);
	printf("%s_us %.0f us\n", name, ours);
	printf("%s_floor_us %.0f us\n", name, floor);
}

int
main(void)
{
	struct env_spec spec = { .home = "/tmp", .user = "bench" };
	struct vars vars;

	env_build(&vars, &spec);
	env = vars_env(&vars);
	measure("wrapper_ratio", "ls / >/dev/null && test -d /");
	/* bash -c becomes a lone program itself; who wants to hear back cannot. */
	measure("wrapper_single_ratio", "ls / >/dev/null");
	measure("wrapper_builtin_ratio", ":");
	vars_env_free(&env);
	vars_done(&vars);
	return 0;
}
