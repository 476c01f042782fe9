#include "gateway/agent/patch_job.h"

#include <string.h>

#include "base/mem.h"
#include "base/redact.h"
#include "gateway/agent/file_look.h"
#include "gateway/agent/replace.h"
#include "gateway/agent/udiff.h"

#define DIFF_MAX (FILE_EDIT_MAX * 2)
#define CLOSEST_MAX 1000

struct patch_job *
patch_job_new(void)
{
	struct patch_job *job = mem_alloc(sizeof(*job));

	buf_init(&job->closest, CLOSEST_MAX);
	buf_init(&job->diff, DIFF_MAX);
	return job;
}

void
patch_job_free(struct patch_job **jobp)
{
	struct patch_job *job = STEAL(*jobp);

	if (!job)
		return;
	for (size_t i = 0; i < job->n; i++) {
		struct patch_file *f = &job->files[i];

		mem_free(f->path);
		mem_free(f->to);
		mem_free(f->version);
		buf_done(&f->text);
		buf_done(&f->made);
	}
	mem_free(job->files);
	mem_free(job->old);
	mem_free(job->new);
	v4a_done(&job->v4a);
	buf_done(&job->closest);
	buf_done(&job->diff);
	mem_free(job);
}

struct patch_file *
patch_job_file(struct patch_job *job, enum v4a_kind kind, const char *path)
{
	job->files = mem_grow(job->files, job->n + 1, sizeof(*job->files));
	struct patch_file *f = &job->files[job->n++];

	memset(f, 0, sizeof(*f));
	f->kind = kind;
	f->path = mem_str(path);
	buf_init(&f->text, FILE_EDIT_MAX);
	buf_init(&f->made, FILE_EDIT_MAX);
	return f;
}

const char *
patch_job_take(struct patch_file *f, const struct file_read_reply *r)
{
	switch (r->type) {
	case FILE_NONE:
		if (f->kind != V4A_ADD)
			return "there is no such file";
		break;
	case FILE_DIRECTORY:
		return "it is a directory";
	case FILE_SPECIAL:
		return "it is a device, FIFO or socket";
	case FILE_UNREADABLE:
		return "it may not be read";
	case FILE_REGULAR:
		if (f->kind == V4A_ADD)
			return "it exists already; use *** Update File, or "
			    "write_file to replace all of it";
		if (f->kind == V4A_UPDATE && r->binary)
			return "it is no text file";
		if (f->kind == V4A_UPDATE && r->len > FILE_EDIT_MAX)
			return "it is too large for this tool; use terminal (sed)";
		f->exists = true;
		f->version = mem_str(r->version);
		f->mode = r->mode;
		if (f->kind != V4A_UPDATE)
			break;
		f->style = file_style_of(r->data, r->len);
		file_style_strip(&f->text, r->data, r->len, f->style);
		break;
	}
	mem_free(f->path);
	f->path = mem_str(r->path);
	return NULL;
}

/* ---- on the thread ------------------------------------------------------------------ */

static int
make_replaced(struct patch_job *job, struct patch_file *f, struct buf *out)
{
	struct replace_found found;
	struct file_style lf = { false, f->style.crlf };
	CLEANUP_BUF struct buf old, new;

	/* What the model sends has the file's CR LF, or not. */
	buf_init(&old, FILE_EDIT_MAX);
	buf_init(&new, FILE_EDIT_MAX);
	file_style_strip(&old, job->old, strlen(job->old), lf);
	file_style_strip(&new, job->new, strlen(job->new), lf);
	if (replace_apply(out, f->text.data, f->text.len, old.data, new.data,
	    job->all, &found, &job->err) == 0) {
		job->strategy = replace_name(found.strategy);
		job->replaced = (unsigned)found.n;
		return 0;
	}
	if (job->err.code == ERR_NOT_FOUND)
		replace_closest(&job->closest, f->text.data, f->text.len,
		    old.data, old.len);
	return -1;
}

static int
make_one(struct patch_job *job, struct patch_file *f)
{
	CLEANUP_BUF struct buf out;
	int rc = 0;

	buf_init(&out, FILE_EDIT_MAX);
	if (!f->patch)
		rc = make_replaced(job, f, &out);
	else if (f->kind == V4A_ADD)
		buf_add(&out, f->patch->hunks[0].new.data,
		    f->patch->hunks[0].new.len);
	else
		rc = v4a_apply(&out, f->patch, f->text.data, f->text.len,
		    &job->err);
	if (rc < 0)
		return -1;
	file_style_apply(&f->made, out.data, out.len, f->style);
	if (f->made.over)
		return err_set(&job->err, ERR_LIMIT, "the file would become too "
		    "large");
	return 0;
}

static void
add_diff(struct buf *diff, const struct patch_file *f, const struct buf *out)
{
	switch (f->kind) {
	case V4A_UPDATE:
	case V4A_ADD:
		udiff(diff, f->path, f->exists ? f->text.data : NULL,
		    f->text.len, out->data, out->len);
		if (f->to)
			buf_printf(diff, "move %s to %s\n", f->path, f->to);
		break;
	case V4A_DELETE:
		buf_printf(diff, "delete %s\n", f->path);
		break;
	case V4A_MOVE:
		buf_printf(diff, "move %s to %s\n", f->path, f->to);
		break;
	}
}

void
patch_job_run(void *arg)
{
	struct patch_job *job = arg;
	CLEANUP_BUF struct buf diff;

	buf_init(&diff, DIFF_MAX);
	for (size_t i = 0; i < job->n; i++) {
		struct patch_file *f = &job->files[i];
		CLEANUP_BUF struct buf plain;

		buf_init(&plain, FILE_EDIT_MAX);
		job->wrong = i;
		if (f->kind == V4A_UPDATE || f->kind == V4A_ADD) {
			if (make_one(job, f) < 0)
				return;
			file_style_strip(&plain, f->made.data, f->made.len,
			    f->style);
		}
		add_diff(&diff, f, &plain);
	}
	redact_sentinels(&job->diff, diff.data, diff.len);
}

void
patch_job_act(const struct patch_job *job, struct file_act *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->kind = FILE_CHANGE;
	for (size_t i = 0; i < job->n; i++) {
		const struct patch_file *f = &job->files[i];
		bool put = f->kind == V4A_UPDATE || f->kind == V4A_ADD;
		struct file_edit *e = file_act_edit(ret,
		    put ? FILE_PUT : f->kind == V4A_DELETE || !f->to ?
		    FILE_DELETE : FILE_MOVE, put && f->to ? f->to : f->path);

		if (put) {
			e->data = mem_dup(f->made.data, f->made.len + 1);
			e->len = f->made.len;
		}
		/* an update that moves: put there, delete here */
		if (!put || !f->to) {
			e->version = mem_str(f->version);
		}
		e->mode = f->mode;
		if (f->kind == V4A_MOVE)
			e->to = mem_str(f->to);
		if (put && f->to) {
			e = file_act_edit(ret, FILE_DELETE, f->path);
			e->version = mem_str(f->version);
		}
	}
}
