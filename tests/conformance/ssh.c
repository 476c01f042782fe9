/* Backend ssh runs against a private sshd on loopback. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#include "tests/conformance/harness.h"
#include "tests/real_sshd.h"

static struct sshd sshd;
static struct ssh_opts opts;

/* ---- what only a line to another machine can do ----------------------------------- */

/* Red if the end is not said to be unknown, or the command is done again. */
static void
a_cut_line_is_told_and_the_tree_is_dead(void **state)
{
	const char *mark = cf_mark();
	char *text = mem_printf("echo x >>cut; echo up; sleep %s", mark);
	struct sandbox_cmd cmd = { .command = text };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_until_output(&r, "up");
	sshd_cut(&sshd);
	cf_wait(&r);
	assert_true(r.lost && r.started);
	assert_int_equal(r.code, -1);
	assert_non_null(strstr(r.error, "was lost"));
	cf_done(&r);
	assert_true(cf_none_left(mark));
	cf_expect("cat cut; rm cut", "x\n", 0);
	mem_free(text);
}

static void
a_line_cut_while_idle_is_nobodys_business(void **state)
{
	(void)state;
	cf_expect("export KEPT=yes; mkdir -p idle; cd idle", "", 0);
	sshd_cut(&sshd);
	real_turn(&cf.real, 200);
	cf_expect("echo $KEPT; basename $PWD; unset KEPT; cd ..", "yes\nidle\n", 0);
}

/* Of all processes but ours: does anybody's argument hold text? */
static bool
in_arguments(const char *text)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	bool found = false;

	while (dir && (e = readdir(dir))) {
		char path[64], args[8192];
		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    mem_format(path, sizeof(path), "/proc/%s/cmdline", e->d_name) < 0)
			continue;
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, args, sizeof(args));
		if (fd >= 0)
			close(fd);
		found |= n > 0 && memmem(args, (size_t)n, text, strlen(text));
	}
	if (dir)
		closedir(dir);
	return found;
}

static void
nothing_of_a_command_is_in_arguments(void **state)
{
	struct sandbox_cmd cmd = {
		.command = ": not-in-argv; echo $PASSED_ON; read x; echo $x",
		.input = "typed-secret\n", .input_len = 13 };
	struct ran r;

	(void)state;
	cf_begin(&r, &key_a, &cmd);
	cf_until_output(&r, "yes it was");
	assert_false(in_arguments("not-in-argv"));
	assert_false(in_arguments("yes it was"));
	assert_false(in_arguments("typed-secret"));
	cf_wait(&r);
	assert_string_equal(r.output, "yes it was\ntyped-secret\n");
	cf_done(&r);
}

void
ssh_add(void)
{
	cf_case("ssh a_cut_line_is_told_and_the_tree_is_dead",
	    a_cut_line_is_told_and_the_tree_is_dead, NULL);
	cf_case("ssh a_line_cut_while_idle_is_nobodys_business",
	    a_line_cut_while_idle_is_nobodys_business, NULL);
	cf_case("ssh nothing_of_a_command_is_in_arguments",
	    nothing_of_a_command_is_in_arguments, NULL);
}

/* ---- the server --------------------------------------------------------------------- */

const char *
cf_ssh_start(void)
{
	const char *why;

	if (!sshd_start(&sshd, &why))
		return why;
	opts = (struct ssh_opts){
		.host = "127.0.0.1", .port = sshd.port, .key_file = sshd.key,
		.known_hosts = sshd.known_hosts, .user = sshd.user,
		.helper = getenv("GATEHOUSE_HELPER"),
	};
	return NULL;
}

const struct ssh_opts *
cf_ssh(void)
{
	return &opts;
}

void
cf_ssh_stop(void)
{
	sshd_stop(&sshd);
}
