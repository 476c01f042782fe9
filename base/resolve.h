/*
 * Names to addresses by the system's own resolver (files, DNS, whatever
 * nsswitch.conf says), on threads of its own, so that the loop never waits.
 * Not for the HTTP client, which brings its own.
 *
 * tests/fake_resolve.c implements the same on the hand-moved clock.
 */
#ifndef GATEHOUSE_RESOLVE_H
#define GATEHOUSE_RESOLVE_H

#include <stddef.h>

#include "base/err.h"
#include "base/ip.h"
#include "base/loop.h"
#include "base/op.h"

#define RESOLVE_ADDRESSES_MAX 16	/* of one name; more are dropped */
#define RESOLVE_WAITING_MAX 128		/* names asked for and not answered */

struct resolver;

struct resolver *resolver_new(struct loop *loop);
/* Every op must have ended. Never waits: a look-up that hangs is left alone. */
void resolver_free(struct resolver **r);

/* n > 0 and err NULL, or an err; ips without duplicates. */
typedef void resolve_cb(void *arg, const struct ip *ips, size_t n,
	const struct err *err);
/* name: checked by the caller, at most 253 bytes. */
struct op *resolve_start(struct resolver *r, const char *name, msec_t timeout,
	resolve_cb *cb, void *arg);

#endif
