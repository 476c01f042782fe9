/*
 * Containers of an engine that speaks Docker's API: docker and podman are two
 * names of one backend, and what differs is found out by asking the engine.
 */
#ifndef GATEHOUSE_DOCKER_H
#define GATEHOUSE_DOCKER_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/backend.h"

/* Strings and lists (NULL-terminated) are borrowed while the backend lives. */
struct docker_opts {
	const char *const *hosts;	/* see docker_engine.h; at least one */
	bool tls;
	const char *cert_dir;
	const char *helper;	/* path of gatehouse-helper */
	const char *network;	/* "false", "true", or the name of a network */
	const char *const *volumes;	/* "host:container[:opts]" */
	const char *const *extra_args;	/* of `docker run` */
	const char *const *env;		/* "NAME=value" */
	const char *const *forward_env;	/* names, values from environ */
	const char *const *environ;
	const char *mount_cwd;	/* host directory shown as /workspace; NULL: none */
	bool run_as_host_user;
	bool persistent;	/* files outlive the container */
	bool persist_across;	/* and the container this process */
	bool reap;		/* remove what dead processes of ours left */
	uint64_t shm_size, memory, disk;	/* bytes; 0: the engine's default */
	unsigned cpu_milli;	/* 1000: one processor; 0: no limit */
};

#define DOCKER_IMAGE "nikolaik/python-nodejs:python3.11-nodejs20"

extern const struct backend backend_docker;
extern const struct backend backend_podman;

#endif
