/*
 * What a sandbox with a filtered network may reach: the operator's lists, and
 * what is refused whatever they say.  One policy for CONNECT, plain HTTP and
 * SOCKS.  Pure.
 *
 * First the name and port are checked as the client gave them, then every
 * address that the name has; then one of just these addresses is dialled.
 */
#ifndef GATEHOUSE_EGRESS_H
#define GATEHOUSE_EGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/ip.h"

#define EGRESS_ENTRIES_MAX 1024		/* of one list */
#define EGRESS_HOST_MAX 254		/* with NUL */

struct egress;

/* Lists end with NULL; NULL: empty. */
struct egress_opts {
	/*
	 * HOST or HOST:PORT, where HOST is a name, *.name (any depth below it,
	 * not itself), *, an address, or ADDRESS/BITS (for requests that name
	 * an address). Empty: nothing may be reached.
	 */
	const char *const *allow;
	/* The same, and stronger. ADDRESS/BITS also counts after resolution. */
	const char *const *deny;
	/* PORT or PORT-PORT, for entries of allow without one. NULL: 80, 443 */
	const char *const *ports;
	/*
	 * ADDRESS[/BITS][:PORT] that is not public and may be reached all the
	 * same, if allow has the host, too. Never metadata services.
	 */
	const char *const *private_allow;
};

struct egress_target {
	char host[EGRESS_HOST_MAX];	/* lower case, no dot at the end */
	bool literal;
	struct ip ip;			/* of a literal */
	uint16_t port;
};

/* NULL with the entry that is wrong and what it should look like. */
struct egress *egress_new(const struct egress_opts *opts, struct err *err);
void egress_free(struct egress **e);

/*
 * Reads a host as a client wrote it (no userinfo; IPv6 in brackets or not).
 * ERR_INVALID if it is neither name nor address.
 */
int egress_target(struct egress_target *ret, const char *host, size_t len,
	unsigned long port, struct err *err);
/* 0, or -1 with ERR_DENIED and the reason. */
int egress_check(const struct egress *e, const struct egress_target *t,
	struct err *err);
int egress_check_ip(const struct egress *e, const struct egress_target *t,
	const struct ip *ip, struct err *err);
/* The operator named this address in private_allow. */
bool egress_is_named(const struct egress *e, const struct ip *ip, uint16_t port);

#endif
