/*
 * terminal.docker_volumes and docker_extra_args: words of `docker run`, mapped
 * to the API's request.  What can't be mapped is refused with words: an argument
 * that is left out silently would be believed to be in force.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/docker_plan.h"

#define HOST_FILES_AND_PROCS (SANDBOX_NO_HOST_FILES | SANDBOX_NO_HOST_PROCS)

static struct json *
mutable(const struct json *node)
{
	return (struct json *)(uintptr_t)(const void *)node;
}

static struct json *
host_config(struct docker_plan *plan)
{
	return mutable(json_get(plan->config, "HostConfig"));
}

/* ---- volumes ------------------------------------------------------------------- */

/* An engine's socket, or a directory in which one is. */
static bool
shows_engine(const char *source)
{
	static const char *const names[] = { "docker.sock", "podman.sock",
		"containerd.sock", "crio.sock" };
	static const char *const dirs[] = { "/", "/var", "/var/run", "/run",
		"/run/podman", "/run/docker", "/run/containerd", "/run/user",
		"/var/run/podman", "/var/run/docker", "/var/lib/docker" };
	size_t len = strlen(source);
	const char *base = strrchr(source, '/');

	while (len > 1 && source[len - 1] == '/')
		len--;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (strlen(dirs[i]) == len && strncmp(dirs[i], source, len) == 0)
			return true;
	for (size_t i = 0; base && i < ARRAY_LEN(names); i++)
		if (strcmp(base + 1, names[i]) == 0)
			return true;
	return false;
}

/* Parts of a comma list: ro, rw, z, Z, a propagation. */
static int
mount_options(struct json *mount, const char *opts, bool *ret_ro,
	const char *text, struct err *err)
{
	for (const char *p = opts; *p;) {
		size_t n = strcspn(p, ",");

		if (n == 2 && strncmp(p, "ro", 2) == 0)
			*ret_ro = true;
		else if (!(n == 2 && strncmp(p, "rw", 2) == 0))
			return err_set(err, ERR_CONFIG, "terminal.docker_volumes: "
			    "'%.100s': the option '%.*s' is not known here: ro or rw",
			    text, (int)n, p);
		p += n + (p[n] == ',');
	}
	if (*ret_ro)
		json_set_bool(mount, "ReadOnly", true);
	return 0;
}

int
docker_volume_apply(struct docker_plan *plan, const char *text, struct err *err)
{
	const char *colon = strchr(text, ':');
	const char *opts = colon ? strchr(colon + 1, ':') : NULL;
	CLEANUP_FREE char *source = mem_strn(text, colon ? (size_t)(colon - text) :
	    0);
	CLEANUP_FREE char *target = colon ? mem_strn(colon + 1, opts ?
	    (size_t)(opts - colon - 1) : strlen(colon + 1)) : mem_str("");
	bool host = *source == '/', ro = false;

	if (target[0] != '/' || !*source || *source == '.' || *source == '~')
		return err_set(err, ERR_CONFIG, "terminal.docker_volumes: '%.100s': "
		    "expected /host/path:/path/inside, or NAME:/path/inside, "
		    "with :ro for read-only", text);
	struct json *mount = json_object();
	json_set_str(mount, "Type", host ? "bind" : "volume");
	json_set_str(mount, "Source", source);
	json_set_str(mount, "Target", target);
	if (mount_options(mount, opts ? opts + 1 : "", &ro, text, err) < 0) {
		json_free(&mount);
		return -1;
	}
	json_add_take(plan->mounts, mount);
	plan->workspace_mounted |= strcmp(target, PLAN_WORKSPACE) == 0;
	plan->home_mounted |= strcmp(target, PLAN_HOME) == 0;
	if (host && shows_engine(source))
		docker_plan_risk(plan, HOST_FILES_AND_PROCS,
		    "a container engine's socket is mounted, which is the right to "
		    "do anything on the host");
	else if (host && !ro)
		docker_plan_risk(plan, SANDBOX_NO_HOST_FILES,
		    "a directory of the host is mounted writable");
	return 0;
}

