/*
 * Sentences with which people confirm something dangerous ("confirm forced
 * restart").  Such a sentence counts for a minute; in replayed history an older
 * one must not confirm anything any more.  Pure.
 */
#ifndef GATEHOUSE_GATE_CONFIRM_H
#define GATEHOUSE_GATE_CONFIRM_H

#include <stdbool.h>

#include "base/loop.h"

bool confirm_is_danger(const char *text);
/*
 * Whether a confirmation of that time stamp (wall, ms) is void now.  A stamp
 * that can't be true, also one of the future, makes it so.
 */
bool confirm_is_stale(msec_t said_wall, msec_t now_wall);

#endif
