/* String keys to pointers: a hash map with a random seed. Keys are copied. */
#ifndef GATEHOUSE_MAP_H
#define GATEHOUSE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot;

struct map {
	struct map_slot *slots;
	size_t size;		/* power of two or 0 */
	size_t used;		/* live entries */
	size_t filled;		/* live and deleted */
	uint64_t seed;
};

void map_init(struct map *m);
void map_done(struct map *m);		/* values stay the caller's */
void *map_get(const struct map *m, const char *key);
void map_set(struct map *m, const char *key, void *value);	/* value not NULL */
void *map_remove(struct map *m, const char *key);
/*
 * Iteration: size_t it = 0; while (map_next(m, &it, &key, &value)).  Removing
 * the entry just returned is allowed; setting is not.
 */
bool map_next(const struct map *m, size_t *it, const char **ret_key,
	void **ret_value);

#endif
