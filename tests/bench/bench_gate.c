/* How long a verdict takes: over the corpus, and for each KiB of long texts. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "tests/bench/figure.h"
#include "tests/gate_rows.h"

static double
us_now(void)
{
	struct timespec ts;
	timespec_get(&ts, TIME_UTC);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* The best of five: what the machine does besides isn't the gate's. */
static double
us_of(const char *s, size_t len)
{
	double best = 1e12;
	for (int i = 0; i < 5; i++) {
		double start = us_now();
		gate_level_of(&gate_row_ctx, s, len);
		double took = us_now() - start;
		best = took < best ? took : best;
	}
	return best;
}

static double
us_per_kb(const char *unit, const char *head, const char *tail, size_t bytes)
{
	CLEANUP_BUF struct buf b;
	buf_init(&b, 1 << 20);
	buf_add_str(&b, head);
	while (b.len + 16 < bytes)
		buf_add_str(&b, unit);
	buf_add_str(&b, tail);
	return us_of(b.data, b.len) / ((double)b.len / 1024);
}

int
main(void)
{
	struct gate_rows rows;
	gate_rows_load(&rows, "approval.tsv");
	double *us = mem_array(rows.n, sizeof(*us));
	for (size_t i = 0; i < rows.n; i++)
		us[i] = us_of(rows.v[i].command, rows.v[i].len);
	printf("gate_us_p50 %.1f us\n", median(us, rows.n));
	printf("gate_us_p99 %.1f us\n", quantile(us, rows.n, 0.99));
	printf("gate_us_per_kb %.1f us\n", us_per_kb("word ", "echo ", "", 128000));
	printf("gate_us_per_kb_4kb %.1f us\n", us_per_kb("word ", "echo ", "", 4096));
	printf("gate_us_per_kb_heredoc %.1f us\n", us_per_kb("some line $x\n",
		"cat <<E\n", "\nE\n", 128000));
	printf("gate_us_per_kb_pipe %.1f us\n", us_per_kb("a|", "", "b", 128000));
	mem_free(us);
	gate_rows_done(&rows);
	return 0;
}
