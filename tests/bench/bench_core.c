/*
 * The core on the real loop with the real store: turns, cancels, many sessions,
 * many streams.  Platform, model and sandbox are in memory and take no time, so
 * what is left is ours.  The clock is read inside the calls of the platform and
 * the model, not when this program next looks.  Prints `name value unit` lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "tests/bench/figure.h"
#include "tests/fake_model.h"
#include "tests/fake_platform.h"
#include "tests/fake_sandbox.h"

#define TURNS 300
#define PEOPLE 30		/* who share the turns: conversations of 20 messages */
#define CANCELS 200
#define SESSIONS 10000
#define STREAMS 200

struct bench {
	char dir[64];
	struct loop *loop;
	struct store *store;
	struct sandboxes *sandboxes;
	struct fake_model *model;
	struct fake_platform platform;
	struct gateway *gw;
	bool stopped;
};

static const struct auth_rule auth[] = {
	{ .platform = "fake", .allow_all = true },
};

/* Filled by bench_open(): the fakes, and a look at the clock in front. */
static struct platform timed_platform;
static struct model_type timed_model;
static const struct model_type *fake_model_type;
static double sent_at, called_at;

static const struct gateway_platform platforms[] = {
	{ .platform = &timed_platform, .account = "900", .vital = true },
};

