/*
 * The base floor on the real loop: timers, the worker's door, parsers, masker.
 * Lines: name value unit.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "base/worker.h"
#include "tests/bench/figure.h"

#define TIMERS 200000
#define JOBS 200000
#define ROUNDS 200

static void
print_rate(const char *name, double amount, double began, const char *unit)
{
	printf("%s %.0f %s\n", name, 1000 * amount / (now_ms() - began), unit);
	fflush(stdout);
}

struct world {
	struct loop *loop;
	struct worker *worker;
	int left;
};

static void
on_timer(void *arg)
{
	struct world *w = arg;

	if (--w->left > 0)
		loop_defer(w->loop, "bench", on_timer, w);
	else
		loop_stop(w->loop);
}

static void
bench_timers(struct world *w)
{
	double began = now_ms();

	w->left = TIMERS;
	loop_defer(w->loop, "bench", on_timer, w);
	REQUIRE(loop_run(w->loop) == 0);
	print_rate("loop_timers", TIMERS, began, "1/s");
}

struct job {
	struct worker_job job;
	struct world *world;
};

static void
on_done(struct worker_job *job)
{
	struct world *w = ((struct job *)job)->world;

	mem_free(job);
	if (--w->left == 0)
		loop_stop(w->loop);
}

static void
run_batch(void *state, struct worker_job *jobs)
{
	(void)state;
	(void)jobs;
}

static void
bench_worker(struct world *w)
{
	static const struct worker_ops ops = { "bench", NULL, run_batch, NULL };
	double began = now_ms();

	w->worker = worker_start(w->loop, &ops, NULL, NULL);
	REQUIRE(w->worker);
	w->left = JOBS;
	for (int i = 0; i < JOBS; i++) {
		struct job *job = mem_alloc(sizeof(*job));

		job->job.done = on_done;
		job->world = w;
		worker_submit(w->worker, &job->job);
	}
	REQUIRE(loop_run(w->loop) == 0);
	worker_stop(&w->worker);
	print_rate("worker_round_trips", JOBS, began, "1/s");
}

/* About 100 kB of what a platform sends. */
static void
make_text(struct buf *text)
{
	buf_add_str(text, "{\"ok\":true,\"result\":[");
	for (int i = 0; i < 400; i++)
		buf_printf(text, "%s{\"update_id\":%d,\"message\":{\"message_id\":%d,"
		    "\"chat\":{\"id\":-100%09d,\"type\":\"supergroup\"},\"date\":1790000000,"
		    "\"text\":\"export PATH=/usr/bin; \xC3\xA9\\ud83d\\ude00 see "
		    "https://example.com/a?b=c and sk-not-a-key\"}}",
		    i ? "," : "", i, i, i);
	buf_add_str(text, "]}");
}

static void
bench_parsers(void)
{
	CLEANUP_BUF struct buf text, out;
	double began;
	double mb;

	buf_init(&text, 1 << 20);
	buf_init(&out, 8 << 20);
	make_text(&text);
	mb = (double)text.len * ROUNDS / 1e6;

	began = now_ms();
	for (int i = 0; i < ROUNDS; i++) {
		CLEANUP_JSON struct json *j = json_parse(text.data, text.len, NULL);

		REQUIRE(json_len(json_get(j, "result")) == 400);
	}
	print_rate("json_parse", mb, began, "MB/s");

	began = now_ms();
	for (int i = 0; i < ROUNDS; i++) {
		buf_clear(&out);
		REQUIRE(utf8_repair(&out, text.data, text.len));
	}
	print_rate("utf8_repair", mb, began, "MB/s");

	began = now_ms();
	for (int i = 0; i < ROUNDS; i++) {
		buf_clear(&out);
		REQUIRE(redact_text(&out, text.data, text.len));
	}
	print_rate("redact_text", mb, began, "MB/s");
}

int
main(void)
{
	struct world w = { .loop = loop_new() };

	loop_watchdog_start(w.loop);
	bench_timers(&w);
	bench_worker(&w);
	struct loop_stats stats = loop_stats(w.loop, true);

	printf("loop_stall_max %lld ms\n", (long long)stats.stall_max);
	loop_free(&w.loop);
	bench_parsers();
	return 0;
}
