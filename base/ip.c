#include "base/ip.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- what they are for ------------------------------------------------------ */

/* The first that fits counts: exceptions stand before the rule. */
static const struct {
	const char *net;
	enum ip_kind kind;
} kinds4[] = {
	{ "169.254.169.254/32", IP_METADATA },	/* AWS, GCP, Azure, most others */
	{ "169.254.170.0/24", IP_METADATA },	/* AWS ECS, EKS */
	{ "100.100.100.200/32", IP_METADATA },	/* Alibaba */
	{ "168.63.129.16/32", IP_METADATA },	/* Azure's host */
	{ "192.0.0.192/32", IP_METADATA },	/* Oracle */
	{ "0.0.0.0/8", IP_UNSPECIFIED },
	{ "10.0.0.0/8", IP_PRIVATE },
	{ "100.64.0.0/10", IP_SHARED },
	{ "127.0.0.0/8", IP_LOOPBACK },
	{ "169.254.0.0/16", IP_LINK_LOCAL },
	{ "172.16.0.0/12", IP_PRIVATE },
	{ "192.0.0.0/24", IP_RESERVED },
	{ "192.0.2.0/24", IP_RESERVED },
	{ "192.31.196.0/24", IP_RESERVED },
	{ "192.52.193.0/24", IP_RESERVED },
	{ "192.88.99.0/24", IP_TUNNEL },
	{ "192.168.0.0/16", IP_PRIVATE },
	{ "192.175.48.0/24", IP_RESERVED },
	{ "198.18.0.0/15", IP_RESERVED },
	{ "198.51.100.0/24", IP_RESERVED },
	{ "203.0.113.0/24", IP_RESERVED },
	{ "224.0.0.0/4", IP_MULTICAST },
	{ "255.255.255.255/32", IP_MULTICAST },
	{ "240.0.0.0/4", IP_RESERVED },
}, kinds6[] = {
	{ "fd00:ec2::/32", IP_METADATA },	/* AWS */
	{ "fd20:ce::/32", IP_METADATA },	/* GCP */
	{ "fd00:c1::/32", IP_METADATA },	/* Oracle */
	{ "fe80::a9fe:a9fe/128", IP_METADATA },	/* OpenStack */
	{ "::/128", IP_UNSPECIFIED },
	{ "::1/128", IP_LOOPBACK },
	{ "::/96", IP_TUNNEL },			/* IPv4-compatible */
	{ "fc00::/7", IP_PRIVATE },
	{ "fe80::/10", IP_LINK_LOCAL },
	{ "fec0::/10", IP_PRIVATE },
	{ "ff00::/8", IP_MULTICAST },
	{ "2001::/32", IP_TUNNEL },		/* Teredo */
	{ "2001::/23", IP_RESERVED },
	{ "2001:db8::/32", IP_RESERVED },
	{ "2002::/16", IP_TUNNEL },		/* 6to4 */
	{ "2620:4f:8000::/48", IP_RESERVED },
	{ "3fff::/20", IP_RESERVED },
	{ "2000::/3", IP_PUBLIC },
};

static const unsigned char nat64[12] = { 0, 0x64, 0xff, 0x9b };
static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

/* The interface identifier of ISATAP: an IPv4 address behind 0:5efe. */
static bool
is_isatap(const struct ip *ip)
{
	return (ip->b[8] & ~2) == 0 && ip->b[9] == 0 && ip->b[10] == 0x5e &&
		ip->b[11] == 0xfe;
}

enum ip_kind
ip_kind(const struct ip *ip)
{
	struct ip inner = { .v6 = false };
	struct ip_net net;

	if (ip->v6 && memcmp(ip->b, nat64, sizeof(nat64)) == 0) {
		memcpy(inner.b, ip->b + 12, 4);
		ip = &inner;
	}
	if (ip->v6 && is_isatap(ip))
		return IP_TUNNEL;
	for (size_t i = 0; ip->v6 && i < ARRAY_LEN(kinds6); i++) {
		REQUIRE(ip_net_parse(kinds6[i].net, &net) == 0);
		if (ip_net_has(&net, ip))
			return kinds6[i].kind;
	}
	for (size_t i = 0; !ip->v6 && i < ARRAY_LEN(kinds4); i++) {
		REQUIRE(ip_net_parse(kinds4[i].net, &net) == 0);
		if (ip_net_has(&net, ip))
			return kinds4[i].kind;
	}
	/* Of IPv6 only 2000::/3 has been given out. */
	return ip->v6 ? IP_RESERVED : IP_PUBLIC;
}

const char *
ip_kind_name(enum ip_kind kind)
{
	switch (kind) {
	case IP_PUBLIC: return "a public address";
	case IP_METADATA: return "a cloud's metadata service";
	case IP_LOOPBACK: return "a loopback address";
	case IP_LINK_LOCAL: return "a link-local address";
	case IP_PRIVATE: return "a private address";
	case IP_SHARED: return "an address of a provider's inner network";
	case IP_MULTICAST: return "a multicast address";
	case IP_UNSPECIFIED: return "an unspecified address";
	case IP_TUNNEL: return "an IPv4 address in the guise of IPv6";
	case IP_RESERVED: return "a reserved address";
	}
	return "?";
}

/* ---- reading ----------------------------------------------------------------- */

