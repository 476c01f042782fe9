#include "gateway/notices.h"

#include <string.h>
#include <sys/queue.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "gateway/notice_text.h"
#include "gateway/session_news.h"

#define LEDGER_KIND "process"
#define JOIN_MS 200		/* what comes at once is told at once */
#define RETRY_MS 10000
#define MAIL_MAX 8		/* notices in one message */
#define MATCHES_MAX 16		/* of one process, waiting to be told */

/* A process of which something may still be told. */
struct tracked {
	char *id, *session_key, *command;
	struct origin origin;
	bool notify, watch;
	unsigned depth;
	bool ended;		/* nothing new will come */
	unsigned seq;		/* of its notices, in their keys */
	unsigned waiting;	/* notices */
};

struct notice {
	TAILQ_ENTRY(notice) link;
	struct tracked *of;
	char *event_id, *text;
	char *line;		/* for the person, or NULL */
	bool end;		/* of its process */
	bool wake;		/* worth a run of its own */
};

TAILQ_HEAD(notice_list, notice);

/* Some notices on their way into their session's inbox. */
struct mail {
	TAILQ_ENTRY(mail) link;
	struct notices *all;
	struct notice_list list;
	struct op *op;
};

struct notices {
	struct notices_env env;
	struct sessions *sessions;
	char boot[ID_HEX_MAX];	/* whose rows are ours */
	struct map processes;	/* id: struct tracked */
	struct notice_list waiting;
	TAILQ_HEAD(, mail) mails;
	struct op *reading;
	struct timer *look;
	bool stopped;
};

static void on_look(void *arg);

struct notices *
notices_new(const struct notices_env *env)
{
	struct notices *n = mem_alloc(sizeof(*n));

	n->env = *env;
	ids_hex(n->boot, 16);
	map_init(&n->processes);
	TAILQ_INIT(&n->waiting);
	TAILQ_INIT(&n->mails);
	return n;
}

static void
tracked_free(struct tracked *t)
{
	origin_done(&t->origin);
	mem_free(t->id);
	mem_free(t->session_key);
	mem_free(t->command);
	mem_free(t);
}

static void
notice_free(struct notice_list *list, struct notice *notice)
{
	TAILQ_REMOVE(list, notice, link);
	notice->of->waiting--;
	mem_free(notice->event_id);
	mem_free(notice->text);
	mem_free(notice->line);
	mem_free(notice);
}

static void
list_free(struct notice_list *list)
{
	while (!TAILQ_EMPTY(list))
		notice_free(list, TAILQ_FIRST(list));
}

static void
mail_free(struct mail *m)
{
	op_cancel(&m->op);
	list_free(&m->list);
	TAILQ_REMOVE(&m->all->mails, m, link);
	mem_free(m);
}

void
notices_stop(struct notices *n)
{
	n->stopped = true;
	op_cancel(&n->reading);
	loop_cancel(&n->look);
	while (!TAILQ_EMPTY(&n->mails))
		mail_free(TAILQ_FIRST(&n->mails));
}

void
notices_free(struct notices **np)
{
	if (!*np)
		return;
	struct notices *n = STEAL(*np);
	size_t it = 0;
	void *t;

	notices_stop(n);
	list_free(&n->waiting);
	while (map_next(&n->processes, &it, NULL, &t))
		tracked_free(t);
	map_done(&n->processes);
	mem_free(n);
}

static void
look_soon(struct notices *n, msec_t ms)
{
	if (!n->look && !n->stopped && !TAILQ_EMPTY(&n->waiting))
		n->look = loop_after(n->env.loop, ms, "notices", on_look, n);
}

/* ---- the ledger -------------------------------------------------------------- */

/* ended: what became of it, or NULL. */
static void
row_put(struct notices *n, const struct tracked *t, const struct notice_words *ended)
{
	CLEANUP_JSON struct json *row = json_object();

	json_set_str(row, "boot", n->boot);
	json_set_str(row, "session_key", t->session_key);
	json_set_take(row, "origin", origin_json(&t->origin));
	json_set_str(row, "command", t->command);
	json_set_bool(row, "notify", t->notify);
	json_set_bool(row, "watch", t->watch);
	json_set_int(row, "depth", t->depth);
	if (ended) {
		json_set_str(row, "reason", ended->reason);
		json_set_str(row, "output", ended->output);
		if (ended->has_code)
			json_set_int(row, "exit_code", ended->exit_code);
	}
	store_ledger_put(n->env.store, LEDGER_KIND, t->id, row, NULL, NULL);
}

/* Nothing is left to be told: the row goes, and what we know. */
static void
settle(struct notices *n, struct tracked *t)
{
	if (!t->ended || t->waiting > 0)
		return;
	store_ledger_remove(n->env.store, LEDGER_KIND, t->id, NULL, NULL);
	map_remove(&n->processes, t->id);
	tracked_free(t);
}