static double
cpu_ms(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1e3 +
	    (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e3;
}

static void
print(const char *name, double value, const char *unit)
{
	printf("%s %.3f %s\n", name, value, unit);
	fflush(stdout);
}

static struct op *
timed_send(struct platform_instance *inst, const struct outgoing *out,
    send_cb *cb, void *arg)
{
	sent_at = now_ms();
	return platform_fake.send(inst, out, cb, arg);
}

static struct op *
timed_call(struct model *model, const struct model_req *req,
    model_done_cb *done, void *arg)
{
	called_at = now_ms();
	return fake_model_type->call(model, req, done, arg);
}

/* ---- the loop runs until something is true ---------------------------------------- */

struct until {
	struct loop *loop;
	bool (*cond)(void *arg);
	void *arg;
	struct timer *timer;
};

static void
on_look(void *arg)
{
	struct until *u = arg;

	u->timer = NULL;
	if (u->cond(u->arg))
		loop_stop(u->loop);
	else
		u->timer = loop_after(u->loop, 1, "bench look", on_look, u);
}

static void
run_until(struct bench *b, bool (*cond)(void *arg), void *arg)
{
	struct until u = { b->loop, cond, arg, NULL };

	u.timer = loop_defer(b->loop, "bench look", on_look, &u);
	loop_run(b->loop);
}

static bool
is_idle(void *arg)
{
	struct bench *b = arg;

	return b->platform.inst && gateway_idle(b->gw);
}

static bool
is_stopped(void *arg)
{
	struct bench *b = arg;

	return b->stopped;
}

static void
on_stopped(void *arg)
{
	struct bench *b = arg;

	b->stopped = true;
}

static void
bench_open(struct bench *b)
{
	struct err err = { ERR_NONE, "" };
	struct sandbox_opts box = { .state_dir = b->dir };

	memset(b, 0, sizeof(*b));
	strcpy(b->dir, "gatehouse-bench.XXXXXX");
	REQUIRE(mkdtemp(b->dir));
	CLEANUP_FREE char *path = mem_printf("%s/state.db", b->dir);
	struct store_opts sopts = { .path = path, .profile = "main" };

	b->loop = loop_new();
	b->store = store_open(b->loop, &sopts, &err);
	REQUIRE(b->store);
	b->sandboxes = sandboxes_new(b->loop, NULL, b->store, &box, &err);
	b->model = fake_model_new(b->loop);
	struct model *model = fake_model_as_model(b->model);

	fake_model_type = model->type;
	timed_model = *fake_model_type;
	timed_model.call = timed_call;
	model->type = &timed_model;
	timed_platform = platform_fake;
	timed_platform.send = timed_send;
	fake_platform_init(&b->platform, b->loop);
	fake_sandbox_init();
	struct gateway_opts opts = {
		.loop = b->loop, .store = b->store, .sandboxes = b->sandboxes,
		.model = model,
		.platforms = platforms, .nplatforms = 1,
		.auth = auth, .nauth = 1, .route = { "main", true, false },
	};

	b->gw = gateway_start(&opts);
	run_until(b, is_idle, b);
}

static void
bench_close(struct bench *b)
{
	CLEANUP_FREE char *clean = mem_printf("rm -rf %s", b->dir);

	gateway_stop(b->gw, on_stopped, b);
	run_until(b, is_stopped, b);
	gateway_free(&b->gw);
	sandboxes_free(&b->sandboxes);
	store_close(&b->store);
	fake_platform_done(&b->platform);
	fake_sandbox_done();
	fake_model_free(&b->model);
	loop_free(&b->loop);
	REQUIRE(system(clean) == 0);
}

/* ---- figures ------------------------------------------------------------------------ */

/* Durable rows by SQLite itself, as the store is set up. */
static sqlite3 *
raw_open(const char *dir)
{
	CLEANUP_FREE char *path = mem_printf("%s/raw.db", dir);
	sqlite3 *db;

	REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
	REQUIRE(sqlite3_exec(db, "PRAGMA journal_mode=WAL;"
	    "PRAGMA synchronous=FULL; CREATE TABLE t(x)", NULL, NULL, NULL) ==
	    SQLITE_OK);
	return db;
}

static double
raw_commits_ms(sqlite3 *db, int commits)
{
	double start = now_ms();

	for (int i = 0; i < commits; i++)
		REQUIRE(sqlite3_exec(db, "INSERT INTO t VALUES(1)", NULL, NULL,
		    NULL) == SQLITE_OK);
	return now_ms() - start;
}

static void
forget_sends(struct bench *b)
{
	for (size_t i = 0; i < b->platform.nsent; i++) {
		mem_free(b->platform.sent[i].chat_id);
		mem_free(b->platform.sent[i].thread_id);
		mem_free(b->platform.sent[i].text);
		mem_free(b->platform.sent[i].buttons0);
	}
	b->platform.nsent = 0;
}

/* From the platform's event to the platform's send. */
static double
measure_turn(struct bench *b, int who)
{
	CLEANUP_FREE char *user = mem_printf("%d", who);
	double start = now_ms();

	sent_at = 0;
	fake_say(&b->platform, user, "hello");
	run_until(b, is_idle, b);
	REQUIRE(sent_at > start);
	forget_sends(b);
	return sent_at - start;
}

/* Also of what follows the send, with every thread. */
static double
measure_turns_cpu(struct bench *b, int people)
{
	double cpu = cpu_ms();

	for (int i = 0; i < TURNS; i++)
		measure_turn(b, 1000 + people + i % people);
	fake_model_forget(b->model);
	return (cpu_ms() - cpu) / TURNS;
}

/* Turns and their floor take turns, so that both meet the same disk. */
static void
bench_turns(void)
{
	/* Of a turn without a tool two are waited for: accept and final. */
	enum { AWAITED = 2 };
	double total[TURNS], commits[TURNS];
	struct bench b;

	bench_open(&b);
	sqlite3 *raw = raw_open(b.dir);

	for (int i = 0; i < PEOPLE; i++)
		measure_turn(&b, i);
	for (int i = 0; i < TURNS; i++) {
		total[i] = measure_turn(&b, i % PEOPLE);
		commits[i] = raw_commits_ms(raw, AWAITED);
	}
	double raw_cpu = cpu_ms();

	for (int i = 0; i < TURNS; i++)
		(void)raw_commits_ms(raw, AWAITED);
	raw_cpu = (cpu_ms() - raw_cpu) / TURNS;
	sqlite3_close(raw);
	fake_model_forget(b.model);
	double p50 = quantile(total, TURNS, 0.5);
	double p99 = quantile(total, TURNS, 0.99);
	double floor50 = quantile(commits, TURNS, 0.5);
	double floor99 = quantile(commits, TURNS, 0.99);

	print("turn_total_p50_ms", p50, "ms");
	print("turn_total_p99_ms", p99, "ms");
	print("turn_commits_floor_p50_ms", floor50, "ms");
	print("turn_commits_floor_p99_ms", floor99, "ms");
	print("turn_overhead_p50_ms", p50 - floor50, "ms");
	/* Not the floor's p99: slow commits of the two don't fall together. */
	print("turn_overhead_p99_ms", p99 - floor50, "ms");
	print("turn_ratio", p50 / floor50, "of_floor");
	print("turn_commits_floor_cpu_ms", raw_cpu, "ms");
	print("turn_cpu_ms", measure_turns_cpu(&b, PEOPLE), "ms");
	(void)measure_turns_cpu(&b, 1);
	/* Of a conversation that is as long as is ever sent: 400 messages. */
	print("turn_long_cpu_ms", measure_turns_cpu(&b, 1), "ms");
	bench_close(&b);
}

static size_t wanted_calls;

static bool
has_calls(void *arg)
{
	struct bench *b = arg;

	return fake_model_calls(b->model) >= wanted_calls;
}

static void
bench_cancel(void)
{
	double times[CANCELS];
	struct bench b;

	bench_open(&b);
	for (int i = 0; i < CANCELS; i++) {
		CLEANUP_FREE char *user = mem_printf("%d", i);

		fake_model_script(b.model, &(struct fake_answer){
		    .delay = 60000 });
		wanted_calls = fake_model_calls(b.model) + 1;
		fake_say(&b.platform, user, "one");
		run_until(&b, has_calls, &b);
		wanted_calls++;
		double start = now_ms();

		fake_say(&b.platform, user, "two");
		run_until(&b, has_calls, &b);
		times[i] = called_at - start;
		run_until(&b, is_idle, &b);
		forget_sends(&b);
	}
	print("cancel_to_request_p50_ms", quantile(times, CANCELS, 0.5), "ms");
	print("cancel_to_request_p99_ms", quantile(times, CANCELS, 0.99), "ms");
	bench_close(&b);
}

static double
rss_mb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size = 0, rss = 0;

	REQUIRE(f && fscanf(f, "%ld %ld", &size, &rss) == 2);
	fclose(f);
	return (double)rss * (double)sysconf(_SC_PAGESIZE) / 1048576.0;
}

