#include "tests/peers/node_server.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define ARGS_MAX 8

void
node_server_start(struct node_server *s, const char *const *args)
{
	posix_spawn_file_actions_t fa;
	char *argv[ARGS_MAX + 2] = { mem_str("node") };
	char line[64] = "";
	int in[2], out[2];
	size_t n = 1;

	for (; *args; args++) {
		REQUIRE(n <= ARGS_MAX);
		argv[n++] = mem_str(*args);
	}
	REQUIRE(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, in[0], 0);
	posix_spawn_file_actions_adddup2(&fa, out[1], 1);
	REQUIRE(posix_spawnp(&s->pid, "node", &fa, NULL, argv, environ) == 0);
	posix_spawn_file_actions_destroy(&fa);
	while (n--)
		mem_free(argv[n]);
	close(in[0]);
	close(out[1]);
	s->in = in[1];
	FILE *f = fdopen(out[0], "r");
	REQUIRE(f && fgets(line, sizeof(line), f));
	fclose(f);
	REQUIRE(!strncmp(line, "listening ", 10));
	s->port = (int)strtol(line + 10, NULL, 10);
}

void
node_server_stop(struct node_server *s)
{
	close(s->in);
	waitpid(s->pid, NULL, 0);
}
