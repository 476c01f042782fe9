/* A directory of its own for a test, and files in it. */
#ifndef GATEHOUSE_TESTS_TMPDIR_H
#define GATEHOUSE_TESTS_TMPDIR_H

#include <stddef.h>

/* Static storage: one at a time. */
const char *tmpdir_make(void);
void tmpdir_remove(void);
/* Path below it; static storage, four at a time. */
const char *tmpdir_path(const char *name);
void tmpdir_write(const char *name, const char *text);
char *tmpdir_read(const char *name);	/* caller frees */

#endif
