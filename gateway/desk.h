/*
 * What the owner serves on its control socket: `chat` (a console client),
 * `status`, `sessions`, `approvals`.  One row a command in desk.c.
 */
#ifndef GATEHOUSE_DESK_H
#define GATEHOUSE_DESK_H

#include "base/err.h"
#include "base/loop.h"
#include "gateway/home.h"
#include "gateway/hub.h"
#include "store/store.h"

struct desk;

struct desk *desk_open(struct loop *loop, const struct home *home,
	struct hub *hub, struct store *store, struct err *err);
void desk_close(struct desk **desk);

#endif
