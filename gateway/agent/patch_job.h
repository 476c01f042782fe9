/*
 * The thinking half of the tool `patch`: the files as they are, what was asked,
 * and what comes of it.  Done on a thread beside the loop; touches no file.
 */
#ifndef GATEHOUSE_PATCH_JOB_H
#define GATEHOUSE_PATCH_JOB_H

#include "base/json.h"
#include "gateway/agent/file_text.h"
#include "gateway/agent/v4a.h"
#include "sandbox/file_act.h"

struct patch_file {
	enum v4a_kind kind;
	const struct v4a_file *patch;	/* NULL: replace mode */
	char *path;			/* absolute; after the look the real one */
	char *to;			/* absolute; a move's target */
	bool exists;
	char *version;
	unsigned mode;
	struct buf text;		/* as it is, without mark and CR */
	struct file_style style;
	struct buf made;		/* as it is to be, in the file's style */
	const char *warning;
};

struct patch_job {
	/* replace mode */
	char *old, *new;
	bool all;
	/* patch mode */
	struct v4a v4a;
	struct patch_file *files;
	size_t n;
	/* what came of it */
	struct err err;			/* code ERR_NONE: fine */
	size_t wrong;			/* the file that err is about */
	struct buf closest;		/* lines it may have meant */
	const char *strategy;		/* replace mode */
	unsigned replaced;
	struct buf diff;		/* masked: for people and the model */
};

struct patch_job *patch_job_new(void);
void patch_job_free(struct patch_job **job);
struct patch_file *patch_job_file(struct patch_job *job, enum v4a_kind kind,
	const char *path);
/* Takes what a look found. NULL, or why it can't be patched. */
const char *patch_job_take(struct patch_file *f, const struct file_read_reply *r);
void patch_job_run(void *job);		/* any thread; fills the last part */
/* The edits that make it so. Caller frees with file_act_done(). */
void patch_job_act(const struct patch_job *job, struct file_act *ret_act);

#endif
