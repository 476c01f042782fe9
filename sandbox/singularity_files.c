/*
 * A workspace's files all belong to our own user, who may have closed
 * directories to itself.  Removed and added up by the system's tools, as
 * children of the launcher, for a tree may be large.
 */
#include "sandbox/singularity_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FILES_MS (10 * 60 * 1000)

static const char remove_script[] =
	"chmod -R u+rwX -- \"$1\" ${2:+\"$2\"} 2>/dev/null\n"
	"test -z \"$2\" || rm -rf -- \"$2\"\n"
	"find \"$1\" -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +\n"
	"[ ! -e \"$2\" ] && test -z \"$(ls -A -- \"$1\")\"";
static const char measure_script[] =
	"du -s -B1 -- \"$1\" | cut -f1\n"
	"find \"$1\" -mindepth 1 -printf x | wc -c";

struct files {
	struct op op;
	struct op *waiting;
	char *workspace;
	bool measure;
	box_usage_cb *cb;
	void *arg;
};

static void
files_free(struct files *f)
{
	op_cancel(&f->waiting);
	mem_free(f->workspace);
	mem_free(f);
}

static void
files_cancel(struct op *op)
{
	files_free((struct files *)(void *)op);
}

static const struct op_type files_type = { "workspace files", files_cancel };

static void
on_end(void *arg, const struct cli_end *end)
{
	struct files *f = arg;
	struct box_usage usage = { 0, 0 };
	struct err err = { ERR_NONE, "" };
	box_usage_cb *cb = f->cb;
	void *cb_arg = f->arg;

	f->waiting = NULL;
	if (end->err || end->status != 0) {
		CLEANUP_FREE char *tried = mem_printf("%s the files of %s",
		    f->measure ? "adding up" : "removing", f->workspace);
		cli_failed(&err, end, tried);
	} else if (f->measure && end->out_len) {
		char *rest;

		usage.bytes = strtoull(end->out, &rest, 10);
		usage.entries = strtoull(rest, NULL, 10);
	}
	op_finish(&f->op);
	files_free(f);
	cb(cb_arg, &usage, err.code ? &err : NULL);
}

static struct op *
files_start(struct backend_inst *inst, const char *workspace, bool measure,
	box_usage_cb *cb, void *arg)
{
	struct files *f = mem_alloc(sizeof(*f));
	CLEANUP_FREE char *overlay = sgl_overlay(inst, workspace);
	struct box *box;

	/* What an earlier removal left may be in the way of a box that is open. */
	TAILQ_FOREACH(box, &inst->boxes, entry)
		if (box->overlay && strcmp(box->overlay, overlay) == 0)
			overlay[0] = 0;
	const char *const argv[] = { "/bin/sh", "-c",
		measure ? measure_script : remove_script, "sh", workspace, overlay,
		NULL };
	struct cli_spec spec = { .argv = argv, .limit_ms = FILES_MS };

	op_init(&f->op, &files_type);
	f->workspace = mem_str(workspace);
	f->measure = measure;
	f->cb = cb;
	f->arg = arg;
	f->waiting = cli_run(inst, &spec, on_end, f);
	return &f->op;
}

struct op *
sgl_empty(struct backend_inst *inst, const char *workspace, box_usage_cb *cb,
	void *arg)
{
	return files_start(inst, workspace, false, cb, arg);
}

struct op *
sgl_measure(struct backend_inst *inst, const char *workspace, box_usage_cb *cb,
	void *arg)
{
	return files_start(inst, workspace, true, cb, arg);
}
