#include "tests/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char *const users[] = { "1001", "1002", "1003", NULL };
static const struct auth_rule auth[] = {
	{ .platform = "fake", .users = users },
};

/* ---- "always": a file that takes its time ----------------------------------- */

struct keep {
	struct op op;
	struct world *w;
	char *entry;
	struct timer *timer;
	gate_kept_cb *cb;
	void *arg;
};

static void
keep_cancel(struct op *op)
{
	struct keep *k = (struct keep *)op;

	loop_cancel(&k->timer);
	mem_free(k->entry);
	mem_free(k);
}

static const struct op_type keep_type = { "fake keep", keep_cancel };

static void
on_kept(void *arg)
{
	struct keep *k = arg;
	struct world *w = k->w;
	struct err err = { ERR_IO, "disk full" };

	k->timer = NULL;
	if (!w->kept.fails) {
		REQUIRE(w->kept.n < ARRAY_LEN(w->kept.entries));
		w->kept.entries[w->kept.n++] = STEAL(k->entry);
	}
	op_finish(&k->op);
	k->cb(k->arg, w->kept.fails ? &err : NULL);
	mem_free(k->entry);
	mem_free(k);
}

static struct op *
world_keep(void *arg, const char *entry, gate_kept_cb *cb, void *cb_arg)
{
	struct keep *k = mem_alloc(sizeof(*k));

	op_init(&k->op, &keep_type);
	k->w = arg;
	k->entry = mem_str(entry);
	k->cb = cb;
	k->arg = cb_arg;
	k->timer = loop_after(k->w->loop, k->w->kept.delay, "fake keep", on_kept,
	    k);
	return &k->op;
}

static void
open_parts(struct world *w)
{
	struct err err = { ERR_NONE, "" };
	CLEANUP_FREE char *path = mem_printf("%s/state.db", w->dir);
	struct store_opts sopts = { .path = path, .profile = "main" };
	struct sandbox_opts box = { .state_dir = w->dir };

	w->store = store_open(w->loop, &sopts, &err);
	if (!w->store)
		fprintf(stderr, "store_open: %s\n", err.text);
	REQUIRE(w->store);
	w->sandboxes = sandboxes_new(w->loop, NULL, w->store, &box, &err);
	w->opts.loop = w->loop;
	w->opts.store = w->store;
	w->opts.sandboxes = w->sandboxes;
	w->opts.model = fake_model_as_model(w->model);
}

void
world_init(struct world *w, uint64_t seed)
{
	const char *more = getenv("SIM_SEED");	/* other orders: ./dev soak */

	memset(w, 0, sizeof(*w));
	seed += more ? strtoull(more, NULL, 10) * 1000 : 0;
	fprintf(stderr, "# world seed %llu\n", (unsigned long long)seed);
	strcpy(w->dir, "/tmp/gatehouse-world.XXXXXX");
	REQUIRE(mkdtemp(w->dir));
	w->loop = loop_sim_new(seed);
	w->model = fake_model_new(w->loop);
	w->platform = mem_alloc(sizeof(*w->platform));
	fake_platform_init(w->platform, w->loop);
	fake_sandbox_init();
	w->served = (struct gateway_platform){ .platform = &platform_fake,
		.account = "900", .vital = true };
	w->opts.platforms = &w->served;
	w->opts.nplatforms = 1;
	w->opts.auth = auth;
	w->opts.nauth = 1;
	w->opts.route = (struct route_opts){ "main", true, false };
	w->opts.gate.timeout_ms = 300000;
	w->opts.keep = world_keep;
	w->opts.keep_arg = w;
}

void
world_boot(struct world *w)
{
	open_parts(w);
	w->stopped = false;
	w->gw = gateway_start(&w->opts);
	world_pass(w, 100);
}

/* Real commits take real time: while the store works, the clock stands. */
static void
drain_store(struct world *w)
{
	while (w->store && store_health(w->store).depth > 0) {
		sim_wait(w->loop, 5000);
		sim_run_until_idle(w->loop);
	}
}

void
world_pass(struct world *w, msec_t ms)
{
	msec_t until = loop_now(w->loop) + ms;

	sim_run_until_idle(w->loop);
	drain_store(w);
	while (loop_now(w->loop) < until) {
		msec_t next = sim_next_ms(w->loop);
		msec_t left = until - loop_now(w->loop);

		if (next < 0 || next > left)
			next = left;
		sim_advance(w->loop, next > 0 ? next : 0);
		sim_run_until_idle(w->loop);
		drain_store(w);
	}
}

bool
world_settle(struct world *w, msec_t max_ms)
{
	for (msec_t passed = 0; passed <= max_ms; passed += 50) {
		world_pass(w, 50);
		if (gateway_idle(w->gw))
			return true;
	}
	return false;
}

static void
on_stopped(void *arg)
{
	struct world *w = arg;

	w->stopped = true;
}

static void
close_parts(struct world *w)
{
	gateway_free(&w->gw);
	sandboxes_free(&w->sandboxes);
	store_close(&w->store);
}

void
world_stop(struct world *w)
{
	gateway_stop(w->gw, on_stopped, w);
	for (int i = 0; i < 1000 && !w->stopped; i++)
		world_pass(w, 100);
	REQUIRE(w->stopped);
	close_parts(w);
}

/*
 * What a kill leaves is what was committed: the database is copied as it is
 * now, then everything is taken down and the copy put back.
 */
void
world_crash(struct world *w)
{
	/* The index of words comes and goes on a thread of its own. */
	CLEANUP_FREE char *save = mem_printf("mkdir %s.crash && for f in %s/*; do "
	    "case $f in *-words*) ;; *) cp -a $f %s.crash/ || exit 1 ;; esac; "
	    "done", w->dir, w->dir, w->dir);
	CLEANUP_FREE char *back = mem_printf("rm -rf %s && mv %s.crash %s",
	    w->dir, w->dir, w->dir);

	drain_store(w);
	REQUIRE(system(save) == 0);
	fake_platform_kill(w->platform);
	w->opts.drain_ms = 0;
	gateway_stop(w->gw, on_stopped, w);
	for (int i = 0; i < 1000 && !w->stopped; i++)
		world_pass(w, 100);
	close_parts(w);
	REQUIRE(system(back) == 0);
}

void
world_power_loss(struct world *w)
{
	fake_platform_kill(w->platform);
	w->opts.drain_ms = 0;
	gateway_stop(w->gw, on_stopped, w);
	for (int i = 0; i < 1000 && !w->stopped; i++)
		world_pass(w, 100);
	close_parts(w);
}

void
world_done(struct world *w)
{
	CLEANUP_FREE char *clean = mem_printf("rm -rf %s", w->dir);

	if (w->gw)
		world_stop(w);
	REQUIRE(fake_sandbox.refused == 0);
	fake_sandbox_done();
	fake_platform_done(w->platform);
	mem_free(w->platform);
	for (size_t i = 0; i < w->kept.n; i++)
		mem_free(w->kept.entries[i]);
	fake_model_free(&w->model);
	loop_free(&w->loop);
	REQUIRE(op_live() == 0);
	REQUIRE(permit_live() == 0);
	REQUIRE(system(clean) == 0);
}
