/* Which commands are sent to the background, and which words are only data. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "gateway/agent/tools/foreground.h"

static const char *const refused[] = {
	"nohup make", "setsid sleep 5", "make && disown", "sleep 5 &",
	"./server & curl localhost", "(sleep 9 &)", "cd web && npm run dev",
	"npm start", "yarn dev", "pnpm run watch", "bun serve", "vite",
	"FOO=1 vite --port 3", "next dev", "/usr/bin/nohup x", "nodemon a.js",
	"uvicorn app:app", "time gunicorn app", "python3 -m http.server 80",
	"docker compose up", "docker-compose up web", "true; nohup x",
	"if true; then nohup x; fi", "echo 'a' & echo b", "sudo nohup x",
	"cat <<X &\ndata\nX", "npm --help; npm start", "\"nohup\" x",
};

static const char *const runs[] = {
	"", "make", "echo nohup", "echo 'sleep 5 &'", "echo \"a & b\"",
	"make 2>&1 | tail", "make &> log", "make >&2", "a && b", "a |& b",
	"echo a\\&b", "# nohup x &", "make # and &", "grep -r setsid .",
	"npm run build", "npm install start", "vite build", "next build",
	"uvicorn --help", "vite -v", "python3 -m venv x", "docker compose up -d",
	"docker compose ps", "a & b & wait", "for i in 1 2; do x & done; wait",
	"cat <<X\nnohup y &\nX", "git commit -m 'setsid & co'", "echo $((1 & 3))x",
	"wait", "docker compose up --detach web",
};

static void
what_never_ends_or_leaves_something_goes_to_the_background(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (!foreground_fault(refused[i]))
			fail_msg("runs: %s", refused[i]);
}

static void
all_else_runs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(runs); i++)
		if (foreground_fault(runs[i]))
			fail_msg("refused: %s", runs[i]);
}

static void
any_text_is_read_to_its_end(void **state)
{
	char text[300];

	(void)state;
	for (unsigned seed = 1; seed < 3000; seed++) {
		unsigned x = seed * 2654435761u;
		for (size_t i = 0; i < sizeof(text) - 1; i++) {
			x = x * 1103515245u + 12345u;
			text[i] = "ab '\"\\&|;<>()#\n$-="[(x >> 16) % 19];
			if (!text[i])
				text[i] = 'x';
		}
		text[sizeof(text) - 1 - seed % 200] = '\0';
		(void)foreground_fault(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_never_ends_or_leaves_something_goes_to_the_background),
		cmocka_unit_test(all_else_runs),
		cmocka_unit_test(any_text_is_read_to_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