/* ---- arguments ----------------------------------------------------------------- */

static int
refuse(struct err *err, const char *arg, const char *why)
{
	return err_set(err, ERR_CONFIG, "terminal.docker_extra_args: %.100s: %s",
	    arg, why);
}

static void
add_string(struct docker_plan *plan, const char *key, const char *value)
{
	struct json *host = host_config(plan);

	if (!json_get(host, key))
		json_set_take(host, key, json_array());
	json_add_take(mutable(json_get(host, key)), json_string(value));
}

/* Then no filter of ours stands in the way of what the operator asked for. */
static void
give_rights(struct docker_plan *plan, const char *why)
{
	plan->rights = true;
	docker_plan_risk(plan, HOST_FILES_AND_PROCS, why);
}

static int
arg_cap(struct docker_plan *plan, const char *value, struct err *err)
{
	static const char *const harmless[] = { "AUDIT_WRITE", "CHOWN",
		"DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE",
		"SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT" };
	const char *name = strncasecmp(value, "CAP_", 4) == 0 ? value + 4 : value;
	bool known = false;

	(void)err;
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		known |= strcasecmp(name, harmless[i]) == 0;
	if (!known)
		give_rights(plan, "--cap-add gives it rights over the host");
	add_string(plan, "CapAdd", value);
	return 0;
}

static int
arg_cap_drop(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)plan, (void)value, (void)err;
	return 0;	/* all are dropped already */
}

static int
arg_dns(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)err;
	add_string(plan, "Dns", value);
	return 0;
}

static int
arg_host(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)err;
	add_string(plan, "ExtraHosts", value);
	return 0;
}

static int
arg_security(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)err;
	if (strncmp(value, "no-new-privileges", 17) != 0)
		give_rights(plan, "--security-opt changes what protects the host");
	add_string(plan, "SecurityOpt", value);
	return 0;
}

static int
arg_device(struct docker_plan *plan, const char *value, struct err *err)
{
	struct json *host = host_config(plan), *device = json_object();
	const char *colon = strchr(value, ':');
	CLEANUP_FREE char *source = mem_strn(value, colon ?
	    (size_t)(colon - value) : strlen(value));

	(void)err;
	json_set_str(device, "PathOnHost", source);
	json_set_str(device, "PathInContainer", colon ? colon + 1 : source);
	json_set_str(device, "CgroupPermissions", "rw");
	if (!json_get(host, "Devices"))
		json_set_take(host, "Devices", json_array());
	json_add_take(mutable(json_get(host, "Devices")), device);
	docker_plan_risk(plan, HOST_FILES_AND_PROCS,
	    "--device gives it a device of the host");
	return 0;
}

static int
arg_gpus(struct docker_plan *plan, const char *value, struct err *err)
{
	struct json *request = json_object(), *caps = json_array();
	struct json *all = json_array(), *list = json_array();

	if (strcmp(value, "all") != 0) {
		json_free(&request);
		json_free(&caps);
		json_free(&all);
		json_free(&list);
		return refuse(err, "--gpus", "only \"all\" is known here");
	}
	json_add_take(caps, json_string("gpu"));
	json_add_take(all, caps);
	json_set_int(request, "Count", -1);
	json_set_take(request, "Capabilities", all);
	json_add_take(list, request);
	json_set_take(host_config(plan), "DeviceRequests", list);
	docker_plan_risk(plan, SANDBOX_NO_HOST_PROCS, "--gpus gives it a device "
	    "of the host");
	return 0;
}

static int
arg_env(struct docker_plan *plan, const char *value, struct err *err)
{
	const char *eq = strchr(value, '=');
	CLEANUP_FREE char *name = mem_strn(value, eq ? (size_t)(eq - value) : 0);

	if (!eq || !vars_set(&plan->env, name, eq + 1))
		return refuse(err, "--env", "write NAME=value, or the name in "
		    "terminal.docker_forward_env");
	return 0;
}

