#include <string.h>

#include "base/mem.h"
#include "sandbox/backend.h"
#include "sandbox/docker.h"
#include "sandbox/local.h"
#include "sandbox/native.h"
#include "sandbox/singularity.h"
#include "sandbox/ssh.h"

/* A backend's options have its name in struct sandbox_opts. */
static const struct {
	const struct backend *backend;
	size_t opts;
} backends[] = {
#define BACKEND(name) { &backend_##name, offsetof(struct sandbox_opts, name) },
#include "sandbox/list.h"
#undef BACKEND
};

const struct backend *
backend_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
		if (strcmp(backends[i].backend->name, name) == 0)
			return backends[i].backend;
	}
	return NULL;
}

const void *
backend_opts(const struct backend *backend, const struct sandbox_opts *opts)
{
	const void *found = NULL;

	for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
		if (backends[i].backend == backend)
			memcpy(&found, (const char *)opts + backends[i].opts,
			    sizeof(found));
	}
	return found;
}
