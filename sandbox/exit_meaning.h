/* What an exit code that is no error means, by the command's name. Pure. */
#ifndef GATEHOUSE_EXIT_MEANING_H
#define GATEHOUSE_EXIT_MEANING_H

#include <stdbool.h>
#include <stddef.h>

/* NULL: nothing special. Looks at the last command of a chain or pipeline. */
const char *exit_meaning(const char *command, size_t len, int exit_code);

/* The output says that sudo wanted a password and got none, or a wrong one. */
bool sudo_failed(const char *output, size_t len);

#endif
