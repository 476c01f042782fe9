/*
 * One masker for everything that leaves: log lines, tool output, chat text.
 * Knows the process's own secrets by value (registered at start) and the
 * usual kinds by shape.  Any thread after start-up.
 */
#ifndef GATEHOUSE_REDACT_H
#define GATEHOUSE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Registers a value to be masked wherever it appears (8 bytes or more). */
void redact_add_secret(const char *value);
void redact_clear(void);			/* forgets all; for tests and exit */

/* Appends text to out with secrets replaced by "[redacted]". */
bool redact_text(struct buf *out, const char *text, size_t len);

#endif
