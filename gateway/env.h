/* The process environment as main() got it; nobody else reads `environ`. */
#ifndef GATEHOUSE_ENV_H
#define GATEHOUSE_ENV_H

#include <stdbool.h>
#include <stddef.h>

/* Value of NAME in "NAME=value" strings, or NULL. */
const char *env_find(const char *const *envp, const char *name);
/* Letters, digits and underscores, no digit first. */
bool env_name_valid(const char *name, size_t len);
/* By its name it holds a secret: ..._TOKEN, ..._API_KEY, ..._PASSWORD and kin. */
bool env_name_secret(const char *name, size_t len);
/*
 * Registers every secret of the environment with the masker, then overwrites
 * the values in place, so that /proc/PID/environ no longer shows them.
 */
void env_hide_secrets(char **envp);

#endif