static void
bench_sessions(void)
{
	struct bench b;

	bench_open(&b);
	for (int i = 0; i < SESSIONS; i++) {
		CLEANUP_FREE char *user = mem_printf("%d", i);

		fake_say(&b.platform, user, "hello");
		if (i % 32 == 31) {
			run_until(&b, is_idle, &b);
			forget_sends(&b);
			fake_model_forget(b.model);
		}
	}
	run_until(&b, is_idle, &b);
	print("sessions_10000_rss_mb", rss_mb(), "MB");
	forget_sends(&b);
	bench_close(&b);
}

/* Memory must not follow what was said: 100,000 messages in 10,000 sessions. */
static void
bench_messages(void)
{
	struct bench b;
	double early = 0;

	bench_open(&b);
	for (int i = 0; i < 10 * SESSIONS; i++) {
		CLEANUP_FREE char *user = mem_printf("%d", i % SESSIONS);

		fake_say(&b.platform, user, "hello");
		if (i % 32 == 31) {
			run_until(&b, is_idle, &b);
			forget_sends(&b);
			fake_model_forget(b.model);
		}
		if (i == SESSIONS)
			early = rss_mb();
	}
	run_until(&b, is_idle, &b);
	print("messages_100000_rss_mb", rss_mb(), "MB");
	print("messages_100000_rss_growth_mb", rss_mb() - early, "MB");
	forget_sends(&b);
	bench_close(&b);
}

static void
bench_streams(void)
{
	struct bench b;

	bench_open(&b);
	loop_watchdog_start(b.loop);
	for (int i = 0; i < STREAMS; i++)
		fake_model_script(b.model, &(struct fake_answer){
		    .delay = 2000, .partial = "streaming", .chunks = 100 });
	loop_stats(b.loop, true);
	for (int i = 0; i < STREAMS; i++) {
		CLEANUP_FREE char *user = mem_printf("%d", i);

		fake_say(&b.platform, user, "hello");
	}
	run_until(&b, is_idle, &b);
	print("loop_stall_max_ms", (double)loop_stats(b.loop, false).stall_max,
	    "ms");
	bench_close(&b);
}

int
main(void)
{
	log_open(STDERR_FILENO, LOG_ERROR);
	bench_turns();
	bench_cancel();
	bench_sessions();
	bench_messages();
	bench_streams();
	return 0;
}
