/*
 * What a container is made from, decided once from the options: the part of
 * the create request that is the same for every sandbox, the environment that
 * commands get, and what all of it means for isolation (rules 4.1).  Pure.
 */
#ifndef GATEHOUSE_DOCKER_PLAN_H
#define GATEHOUSE_DOCKER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "sandbox/docker.h"
#include "sandbox/vars.h"

#define PLAN_WORKSPACE "/workspace"
#define PLAN_HOME "/root"
#define PLAN_HELPER_DIR "/.gatehouse"
#define PLAN_HELPER PLAN_HELPER_DIR "/helper"
#define PLAN_PIDS 256

struct docker_plan {
	struct json *config;	/* top level of the request, with HostConfig */
	struct json *mounts;	/* of volumes; each box adds its own */
	bool workspace_mounted;	/* a volume is at /workspace already */
	bool home_mounted;
	struct vars env;	/* docker_env and what is forwarded */
	uint32_t isolation;
	char *network;		/* "none", "bridge", "host", a name */
	char *risks;		/* why it is not isolated, for people; "" */
	bool host_user;		/* with this uid and gid */
	bool rights;		/* an argument gave it more than we would */
};

/* -1: the options cannot be followed, and err says which and why. */
int docker_plan_make(struct docker_plan *plan, const struct docker_opts *opts,
	struct err *err);
void docker_plan_done(struct docker_plan *plan);

/* docker_args.c: `docker run` arguments into the plan. */
int docker_args_apply(struct docker_plan *plan, const char *const *args,
	const struct docker_opts *opts, struct err *err);
/* One "source:target[:opts]". */
int docker_volume_apply(struct docker_plan *plan, const char *text,
	struct err *err);
/* The sandbox isolates less, because of this. */
void docker_plan_risk(struct docker_plan *plan, uint32_t lost, const char *why);
/* Bytes: "64m", "1g", "1024"; false if it is no size. */
bool docker_size(const char *text, uint64_t *ret);

#endif
