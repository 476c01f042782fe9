#include "gateway/prompts.h"

#include <string.h>
#include <sys/queue.h>

#include "base/mem.h"

#define PROMPTS_MAX 512

struct shown {
	TAILQ_ENTRY(shown) link;
	char *id, *text;
	char *platform, *account, *chat_id, *thread_id;
	char *msg_id, *outcome;		/* NULL: not known yet */
};

struct prompts {
	struct delivery *delivery;
	TAILQ_HEAD(shown_list, shown) list;	/* oldest first */
	unsigned n;
};

struct prompts *
prompts_new(struct delivery *delivery)
{
	struct prompts *p = mem_alloc(sizeof(*p));

	p->delivery = delivery;
	TAILQ_INIT(&p->list);
	return p;
}

static void
shown_free(struct prompts *p, struct shown *s)
{
	TAILQ_REMOVE(&p->list, s, link);
	p->n--;
	mem_free(s->id);
	mem_free(s->text);
	mem_free(s->platform);
	mem_free(s->account);
	mem_free(s->chat_id);
	mem_free(s->thread_id);
	mem_free(s->msg_id);
	mem_free(s->outcome);
	mem_free(s);
}

void
prompts_free(struct prompts **pp)
{
	if (!*pp)
		return;
	struct prompts *p = STEAL(*pp);

	while (!TAILQ_EMPTY(&p->list))
		shown_free(p, TAILQ_FIRST(&p->list));
	mem_free(p);
}

static struct shown *
find(struct prompts *p, const char *id)
{
	struct shown *s;

	TAILQ_FOREACH(s, &p->list, link)
		if (strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

void
prompts_add(struct prompts *p, const char *request_id, const struct place *to,
    const char *text)
{
	struct shown *s = mem_alloc(sizeof(*s));

	if (p->n >= PROMPTS_MAX)
		shown_free(p, TAILQ_FIRST(&p->list));
	s->id = mem_str(request_id);
	s->text = mem_str(text);
	s->platform = mem_str(to->platform);
	s->account = mem_str(to->account);
	s->chat_id = mem_str(to->chat_id);
	s->thread_id = mem_str(to->thread_id);
	TAILQ_INSERT_TAIL(&p->list, s, link);
	p->n++;
}

/* Both are known: the message says how it ended, and loses its buttons. */
static void
finish(struct prompts *p, struct shown *s)
{
	struct place to = { s->platform, s->account, s->chat_id, s->thread_id };

	if (!s->msg_id || !s->outcome)
		return;
	CLEANUP_FREE char *text = mem_printf("%s\n\n%s", s->text, s->outcome);

	delivery_amend(p->delivery, &to, s->msg_id, text);
	shown_free(p, s);
}

void
prompts_shown(struct prompts *p, const char *request_id, const char *msg_id)
{
	struct shown *s = find(p, request_id);

	if (!s || s->msg_id || !msg_id[0])
		return;
	s->msg_id = mem_str(msg_id);
	finish(p, s);
}

void
prompts_settled(struct prompts *p, const char *request_id, const char *outcome)
{
	struct shown *s = find(p, request_id);

	if (!s || s->outcome)
		return;
	s->outcome = mem_str(outcome);
	finish(p, s);
}
