/*
 * Private to store/: an index of the words of all settled entries, by groups of
 * three characters, so that any language can be searched.  It is a file of its
 * own beside the database, made from it and thrown away at any doubt; what it
 * finds is only where to look.  The reader's thread.
 */
#ifndef GATEHOUSE_STORE_WORDS_H
#define GATEHOUSE_STORE_WORDS_H

#include "store/store_job.h"

struct words;

/* Opens at need. path: of the database. owner: makes and fills it. */
struct words *words_new(const char *path, bool owner);
void words_free(struct words **words);

/* Entries up to *ret_upto are in it; 0: it can't be used. */
void words_upto(struct words *words, const struct q *q, int64_t *ret_upto);
/* Too short a text can't be looked up. */
bool words_can_find(const char *text);
/*
 * Entries that have all groups of the text, newest first, with id < before:
 * at most max.  -1: the index failed (and is closed).
 */
int words_find(struct words *words, const char *text, int64_t before,
	int64_t *ids, size_t max, size_t *ret_n);
/* What was said is gone: so is the index. Any thread, after the change. */
int words_drop(const struct q *q, const char *path, struct err *err);
/* An entry changes; only one that may be in the index matters. */
int words_changed(const struct q *q, int64_t entry, msec_t now, struct err *err);

/* Loop thread: fills it from time to time. */
struct words_pump;
struct words_pump *words_pump_start(struct store *store);
void words_pump_stop(struct words_pump *pump);
void words_pump_free(struct words_pump **pump);

#endif
