/*
 * IP addresses: read in every spelling that some program accepts, and told
 * what they are for.  Pure; any thread.
 */
#ifndef GATEHOUSE_IP_H
#define GATEHOUSE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define IP_TEXT_MAX 46		/* INET6_ADDRSTRLEN */

/* IPv4-mapped IPv6 is always kept as IPv4. Compare with ip_equal(). */
struct ip {
	bool v6;
	unsigned char b[16];	/* network order; IPv4: the first four */
};

/* From the IANA special-purpose registries and the clouds' manuals. */
enum ip_kind {
	IP_PUBLIC,		/* global unicast, and nothing below */
	IP_METADATA,		/* where a cloud tells a machine its secrets */
	IP_LOOPBACK,
	IP_LINK_LOCAL,
	IP_PRIVATE,		/* RFC 1918, unique local, site local */
	IP_SHARED,		/* carrier-grade NAT, RFC 6598 */
	IP_MULTICAST,		/* and broadcast */
	IP_UNSPECIFIED,		/* "this network" */
	IP_TUNNEL,		/* 6to4, Teredo, ISATAP, IPv4 in other guise */
	IP_RESERVED,		/* documentation, benchmarks, not assigned */
};

/*
 * Is this host text an address to programs, rather than a name?  So if it has
 * a colon, or its last label is a number in any notation (127.1, 0x7f000001).
 */
bool ip_is_literal(const char *host);
/*
 * Dotted, short, decimal, octal and hex IPv4 as inet_aton(3) reads them; IPv6
 * without zone or brackets. -1: none of these.
 */
int ip_parse(const char *text, struct ip *ret);
int ip_from_sockaddr(const struct sockaddr *sa, struct ip *ret);
/* Fills ret and returns its length. */
socklen_t ip_to_sockaddr(const struct ip *ip, uint16_t port,
	struct sockaddr_storage *ret);
void ip_text(const struct ip *ip, char ret[IP_TEXT_MAX]);
bool ip_equal(const struct ip *a, const struct ip *b);

/* NAT64 (64:ff9b::/96) is what its IPv4 address is. */
enum ip_kind ip_kind(const struct ip *ip);
const char *ip_kind_name(enum ip_kind kind);	/* "a private address" */

struct ip_net {
	struct ip ip;
	unsigned bits;
};

/* "ADDRESS" or "ADDRESS/BITS"; -1: neither, or bits set behind the mask. */
int ip_net_parse(const char *text, struct ip_net *ret);
bool ip_net_has(const struct ip_net *net, const struct ip *ip);

#endif
