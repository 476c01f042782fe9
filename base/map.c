#include "base/map.h"

#include <string.h>

#include "base/ids.h"
#include "base/mem.h"

struct map_slot {
	char *key;		/* NULL: free, or deleted if hash is 1 */
	void *value;
	uint64_t hash;
};

#define HASH_DELETED 1u

void
map_init(struct map *m)
{
	memset(m, 0, sizeof(*m));
	ids_random(&m->seed, sizeof(m->seed));
}

void
map_done(struct map *m)
{
	for (size_t i = 0; i < m->size; i++)
		mem_free(m->slots[i].key);
	mem_free(m->slots);
	memset(m, 0, sizeof(*m));
}

/* FNV-1a with a secret start: keys come from the network. */
static uint64_t
hash_key(const struct map *m, const char *key)
{
	uint64_t h = 14695981039346656037u ^ m->seed;

	for (const unsigned char *p = (const unsigned char *)key; *p; p++)
		h = (h ^ *p) * 1099511628211u;
	h ^= h >> 32;
	return h <= HASH_DELETED ? h + 2 : h;
}

static struct map_slot *
find_slot(const struct map *m, const char *key, uint64_t hash)
{
	if (m->size == 0)
		return NULL;
	for (size_t i = hash & (m->size - 1);; i = (i + 1) & (m->size - 1)) {
		struct map_slot *s = &m->slots[i];

		if (!s->key && s->hash != HASH_DELETED)
			return NULL;
		if (s->key && s->hash == hash && strcmp(s->key, key) == 0)
			return s;
	}
}

static void
insert_new(struct map *m, char *key, void *value, uint64_t hash)
{
	size_t i = hash & (m->size - 1);

	while (m->slots[i].key)
		i = (i + 1) & (m->size - 1);
	if (m->slots[i].hash != HASH_DELETED)
		m->filled++;
	m->slots[i] = (struct map_slot){ key, value, hash };
	m->used++;
}

static void
grow(struct map *m)
{
	struct map_slot *old = m->slots;
	size_t old_size = m->size;

	m->size = m->used * 4 < 16 ? 16 : m->size;
	while (m->size < m->used * 4)
		m->size *= 2;
	m->slots = mem_array(m->size, sizeof(*m->slots));
	m->used = m->filled = 0;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].key)
			insert_new(m, old[i].key, old[i].value, old[i].hash);
	mem_free(old);
}

void *
map_get(const struct map *m, const char *key)
{
	struct map_slot *s = find_slot(m, key, hash_key(m, key));

	return s ? s->value : NULL;
}

void
map_set(struct map *m, const char *key, void *value)
{
	REQUIRE(value != NULL);
	uint64_t hash = hash_key(m, key);
	struct map_slot *s = find_slot(m, key, hash);

	if (s) {
		s->value = value;
		return;
	}
	if ((m->filled + 1) * 4 > m->size * 3)
		grow(m);
	insert_new(m, mem_str(key), value, hash);
}

void *
map_remove(struct map *m, const char *key)
{
	struct map_slot *s = find_slot(m, key, hash_key(m, key));

	if (!s)
		return NULL;
	void *value = s->value;

	mem_free(s->key);
	*s = (struct map_slot){ NULL, NULL, HASH_DELETED };
	m->used--;
	return value;
}

bool
map_next(const struct map *m, size_t *it, const char **ret_key, void **ret_value)
{
	while (*it < m->size) {
		struct map_slot *s = &m->slots[(*it)++];

		if (!s->key)
			continue;
		if (ret_key)
			*ret_key = s->key;
		if (ret_value)
			*ret_value = s->value;
		return true;
	}
	return false;
}
