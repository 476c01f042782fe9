/*
 * Whose container one is.  Nothing is touched that is not provably left behind:
 * an owner is a process of one boot of one machine, and is dead only if that
 * boot is over or its process is gone; whoever can't be judged from here lives.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "sandbox/docker_priv.h"

#define LABEL_INSTANCE "gatehouse.instance"

static bool
read_text(const char *path, char *out, size_t size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	/* /proc gives a page at a time. */
	while (fd >= 0 && (n = read(fd, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = 0;
	return len > 0;
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

/* The first run of exactly 64 hex digits; NULL. Caller frees. */
static char *
hex_64(const char *p, const char *end)
{
	while (p < end) {
		size_t n = strspn(p, "0123456789abcdef");

		if (n == 64 && p + n <= end)
			return mem_strn(p, n);
		p += n ? n : 1;
	}
	return NULL;
}

/*
 * An engine mounts files of the container over these. Other mounts that name
 * one may be of containers that were started from here.
 */
static char *
own_from_mounts(const char *mountinfo)
{
	static const char *const files[] = { "/etc/hostname ", "/etc/hosts ",
		"/etc/resolv.conf ", "/run/.containerenv " };

	for (const char *line = mountinfo, *next; *line; line = next) {
		const char *end = line + strcspn(line, "\n"), *root = line, *on;

		next = *end ? end + 1 : end;
		for (int i = 0; root && i < 3; i++)
			root = (root = memchr(root, ' ', (size_t)(end - root))) ?
			    root + 1 : NULL;
		on = root ? memchr(root, ' ', (size_t)(end - root)) : NULL;
		for (size_t i = 0; on && i < ARRAY_LEN(files); i++)
			if (strncmp(on + 1, files[i], strlen(files[i])) == 0) {
				char *id = hex_64(root, on);
				if (id)
					return id;
			}
	}
	return NULL;
}

char *
docker_own_container(const char *proc)
{
	CLEANUP_FREE char *mounts = mem_printf("%s/mountinfo", proc);
	CLEANUP_FREE char *cgroup = mem_printf("%s/cgroup", proc);
	static char text[256 * 1024];
	char *id = NULL;

	if (read_text(mounts, text, sizeof(text)))
		id = own_from_mounts(text);
	if (!id && read_text(cgroup, text, sizeof(text)))
		id = hex_64(text, text + strlen(text));
	return id;
}