static int
arg_label(struct docker_plan *plan, const char *value, struct err *err)
{
	const char *eq = strchr(value, '=');
	CLEANUP_FREE char *name = mem_strn(value, eq ? (size_t)(eq - value) :
	    strlen(value));

	if (strncmp(name, "gatehouse", 9) == 0)
		return refuse(err, "--label", "labels that begin with gatehouse are "
		    "how containers are recognised");
	if (!json_get(plan->config, "Labels"))
		json_set_take(plan->config, "Labels", json_object());
	json_set_str(mutable(json_get(plan->config, "Labels")), name,
	    eq ? eq + 1 : "");
	return 0;
}

static int
arg_memory(struct docker_plan *plan, const char *value, struct err *err)
{
	uint64_t n;

	if (!docker_size(value, &n))
		return refuse(err, "--memory", "no size");
	json_set_int(host_config(plan), "Memory", (int64_t)n);
	json_set_int(host_config(plan), "MemorySwap", (int64_t)n);
	return 0;
}

static int
arg_shm(struct docker_plan *plan, const char *value, struct err *err)
{
	uint64_t n;

	if (!docker_size(value, &n))
		return refuse(err, "--shm-size", "no size");
	json_set_int(host_config(plan), "ShmSize", (int64_t)n);
	return 0;
}

static int
arg_cpus(struct docker_plan *plan, const char *value, struct err *err)
{
	char *end;
	double n = strtod(value, &end);

	if (end == value || *end || !(n > 0 && n < 100000))
		return refuse(err, "--cpus", "no number of processors");
	json_set_int(host_config(plan), "NanoCpus", (int64_t)(n * 1e9));
	return 0;
}

static int
arg_pids(struct docker_plan *plan, const char *value, struct err *err)
{
	char *end;
	long n = strtol(value, &end, 10);

	if (end == value || *end || n < 16 || n > 1000000)
		return refuse(err, "--pids-limit", "expected 16 to 1000000");
	json_set_int(host_config(plan), "PidsLimit", n);
	return 0;
}

static int
arg_ulimit(struct docker_plan *plan, const char *value, struct err *err)
{
	struct json *host = host_config(plan), *limit = json_object();
	const char *eq = strchr(value, '=');
	CLEANUP_FREE char *name = mem_strn(value, eq ? (size_t)(eq - value) : 0);
	char *end = NULL;
	long soft = eq ? strtol(eq + 1, &end, 10) : -1, hard = soft;

	if (end && *end == ':')
		hard = strtol(end + 1, &end, 10);
	if (soft < 0 || !end || *end) {
		json_free(&limit);
		return refuse(err, "--ulimit", "expected NAME=SOFT[:HARD]");
	}
	json_set_str(limit, "Name", name);
	json_set_int(limit, "Soft", soft);
	json_set_int(limit, "Hard", hard);
	if (!json_get(host, "Ulimits"))
		json_set_take(host, "Ulimits", json_array());
	json_add_take(mutable(json_get(host, "Ulimits")), limit);
	return 0;
}

static int
arg_network(struct docker_plan *plan, const char *value, struct err *err)
{
	if (strcmp(plan->network, "none") == 0 && strcmp(value, "none") != 0)
		return refuse(err, "--network", "terminal.docker_network: false says "
		    "that there is none");
	json_set_str(host_config(plan), "NetworkMode", value);
	return 0;
}

static int
arg_tmpfs(struct docker_plan *plan, const char *value, struct err *err)
{
	const char *colon = strchr(value, ':');
	CLEANUP_FREE char *path = mem_strn(value, colon ?
	    (size_t)(colon - value) : strlen(value));

	if (*path != '/')
		return refuse(err, "--tmpfs", "expected /path[:options]");
	json_set_str(mutable(json_get(host_config(plan), "Tmpfs")), path,
	    colon ? colon + 1 : "");
	return 0;
}

static int
arg_volume(struct docker_plan *plan, const char *value, struct err *err)
{
	return docker_volume_apply(plan, value, err);
}

