/*
 * Whose container one is.  Nothing is touched that is not provably left behind:
 * an owner is a process of one boot of one machine, and is dead only if that
 * boot is over or its process is gone; whoever can't be judged from here lives.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "sandbox/docker_priv.h"

#define LABEL_INSTANCE "gatehouse.instance"

static bool
read_text(const char *path, char *out, size_t size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = 0;
	return n > 0;
}

static void
machine(char out[13])
{
	char text[256], hex[ID_HEX_MAX];

	if (!read_text("/etc/machine-id", text, sizeof(text)))
		(void)read_text("/proc/sys/kernel/random/boot_id", text,
		    sizeof(text));
	ids_sha256_hex(text, strlen(text), hex);
	memcpy(out, hex, 12);
	out[12] = 0;
}

const char *
docker_entry_name(const struct json *container)
{
	const char *name = json_str(json_first(json_get(container, "Names")));

	if (!name)
		name = json_get_str(container, "Name", "");
	return *name == '/' ? name + 1 : name;
}

enum docker_whose
docker_whose(const struct backend_inst *inst, const struct json *container)
{
	const struct json *labels = json_get(container, "Labels");
	const char *id = json_get_str(container, "Id", "");
	const char *owner;
	char host[13];
	enum owner_is is = owner_judge(docker_entry_name(container), &owner);

	if (inst->own_container && strncmp(id, inst->own_container,
	    strlen(inst->own_container)) == 0)
		return WHOSE_LIVING;
	if (strcmp(json_get_str(labels, "gatehouse", ""), "1") != 0 || !owner)
		return WHOSE_UNKNOWN;
	if (is == OWNER_SELF)
		return WHOSE_OURS;
	machine(host);
	if (strcmp(json_get_str(labels, "gatehouse.machine", ""), host) != 0)
		return WHOSE_UNKNOWN;
	if (is == OWNER_ELSEWHERE)
		return strcmp(json_get_str(labels, LABEL_INSTANCE, ""),
		    inst->instance_id) == 0 && strlen(inst->instance_id) == 32 ?
		    WHOSE_DEAD : WHOSE_UNKNOWN;
	return is == OWNER_LIVING ? WHOSE_LIVING :
	    is == OWNER_DEAD ? WHOSE_DEAD : WHOSE_UNKNOWN;
}

static void
short_hash(const char *text, char out[9])
{
	char hex[ID_HEX_MAX];

	ids_sha256_hex(text, strlen(text), hex);
	memcpy(out, hex, 8);
	out[8] = 0;
}

char *
docker_name(const struct backend_inst *inst, const char *box_id)
{
	char instance[9];

	short_hash(inst->instance_id, instance);
	return mem_printf("gatehouse-%s-%s-%s", instance, box_id, inst->owner);
}

/* Hermes' names for what it looks for are given too; its own mark is not. */
struct json *
docker_labels(const struct backend_inst *inst, const char *box_id,
	const char *digest)
{
	struct json *labels = json_object();
	char host[13];

	machine(host);
	json_set_str(labels, "gatehouse", "1");
	json_set_str(labels, LABEL_INSTANCE, inst->instance_id);
	json_set_str(labels, "gatehouse.session", box_id);
	json_set_str(labels, "gatehouse.profile", "main");
	json_set_str(labels, "gatehouse.machine", host);
	json_set_str(labels, "gatehouse.digest", digest);
	CLEANUP_FREE char *deadline = mem_printf("%lld",
	    (long long)(loop_wall(inst->loop) / 1000 + DOCKER_DEADLINE_S));
	json_set_str(labels, "gatehouse.deadline", deadline);
	json_set_str(labels, "hermes-task-id", box_id);
	json_set_str(labels, "hermes-profile", "main");
	return labels;
}

static void
percent(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
		    (*s >= '0' && *s <= '9') || strchr("-._~", *s))
			buf_add_char(out, *s);
		else
			buf_printf(out, "%%%02X", (unsigned char)*s);
	}
}

char *
docker_list_path(const char *const *labels)
{
	CLEANUP_JSON struct json *filters = json_object();
	struct json *list = json_array();
	struct buf path;

	for (; *labels; labels++)
		json_add_take(list, json_string(*labels));
	json_set_take(filters, "label", list);
	CLEANUP_FREE char *text = json_text(filters);
	buf_init(&path, 65536);
	buf_add_str(&path, "/containers/json?all=1&filters=");
	percent(&path, text);
	return buf_take(&path);
}

/* 64 hex digits in a path of mountinfo or cgroup: what engines call it. */
char *
docker_own_container(void)
{
	static const char *const files[] = { "/proc/self/mountinfo",
		"/proc/self/cgroup" };
	static char text[256 * 1024];
	struct stat st;

	if (stat("/.dockerenv", &st) < 0 && stat("/run/.containerenv", &st) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (!read_text(files[i], text, sizeof(text)))
			continue;
		for (const char *p = text; *p;) {
			size_t n = strspn(p, "0123456789abcdef");

			if (n == 64)
				return mem_strn(p, n);
			p += n ? n : 1;
		}
	}
	return NULL;
}
