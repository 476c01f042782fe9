/*
 * After a start: what was under way when the last process ended.  Runs that
 * may go on are resumed; a run whose tool has an unknown end is closed with a
 * report to its person (rules 3.1); sends with an unknown end get a notice.
 */
#ifndef GATEHOUSE_RECOVER_H
#define GATEHOUSE_RECOVER_H

#include "base/json.h"
#include "gateway/delivery.h"
#include "gateway/session.h"

struct recover;

struct recover_env {
	struct loop *loop;
	struct store *store;
	struct sessions *sessions;
	struct delivery *delivery;
	struct gate *gate;
};

/* result: of store_recover(); done once when all reports are committed. */
struct recover *recover_start(const struct recover_env *env,
	const struct json *result, void (*done)(void *arg), void *arg);
void recover_free(struct recover **r);

#endif
