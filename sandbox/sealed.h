/* Bytes handed to a process as a descriptor that nobody can change any more. */
#ifndef GATEHOUSE_SEALED_H
#define GATEHOUSE_SEALED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A memfd, at its start. readonly: also opened so. -1. */
int sealed_fd(const void *data, size_t len, bool readonly, struct err *err);

#endif
