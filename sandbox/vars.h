/*
 * A set of environment variables: names checked, one value a name, bounded
 * together.  vars_env() makes the array that exec wants.
 */
#ifndef GATEHOUSE_VARS_H
#define GATEHOUSE_VARS_H

#include <stdbool.h>
#include <stddef.h>

#define VARS_MAX (64 * 1024)	/* names and values together, of a give-back */
#define VARS_NAME_MAX 256

struct var {
	char *name, *value;
};

struct vars {
	struct var *list;
	size_t n, size;
	size_t bytes;
	size_t max;
};

void vars_init(struct vars *v, size_t max);
void vars_done(struct vars *v);
/* Replaces or adds; false: the bound was reached or the name is no name. */
bool vars_set(struct vars *v, const char *name, const char *value);
const char *vars_get(const struct vars *v, const char *name);
void vars_copy(struct vars *dst, const struct vars *src);	/* dst: init'ed */

/* NULL-terminated "NAME=value"; free with vars_env_free. */
char **vars_env(const struct vars *v);
void vars_env_free(char ***env);

#endif
