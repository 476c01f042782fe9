#include "store/store_job.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define BLOCK_SIZE 1024

struct job_block {
	struct job_block *next;
	size_t used, size;
	_Alignas(16) char data[];
};

static void job_cancel(struct op *op);
static void on_done(struct worker_job *link);

static const struct op_type job_op = { "store", job_cancel };

void *
job_new(struct store *store, const struct job_type *type, size_t size)
{
	struct job *job = mem_alloc(size);

	REQUIRE(size >= sizeof(*job));
	job->store = store;
	job->type = type;
	job->size = size;
	job->link.done = on_done;
	return job;
}

void *
job_alloc(struct job *job, size_t n, size_t size)
{
	struct job_block *block = job->blocks;

	REQUIRE(n == 0 || size <= SIZE_MAX / 2 / n);
	size_t want = (n * size + 15) & ~(size_t)15;
	if (!block || block->size - block->used < want) {
		size_t room = want > BLOCK_SIZE ? want : BLOCK_SIZE;

		block = mem_alloc(sizeof(*block) + room);
		block->size = room;
		block->next = job->blocks;
		job->blocks = block;
	}
	void *p = block->data + block->used;
	block->used += want;
	return p;
}

const char *
job_keep(struct job *job, const char *s)
{
	if (!s)
		return NULL;
	size_t len = strlen(s) + 1;
	return memcpy(job_alloc(job, len, 1), s, len);
}

const char *
job_str(struct job *job, const char *what, const char *s, size_t max)
{
	if (!s)
		return NULL;
	size_t len = strnlen(s, max + 1);
	if (len > max) {
		job_fail(job, ERR_LIMIT, "%s: %s is longer than %zu bytes",
		    job->type->name, what, max);
		return "";
	}
	char *copy = job_alloc(job, len + 1, 1);
	return memcpy(copy, s, len);
}

const char *
job_key(struct job *job, const char *what, const char *s)
{
	return job_str(job, what, s ? s : "", JOB_KEY_MAX);
}

/* The first failure counts. */
void
job_fail(struct job *job, enum err_code code, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX];
	va_list ap;

	if (job->failed)
		return;
	job->failed = true;
	struct buf CLEANUP_BUF b;
	buf_init(&b, sizeof(text) - 1);
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	err_set(&job->err, code, "%s", b.data);
}

size_t
job_bytes(const struct job *job)
{
	size_t n = job->size;

	for (const struct job_block *b = job->blocks; b; b = b->next)
		n += sizeof(*b) + b->size;
	return n;
}

/* Arguments lie in the arena or in the struct, and none points into the struct. */
struct job *
job_move(struct job *job)
{
	struct job *copy = mem_alloc(job->size);

	memcpy(copy, job, job->size);
	copy->link.next = NULL;
	copy->awaited = false;
	job->blocks = NULL;
	job->json = NULL;
	return copy;
}

void
job_free(struct job *job)
{
	struct job_block *next;

	for (struct job_block *b = job->blocks; b; b = next) {
		next = b->next;
		mem_free(b);
	}
	json_free(&job->json);
	mem_free(job);
}

struct job *
job_of(struct worker_job *link)
{
	return (struct job *)(void *)((char *)link - offsetof(struct job, link));
}

/* The handle is dead already; nothing of the result is the caller's to keep. */
static void
job_call(const struct job *job, const struct err *err)
{
	switch (job->type->result) {
	case JOB_DONE:
		job->cb.done(job->arg, err);
		break;
	case JOB_JSON:
		job->cb.json(job->arg, err ? NULL : job->json, err);
		break;
	case JOB_ACCEPT:
		job->cb.accept(job->arg, err ? NULL : &job->accept, err);
		break;
	case JOB_ROWS:
		job->cb.rows(job->arg, err ? NULL : job->rows,
		    err ? 0 : job->nrows, err);
		break;
	}
}

static void
job_deliver(struct job *job)
{
	if (job->type->ended) {
		job->type->ended(job);
	} else if (job->awaited && !job->abandoned) {
		store_op_count(job->store, -1);
		op_finish(&job->op);
		job_call(job, job->failed ? &job->err : NULL);
	} else if (job->failed && job->trouble == TROUBLE_NONE) {
		/* Nobody waits for it; the engine's own trouble is said once. */
		log_warn("store", NULL, "%s: %s", job->type->name, job->err.text);
	}
	job_free(job);
}

static void
on_done(struct worker_job *link)
{
	struct job *job = job_of(link);

	store_note(job->store, job);
	job_deliver(job);
}

static void
on_refused(void *arg)
{
	struct job *job = arg;

	job->refused = NULL;
	job_deliver(job);
}

static void
job_cancel(struct op *op)
{
	struct job *job = (struct job *)op;

	store_op_count(job->store, -1);
	if (job->refused) {
		loop_cancel(&job->refused);
		job_free(job);
		return;
	}
	job->abandoned = true;
}

static struct op *
job_submit(struct job *job, bool awaited, void *arg)
{
	struct err err;

	job->arg = arg;
	job->awaited = awaited;
	if (awaited) {
		op_init(&job->op, &job_op);
		store_op_count(job->store, 1);
	}
	if (!job->failed) {
		if (store_enqueue(job->store, job, &err) == 0)
			return awaited ? &job->op : NULL;	/* the worker's */
		job_fail(job, err.code, "%s: %s", job->type->name, err.text);
	}
	if (!awaited) {
		job_deliver(job);
		return NULL;
	}
	job->refused = loop_defer(store_loop(job->store), "store refused",
	    on_refused, job);
	return &job->op;
}

void
job_submit_own(struct job *job)
{
	job_submit(job, false, NULL);
}

struct op *
job_submit_done(struct job *job, store_cb *cb, void *arg)
{
	job->cb.done = cb;
	return job_submit(job, cb != NULL, arg);
}

struct op *
job_submit_json(struct job *job, store_json_cb *cb, void *arg)
{
	job->cb.json = cb;
	return job_submit(job, cb != NULL, arg);
}

struct op *
job_submit_accept(struct job *job, store_accept_cb *cb, void *arg)
{
	job->cb.accept = cb;
	return job_submit(job, cb != NULL, arg);
}

struct op *
job_submit_rows(struct job *job, store_rows_cb *cb, void *arg)
{
	job->cb.rows = cb;
	return job_submit(job, cb != NULL, arg);
}
