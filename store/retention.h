/*
 * Private to store/: what is over and old is deleted in short slices, once the
 * clocks can be trusted (rules 3.9).  Conversations are not touched: those are
 * a person's to delete.
 */
#ifndef GATEHOUSE_STORE_RETENTION_H
#define GATEHOUSE_STORE_RETENTION_H

struct store;
struct retention;

struct retention *retention_start(struct store *store);
void retention_stop(struct retention *retention);	/* starts no further slice */
void retention_free(struct retention **retention);

#endif
