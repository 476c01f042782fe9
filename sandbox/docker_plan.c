#include "sandbox/docker_plan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/env.h"
#include "sandbox/env_refuse.h"

#define RISKS_MAX 2048

void
docker_plan_risk(struct docker_plan *plan, uint32_t lost, const char *why)
{
	char *old = plan->risks;

	plan->isolation &= ~lost;
	plan->risks = strstr(old, why) ? mem_str(old) :
	    mem_printf("%s%s%s", old, *old ? "; " : "", why);
	mem_free(old);
}

bool
docker_size(const char *text, uint64_t *ret)
{
	static const char units[] = "bkmgt";
	char *end;
	unsigned long long n = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end | 0x20) : units;

	if (end == text || *text == '-' || !unit || n > (1ull << 40))
		return false;
	if (*end)
		end++;
	if (*end == 'b' || *end == 'B')
		end++;
	*ret = n << 10 * (unit - units);
	return *end == '\0';
}

static struct json *
host_config(struct docker_plan *plan)
{
	const struct json *found = json_get(plan->config, "HostConfig");

	/* It is ours to change: the plan owns its root. */
	return (struct json *)(uintptr_t)(const void *)found;
}

static struct json *
strings(const char *const *list)
{
	struct json *array = json_array();

	for (; *list; list++)
		json_add_take(array, json_string(*list));
	return array;
}

/*
 * Rights inside: none but what installing and unpacking as root needs, and
 * KILL, or a command that changed its user could not be ended.
 */
static void
put_hardening(struct docker_plan *plan, struct json *host)
{
	static const char *const all[] = { "ALL", NULL };
	static const char *const root[] = { "DAC_OVERRIDE", "CHOWN", "FOWNER",
		"KILL", "SETUID", "SETGID", NULL };
	static const char *const user[] = { "DAC_OVERRIDE", "CHOWN", "FOWNER",
		"KILL", NULL };
	static const char *const security[] = { "no-new-privileges", NULL };
	struct json *tmpfs = json_object();

	json_set_take(host, "CapDrop", strings(all));
	json_set_take(host, "CapAdd", strings(plan->host_user ? user : root));
	json_set_take(host, "SecurityOpt", strings(security));
	json_set_str(host, "IpcMode", "private");
	json_set_str(tmpfs, "/tmp", "rw,exec,nosuid,size=512m,mode=1777");
	json_set_str(tmpfs, "/var/tmp", "rw,noexec,nosuid,size=256m,mode=1777");
	json_set_str(tmpfs, "/run", "rw,noexec,nosuid,size=64m,mode=755");
	json_set_take(host, "Tmpfs", tmpfs);
}

static void
put_limits(const struct docker_opts *opts, struct json *host)
{
	json_set_int(host, "PidsLimit", PLAN_PIDS);
	if (opts->memory) {
		json_set_int(host, "Memory", (int64_t)opts->memory);
		json_set_int(host, "MemorySwap", (int64_t)opts->memory);
	}
	if (opts->cpu_milli)
		json_set_int(host, "NanoCpus", (int64_t)opts->cpu_milli * 1000000);
	if (opts->shm_size)
		json_set_int(host, "ShmSize", (int64_t)opts->shm_size);
}

static int
put_network(struct docker_plan *plan, const char *name, struct err *err)
{
	struct json *host = host_config(plan);

	if (strcmp(name, "filtered") == 0)
		return err_set(err, ERR_CONFIG, "terminal.docker_network: filtered "
		    "is not offered for containers: choose false (none) or true");
	if (strcmp(name, "false") == 0)
		name = "none";
	if (strcmp(name, "true") == 0)
		name = "bridge";
	mem_free(plan->network);
	plan->network = mem_str(name);
	json_set_str(host, "NetworkMode", name);
	plan->isolation |= SANDBOX_NO_NETWORK;
	if (strcmp(name, "host") == 0)
		docker_plan_risk(plan, SANDBOX_NO_NETWORK | SANDBOX_NO_HOST_PROCS,
		    "it has the host's network");
	else if (strncmp(name, "container:", 10) == 0)
		docker_plan_risk(plan, SANDBOX_NO_NETWORK | SANDBOX_NO_HOST_PROCS,
		    "it has another container's network");
	else if (strcmp(name, "none") != 0)
		plan->isolation &= ~(uint32_t)SANDBOX_NO_NETWORK;
	return 0;
}

