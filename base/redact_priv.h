/*
 * Secrets by shape, for redact.c only. Pure; bounded work a byte, so that a
 * text of n bytes costs O(n).
 */
#ifndef GATEHOUSE_REDACT_PRIV_H
#define GATEHOUSE_REDACT_PRIV_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Where redact_may_begin(): whether a secret does at text[at].
 * [*ret_from, *ret_to) is what to mask, at <= *ret_from < *ret_to.
 */
bool redact_shape(const char *text, size_t len, size_t at, size_t *ret_from,
	size_t *ret_to);

enum redact_class { REDACT_MARK = 1, REDACT_DIGIT = 2, REDACT_LETTER = 4 };
extern const unsigned char redact_class[256];

/*
 * False: certainly not, for nearly every byte of usual text.  Shapes begin with
 * one of = : - or with the first letter or digit of a word.
 */
static inline bool
redact_may_begin(const char *text, size_t at)
{
	unsigned is = redact_class[(unsigned char)text[at]];
	unsigned before = at > 0 ? redact_class[(unsigned char)text[at - 1]] : 0;

	if (is & REDACT_DIGIT)
		return !(before & REDACT_DIGIT);
	return (is & REDACT_MARK) || ((is & REDACT_LETTER) &&
	    !(before & (REDACT_DIGIT | REDACT_LETTER)));
}

/* Length of an issuer's well-known prefix at s, such as "ghp_"; 0: none. */
size_t redact_prefix(const char *s, size_t len);

#endif