static struct tracked *
track(struct notices *n, const struct notice_process *p)
{
	struct tracked *t = mem_alloc(sizeof(*t));
	CLEANUP_JSON struct json *origin = origin_json(p->origin);

	t->id = mem_str(p->id);
	t->session_key = mem_str(p->session_key);
	t->command = notice_command(p->command);
	origin_from_json(&t->origin, origin);
	t->notify = p->notify;
	t->watch = p->watch;
	t->depth = p->depth;
	map_set(&n->processes, t->id, t);
	return t;
}

void
notices_started(struct notices *n, const struct notice_process *p)
{
	if (n && !map_get(&n->processes, p->id))
		row_put(n, track(n, p), NULL);
}

/* ---- what comes in ------------------------------------------------------------- */

/* What the person is shown, or NULL. */
static char *
line_for_person(const struct notices *n, const struct notice_words *w)
{
	enum notices_show show = n->env.show;
	bool say = show == NOTICES_ALL || (w->kind == PROCESS_ENDED &&
	    (show == NOTICES_RESULT ||
	    (show == NOTICES_ERROR && !notice_is_success(w))));

	return say ? notice_line(w) : NULL;
}

static void
say_to_person(struct notices *n, const struct tracked *t, const char *line)
{
	struct place to = { t->origin.platform, t->origin.account,
		t->origin.chat_id, t->origin.thread_id };

	if (line)
		delivery_notice(n->env.delivery, &to, line, NULL, 0);
}

static void
add(struct notices *n, struct tracked *t, const struct notice_words *w,
    bool wake)
{
	struct notice *notice = mem_alloc(sizeof(*notice));

	notice->of = t;
	notice->end = w->kind == PROCESS_ENDED;
	/* The end has one key, whoever tells of it: this gateway or the next. */
	notice->event_id = notice->end ? mem_printf("%s/end", t->id) :
	    mem_printf("%s/%s/%u", t->id, n->boot, ++t->seq);
	notice->text = notice_text(w);
	notice->line = line_for_person(n, w);
	notice->wake = wake;
	t->waiting++;
	TAILQ_INSERT_TAIL(&n->waiting, notice, link);
	look_soon(n, JOIN_MS);
}

static void
on_end(struct notices *n, struct tracked *t, const struct notice_words *w)
{
	t->ended = true;
	if (t->notify) {
		row_put(n, t, w);
		add(n, t, w, true);
	} else {
		CLEANUP_FREE char *line = line_for_person(n, w);

		say_to_person(n, t, line);
		settle(n, t);
	}
}

void
notices_event(struct notices *n, const struct process_event *ev)
{
	struct tracked *t = n ? map_get(&n->processes, ev->id) : NULL;

	if (!t || t->ended)
		return;
	struct notice_words w = {
		.kind = ev->kind, .id = t->id, .command = t->command,
		.reason = ev->reason ? ev->reason : "", .has_code = ev->has_code,
		.exit_code = ev->exit_code, .output = ev->output,
		.more = ev->more,
	};

	if (ev->kind == PROCESS_ENDED) {
		on_end(n, t, &w);
		return;
	}
	if (ev->kind == PROCESS_WATCH_OFF) {
		t->notify = true;
		row_put(n, t, NULL);
	}
	if (t->waiting < MATCHES_MAX)
		add(n, t, &w, true);
	else
		log_warn("notices", NULL, "process=%s tells more than its "
		    "session can take: left out", t->id);
}

void
notices_consume(struct notices *n, const char *session_key, const char *id)
{
	struct tracked *t = n ? map_get(&n->processes, id) : NULL;
	struct notice *notice, *next;

	if (!t || strcmp(t->session_key, session_key) != 0)
		return;
	for (notice = TAILQ_FIRST(&n->waiting); notice; notice = next) {
		next = TAILQ_NEXT(notice, link);
		if (notice->of == t)
			notice_free(&n->waiting, notice);
	}
	t->ended = true;
	settle(n, t);
}

void
notices_forget(struct notices *n, const char *session_key)
{
	size_t it = 0;
	void *value;

	while (n && map_next(&n->processes, &it, NULL, &value)) {
		struct tracked *t = value;

		if (strcmp(t->session_key, session_key) != 0)
			continue;
		notices_consume(n, session_key, t->id);
		it = 0;		/* the map has changed */
	}
}

/* ---- telling ---------------------------------------------------------------------- */

