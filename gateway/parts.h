/*
 * From the configuration to a gateway: makes the loop's parts in order, and
 * takes them down in the reverse one.  What chat and run share.
 */
#ifndef GATEHOUSE_PARTS_H
#define GATEHOUSE_PARTS_H

#include <stdbool.h>

#include "base/http.h"
#include "gateway/keeper.h"
#include "gateway/cli.h"
#include "gateway/config_opts.h"
#include "gateway/gateway.h"
#include "gateway/override.h"
#include "platforms/console.h"
#include "platforms/telegram.h"

#define PARTS_PLATFORMS 2

enum parts_kind { PARTS_CHAT, PARTS_RUN };

struct parts {
	struct cli_ctx *ctx;
	enum parts_kind kind;
	struct loop *loop;
	struct http *http;
	struct store *store;
	struct sandboxes *sandboxes;
	struct model *model;
	struct model *reviewer;		/* of its own server; NULL: the same */
	struct gateway *gateway;
	struct override where;
	struct op *waiting;		/* finding the model, trying the backends */
	void (*ready)(void *arg);
	void *ready_arg;
	void (*launcher_gone)(void *arg, const struct err *err);
	void *launcher_arg;
	/* Storage behind the options of lower floors. */
	char instance_id[HOME_INSTANCE_MAX];
	struct config_sandbox sandbox;
	struct config_people people;
	struct telegram_opts telegram;
	struct console_opts console;	/* the caller sets show() */
	struct auth_rule auth[PARTS_PLATFORMS];
	struct gateway_platform platforms[PARTS_PLATFORMS];
	size_t nplatforms;
	char *telegram_account;
	struct keeper *keeper;
	long pids[2];			/* ours and the launcher's */
};

/* -1: go on; else an exit status (the message is on stderr already). */
int parts_open(struct parts *p, struct cli_ctx *ctx,
	enum parts_kind kind);
/* Finds the model and tries the sandbox backends; then ready(), once. */
void parts_prepare(struct parts *p, void (*ready)(void *arg), void *arg);
/* What the configuration says; the caller adds callbacks. */
void parts_gateway_opts(struct parts *p, struct gateway_opts *ret_opts);
void parts_close(struct parts *p);

#endif
