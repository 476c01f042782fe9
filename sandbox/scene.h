/*
 * What gives a command's bytes their meaning, as it is at one moment: which
 * directory it would start in, what earlier commands exported, what its script
 * files hold.  A permit keeps the scene of the ask; at the start it is looked at
 * again, and any difference refuses (rules 4.3).
 */
#ifndef GATEHOUSE_SCENE_H
#define GATEHOUSE_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ids.h"

#define SCENE_FILES_MAX 16
#define SCENE_FILE_MAX (256 * 1024)	/* bytes; a longer script isn't read whole */

struct scene_file {
	char *path;		/* absolute, as commands see it */
	bool whole;		/* read to its end, without following a link */
	unsigned char hash[SHA256_LEN];
	char *text;		/* whole: its bytes, with a NUL behind */
	size_t len;
};

struct scene {
	char *dir;		/* as commands see it */
	int fd;			/* O_PATH of dir while we hold it, so that its number
				 * stays its own; -1: can't be seen from here */
	uint64_t dev, ino;
	unsigned char env[SHA256_LEN];	/* exports that commands left */
	struct scene_file *files;
	size_t nfiles;
};

struct scene *scene_new(const char *dir, const char *const *files, size_t n);
void scene_free(struct scene **scene);
/*
 * Fills in what is on this disk: root -1: paths are this host's own; else they
 * lie beneath root, which commands see as `seen`, and what isn't there can't be
 * read.  Blocks: on a thread.
 */
void scene_read(struct scene *scene, int root, const char *seen);
/* What differs, in words (caller frees); NULL: nothing. */
char *scene_difference(const struct scene *was, const struct scene *now);

#endif
