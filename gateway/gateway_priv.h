/* What gateway.c and gateway_host.c share. */
#ifndef GATEHOUSE_GATEWAY_PRIV_H
#define GATEHOUSE_GATEWAY_PRIV_H

#include "gateway/gateway.h"
#include "gateway/intake.h"
#include "gateway/prompts.h"
#include "gateway/recover.h"

enum gateway_step {
	GATEWAY_BOOT, GATEWAY_UP, GATEWAY_DRAIN, GATEWAY_CLOSE, GATEWAY_STOPPED,
};

/* A platform that is on, and what it last said of itself. */
struct served {
	const struct gateway_platform *def;
	struct gateway *gw;
	struct platform_instance *inst;
	struct op *cursor_op;
	enum platform_state state;
	char *why;
	msec_t since;		/* wall */
};

struct gateway {
	struct gateway_opts opts;
	enum gateway_step step;
	struct auth auth;
	struct gate *gate;
	struct delivery *delivery;
	struct prompts *prompts;
	struct sessions *sessions;
	struct notices *notices;
	struct talks *talks;
	struct restart *restart;
	struct intake *intake;
	struct platform_host host;
	struct served *served;
	size_t nserved;
	struct op *waiting;		/* BOOT and CLOSE */
	struct timer *timer;		/* DRAIN and CLOSE */
	struct recover *recover;
	msec_t drain_until;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* Callbacks of the parts, in gateway_host.c. */
struct gate_host gateway_gate_host(struct gateway *gw);
struct delivery_host gateway_delivery_host(struct gateway *gw);
struct platform_host gateway_platform_host(struct gateway *gw);
struct platform_instance *gateway_instance(void *arg, const char *platform,
	const struct platform **ret_platform);
void gateway_migrated(void *arg, const struct msg *msg);

#endif
