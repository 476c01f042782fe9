#include "store/kept.h"

#include "base/log.h"
#include "base/mem.h"

/* About a day of one person's words; a disk that fails longer loses some. */
#define KEPT_MAX 2000
#define KEPT_BYTES ((size_t)32 << 20)

void
kept_add(struct kept *kept, struct job *job)
{
	size_t bytes = job_bytes(job);

	if (kept->n >= KEPT_MAX || bytes > KEPT_BYTES - kept->bytes) {
		log_error("store", NULL, "%s: lost: %zu writes wait already for "
		    "the database to work again", job->type->name, kept->n);
		return;
	}
	kept->why = job->err;
	struct job *copy = job_move(job);

	if (kept->last)
		kept->last->link.next = &copy->link;
	else
		kept->first = copy;
	kept->last = copy;
	kept->n++;
	kept->bytes += bytes;
}

void
kept_clear(struct kept *kept, bool done)
{
	struct job *next;

	if (kept->n > 0 && !done)
		log_error("store", NULL, "%zu writes are lost: %s", kept->n,
		    kept->why.text);
	for (struct job *job = kept->first; job; job = next) {
		next = job_next(job);
		if (done && job->failed)
			log_warn("store", NULL, "%s: %s", job->type->name,
			    job->err.text);
		job_free(job);
	}
	*kept = (struct kept){ .first = NULL };
}