static int
arg_user(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)err;
	json_set_str(plan->config, "User", value);
	return 0;
}

static int
arg_hostname(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)err;
	json_set_str(plan->config, "Hostname", value);
	return 0;
}

static int
arg_runtime(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)err;
	json_set_str(host_config(plan), "Runtime", value);
	return 0;
}

static int
arg_userns(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)err;
	json_set_str(host_config(plan), "UsernsMode", value);
	return 0;
}

static int
arg_privileged(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)value, (void)err;
	json_set_bool(host_config(plan), "Privileged", true);
	give_rights(plan, "it is privileged");
	return 0;
}

static int
arg_read_only(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)value, (void)err;
	json_set_bool(host_config(plan), "ReadonlyRootfs", true);
	return 0;
}

static int
arg_ignored(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)plan, (void)value, (void)err;
	return 0;	/* it is so anyway */
}

static int
arg_pid(struct docker_plan *plan, const char *value, struct err *err)
{
	(void)plan, (void)value;
	return refuse(err, "--pid", "commands could not be told from the host's "
	    "processes and ended: not offered");
}

static const struct {
	const char *name, *brief;
	bool flag;		/* has no value */
	int (*apply)(struct docker_plan *plan, const char *value, struct err *err);
} args_known[] = {
	{ "--add-host", NULL, false, arg_host },
	{ "--cap-add", NULL, false, arg_cap },
	{ "--cap-drop", NULL, false, arg_cap_drop },
	{ "--cpus", NULL, false, arg_cpus },
	{ "--device", NULL, false, arg_device },
	{ "--dns", NULL, false, arg_dns },
	{ "--env", "-e", false, arg_env },
	{ "--gpus", NULL, false, arg_gpus },
	{ "--hostname", "-h", false, arg_hostname },
	{ "--init", NULL, true, arg_ignored },
	{ "--label", "-l", false, arg_label },
	{ "--memory", "-m", false, arg_memory },
	{ "--net", NULL, false, arg_network },
	{ "--network", NULL, false, arg_network },
	{ "--pid", NULL, false, arg_pid },
	{ "--pids-limit", NULL, false, arg_pids },
	{ "--privileged", NULL, true, arg_privileged },
	{ "--read-only", NULL, true, arg_read_only },
	{ "--runtime", NULL, false, arg_runtime },
	{ "--security-opt", NULL, false, arg_security },
	{ "--shm-size", NULL, false, arg_shm },
	{ "--tmpfs", NULL, false, arg_tmpfs },
	{ "--ulimit", NULL, false, arg_ulimit },
	{ "--user", "-u", false, arg_user },
	{ "--userns", NULL, false, arg_userns },
	{ "--volume", "-v", false, arg_volume },
};

/* The value is behind '=', or the next word, which is used up then. */
static int
apply_one(struct docker_plan *plan, const char *const **args, struct err *err)
{
	const char *arg = *(*args)++;
	size_t len = strcspn(arg, "=");

	for (size_t i = 0; i < ARRAY_LEN(args_known); i++) {
		bool full = strlen(args_known[i].name) == len &&
		    strncmp(args_known[i].name, arg, len) == 0;

		if (!full && !(args_known[i].brief &&
		    strcmp(args_known[i].brief, arg) == 0))
			continue;
		if (args_known[i].flag && !arg[len])
			return args_known[i].apply(plan, "", err);
		if (args_known[i].flag)
			return refuse(err, arg, "takes no value");
		if (full && arg[len])
			return args_known[i].apply(plan, arg + len + 1, err);
		if (!**args)
			return refuse(err, arg, "its value is missing");
		return args_known[i].apply(plan, *(*args)++, err);
	}
	return refuse(err, arg, "is not offered by this backend, and leaving it out "
	    "silently would not be what you wrote");
}

int
docker_args_apply(struct docker_plan *plan, const char *const *args,
	const struct docker_opts *opts, struct err *err)
{
	(void)opts;
	while (*args)
		if (apply_one(plan, &args, err) < 0)
			return -1;
	return 0;
}
