/*
 * What the tools cost on the built-in sandbox: scripts over python3 itself in
 * the same sandbox, a call by the socket, files beside cp, patches, masking.
 * Without such a sandbox on this machine it says so and measures the rest.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/redact.h"
#include "gateway/agent/replace.h"
#include "tests/bench/figure.h"
#include "tests/conformance/tools.h"

#define ROUNDS 21

/* The harness registers cases of its own; nothing is proven here. */
void
cf_case(const char *name, void (*run)(void **state), void *state)
{
	(void)name, (void)run, (void)state;
}

static void
bench_scripts(void)
{
	double plain[ROUNDS], tool[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		double at = now_ms();

		(void)tw_shell("python3 -c pass");
		plain[i] = now_ms() - at;
		at = now_ms();
		tw_call("execute_code", tw_args("code", "pass", NULL));
		tool[i] = now_ms() - at;
	}
	printf("execute_code_overhead_ms %.2f ms\n", median(tool, ROUNDS) - median(plain, ROUNDS));
	tw.env.code.max_calls = 1000;
	tw_call("execute_code", tw_args("code",
	    "import time\nfrom hermes_tools import read_file\n"
	    "open('one.txt', 'w').write('one line\\n')\n"
	    "read_file('one.txt')\nt = time.monotonic()\n"
	    "for i in range(500): read_file('one.txt')\n"
	    "print((time.monotonic() - t) * 1e6 / 500)\n", NULL));
	printf("rpc_call_us %.1f us\n", strtod(tw_str("output"), NULL));
}

static void
bench_files(void)
{
	double put[ROUNDS], cp[ROUNDS], get = 0;
	CLEANUP_FREE char *text = mem_alloc(90001);
	size_t bytes = 0;

	for (size_t i = 0; i < 90000; i++)
		text[i] = i % 60 == 59 ? '\n' : (char)('a' + i % 23);
	for (int i = 0; i < ROUNDS; i++) {
		double at = now_ms();

		tw_call("write_file", tw_args("path", "b.txt", "content", text,
		    NULL));
		put[i] = now_ms() - at;
		at = now_ms();
		(void)tw_shell("cp b.txt c.txt");
		cp[i] = now_ms() - at;
		at = now_ms();
		tw.env.run.generation++;	/* no "unchanged" */
		tw_call("read_file", json_set_int(tw_args("path", "b.txt", NULL),
		    "limit", 1400));
		tw.env.run.generation--;
		get += now_ms() - at;
		bytes += strlen(tw_str("content"));
	}
	printf("write_file_ms %.2f ms\n", median(put, ROUNDS));
	printf("cp_command_ms %.2f ms\n", median(cp, ROUNDS));
	printf("read_file_mb_per_s %.1f MB/s\n", (double)bytes / get / 1000);
}

static void
bench_pure(void)
{
	double exact[ROUNDS], loose[ROUNDS], mask[ROUNDS];
	CLEANUP_BUF struct buf text, out;
	struct replace_found found;
	struct err err;

	buf_init(&text, 2 << 20);
	buf_init(&out, 4 << 20);
	for (int i = 0; text.len < 1 << 20; i++)
		buf_printf(&text, "    value_%d = compute(%d)  # note\n", i, i * 7);
	for (int i = 0; i < ROUNDS; i++) {
		double at = now_ms();

		buf_clear(&out);
		(void)replace_apply(&out, text.data, text.len,
		    "value_20000 = compute(140000)", "x", false, &found, &err);
		exact[i] = now_ms() - at;
		at = now_ms();
		buf_clear(&out);
		(void)replace_apply(&out, text.data, text.len,
		    "value_20000  =  compute(140000)  # note\n", "x\n", false,
		    &found, &err);
		loose[i] = now_ms() - at;
		at = now_ms();
		buf_clear(&out);
		redact_sentinels(&out, text.data, text.len);
		mask[i] = now_ms() - at;
	}
	printf("patch_ms %.2f ms\n", median(exact, ROUNDS));
	printf("patch_whitespace_ms %.2f ms\n", median(loose, ROUNDS));
	printf("mask_mb_per_s %.0f MB/s\n", (double)text.len / median(mask, ROUNDS) / 1000);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	bench_pure();
	cf_start("native");
	if (!cf.props.available) {
		printf("# no figures of scripts and files: %s\n", cf.props.why);
	} else {
		tw_start();
		bench_files();
		bench_scripts();
		tw_stop();
	}
	cf_stop();
	return 0;
}
