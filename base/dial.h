/*
 * TCP connections to given addresses, on the loop.
 *
 * tests/fake_dial.c implements the same on the hand-moved clock.
 */
#ifndef GATEHOUSE_DIAL_H
#define GATEHOUSE_DIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/ip.h"
#include "base/loop.h"
#include "base/op.h"

#define DIAL_ADDRESSES_MAX 16

/* fd is non-blocking, close-on-exec and the callee's; -1: see err. */
typedef void dial_cb(void *arg, int fd, const struct ip *at,
	const struct err *err);
/*
 * Tries them in order, each for its part of the time that is left; ips are
 * copied.  What is dialled is the address and nothing else.
 */
struct op *dial_start(struct loop *loop, const struct ip *ips, size_t n,
	uint16_t port, msec_t timeout, dial_cb *cb, void *arg);

/* Does this machine itself have the address (on any interface)? */
bool dial_is_own(const struct ip *ip);

#endif
