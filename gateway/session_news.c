#include "gateway/session_news.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/session_priv.h"

#define EVENT_KIND "process"

struct telling {
	struct op op;
	struct sessions *all;
	char *key;
	struct origin origin;
	unsigned depth;
	bool wake;
	struct op *waiting;
	store_cb *done;
	void *arg;
};

static void
telling_free(struct telling *t)
{
	op_cancel(&t->waiting);
	origin_done(&t->origin);
	mem_free(t->key);
	mem_free(t);
}

/* The rows may be written all the same; their session takes them up later. */
static void
telling_cancel(struct op *op)
{
	struct telling *t = (struct telling *)(void *)op;

	session_failed(t->all, t->key);
	telling_free(t);
}

static const struct op_type telling_type = { "session news", telling_cancel };

bool
session_may_be_told(const struct sessions *all, const char *key)
{
	return !all->draining && session_is_idle(all, key);
}

static void
say_enough(struct session *s, const struct origin *origin)
{
	struct place to = { origin->platform, origin->account, origin->chat_id,
		origin->thread_id };

	if (s->told_enough)
		return;
	s->told_enough = true;
	log_warn("session", NULL, "session=%s is woken by its own processes "
	    "again and again: news wait for a person", s->key);
	delivery_notice(s->all->env.delivery, &to, "Background processes have "
	    "woken me again and again without a word from you. I leave what "
	    "they tell until you write.", NULL, 0);
}

static void
on_accepted(void *arg, const struct accept_result *res, const struct err *err)
{
	struct telling *t = arg;
	struct session *s = session_get(t->all, t->key);
	store_cb *done = t->done;
	void *done_arg = t->arg;
	struct session_plan plan = { .news = true, .silent = !t->wake };

	t->waiting = NULL;
	if (err) {
		session_failed(t->all, t->key);
	} else {
		if (t->wake && t->depth > s->wake_depth)
			s->wake_depth = t->depth;
		session_accepted(t->all, t->key, &t->origin, &plan,
		    &res->claims[0]);
	}
	op_finish(&t->op);
	telling_free(t);
	done(done_arg, err);
}

/* Where it is to wait for a person, and that is news itself, he is told. */
static bool
may_wake(struct session *s, const struct session_news *news)
{
	if (!news->wake)
		return false;
	if (news->depth <= NEWS_DEPTH_MAX && s->woken < NEWS_RUNS_MAX)
		return true;
	say_enough(s, news->origin);
	return false;
}

struct op *
session_tell(struct sessions *all, const struct session_news *news,
    store_cb *done, void *arg)
{
	struct session *s = session_get(all, news->key);
	struct telling *t = mem_alloc(sizeof(*t));
	CLEANUP_JSON struct json *origin = origin_json(news->origin);
	CLEANUP_FREE char *text = json_text(origin);
	struct inbox_event *events = mem_array(news->n, sizeof(*events));
	struct inbox_claim claim = { .session_key = s->key, .origin = text };

	op_init(&t->op, &telling_type);
	t->all = all;
	t->key = mem_str(s->key);
	origin_from_json(&t->origin, origin);
	t->depth = news->depth;
	t->wake = may_wake(s, news);
	t->done = done;
	t->arg = arg;
	for (size_t i = 0; i < news->n; i++)
		events[i] = (struct inbox_event){
			.kind = INBOX_TURN, .kind_name = EVENT_KIND,
			.event_id = news->items[i].event_id,
			.session_key = s->key, .chat_id = news->origin->chat_id,
			.thread_id = news->origin->thread_id, .user_id = "",
			.msg_id = "", .ref_id = "", .text = news->items[i].text,
			.payload = "{}", .sent_wall = loop_wall(all->env.loop),
		};
	struct accept_req req = {
		.platform = news->origin->platform,
		.account = news->origin->account,
		.events = events, .nevents = news->n,
		.claims = &claim, .nclaims = 1,
		.now_wall = loop_wall(all->env.loop),
	};

	s->planned++;
	loop_cancel(&s->timer);
	t->waiting = store_accept(all->env.store, &req, on_accepted, t);
	mem_free(events);
	return &t->op;
}
