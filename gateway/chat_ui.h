/*
 * The terminal side of `gatehouse chat`: lines in, answers out.  Interactive
 * with a prompt, piped (one message a line, the next one after the answer), or
 * one shot.  Terminal settings are never changed.
 */
#ifndef GATEHOUSE_CHAT_UI_H
#define GATEHOUSE_CHAT_UI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

struct chat_ui;

/* What it needs of whatever answers: a gateway in this process, or an owner. */
struct chat_peer {
	void *arg;
	void (*say)(void *arg, const char *text);
	bool (*idle)(void *arg);	/* nothing under way, all is shown */
};

struct chat_ui_opts {
	const char *text;	/* one shot; NULL: read stdin */
	const char *greeting;	/* before the first prompt, interactive only */
	struct chat_peer peer;
	void *arg;
	void (*done)(void *arg, int exit_code);
};

struct chat_ui *chat_ui_start(struct loop *loop, const struct chat_ui_opts *opts);
void chat_ui_free(struct chat_ui **ui);

/* An answer, a notice, or a question that wants y or n. */
void chat_ui_show(struct chat_ui *ui, const char *text, bool question);
/* Text as it streams: shown at once on a terminal. */
void chat_ui_text(struct chat_ui *ui, const char *text, size_t len);
void chat_ui_activity(struct chat_ui *ui, const char *what);
/* The next text is an answer, or (ok false) an apology: exit status 1. */
void chat_ui_answered(struct chat_ui *ui, bool ok);

#endif
