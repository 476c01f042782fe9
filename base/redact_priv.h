/*
 * Secrets by shape, for redact.c only. Pure; bounded work a byte, so that a
 * text of n bytes costs O(n).
 */
#ifndef GATEHOUSE_REDACT_PRIV_H
#define GATEHOUSE_REDACT_PRIV_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether a secret begins at text[at]; [*ret_from, *ret_to) is what to mask,
 * at <= *ret_from < *ret_to.
 */
bool redact_shape(const char *text, size_t len, size_t at, size_t *ret_from,
	size_t *ret_to);

/* Length of an issuer's well-known prefix at s, such as "ghp_"; 0: none. */
size_t redact_prefix(const char *s, size_t len);

#endif
