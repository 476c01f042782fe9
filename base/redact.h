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

/*
 * The same for text that may come back, such as a file that is shown and then
 * edited: each secret becomes a sentinel, «redacted:ghp_…», which nobody
 * writes by accident.  Of the secret at most its issuer's prefix is shown; its
 * line feeds stay, so that line numbers do.
 */
bool redact_sentinels(struct buf *out, const char *text, size_t len);
/* Text holds a sentinel or a mask: written to a file it would destroy the
 * secret that it stands for. */
bool redact_has_sentinel(const char *text, size_t len);

#endif
