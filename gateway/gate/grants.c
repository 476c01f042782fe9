#include "gateway/gate/grants.h"

#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"

#define GRANTS_MAX 1024

struct held {
	TAILQ_ENTRY(held) link;
	char *session_key, *asker, *rule, *by;
	msec_t until;
};

struct grants {
	TAILQ_HEAD(, held) list;	/* oldest first */
	unsigned n;
};

struct grants *
grants_new(void)
{
	struct grants *g = mem_alloc(sizeof(*g));

	TAILQ_INIT(&g->list);
	return g;
}

static void
held_free(struct grants *g, struct held *h)
{
	TAILQ_REMOVE(&g->list, h, link);
	g->n--;
	mem_free(h->session_key);
	mem_free(h->asker);
	mem_free(h->rule);
	mem_free(h->by);
	mem_free(h);
}

void
grants_free(struct grants **gp)
{
	if (!*gp)
		return;
	struct grants *g = STEAL(*gp);

	while (!TAILQ_EMPTY(&g->list))
		held_free(g, TAILQ_FIRST(&g->list));
	mem_free(g);
}

void
grants_add(struct grants *g, const struct grant *grant)
{
	struct held *h = mem_alloc(sizeof(*h));

	grants_forget(g, grant->session_key, grant->asker, grant->rule);
	if (g->n >= GRANTS_MAX)
		held_free(g, TAILQ_FIRST(&g->list));
	h->session_key = mem_str(grant->session_key);
	h->asker = mem_str(grant->asker);
	h->rule = mem_str(grant->rule);
	h->by = mem_str(grant->by);
	h->until = grant->until;
	TAILQ_INSERT_TAIL(&g->list, h, link);
	g->n++;
}

/* At the moment of use: a clock that slept has gone on. */
static void
drop_ended(struct grants *g, msec_t now)
{
	struct held *h, *next;

	for (h = TAILQ_FIRST(&g->list); h; h = next) {
		next = TAILQ_NEXT(h, link);
		if (h->until != 0 && now >= h->until)
			held_free(g, h);
	}
}

bool
grants_cover(struct grants *g, const char *session_key, const char *asker,
    const char *rule, msec_t now)
{
	struct held *h;

	drop_ended(g, now);
	TAILQ_FOREACH(h, &g->list, link)
		if (strcmp(h->session_key, session_key) == 0 &&
		    strcmp(h->asker, asker) == 0 &&
		    (strcmp(h->rule, rule) == 0 ||
		    strcmp(h->rule, GRANT_ALL) == 0))
			return true;
	return false;
}

unsigned
grants_forget(struct grants *g, const char *session_key, const char *asker,
    const char *rule)
{
	struct held *h, *next;
	unsigned n = 0;

	for (h = TAILQ_FIRST(&g->list); h; h = next) {
		next = TAILQ_NEXT(h, link);
		if ((session_key && strcmp(h->session_key, session_key) != 0) ||
		    (asker && strcmp(h->asker, asker) != 0) ||
		    (rule && strcmp(h->rule, rule) != 0))
			continue;
		held_free(g, h);
		n++;
	}
	return n;
}

struct json *
grants_list(struct grants *g, const char *session_key, msec_t now)
{
	struct json *list = json_array();
	struct held *h;

	drop_ended(g, now);
	TAILQ_FOREACH(h, &g->list, link) {
		if (session_key && strcmp(session_key, h->session_key) != 0)
			continue;
		struct json *row = json_object();

		json_set_str(row, "session_key", h->session_key);
		json_set_str(row, "asker", h->asker);
		json_set_str(row, "rule", h->rule);
		json_set_str(row, "by", h->by);
		if (h->until != 0)
			json_set_int(row, "left_ms", h->until - now);
		json_add_take(list, row);
	}
	return list;
}