/*
 * Values go to commands through the helper's input, never into the container's
 * own configuration, where `inspect` shows them.
 */
static int
put_env(struct docker_plan *plan, const struct docker_opts *opts, struct err *err)
{
	vars_init(&plan->env, ENV_MAX);
	for (const char *const *e = opts->env; e && *e; e++) {
		const char *eq = strchr(*e, '=');
		CLEANUP_FREE char *name = mem_strn(*e, eq ? (size_t)(eq - *e) :
		    strlen(*e));

		if (!eq || !vars_set(&plan->env, name, eq + 1))
			return err_set(err, ERR_CONFIG, "terminal.docker_env: "
			    "'%.60s' is no NAME=value", name);
		if (env_refused(name, NULL))
			docker_plan_risk(plan, SANDBOX_NO_CREDENTIALS,
			    "terminal.docker_env passes a credential");
	}
	for (const char *const *n = opts->forward_env; n && *n; n++) {
		size_t len = strlen(*n);

		for (const char *const *e = opts->environ; e && *e; e++)
			if (strncmp(*e, *n, len) == 0 && (*e)[len] == '=')
				(void)vars_set(&plan->env, *n, *e + len + 1);
		if (env_refused(*n, NULL))
			docker_plan_risk(plan, SANDBOX_NO_CREDENTIALS,
			    "terminal.docker_forward_env passes a credential");
	}
	return 0;
}

int
docker_plan_make(struct docker_plan *plan, const struct docker_opts *opts,
	struct err *err)
{
	struct json *host = json_object();
	int rc;

	*plan = (struct docker_plan){ .config = json_object(),
		.mounts = json_array(), .isolation = SANDBOX_ISOLATED,
		.network = mem_str(""), .risks = mem_str(""),
		.host_user = opts->run_as_host_user };
	json_set_take(plan->config, "HostConfig", host);
	json_set_str(plan->config, "WorkingDir", PLAN_WORKSPACE);
	json_set_str(plan->config, "Hostname", "sandbox");
	json_set_str(plan->config, "StopSignal", "SIGKILL");
	if (opts->run_as_host_user) {
		CLEANUP_FREE char *user = mem_printf("%u:%u", (unsigned)geteuid(),
		    (unsigned)getegid());
		json_set_str(plan->config, "User", user);
	}
	put_hardening(plan, host);
	put_limits(opts, host);
	rc = put_env(plan, opts, err);
	if (rc == 0)
		rc = put_network(plan, opts->network, err);
	for (const char *const *v = opts->volumes; rc == 0 && v && *v; v++)
		rc = docker_volume_apply(plan, *v, err);
	if (rc == 0 && opts->extra_args)
		rc = docker_args_apply(plan, opts->extra_args, opts, err);
	if (rc == 0 && opts->mount_cwd && !plan->workspace_mounted) {
		CLEANUP_FREE char *v = mem_printf("%s:" PLAN_WORKSPACE,
		    opts->mount_cwd);
		rc = docker_volume_apply(plan, v, err);
	}
	/* An argument may have named another. */
	CLEANUP_FREE char *mode = mem_str(json_get_str(host, "NetworkMode", "none"));
	if (rc == 0 && strcmp(mode, plan->network) != 0)
		rc = put_network(plan, mode, err);
	/* Nothing can be installed without a network: nothing needs writing. */
	if (rc == 0 && strcmp(plan->network, "none") == 0)
		json_set_bool(host, "ReadonlyRootfs", true);
	if (rc < 0)
		docker_plan_done(plan);
	return rc;
}

void
docker_plan_done(struct docker_plan *plan)
{
	json_free(&plan->config);
	json_free(&plan->mounts);
	vars_done(&plan->env);
	mem_free(STEAL(plan->network));
	mem_free(STEAL(plan->risks));
}
