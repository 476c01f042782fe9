/* What one container is made from: the plan, and what is its sandbox's own. */
#include "sandbox/docker_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ids.h"
#include "base/mem.h"

static struct json *
mutable(const struct json *node)
{
	return (struct json *)(uintptr_t)(const void *)node;
}

static void
add_mount(struct json *mounts, const char *type, const char *source,
	const char *target, bool read_only)
{
	struct json *m = json_object();

	json_set_str(m, "Type", type);
	json_set_str(m, "Source", source);
	json_set_str(m, "Target", target);
	if (read_only)
		json_set_bool(m, "ReadOnly", true);
	json_add_take(mounts, m);
}

char *
docker_volume_name(const struct backend_inst *inst, const char *box_id,
	const char *what)
{
	char hex[ID_HEX_MAX];

	ids_sha256_hex(inst->instance_id, strlen(inst->instance_id), hex);
	return mem_printf("gatehouse-%.8s-%s-%s", hex, box_id, what);
}

/* Files of the sandbox: on this host, in a volume of the engine's, or nowhere. */
static void
add_files(const struct box *box, struct json *mounts, struct json *tmpfs,
	const char *what, const char *host, const char *target, const char *size)
{
	const struct backend_inst *inst = box->inst;

	if (!inst->opts.persistent) {
		CLEANUP_FREE char *o = mem_printf("rw,exec,nosuid,size=%s,mode=1777",
		    size);
		json_set_str(tmpfs, target, o);
	} else if (engine_is_local(inst->engine)) {
		add_mount(mounts, "bind", host, target, false);
	} else {
		CLEANUP_FREE char *name = docker_volume_name(inst, box->id, what);
		add_mount(mounts, "volume", name, target, false);
	}
}

/* All but the labels, which hold the time. */
struct json *
docker_box_config(const struct box *box)
{
	const struct backend_inst *inst = box->inst;
	struct json *config = json_clone(inst->plan.config);
	struct json *mounts = json_clone(inst->plan.mounts);
	struct json *host = mutable(json_get(config, "HostConfig"));
	struct json *tmpfs = mutable(json_get(host, "Tmpfs"));
	struct json *entry = json_array(), *cmd = json_array();
	CLEANUP_FREE char *seconds = mem_printf("%d", DOCKER_DEADLINE_S);

	add_mount(mounts, "volume", inst->helper_volume, PLAN_HELPER_DIR, true);
	if (!inst->plan.workspace_mounted)
		add_files(box, mounts, tmpfs, "workspace", box->workspace,
		    PLAN_WORKSPACE, "10g");
	if (!inst->plan.home_mounted)
		add_files(box, mounts, tmpfs, "home", box->home, PLAN_HOME, "1g");
	json_set_take(host, "Mounts", mounts);
	if (!inst->can_memory) {
		json_remove(host, "Memory");
		json_remove(host, "MemorySwap");
	}
	if (!inst->can_pids)
		json_remove(host, "PidsLimit");
	if (!inst->can_cpu)
		json_remove(host, "NanoCpus");
	json_add_take(entry, json_string(PLAN_HELPER));
	json_add_take(cmd, json_string("far-rest"));
	json_add_take(cmd, json_string(seconds));
	json_set_str(config, "Image", inst->image);
	json_set_take(config, "Entrypoint", entry);
	json_set_take(config, "Cmd", cmd);
	return config;
}

void
docker_box_digest(struct box *box)
{
	CLEANUP_JSON struct json *config = docker_box_config(box);
	CLEANUP_FREE char *text = json_text(config);
	CLEANUP_FREE char *all = mem_printf("%s %s", box->inst->image_id, text);
	char hex[ID_HEX_MAX];

	ids_sha256_hex(all, strlen(all), hex);
	mem_free(box->digest);
	box->digest = mem_printf("%.16s", hex);
}

/* A user of the image that is not root needs to write in what is mounted. */
int
docker_box_home(struct box *box, struct err *err)
{
	const struct backend_inst *inst = box->inst;
	const char *user = inst->image_user ? inst->image_user : "";
	bool root = !*user || strcmp(user, "root") == 0 || *user == '0';

	if (!inst->opts.persistent || !engine_is_local(inst->engine))
		return 0;
	if (mkdir(box->home, 0700) < 0 && errno != EEXIST)
		return err_set_errno(err, errno, "the sandbox's home %s", box->home);
	if (!root && !inst->plan.host_user &&
	    (chmod(box->home, 0777) < 0 || chmod(box->workspace, 0777) < 0))
		return err_set_errno(err, errno, "opening the sandbox's "
		    "directories to the image's user");
	return 0;
}

static void
put_words(struct json *object, const char *key, const char *const *words)
{
	struct json *list = json_array();

	for (; *words; words++)
		json_add_take(list, json_string(*words));
	json_set_take(object, key, list);
}

void
docker_tend_config(const struct backend_inst *inst, struct json *body,
	const char *dir, const char *target)
{
	static const char *const all[] = { "ALL", NULL };
	static const char *const rights[] = { "DAC_OVERRIDE", "FOWNER", NULL };
	static const char *const security[] = { "no-new-privileges", NULL };
	static const char *const entry[] = { PLAN_HELPER, NULL };
	struct json *host = json_object(), *mounts = json_array();
	struct json *log = json_object();

	json_set_str(log, "Type", "json-file");	/* it is read afterwards */
	add_mount(mounts, "volume", inst->helper_volume, PLAN_HELPER_DIR, true);
	add_mount(mounts, "bind", dir, target, false);
	json_set_take(host, "Mounts", mounts);
	json_set_str(host, "NetworkMode", "none");
	json_set_bool(host, "ReadonlyRootfs", true);
	json_set_take(host, "LogConfig", log);
	put_words(host, "CapDrop", all);
	put_words(host, "CapAdd", rights);
	put_words(host, "SecurityOpt", security);
	json_set_str(body, "Image", inst->image);
	json_set_str(body, "User", "0:0");
	put_words(body, "Entrypoint", entry);
	json_set_take(body, "HostConfig", host);
}
