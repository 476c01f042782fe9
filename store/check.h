/*
 * Private to store/: looking for damage (rules 3.7) without holding up
 * anything: a quick check table by table on the reader after opening, a full
 * one after SQLite reported damage.  The verdict goes to the writer.
 */
#ifndef GATEHOUSE_STORE_CHECK_H
#define GATEHOUSE_STORE_CHECK_H

struct store;
struct store_check;

struct store_check *check_new(struct store *store);
void check_quick(struct store_check *check);
void check_whole(struct store_check *check);	/* nothing if one is under way */
void check_stop(struct store_check *check);	/* starts no further step */
void check_free(struct store_check **check);

#endif
