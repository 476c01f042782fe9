#include "gateway/config_docker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mem.h"
#include "gateway/env.h"
#include "gateway/start_dir.h"

#define MIB_SHIFT 20

int
config_cpus(const char *text)
{
	char *end;
	double n = strtod(text, &end);

	return end == text || *end || !(n >= 0 && n <= 10000) ? -1 :
		(int)(n * 1000 + 0.5);
}

static void
add(char **hosts, const char *prefix, const char *path, const char *suffix)
{
	size_t n = 0;

	while (hosts[n])
		n++;
	if (path && *path && n < CONFIG_DOCKER_HOSTS)
		hosts[n] = mem_printf("%s%s%s", prefix, path, suffix);
}

static void
add_docker(char **hosts, const char *const *environ)
{
	add(hosts, "unix://", "/var/run/docker.sock", "");
	add(hosts, "unix://", env_find(environ, "XDG_RUNTIME_DIR"), "/docker.sock");
	add(hosts, "unix://", env_find(environ, "HOME"),
		"/.docker/run/docker.sock");
}

static void
add_podman(char **hosts, const char *const *environ)
{
	if (geteuid() == 0)
		add(hosts, "unix://", "/run/podman/podman.sock", "");
	add(hosts, "unix://", env_find(environ, "XDG_RUNTIME_DIR"),
		"/podman/podman.sock");
}

/*
 * An address that was given is the only one: another engine that happens to be
 * there is not what was meant.  Else docker finds podman, too, as Hermes does.
 */
static void
find_hosts(struct config_docker *d, const char *const *environ)
{
	const char *docker = env_find(environ, "DOCKER_HOST");
	const char *podman = env_find(environ, "CONTAINER_HOST");

	if (docker && *docker) {
		add(d->docker_hosts, "", docker, "");
	} else {
		add_docker(d->docker_hosts, environ);
		add_podman(d->docker_hosts, environ);
	}
	if (podman && *podman)
		add(d->podman_hosts, "", podman, "");
	else
		add_podman(d->podman_hosts, environ);
	if (!d->podman_hosts[0])
		add(d->podman_hosts, "unix://", "/run/podman/podman.sock", "");
}

static void
expand_volumes(struct config_docker *d, const struct config_list *list,
	const char *const *environ)
{
	const char *home = env_find(environ, "HOME");

	d->volumes = mem_array(list->n + 1, sizeof(*d->volumes));
	for (size_t i = 0; i < list->n; i++)
		d->volumes[i] = home && strncmp(list->items[i], "~/", 2) == 0 ?
			mem_printf("%s%s", home, list->items[i] + 1) :
			mem_str(list->items[i]);
}

static const char *const *
items(const struct config_list *list)
{
	return (const char *const *)list->items;
}

void
config_docker_init(struct config_docker *d, const struct config *cfg,
	const char *const *environ, bool chat)
{
	const char *verify = env_find(environ, "DOCKER_TLS_VERIFY");
	const char *certs = env_find(environ, "DOCKER_CERT_PATH");
	const char *home = env_find(environ, "HOME");
	int cpu = config_cpus(cfg->docker.cpu);
	struct start_dir dir = { .configured = cfg->terminal.cwd,
		.messaging = cfg->terminal.messaging_cwd, .backend = "docker",
		.chat = chat, .mount = true };

	memset(d, 0, sizeof(*d));
	find_hosts(d, environ);
	expand_volumes(d, &cfg->docker.volumes, environ);
	d->helper = helper_path(NULL);
	d->cert_dir = certs && *certs ? mem_str(certs) :
		home ? mem_printf("%s/.docker", home) : NULL;
	if (cfg->docker.mount_cwd)
		d->mount_cwd = start_dir(&dir);
	d->docker = (struct docker_opts){
		.hosts = (const char *const *)d->docker_hosts,
		.tls = verify && *verify,
		.cert_dir = d->cert_dir,
		.helper = d->helper ? d->helper : "gatehouse-helper",
		.network = cfg->docker.network,
		.volumes = (const char *const *)d->volumes,
		.extra_args = items(&cfg->docker.extra_args),
		.env = items(&cfg->docker.env),
		.forward_env = items(&cfg->docker.forward_env),
		.environ = environ,
		.mount_cwd = d->mount_cwd,
		.run_as_host_user = cfg->docker.host_user,
		.persistent = cfg->docker.persistent,
		.persist_across = cfg->docker.persist_across,
		.reap = cfg->docker.reap,
		.shm_size = (uint64_t)cfg->docker.shm_size,
		.memory = (uint64_t)cfg->docker.memory_mb << MIB_SHIFT,
		.disk = (uint64_t)cfg->docker.disk_mb << MIB_SHIFT,
		.cpu_milli = cpu > 0 ? (unsigned)cpu : 0,
	};
	d->podman = d->docker;
	d->podman.hosts = (const char *const *)d->podman_hosts;
}

static void
free_all(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		mem_free(list[i]);
}

void
config_docker_done(struct config_docker *d)
{
	free_all(d->docker_hosts);
	free_all(d->podman_hosts);
	free_all(d->volumes);
	mem_free(STEAL(d->volumes));
	mem_free(STEAL(d->helper));
	mem_free(STEAL(d->cert_dir));
	mem_free(STEAL(d->mount_cwd));
	memset(d, 0, sizeof(*d));
}
