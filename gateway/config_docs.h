/*
 * Documentation made from the tables of keys and commands, so that it can't lag
 * behind: what stands in docs/ and contrib/, and the defaults that tests/data
 * freezes per version (`make update-docs`).
 */
#ifndef GATEHOUSE_CONFIG_DOCS_H
#define GATEHOUSE_CONFIG_DOCS_H

#include <stdbool.h>
#include <stdio.h>

/* what: "yaml", "env", "man1", "man5", "defaults", "backends", "bash"; else false. */
bool config_docs_print(FILE *out, const char *what);

#endif
