/*
 * Tests of the store: a real file in a directory of its own, the hand-moved
 * loop, and each call waited for.  Results stay until the next call.
 */
#ifndef GATEHOUSE_TESTS_STORE_SYNC_H
#define GATEHOUSE_TESTS_STORE_SYNC_H

#include "store/store.h"

#define SYNC_WALL 1790000000000		/* what tests give as now */
#define SYNC_IDS 64

struct sync_row {
	int64_t id;
	char text[64], chat_id[32], thread_id[32], edit_msg_id[32], nonce[32];
	char session_key[64];
	uint64_t generation;
	unsigned attempts;
	msec_t not_before;
};

struct sync {
	struct loop *loop;
	struct store *store;
	char dir[64];
	char path[96];
	msec_t now;		/* given to calls; tests move it */

	/* of the last call */
	enum err_code code;
	struct err err;
	struct json *json;
	struct sync_row row;
	size_t nrows;
	int64_t ids[SYNC_IDS];
	struct run_claim claim;	/* strings: session_id only */
	char session_id[40];
	size_t expect_ids, expect_claims;

	bool done;
};

/* Of a cmocka test whose state is a struct sync. */
int sync_setup(void **state);
int sync_teardown(void **state);	/* also checks that no op is left */
void sync_init(struct sync *s);		/* makes the directory, opens */
void sync_reopen(struct sync *s);
void sync_done(struct sync *s);		/* closes, removes all */
bool sync_try_open(struct sync *s);	/* s->err tells why not */
void sync_close(struct sync *s);

/* Waits for the call just made; returns its error code. */
enum err_code sync_wait(struct sync *s);
void sync_on_done(void *arg, const struct err *err);
void sync_on_json(void *arg, const struct json *res, const struct err *err);
void sync_on_accept(void *arg, const struct accept_result *res,
	const struct err *err);
void sync_on_rows(void *arg, const struct outbox_row *rows, size_t n,
	const struct err *err);
#define SYNC(s, call) ((s)->done = false, (void)(call), sync_wait(s))

/* Words from a person; run: claim at once. The claim is in s->claim. */
enum err_code sync_say(struct sync *s, const char *key, const char *event_id,
	const char *text, bool run);
enum err_code sync_finish(struct sync *s, const char *key, uint64_t generation,
	const char *text, size_t nchunks, bool send_first);
enum err_code sync_append(struct sync *s, const char *key, uint64_t generation,
	const char *role, const char *text);
enum err_code sync_take(struct sync *s);		/* of chat "42" */
enum err_code sync_mark(struct sync *s, int64_t id, const char *state,
	const char *msg_id);
/* "user:hello|assistant:hi" and so on; "~" after a cut one. Borrowed. */
const char *sync_transcript(struct sync *s, const char *key);
/* One value from the file, read by a connection of the test's own. */
int64_t sync_sql(struct sync *s, const char *sql);
void sync_sql_run(const char *path, const char *sql);

#endif
