/*
 * Documentation made from the table of keys, so that it can't lag behind:
 * docs/gatehouse.yaml.example, docs/environment.md, the keys of
 * gatehouse.yaml(5), and the defaults that tests/data freezes per version.
 */
#ifndef GATEHOUSE_CONFIG_DOCS_H
#define GATEHOUSE_CONFIG_DOCS_H

#include <stdbool.h>
#include <stdio.h>

/* what: "yaml", "env", "man", "defaults" or "backends"; false if it is none of them. */
bool config_docs_print(FILE *out, const char *what);

#endif
