/*
 * Looks for characters that make a command look like another one: invisible,
 * direction-changing, control, strange blanks, padding.  Says why, or NULL.
 */
#ifndef GATEHOUSE_GATE_SPOOF_H
#define GATEHOUSE_GATE_SPOOF_H

#include <stddef.h>

const char *spoof_find(const char *s, size_t len);

#endif
