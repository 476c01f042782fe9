/*
 * Intake: parse (the platform did), sender check, control look-up, commit,
 * acknowledge (rules 1.1).  Nothing is acknowledged before its row is there;
 * nothing but stops acts before it.
 */
#ifndef GATEHOUSE_INTAKE_H
#define GATEHOUSE_INTAKE_H

#include "gateway/auth.h"
#include "gateway/control.h"
#include "gateway/route.h"

struct intake;

struct intake_env {
	struct control_env control;
	struct route_opts route;
	struct auth *auth;
	msec_t pending_max_ms;	/* older messages are skipped and told so; 0: none */
	void *arg;
	struct platform_instance *(*instance)(void *arg, const char *platform,
		const struct platform **ret_platform);
	/* A chat has a new id (service message). */
	void (*migrated)(void *arg, const struct msg *msg);
};

struct intake *intake_new(const struct intake_env *env);
void intake_free(struct intake **in);

/* platform_host.on_batch */
void intake_batch(struct intake *in, const char *platform,
	const struct msg *msgs, size_t n, uint64_t batch_id, const char *cursor);
size_t intake_open(const struct intake *in);	/* commits under way */

#endif
