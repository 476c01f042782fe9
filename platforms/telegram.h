/* Telegram Bot API by long polling. Facts: core.telegram.org/bots/api. */
#ifndef GATEHOUSE_TELEGRAM_H
#define GATEHOUSE_TELEGRAM_H

#include "base/loop.h"
#include "platforms/platform.h"

struct telegram_opts {
	const char *token;	/* "<bot id>:<secret>" */
	const char *base_url;	/* Bot API root, with or without a trailing /bot */
	msec_t poll_ms;		/* long-poll time asked for; 0: 30 s (server caps 50) */
};

extern const struct platform platform_telegram;

#endif
