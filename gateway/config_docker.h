/*
 * The options of backends docker and podman, from the configuration and the
 * variables by which engines are found.
 */
#ifndef GATEHOUSE_CONFIG_DOCKER_H
#define GATEHOUSE_CONFIG_DOCKER_H

#include "gateway/config.h"
#include "sandbox/docker.h"

#define CONFIG_DOCKER_HOSTS 8

struct config_docker {
	struct docker_opts docker, podman;
	char *docker_hosts[CONFIG_DOCKER_HOSTS + 1];
	char *podman_hosts[CONFIG_DOCKER_HOSTS + 1];
	char *helper, *cert_dir, *mount_cwd;
	char **volumes;
};

/* chat: the options are for sessions from platforms. */
void config_docker_init(struct config_docker *d, const struct config *cfg,
	const char *const *environ, bool chat);
void config_docker_done(struct config_docker *d);
/* "1.5" -> 1500; -1: no number of processors. */
int config_cpus(const char *text);

#endif
