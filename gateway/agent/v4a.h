/*
 * Patches in the V4A form that models write:
 *
 *   *** Begin Patch
 *   *** Update File: src/a.c
 *   *** Move to: src/b.c            (optional)
 *   @@ int main(                    (a line above the place; optional)
 *    unchanged
 *   -removed
 *   +added
 *   *** Add File: new.txt
 *   +line
 *   *** Delete File: old.txt
 *   *** Move File: from -> to
 *   *** End Patch
 *
 * Foreign text: parsed strictly enough that nothing is guessed about paths,
 * leniently about blank context lines and missing Begin/End.  Pure.
 */
#ifndef GATEHOUSE_V4A_H
#define GATEHOUSE_V4A_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define V4A_FILES_MAX 32	/* each is two edits at most */
#define V4A_HUNKS_MAX 500	/* of one patch */

enum v4a_kind { V4A_UPDATE, V4A_ADD, V4A_DELETE, V4A_MOVE };

struct v4a_hunk {
	char *hint;		/* NULL: none */
	struct buf old, new;	/* lines, each with a line feed */
	bool at_end;		/* *** End of File */
};

struct v4a_file {
	enum v4a_kind kind;
	char *path;
	char *to;		/* V4A_MOVE, or an update that moves; NULL */
	struct v4a_hunk *hunks;	/* V4A_ADD: one, with `new` only */
	size_t nhunks;
};

struct v4a {
	struct v4a_file *files;
	size_t n;
};

/* 0, or -1 with line number and what is wrong. Free with v4a_done either way. */
int v4a_parse(struct v4a *ret, const char *text, size_t len, struct err *err);
void v4a_done(struct v4a *p);

/*
 * Appends text as the hunks of an update make it, each behind the one before.
 * -1: the number of the hunk and what its place would have to look like.
 */
int v4a_apply(struct buf *out, const struct v4a_file *file, const char *text,
	size_t len, struct err *err);

#endif