static void
on_told(void *arg, const struct err *err)
{
	struct mail *m = arg;
	struct notices *n = m->all;
	struct notice *notice;

	m->op = NULL;
	if (err) {
		log_error("notices", NULL, "what processes tell can't be "
		    "recorded, next try in %d s: %s", RETRY_MS / 1000, err->text);
		while ((notice = TAILQ_LAST(&m->list, notice_list))) {
			TAILQ_REMOVE(&m->list, notice, link);
			TAILQ_INSERT_HEAD(&n->waiting, notice, link);
		}
		look_soon(n, RETRY_MS);
	}
	while ((notice = TAILQ_FIRST(&m->list))) {
		struct tracked *t = notice->of;

		notice_free(&m->list, notice);
		settle(n, t);
	}
	mail_free(m);
	look_soon(n, 0);
}

static bool
has_mail(const struct notices *n, const char *session_key)
{
	const struct mail *m;

	TAILQ_FOREACH(m, &n->mails, link)
		if (strcmp(TAILQ_FIRST(&m->list)->of->session_key,
		    session_key) == 0)
			return true;
	return false;
}

/* Takes what waits for the same session as `first`, in order. */
static void
post(struct notices *n, struct notice *first)
{
	struct mail *m = mem_alloc(sizeof(*m));
	struct session_news_item items[MAIL_MAX];
	struct session_news news = { .key = first->of->session_key,
		.items = items };
	struct notice *notice, *next;

	m->all = n;
	TAILQ_INIT(&m->list);
	TAILQ_INSERT_TAIL(&n->mails, m, link);
	for (notice = first; notice && news.n < MAIL_MAX; notice = next) {
		const struct tracked *t = notice->of;

		next = TAILQ_NEXT(notice, link);
		if (strcmp(t->session_key, news.key) != 0)
			continue;
		TAILQ_REMOVE(&n->waiting, notice, link);
		TAILQ_INSERT_TAIL(&m->list, notice, link);
		say_to_person(n, t, notice->line);
		mem_free(STEAL(notice->line));	/* said once */
		items[news.n++] = (struct session_news_item){
			notice->event_id, notice->text };
		news.origin = &t->origin;
		news.wake = news.wake || notice->wake;
		if (t->depth > news.depth)
			news.depth = t->depth;
	}
	m->op = session_tell(n->sessions, &news, on_told, m);
}

static void
on_look(void *arg)
{
	struct notices *n = arg;
	struct notice *notice = TAILQ_FIRST(&n->waiting);

	n->look = NULL;
	while (notice) {
		const char *key = notice->of->session_key;

		if (has_mail(n, key) || !session_may_be_told(n->sessions, key)) {
			notice = TAILQ_NEXT(notice, link);
			continue;
		}
		post(n, notice);
		notice = TAILQ_FIRST(&n->waiting);
	}
}

void
notices_rested(struct notices *n, const char *session_key)
{
	(void)session_key;	/* one look serves all */
	if (n)
		look_soon(n, 0);
}

bool
notices_busy(const struct notices *n)
{
	return n && (n->reading || !TAILQ_EMPTY(&n->waiting) ||
	    !TAILQ_EMPTY(&n->mails));
}

/* ---- what an earlier gateway left ----------------------------------------------------- */

static void
take_row(struct notices *n, const struct json *item)
{
	const struct json *row = json_get(item, "row");
	struct origin origin;
	struct notice_process p = {
		.id = json_get_str(item, "id", ""),
		.session_key = json_get_str(row, "session_key", ""),
		.origin = &origin,
		.command = json_get_str(row, "command", ""),
		.notify = json_get_bool(row, "notify", false),
		.watch = json_get_bool(row, "watch", false),
		.depth = (unsigned)json_get_int(row, "depth", 1),
	};

	if (strcmp(json_get_str(row, "boot", ""), n->boot) == 0 ||
	    map_get(&n->processes, p.id))
		return;
	origin_from_json(&origin, json_get(row, "origin"));
	struct tracked *t = track(n, &p);
	struct notice_words w = {
		.kind = PROCESS_ENDED, .id = t->id, .command = t->command,
		.reason = json_get_str(row, "reason", NOTICE_GONE),
		.has_code = json_get(row, "exit_code") != NULL,
		.exit_code = (int)json_get_int(row, "exit_code", 0),
		.output = json_get_str(row, "output", ""),
	};

	origin_done(&origin);
	t->ended = true;
	/* Nobody waits for one that was started silently: no run of its own. */
	add(n, t, &w, p.notify || p.watch);
}

static void
on_read(void *arg, const struct json *res, const struct err *err)
{
	struct notices *n = arg;

	n->reading = NULL;
	if (err) {
		log_error("notices", NULL, "processes of an earlier gateway "
		    "can't be read: %s", err->text);
		return;
	}
	for (const struct json *row = json_first(res); row; row = json_next(row))
		take_row(n, row);
}

void
notices_attach(struct notices *n, struct sessions *sessions)
{
	n->sessions = sessions;
	n->reading = store_ledger_list(n->env.store, LEDGER_KIND, on_read, n);
}
