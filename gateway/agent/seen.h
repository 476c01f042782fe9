/*
 * What the session's model has seen of files: the version at the last read or
 * write, for "it changed since you read it", and repeated reads.  In memory; a
 * forgotten file only costs a warning.  Pure.
 */
#ifndef GATEHOUSE_SEEN_H
#define GATEHOUSE_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#define SEEN_FILES_MAX 512

struct seen;

struct seen *seen_new(void);
void seen_free(struct seen **seen);

/* Has it changed since? false also if it was never seen. */
bool seen_changed(const struct seen *seen, const char *path, const char *version);
void seen_note(struct seen *seen, const char *path, const char *version);
void seen_forget(struct seen *seen, const char *path);
/*
 * A read of this window by this run: how often in a row the very same was read
 * and nothing else (1: the first time).
 */
unsigned seen_read(struct seen *seen, const char *path, const char *version,
	uint64_t generation, int64_t offset, int64_t limit);
/* A search or another call that repeats exactly: the same count. */
unsigned seen_again(struct seen *seen, uint64_t generation, const char *what);
/* Patches in a row that failed on this file; ok resets. */
unsigned seen_patch(struct seen *seen, const char *path, bool ok);

#endif
