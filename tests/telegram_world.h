/*
 * The Telegram platform on the hand-moved clock against a scripted Bot API, and
 * a gateway that notes what it is told. For test_telegram_*.c.
 */
#ifndef GATEHOUSE_TESTS_TELEGRAM_WORLD_H
#define GATEHOUSE_TESTS_TELEGRAM_WORLD_H

#include "base/buf.h"
#include "platforms/telegram.h"
#include "tests/fake_http.h"
#include "tests/loop_sim.h"

#define WORLD_TOKEN "7000001:AAtestTESTtestTESTtestTESTtest12345"
#define WORLD_CALLS_MAX 4096

struct world_call {
	char method[32];	/* of the Bot API */
	struct json *params;
	msec_t at;
	bool fresh;
};

struct world;
/* Answers a getUpdates or a send; getMe is answered by the world. */
typedef void world_script(struct world *w, const struct world_call *call,
	struct fake_answer *ret);

struct world {
	struct loop *loop;
	struct http *http;
	struct platform_host host;
	struct platform_env env;
	struct telegram_opts opts;
	struct platform_instance *inst;
	world_script *script;
	void *arg;
	char *answer;		/* owned by the world, for scripts */

	struct world_call calls[WORLD_CALLS_MAX];
	size_t ncalls;
	size_t polls;		/* getUpdates so far */

	struct buf texts;	/* "text|" of every message handed over */
	size_t batches;
	size_t refuse_commits;	/* how many are answered with "failed" */
	bool hold_commits;
	uint64_t batch_id;
	char cursor[32];
	enum platform_state state;
	char why[512];
	size_t states;

	/* The last send's result. */
	int sent;
	enum send_outcome outcome;
	enum send_error error;
	char msg_id[32];
	char new_chat[32];
	msec_t retry_after;
	char err[512];
};

void world_init(struct world *w, world_script *script, void *arg);
void world_start(struct world *w);	/* after changing opts, env */
void world_done(struct world *w);
void world_run(struct world *w, msec_t ms);
/* The n-th call of a method, or NULL. */
const struct world_call *world_call(const struct world *w, const char *method,
	size_t n);
size_t world_count(const struct world *w, const char *method);
/* {"ok":true,"result":[...]} with text messages t<first>..t<last>. */
const char *world_updates(struct world *w, int first, int last);

/* Parts of scripts. */
#define WORLD_EMPTY "{\"ok\":true,\"result\":[]}"
bool world_is_poll(const struct world_call *c);
msec_t world_asked(const struct world_call *c);	/* its timeout, in ms */
int64_t world_offset(const struct world_call *c);	/* -1: none */
/* Like Telegram: answers at once if something waits, else after the timeout. */
void world_serve(struct world *w, const struct world_call *c,
	struct fake_answer *ret, int first, int last);
world_script world_quiet;	/* nothing ever comes */
world_script world_six;		/* 501 to 506 wait */

void world_sent(void *arg, const struct send_result *res);

#endif
