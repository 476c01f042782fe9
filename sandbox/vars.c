#include "sandbox/vars.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

void
vars_init(struct vars *v, size_t max)
{
	memset(v, 0, sizeof(*v));
	v->max = max;
}

void
vars_done(struct vars *v)
{
	for (size_t i = 0; i < v->n; i++) {
		mem_free(v->list[i].name);
		mem_free(v->list[i].value);
	}
	mem_free(v->list);
	vars_init(v, v->max);
}

/* A name that a POSIX shell can assign to. */
static bool
name_ok(const char *name)
{
	size_t n = 0;

	if (!isalpha((unsigned char)name[0]) && name[0] != '_')
		return false;
	while (isalnum((unsigned char)name[n]) || name[n] == '_')
		n++;
	return !name[n] && n <= VARS_NAME_MAX;
}

static struct var *
find(const struct vars *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++) {
		if (strcmp(v->list[i].name, name) == 0)
			return &v->list[i];
	}
	return NULL;
}

bool
vars_set(struct vars *v, const char *name, const char *value)
{
	struct var *old = find(v, name);
	size_t more = strlen(value) + (old ? 0 : strlen(name) + 2);
	size_t less = old ? strlen(old->value) : 0;

	if (!name_ok(name) || v->bytes - less + more > v->max)
		return false;
	v->bytes += more - less;
	if (old) {
		char *copy = mem_str(value);
		mem_free(old->value);
		old->value = copy;
		return true;
	}
	if (v->n == v->size) {
		v->size = v->size ? v->size * 2 : 16;
		v->list = mem_grow(v->list, v->size, sizeof(*v->list));
	}
	v->list[v->n].name = mem_str(name);
	v->list[v->n++].value = mem_str(value);
	return true;
}

const char *
vars_get(const struct vars *v, const char *name)
{
	const struct var *var = find(v, name);

	return var ? var->value : NULL;
}

void
vars_copy(struct vars *dst, const struct vars *src)
{
	vars_done(dst);
	for (size_t i = 0; i < src->n; i++)
		(void)vars_set(dst, src->list[i].name, src->list[i].value);
}

char **
vars_env(const struct vars *v)
{
	char **env = mem_array(v->n + 1, sizeof(*env));

	for (size_t i = 0; i < v->n; i++)
		env[i] = mem_printf("%s=%s", v->list[i].name,
		    v->list[i].value);
	return env;
}

void
vars_env_free(char ***envp)
{
	if (!*envp)
		return;
	char **env = STEAL(*envp);

	for (size_t i = 0; env[i]; i++)
		mem_free(env[i]);
	mem_free(env);
}