/* Digits of one part: decimal, 0octal, 0xhex. -1: not a number of 32 bits. */
static int
part_parse(const char *s, size_t n, uint64_t *ret)
{
	unsigned base = 10;
	uint64_t v = 0;

	if (n >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
		n -= 2;		/* nothing behind 0x is 0, as for inet_aton */
	} else if (n >= 2 && s[0] == '0') {
		base = 8;
	} else if (n == 0) {
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned c = (unsigned char)s[i];
		unsigned d = c - '0' < 10 ? c - '0' : (c | 32) - 'a' < 6 ?
			(c | 32) - 'a' + 10 : 99;
		if (d >= base)
			return -1;
		v = v * base + d;
		if (v > UINT32_MAX)
			return -1;
	}
	*ret = v;
	return 0;
}

static int
parse4(const char *text, struct ip *ret)
{
	uint64_t parts[4], last;
	size_t n = 0;

	for (const char *p = text; ; ) {
		size_t len = strcspn(p, ".");
		if (n == 4 || part_parse(p, len, &parts[n]) < 0)
			return -1;
		n++;
		if (p[len] == 0)
			break;
		p += len + 1;
	}
	last = parts[n - 1];
	for (size_t i = 0; i + 1 < n; i++)
		if (parts[i] > 255)
			return -1;
	if (last >> (8 * (5 - n)))
		return -1;
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i + 1 < n; i++)
		ret->b[i] = (unsigned char)parts[i];
	for (size_t i = n - 1; i < 4; i++)
		ret->b[i] = (unsigned char)(last >> (8 * (3 - i)));
	return 0;
}

/* A mapped address is sent as IPv4 by the kernel, so it is one. */
static void
unmap(struct ip *ip)
{
	struct ip inner = { .v6 = false };

	if (!ip->v6 || memcmp(ip->b, mapped, sizeof(mapped)) != 0)
		return;
	memcpy(inner.b, ip->b + 12, 4);
	*ip = inner;
}

int
ip_parse(const char *text, struct ip *ret)
{
	if (!strchr(text, ':'))
		return parse4(text, ret);
	memset(ret, 0, sizeof(*ret));
	ret->v6 = true;
	if (inet_pton(AF_INET6, text, ret->b) != 1)
		return -1;
	unmap(ret);
	return 0;
}

bool
ip_is_literal(const char *host)
{
	size_t len = strlen(host);
	uint64_t value;

	if (strchr(host, ':'))
		return true;
	if (len && host[len - 1] == '.')
		len--;
	size_t from = len;
	while (from > 0 && host[from - 1] != '.')
		from--;
	if (part_parse(host + from, len - from, &value) == 0)
		return true;
	/* All digits is no name either, however large or oddly octal. */
	return len > from && strspn(host + from, "0123456789") >= len - from;
}

/* ---- to and from the kernel ---------------------------------------------------- */

int
ip_from_sockaddr(const struct sockaddr *sa, struct ip *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;
		memcpy(&in, sa, sizeof(in));
		memcpy(ret->b, &in.sin_addr, 4);
		return 0;
	}
	if (sa->sa_family != AF_INET6)
		return -1;
	struct sockaddr_in6 in6;
	memcpy(&in6, sa, sizeof(in6));
	ret->v6 = true;
	memcpy(ret->b, &in6.sin6_addr, 16);
	unmap(ret);
	return 0;
}

socklen_t
ip_to_sockaddr(const struct ip *ip, uint16_t port, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!ip->v6) {
		struct sockaddr_in in = { .sin_family = AF_INET,
			.sin_port = htons(port) };
		memcpy(&in.sin_addr, ip->b, 4);
		memcpy(ret, &in, sizeof(in));
		return sizeof(in);
	}
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(port) };
	memcpy(&in6.sin6_addr, ip->b, 16);
	memcpy(ret, &in6, sizeof(in6));
	return sizeof(in6);
}

void
ip_text(const struct ip *ip, char ret[IP_TEXT_MAX])
{
	if (!inet_ntop(ip->v6 ? AF_INET6 : AF_INET, ip->b, ret, IP_TEXT_MAX))
		ret[0] = 0;
}

bool
ip_equal(const struct ip *a, const struct ip *b)
{
	return a->v6 == b->v6 && memcmp(a->b, b->b, a->v6 ? 16 : 4) == 0;
}

/* ---- networks -------------------------------------------------------------------- */

int
ip_net_parse(const char *text, struct ip_net *ret)
{
	char address[IP_TEXT_MAX];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	unsigned max;

	if (n >= sizeof(address))
		return -1;
	memcpy(address, text, n);
	address[n] = 0;
	/* A mapped network would lose its mask: written as IPv4, please. */
	if (ip_parse(address, &ret->ip) < 0 ||
	    (slash && strchr(address, ':') && !ret->ip.v6))
		return -1;
	max = ret->ip.v6 ? 128 : 32;
	ret->bits = max;
	if (slash) {
		char *end;
		unsigned long bits = strtoul(slash + 1, &end, 10);
		if (slash[1] < '0' || slash[1] > '9' || *end || bits > max)
			return -1;
		ret->bits = (unsigned)bits;
	}
	for (unsigned bit = ret->bits; bit < max; bit++)
		if (ret->ip.b[bit / 8] & (0x80 >> bit % 8))
			return -1;
	return 0;
}

bool
ip_net_has(const struct ip_net *net, const struct ip *ip)
{
	unsigned whole = net->bits / 8, rest = net->bits % 8;

	if (net->ip.v6 != ip->v6 || memcmp(net->ip.b, ip->b, whole) != 0)
		return false;
	return rest == 0 ||
		((net->ip.b[whole] ^ ip->b[whole]) & (0xff00u >> rest) & 0xff) == 0;
}
