/* Finds the rule of a command by its name: one hash over all tables. */
#include <string.h>

#include "gateway/gate/rules.h"

#define SLOTS 4096

static const struct gate_kind *const tables[] = {
	kinds_shell, kinds_wrap, kinds_interp, kinds_verbs, kinds_plain, kinds_text,
	kinds_files, kinds_disk, kinds_git, kinds_net, kinds_proc, kinds_pkg,
	kinds_cloud, kinds_data, kinds_find, kinds_system, kinds_build,
	kinds_fetch, kinds_forge, kinds_grep,
};

struct slot {
	const char *name;
	size_t len;
	const struct gate_kind *kind;
};

static struct slot slots[SLOTS];
static bool filled;

static size_t
hash(const char *s, size_t n)
{
	size_t h = 5381;
	for (size_t i = 0; i < n; i++)
		h = h * 33 + (unsigned char)s[i];
	return h;
}

static struct slot *
slot_of(const char *s, size_t n)
{
	size_t i = hash(s, n) % SLOTS;
	while (slots[i].name && (slots[i].len != n || memcmp(slots[i].name, s, n)))
		i = (i + 1) % SLOTS;
	return &slots[i];
}

/* The index of constant tables, made at the first use (one thread: the loop's). */
static void
fill(void)
{
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		for (const struct gate_kind *k = tables[t]; k->names; k++) {
			const char *s = k->names;
			while (*s) {
				size_t n = strcspn(s, " ");
				struct slot *slot = slot_of(s, n);
				if (!slot->name)
					*slot = (struct slot){ s, n, k };
				s += n;
				s += strspn(s, " ");
			}
		}
	}
	filled = true;
}

const struct gate_kind *
kind_find(const char *name)
{
	size_t n = strlen(name);
	if (!filled)
		fill();
	return n > 0 ? slot_of(name, n)->kind : NULL;
}

bool
kind_is_system(const char *name)
{
	static const struct gate_kind *const system[] = { kinds_disk, kinds_proc,
		kinds_system };
	const struct gate_kind *k = kind_find(name);
	for (size_t t = 0; k && t < sizeof(system) / sizeof(system[0]); t++)
		for (const struct gate_kind *e = system[t]; e->names; e++)
			if (e == k)
				return true;
	return word_in(name, strlen(name), "install link rename test");
}

bool
kind_runs_others(const char *name)
{
	const struct gate_kind *k = kind_find(name);
	for (size_t t = 0; k && t < 3; t++)
		for (const struct gate_kind *e = tables[t]; e->names; e++)
			if (e == k)
				return true;
	return !k;
}
